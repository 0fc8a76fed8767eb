//! The command lines of `lines.txt`.
//!
//! ```text
//! exits 2 < in.sam sort - -o out.bam | view out.bam
//! |       |        |                 |
//! |       |        |                 a second program, in a pipe
//! |       |        the words after readmill
//! |       the file for standard input
//! the expected exit code, 0 if not given
//! ```

use anyhow::{Context, Result, bail, ensure};

const LINES: &str = include_str!("lines.txt");

/// Commands without thread and memory options. They run once.
const WITHOUT_RESOURCES: [&str; 16] = [
    "index",
    "depth",
    "coverage",
    "bedcov",
    "compare",
    "report",
    "demo",
    "bqsr gather",
    "bqsr plot-data",
    "view",
    "faidx",
    "dict",
    "quickcheck",
    "head",
    "cat",
    "reheader",
];

/// A command line: one program, or several joined by pipes.
#[derive(Clone, Debug)]
pub struct CommandLine {
    /// The line as written in the file.
    pub text: String,
    pub code: i32,
    /// File for standard input, relative to the working directory.
    pub stdin: Option<String>,
    pub stages: Vec<Stage>,
}

#[derive(Clone, Debug)]
pub struct Stage {
    pub words: Vec<String>,
    pub takes_resources: bool,
}

impl CommandLine {
    pub fn takes_resources(&self) -> bool {
        self.stages.iter().any(|stage| stage.takes_resources)
    }

    /// Returns whether one of the programs runs this command, such as `sort` or `bqsr table`.
    #[cfg(test)]
    fn runs(&self, command: &str) -> bool {
        let wanted: Vec<&str> = command.split(' ').collect();
        self.stages.iter().any(|stage| wanted.iter().eq(stage.words.iter().take(wanted.len())))
    }
}

pub fn load_lines() -> Result<Vec<CommandLine>> {
    parse_lines(LINES).context("tools/bytes/src/lines.txt")
}

/// Parses command lines. Empty lines and lines starting with `#` are skipped.
pub fn parse_lines(text: &str) -> Result<Vec<CommandLine>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| parse_line(line).with_context(|| line.to_owned())).collect()
}

fn parse_line(text: &str) -> Result<CommandLine> {
    let mut words = split_words(text)?;
    let mut code = 0;
    if words.first().is_some_and(|word| word == "exits") {
        code = words.get(1).context("exits what?")?.parse()?;
        words.drain(..2);
    }
    let mut stdin = None;
    if words.first().is_some_and(|word| word == "<") {
        stdin = Some(words.get(1).context("< what?")?.clone());
        words.drain(..2);
    }
    let stages = words.split(|word| word == "|").map(|words| {
        let command: Vec<&str> = words.iter().take(2).map(String::as_str).collect();
        let Some(first) = command.first() else { bail!("no command between two pipes") };
        let takes_resources =
            !WITHOUT_RESOURCES.iter().any(|name| name == first || *name == command.join(" "));
        Ok(Stage { words: words.to_vec(), takes_resources })
    });
    Ok(CommandLine { text: text.to_owned(), code, stdin, stages: stages.collect::<Result<_>>()? })
}

/// Splits a line into words. Single quotes keep spaces within a word.
fn split_words(text: &str) -> Result<Vec<String>> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<String>, false);
    for c in text.chars() {
        match c {
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !is_quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    ensure!(!is_quoted, "a quote is open");
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn a_line_is_taken_apart() {
        let line = parse_line("exits 4 < in/a.bam sort -n - -o - | filter -e 'a b' -").unwrap();
        assert_eq!((line.code, line.stdin.as_deref()), (4, Some("in/a.bam")));
        let words: Vec<_> = line.stages.iter().map(|stage| stage.words.join("_")).collect();
        assert_eq!(words, ["sort_-n_-_-o_-", "filter_-e_a b_-"]);
        assert!(line.takes_resources());
        assert!(!parse_line("bqsr gather a").unwrap().takes_resources());
        assert!(parse_line("bqsr table a").unwrap().takes_resources());
        assert!(parse_line("sort 'a").is_err());
        assert!(parse_line("sort a | ").is_err());
    }

    #[test]
    fn there_are_enough_lines_and_none_stands_twice() {
        let lines = load_lines().unwrap();
        assert!(lines.len() >= 60, "{}", lines.len());
        let texts: BTreeSet<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts.len(), lines.len());
    }

    /// Lists the variants of a command enum in the program's source, in the spelling of the command
    /// line.
    fn commands(file: &str, head: &str) -> Vec<String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        let source = std::fs::read_to_string(root.join(file)).unwrap();
        let lines = source.lines().skip_while(|line| !line.ends_with(head)).skip(1);
        let lines = lines.take_while(|line| *line != "}").map(str::trim);
        let variants = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
        variants.map(|line| kebab(&line[..line.find(['(', '{', ',']).unwrap_or(line.len())])).collect()
    }

    /// Converts `PlotData` to `plot-data`.
    fn kebab(name: &str) -> String {
        let mut typed = String::new();
        for c in name.chars() {
            if c.is_ascii_uppercase() && !typed.is_empty() {
                typed.push('-');
            }
            typed.push(c.to_ascii_lowercase());
        }
        typed
    }

    /// samtools commands that the program rejects by name.
    const REJECTED_COMMANDS: [&str; 1] = ["addreplacerg"];

    /// Counts the lines that contain this word.
    fn lines_with(word: &str) -> usize {
        LINES.lines().filter(|line| line.split(' ').any(|own| own == word)).count()
    }

    #[test]
    fn every_command_of_the_program_has_a_line() {
        let mut names = commands("src/cli/mod.rs", "enum Command {");
        // The tally commands, which `readmill_stats::TALLIES` lists.
        assert!(names.contains(&"tally".into()), "{names:?}");
        // The stages of `shard` are tested with `--resume`, and its plan contains a hash of the
        // program.
        assert!(lines_with("--resume") > 1);
        // `cluster` is a Python program that runs those stages. `completions` and `man` write help,
        // whose words may change.
        names.retain(|name| !["tally", "shard", "cluster", "files", "manual"].contains(&name.as_str()));
        let mut small = commands("src/cli/files.rs", "enum FileCommand {");
        assert!(small.contains(&"dict".into()), "{small:?}");
        small.retain(|name| !REJECTED_COMMANDS.contains(&name.as_str()));
        names.extend(small);
        names.extend(commands("src/cli/depth.rs", "enum DepthCommand {"));
        names.extend(["flagstat", "idxstats", "stats"].map(String::from));
        assert!(names.contains(&"prep".into()) && names.len() > 14, "{names:?}");
        let below = commands("src/cli/bqsr.rs", "enum Bqsr {");
        assert!(below.contains(&"plot-data".into()) && below.len() > 3, "{below:?}");
        names.extend(below.into_iter().map(|name| format!("bqsr {name}")));
        let lines = load_lines().unwrap();
        let missing: Vec<_> =
            names.iter().filter(|name| !lines.iter().any(|line| line.runs(name))).collect();
        assert!(missing.is_empty(), "no line in tools/bytes/src/lines.txt runs {missing:?}");
    }
}
