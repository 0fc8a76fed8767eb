//! The command lines that are fuzzed: from `./dev bytes`, and from `lines.txt`.

use anyhow::{Context, Result};
use readmill_bytes::lines;

const LINES: &str = include_str!("lines.txt");

#[derive(Clone, Debug)]
pub struct Line {
    pub text: String,
    pub before: Vec<Vec<String>>,
    pub words: Vec<String>,
    pub stdin: Option<String>,
    pub exit_code: i32,
}

/// Returns all command lines that read at least one input. If a line joins programs with pipes,
/// only the first program is fuzzed. minibwa lines are skipped.
pub fn load_lines() -> Result<Vec<Line>> {
    let own = lines::parse_lines(LINES).context("tools/cli-fuzz/src/lines.txt")?;
    let mut all = Vec::new();
    for line in lines::load_lines()?.into_iter().chain(own) {
        let words = line.stages.first().map(|stage| stage.words.clone()).unwrap_or_default();
        if !words.iter().any(|word| word.contains("in/")) && line.stdin.is_none()
            || line.text.contains("minibwa")
        {
            continue;
        }
        let mut commands: Vec<Vec<String>> = words.split(|word| word == ";").map(adapt_words).collect();
        let words = commands.pop().unwrap_or_default();
        all.push(Line {
            text: line.text,
            before: commands,
            words,
            stdin: line.stdin,
            exit_code: line.code,
        });
    }
    Ok(all)
}

/// Removes thread and memory options, because the fuzzer sets both by environment variables, and
/// moves positions into the tiny genome.
fn adapt_words(words: &[String]) -> Vec<String> {
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
        let lines = load_lines().unwrap();
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
