//! A tool of others and its subcommands: how its command line becomes a native one, and its help.

use std::ffi::OsString;
use std::path::PathBuf;

use readmill::console::log;
use readmill::limit;
use readmill_record::{Error, Result};

use super::super::common::environment_memory;
use super::super::hints::quoted;
use super::elsewhere::{self, Answer};
use super::grammar::{Does, Given, Grammar, Opt};
use super::line::Line;

/// A tool whose command lines are taken.
pub struct Tool {
    /// Its name, as it is typed.
    pub name: &'static str,
    /// Other names of it.
    pub aliases: &'static [&'static str],
    /// The version whose command line this is.
    pub version: &'static str,
    pub commands: &'static [Command],
    /// Commands of another tool, which it runs, too.
    pub also: &'static [Command],
    /// Takes away what stands in front of the subcommand.
    pub before: fn(&mut Vec<String>) -> Result<Before>,
}

/// What stood in front of the subcommand.
#[derive(Default)]
pub struct Before {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// The compression level of BAM files, if the tool's launcher sets one.
    pub level: Option<String>,
}

/// A subcommand of a tool.
pub struct Command {
    pub name: &'static str,
    pub grammar: Grammar,
    /// Its options, in groups.
    pub options: &'static [&'static [Opt]],
    pub make: Make,
}

/// How a native line is made.
pub enum Make {
    /// By this function.
    Line(fn(&Given) -> Result<Line>),
    /// Not at all: why, and what to type instead.
    Refused(&'static str, &'static str),
}

/// The option that every front has in addition.
const EXPLAIN: &str = "--explain";

/// The variable of the environment that says the same.
const EXPLAIN_VARIABLE: &str = "READMILL_EXPLAIN";

/// What a command line of another tool became.
pub enum Front {
    /// A native command line.
    Native(Vec<OsString>, FrontFiles),
    /// An answer for standard output: help, or a version.
    Answer(String),
}

/// Files that a front makes or renames beside the native command line.
#[derive(Default)]
pub struct FrontFiles {
    /// The index that gets another name: its name before and after.
    pub renamed: Option<(PathBuf, PathBuf)>,
    /// Directories for temporary files.
    pub directories: Vec<PathBuf>,
    /// The arguments of a run of this program whose output is the last argument of the native line.
    pub source: Option<Vec<OsString>>,
}

impl FrontFiles {
    /// Makes the directories, once the native command line has been accepted.
    pub fn prepare(&self) -> Result<()> {
        for directory in &self.directories {
            std::fs::create_dir_all(directory).map_err(|error| {
                Error::io(format!("the directory {} cannot be made", directory.display()), &error)
            })?;
        }
        Ok(())
    }

    /// Gives the index the name that the tool gives it.
    pub fn finish(&self) -> Result<()> {
        let existing = self.renamed.as_ref().filter(|(from, _)| from.exists());
        let Some((from, to)) = existing else { return Ok(()) };
        std::fs::rename(from, to).map_err(|error| {
            Error::io(format!("{} cannot be called {}", from.display(), to.display()), &error)
        })
    }
}

impl Tool {
    /// What a command line becomes: the words behind the tool's name.
    pub fn front(&self, mut words: Vec<String>) -> Result<Front> {
        let asked = words.iter().position(|word| word == EXPLAIN);
        if let Some(at) = asked {
            words.remove(at);
        }
        let typed = words.iter().fold(self.name.to_string(), |line, word| line + " " + &quoted(word));
        let before = (self.before)(&mut words)?;
        let Some(name) = words.first().cloned() else { return Ok(Front::Answer(self.help())) };
        if ["--version", "-v", "version"].contains(&name.as_str()) {
            return Ok(Front::Answer(self.version_text()));
        }
        if ["--help", "-h", "help", "--list"].contains(&name.as_str()) {
            let named = words.get(1).filter(|word| !word.starts_with('-'));
            return match named {
                Some(named) => self.front(vec![named.clone(), "--help".into()]),
                None => Ok(Front::Answer(self.help())),
            };
        }
        let words = words.split_off(1);
        let asks_help = words.iter().any(|word| word == "--help") || words == ["-h"] || words == ["-?"];
        let Some(command) = self.find(&name) else {
            return match self.elsewhere(&name).filter(|_| asks_help) {
                Some(other) => {
                    Ok(Front::Answer(format!("{}: {}\n", self.not_taken(&name, other), other.hint())))
                }
                None => Err(self.unknown(&name)),
            };
        };
        if asks_help {
            return Ok(Front::Answer(command.help(self.name)));
        }
        let has_version = matches!(command.grammar, Grammar::Barclay { .. });
        if has_version && words.iter().any(|word| word == "--version") {
            return Ok(Front::Answer(self.version_text()));
        }
        let line = command.line(self.name, words, &before)?;
        let is_asked = asked.is_some() || std::env::var_os(EXPLAIN_VARIABLE).is_some_and(|it| it != "0");
        if is_asked {
            log(&format!("readmill: {typed}"));
            log(&format!("readmill: is: {}", line.shown()));
        }
        let words = std::iter::once("readmill".to_string()).chain(line.words);
        let source = line.source.map(|source| source.words.into_iter().map(OsString::from).collect());
        let files = FrontFiles { renamed: line.renamed, directories: line.directories, source };
        Ok(Front::Native(words.map(OsString::from).collect(), files))
    }

    fn version_text(&self) -> String {
        let own = env!("CARGO_PKG_VERSION");
        format!("readmill {own} (in place of {} {})\n", self.name, self.version)
    }

    /// The subcommands, one a line.
    fn help(&self) -> String {
        let row = |command: &Command| match command.make {
            Make::Line(_) => format!("  {}\n", command.name),
            Make::Refused(_, way) => format!("  {}: not supported; {way}\n", command.name),
        };
        let others =
            self.also.iter().filter(|also| !self.commands.iter().any(|own| own.name == also.name));
        let rows: String = self.commands.iter().chain(others).map(row).collect();
        let native: String = self.natively().map(|(name, line)| format!("  {name}: {line}\n")).collect();
        let native = match native.is_empty() {
            true => native,
            false => format!(
                "Other commands of {} are not taken; native lines do the same:\n{native}\n",
                self.name
            ),
        };
        format!(
            "readmill {name} COMMAND …: command lines of {name} {}, done by readmill\n\n{rows}\n{native}\
             readmill {name} COMMAND --help lists the options; {EXPLAIN} says what a line becomes.\n",
            self.version,
            name = self.name,
        )
    }

    /// Returns the command of this name, if its command lines are taken.
    pub fn find(&self, name: &str) -> Option<&'static Command> {
        self.commands.iter().chain(self.also).find(|command| command.name == name)
    }

    /// Returns what does the same as a command that has no front.
    fn elsewhere(&self, name: &str) -> Option<Answer> {
        self.owners().find_map(|tool| elsewhere::find(tool, name))
    }

    /// The tools whose commands it has: its own name, and that of the tool which it runs, too.
    fn owners(&self) -> impl Iterator<Item = &'static str> {
        let also = (!self.also.is_empty()).then_some("picard");
        let own = if self.name == "bwa-mem2" { "bwa" } else { self.name };
        std::iter::once(own).chain(also)
    }

    /// Commands that have no front, each with the native line that does the same.
    fn natively(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let owners: Vec<&str> = self.owners().collect();
        let rows = elsewhere::TABLE.iter().filter(move |row| owners.contains(&row.tool));
        rows.flat_map(|row| {
            let line = match row.answer {
                Answer::Line(line, _) => Some(line),
                Answer::Nothing(_) => None,
            };
            row.names.iter().filter_map(move |name| Some((*name, line?)))
        })
    }

    fn not_taken(&self, name: &str, other: Answer) -> String {
        match other {
            Answer::Line(..) => format!("{} {name} is not taken as it is", self.name),
            Answer::Nothing(_) => format!("{} {name} is not supported", self.name),
        }
    }

    fn unknown(&self, name: &str) -> Error {
        if let Some(other) = self.elsewhere(name) {
            return Error::usage(self.not_taken(name, other)).hint(other.hint());
        }
        let taken = self.commands.iter().filter(|it| matches!(it.make, Make::Line(_)));
        let names: Vec<&str> = taken.map(|command| command.name).collect();
        Error::usage(format!("{} {name} is not supported", self.name)).hint(format!(
            "of {tool}, readmill takes {}; for the rest run {tool} itself",
            names.join(", "),
            tool = self.name,
        ))
    }
}

impl Command {
    /// The native line of these words.
    pub fn line(&self, tool: &str, words: Vec<String>, before: &Before) -> Result<Line> {
        let name = format!("{tool} {}", self.name);
        let make = match self.make {
            Make::Line(make) => make,
            Make::Refused(why, way) => {
                return Err(Error::usage(format!("{name} is not supported: {why}")).hint(way));
            }
        };
        let memory = match before.memory {
            Some(bytes) => bytes,
            None => environment_memory()?.unwrap_or_else(limit::default_limit),
        };
        let given = Given::parse(&name, self.grammar, self.options, words, memory)?;
        let mut line = make(&given)?;
        if let Some(level) = &before.level
            && !given.has("--COMPRESSION_LEVEL")
            && let Some(at) = line.words.iter().position(|word| word == "-l")
            && let Some(value) = line.words.get_mut(at + 1)
        {
            value.clone_from(level);
        }
        if let Some(source) = &mut line.source {
            source.insert_memory(memory / 2);
            line.insert_memory(memory / 2);
        } else if let Some(bytes) = before.memory {
            line.insert_memory(bytes);
        }
        Ok(line)
    }

    /// The options and what becomes of them, one a line.
    fn help(&self, tool: &str) -> String {
        let mut text =
            format!("{tool} {}, done by readmill. Each option, and what becomes of it:\n\n", self.name);
        if let Make::Refused(why, way) = self.make {
            text += &format!("It is not supported: {why}\n{way}\n");
            return text;
        }
        for option in self.options.iter().flat_map(|group| group.iter()) {
            text += &format!("  {}: {}\n", option.names.replace(' ', ", "), option.becomes());
        }
        text
    }
}

impl Opt {
    /// What becomes of it, in words.
    pub fn becomes(&self) -> String {
        let way = |way: &str| if way.is_empty() { String::new() } else { format!("; {way}") };
        match self.does {
            Does::Words(words) => words.to_string(),
            Does::WordsIfFalse(words) => format!("{words} if false"),
            Does::Built(how) => how.to_string(),
            Does::Harmless(why) => format!("changes no result: {why}"),
            Does::Only(values, what, instead) => {
                format!("{} alone: else it {what}{}", values.join(", "), way(instead))
            }
            Does::Refused(what, instead) => format!("refused: it {what}{}", way(instead)),
        }
    }
}

impl Line {
    /// As it may be typed.
    pub fn shown(&self) -> String {
        let line =
            self.words.iter().fold("readmill".to_string(), |line, word| line + " " + &quoted(word));
        let line = match &self.source {
            Some(source) => format!("{} | {line}", source.shown()),
            None => line,
        };
        let made = self.directories.iter().filter(|directory| !directory.exists());
        let line = made.fold(line, |line, directory| {
            format!("mkdir -p {} && {line}", quoted(&directory.to_string_lossy()))
        });
        match &self.renamed {
            Some((from, to)) => {
                let [from, to] = [from, to].map(|path| quoted(&path.to_string_lossy()));
                format!("{line} && mv {from} {to}")
            }
            None => line,
        }
    }
}
