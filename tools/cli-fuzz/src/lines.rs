//! The command lines that are fuzzed.

use anyhow::{Context, Result};
use readmill_bytes::lines;

/// The file of further command lines.
const LINES: &str = include_str!("lines.txt");

/// A command line, and what has to be run before it.
#[derive(Clone, Debug)]
pub struct Line {
    /// The line as the file has it.
    pub text: String,
    /// Commands that are run on sound inputs.
    pub before: Vec<Vec<String>>,
    /// The words of the command that is fuzzed.
    pub words: Vec<String>,
    /// The file that standard input is read from.
    pub stdin: Option<String>,
    /// The exit code with sound inputs.
    pub code: i32,
}

/// Returns the lines of `./dev bytes` and those of this tool; of those that join programs by pipes, the first program.
pub fn all() -> Result<Vec<Line>> {
    let own = lines::parse_lines(LINES).context("tools/cli-fuzz/src/lines.txt")?;
    let mut all = Vec::new();
    for line in lines::all()?.into_iter().chain(own) {
        let words = line.stages.first().map(|stage| stage.words.clone()).unwrap_or_default();
        if !words.iter().any(|word| word.contains("in/")) && line.stdin.is_none()
            || line.text.contains("minibwa")
        {
            continue;
        }
        let mut commands: Vec<Vec<String>> = words.split(|word| word == ";").map(adapt).collect();
        let words = commands.pop().unwrap_or_default();
        all.push(Line { text: line.text, before: commands, words, stdin: line.stdin, code: line.code });
    }
    Ok(all)
}

/// Leaves out threads and memory, which are given by the environment, and moves places into the tiny genome.
fn adapt(words: &[String]) -> Vec<String> {
    let mut adapted = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if ["-@", "--memory"].contains(&word.as_str()) {
            words.next();
        } else {
            adapted.push(word.replace("1000-500000", "10-5000"));
        }
    }
    adapted
}

impl Line {
    /// Names of the inputs in all its words.
    pub fn inputs(&self) -> Vec<&str> {
        let words = self.before.iter().flatten().chain(&self.words).chain(&self.stdin);
        let mut names: Vec<&str> = words
            .flat_map(|word| word.split([',', '=', ':', ' ']))
            .filter_map(|part| part.strip_prefix("in/"))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The command, for tables.
    pub fn command(&self) -> String {
        let is_pair = ["bqsr", "shard", "fingerprint", "samtools", "picard", "gatk", "elprep", "bwa"];
        let count = if is_pair.contains(&self.words[0].as_str()) { 2 } else { 1 };
        self.words[..count.min(self.words.len())].join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        let lines = all().unwrap();
        assert!(lines.len() > 200, "{}", lines.len());
        let stages = lines.iter().find(|line| line.text.starts_with("shard plan")).unwrap();
        assert_eq!((stages.before.len(), stages.command().as_str()), (4, "shard run"));
        assert_eq!(stages.inputs(), ["reads.bam"]);
        let depth = lines.iter().find(|line| line.text.starts_with("depth -H -@ 1")).unwrap();
        assert_eq!(depth.words, ["depth", "-H", "in/sorted.bam"]);
        let both = lines.iter().find(|line| line.text.starts_with("< in/both.fastq")).unwrap();
        assert_eq!(both.inputs(), ["both.fastq", "reference.fa"]);
    }
}
