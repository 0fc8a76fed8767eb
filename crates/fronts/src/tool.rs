//! A tool and its subcommands: how a command line is translated, and the help text.

use std::ffi::OsString;
use std::path::PathBuf;

use readmill_process::console::write_log_line;
use readmill_process::limit;
use readmill_process::memory_size::read_environment_memory;
use readmill_record::{Error, Result};

use super::elsewhere::{self, Alternative};
use super::grammar::{Does, Grammar, Opt, ParsedArguments};
use super::line::{NativeLine, quote_for_shell};

pub struct Tool {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub version: &'static str,
    pub commands: &'static [ToolCommand],
    /// Commands of another tool that this tool also has: GATK includes all of Picard.
    pub also: &'static [ToolCommand],
    /// Removes and parses the arguments before the subcommand, such as `-Xmx4g`.
    pub parse_before: fn(&mut Vec<String>) -> Result<LeadingArguments>,
}

#[derive(Default)]
pub struct LeadingArguments {
    pub memory: Option<u64>,
    /// The compression level of BAM files that the tool's launcher sets.
    pub level: Option<String>,
}

pub struct ToolCommand {
    pub name: &'static str,
    pub grammar: Grammar,
    /// The options, in groups that several commands may share.
    pub options: &'static [&'static [Opt]],
    pub make: Translation,
}

pub enum Translation {
    Line(fn(&ParsedArguments) -> Result<NativeLine>),
    Refused(&'static str, &'static str),
}

/// An additional option of all fronts, which prints the native line.
const EXPLAIN_FLAG: &str = "--explain";

const EXPLAIN_VARIABLE: &str = "READMILL_EXPLAIN";

pub enum TranslatedLine {
    Native(Vec<OsString>, FrontFiles),
    Answer(String),
}

/// What must be done besides running the native command line, so that the files are those of the
/// tool.
#[derive(Default)]
pub struct FrontFiles {
    pub renamed: Option<(PathBuf, PathBuf)>,
    pub directories: Vec<PathBuf>,
    /// Arguments of a second process of this program, whose output is the input of the first one.
    /// It replaces the last argument of the native line.
    pub source: Option<Vec<OsString>>,
}

impl FrontFiles {
    /// Creates the directories for temporary files. Called after the native command line has been
    /// accepted, so that a refused command creates nothing.
    pub fn create_directories(&self) -> Result<()> {
        for directory in &self.directories {
            std::fs::create_dir_all(directory).map_err(|error| {
                Error::io(format!("the directory {} cannot be created", directory.display()), &error)
            })?;
        }
        Ok(())
    }

    /// Renames the index to the tool's name for it, such as `out.bai` instead of `out.bam.bai`.
    /// Does nothing if no index was written.
    pub fn rename_index(&self) -> Result<()> {
        let existing = self.renamed.as_ref().filter(|(from, _)| from.exists());
        let Some((from, to)) = existing else { return Ok(()) };
        std::fs::rename(from, to).map_err(|error| {
            Error::io(format!("{} cannot be renamed to {}", from.display(), to.display()), &error)
        })
    }
}

impl Tool {
    /// Translates a command line, which is given without the name of the tool. Also answers
    /// requests for help and the version.
    pub fn translate(&self, mut words: Vec<String>) -> Result<TranslatedLine> {
        let asked = words.iter().position(|word| word == EXPLAIN_FLAG);
        if let Some(at) = asked {
            words.remove(at);
        }
        let typed =
            words.iter().fold(self.name.to_string(), |line, word| line + " " + &quote_for_shell(word));
        let before = (self.parse_before)(&mut words)?;
        let Some(name) = words.first().cloned() else {
            return Ok(TranslatedLine::Answer(self.help_text()));
        };
        if ["--version", "-v", "version"].contains(&name.as_str()) {
            return Ok(TranslatedLine::Answer(self.version_text()));
        }
        if ["--help", "-h", "help", "--list"].contains(&name.as_str()) {
            let named = words.get(1).filter(|word| !word.starts_with('-'));
            return match named {
                Some(named) => self.translate(vec![named.clone(), "--help".into()]),
                None => Ok(TranslatedLine::Answer(self.help_text())),
            };
        }
        let words = words.split_off(1);
        let command = self.find_command(&name);
        let asks_help = words.iter().any(|word| word == "--help")
            || words == ["-h"] && !command.is_some_and(ToolCommand::has_own_h)
            || words == ["-?"];
        let Some(command) = command else {
            return match self.find_alternative(&name).filter(|_| asks_help) {
                Some(other) => Ok(TranslatedLine::Answer(format!(
                    "{}: {}\n",
                    self.describe_refusal(&name, other),
                    other.hint()
                ))),
                None => Err(self.unknown_command_error(&name)),
            };
        };
        if asks_help {
            return Ok(TranslatedLine::Answer(command.help_text(self.name)));
        }
        let has_version = matches!(command.grammar, Grammar::Barclay { .. });
        if has_version && words.iter().any(|word| word == "--version") {
            return Ok(TranslatedLine::Answer(self.version_text()));
        }
        let line = command.translate(self.name, words, &before)?;
        let is_asked = asked.is_some() || std::env::var_os(EXPLAIN_VARIABLE).is_some_and(|it| it != "0");
        if is_asked {
            write_log_line(&format!("readmill: {typed}"));
            write_log_line(&format!("readmill: runs as: {}", line.to_shell_line()));
        }
        let words = std::iter::once("readmill".to_string()).chain(line.words);
        let source = line.source.map(|source| source.words.into_iter().map(OsString::from).collect());
        let files = FrontFiles { renamed: line.renamed, directories: line.directories, source };
        Ok(TranslatedLine::Native(words.map(OsString::from).collect(), files))
    }

    fn version_text(&self) -> String {
        let own = env!("CARGO_PKG_VERSION");
        format!("readmill {own} (instead of {} {})\n", self.name, self.version)
    }

    fn help_text(&self) -> String {
        let row = |command: &ToolCommand| match command.make {
            Translation::Line(_) => format!("  {}\n", command.name),
            Translation::Refused(_, way) => format!("  {}: not supported; {way}\n", command.name),
        };
        let others =
            self.also.iter().filter(|also| !self.commands.iter().any(|own| own.name == also.name));
        let rows: String = self.commands.iter().chain(others).map(row).collect();
        let native: String =
            self.native_alternatives().map(|(name, line)| format!("  {name}: {line}\n")).collect();
        let native = match native.is_empty() {
            true => native,
            false => format!(
                "Other commands of {} are not supported; use these commands instead:\n{native}\n",
                self.name
            ),
        };
        format!(
            "readmill {name} COMMAND …: runs command lines of {name} {} with readmill\n\n{rows}\n{native}\
             readmill {name} COMMAND --help lists the options; {EXPLAIN_FLAG} prints the native command line.\n",
            self.version,
            name = self.name,
        )
    }

    pub fn find_command(&self, name: &str) -> Option<&'static ToolCommand> {
        self.commands.iter().chain(self.also).find(|command| command.name == name)
    }

    fn find_alternative(&self, name: &str) -> Option<Alternative> {
        self.tool_names().find_map(|tool| elsewhere::find_alternative(tool, name))
    }

    /// Returns the tool names under which the table of untranslated commands lists commands of this
    /// tool. GATK also has the commands of Picard.
    fn tool_names(&self) -> impl Iterator<Item = &'static str> {
        let also = (!self.also.is_empty()).then_some("picard");
        let own = if self.name == "bwa-mem2" { "bwa" } else { self.name };
        std::iter::once(own).chain(also)
    }

    /// Returns the untranslated commands for which there is an equivalent native line.
    fn native_alternatives(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let owners: Vec<&str> = self.tool_names().collect();
        let rows = elsewhere::UNTRANSLATED.iter().filter(move |row| owners.contains(&row.tool));
        rows.flat_map(|row| {
            let line = match row.answer {
                Alternative::Line(line, _) => Some(line),
                Alternative::Nothing(_) => None,
            };
            row.names.iter().filter_map(move |name| Some((*name, line?)))
        })
    }

    fn describe_refusal(&self, name: &str, other: Alternative) -> String {
        match other {
            Alternative::Line(..) => format!("{} {name} cannot be translated", self.name),
            Alternative::Nothing(_) => format!("{} {name} is not supported", self.name),
        }
    }

    fn unknown_command_error(&self, name: &str) -> Error {
        if let Some(other) = self.find_alternative(name) {
            return Error::usage(self.describe_refusal(name, other)).hint(other.hint());
        }
        let taken = self.commands.iter().filter(|it| matches!(it.make, Translation::Line(_)));
        let names: Vec<&str> = taken.map(|command| command.name).collect();
        Error::usage(format!("{} {name} is not supported", self.name)).hint(format!(
            "of {tool}, readmill supports {}; for other commands, run {tool}",
            names.join(", "),
            tool = self.name,
        ))
    }
}

impl ToolCommand {
    /// Translates the arguments of this command to the native line. `before` contains the values
    /// given before the subcommand.
    pub fn translate(
        &self,
        tool: &str,
        words: Vec<String>,
        before: &LeadingArguments,
    ) -> Result<NativeLine> {
        let name = format!("{tool} {}", self.name);
        let make = match self.make {
            Translation::Line(make) => make,
            Translation::Refused(why, way) => {
                return Err(Error::usage(format!("{name} is not supported: {why}")).hint(way));
            }
        };
        let memory = match before.memory {
            Some(bytes) => bytes,
            None => read_environment_memory()?.unwrap_or_else(limit::default_limit),
        };
        let given = ParsedArguments::parse(&name, self.grammar, self.options, words, memory)?;
        let mut line = make(&given)?;
        if let Some(level) = &before.level
            && !given.is_set("--COMPRESSION_LEVEL")
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

    /// Returns whether `-h` of this command is an option other than help, such as the header in
    /// samtools view.
    fn has_own_h(&self) -> bool {
        let mut options = self.options.iter().flat_map(|group| group.iter());
        options.any(|option| option.has_name("-h") && !option.has_name("--help"))
    }

    fn help_text(&self, tool: &str) -> String {
        let mut text =
            format!("{tool} {}, run by readmill. Options and their translation:\n\n", self.name);
        if let Translation::Refused(why, way) = self.make {
            text += &format!("Not supported: {why}\n{way}\n");
            return text;
        }
        for option in self.options.iter().flat_map(|group| group.iter()) {
            text +=
                &format!("  {}: {}\n", option.names.replace(' ', ", "), option.describe_translation());
        }
        text
    }
}

impl Opt {
    /// Describes the translation of the option in words, for the help and docs/fronts.md.
    pub fn describe_translation(&self) -> String {
        let way = |way: &str| if way.is_empty() { String::new() } else { format!("; {way}") };
        match self.does {
            Does::Words(words) => words.to_string(),
            Does::WordsIfFalse(words) => format!("{words}, if false"),
            Does::Built(how) => how.to_string(),
            Does::Harmless(why) => format!("ignored: {why}"),
            Does::Only(values, what, instead) => {
                format!(
                    "only {}; other values are refused: it {what}{}",
                    values.join(", "),
                    way(instead)
                )
            }
            Does::Refused(what, instead) => format!("refused: it {what}{}", way(instead)),
        }
    }
}
