//! Runs command lines of other tools both with the tool and with readmill's front for it, and
//! compares the results: the set of files, records, reports, FASTQ, and the exit status.

mod alignments;
mod groups;
mod inputs;
mod written;

use std::fs::File;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use readmill_peers::{Peers, Tool};

use crate::commands::SampleDir;
use crate::ledger::{FULL_RUN, Ledger};

/// The command lines of `lines.txt`, one per line. The prefix `* ` marks lines of quick runs, `! `
/// lines that fail in both programs, and `- ` lines that the front refuses.
const LINES: &str = include_str!("lines.txt");

const JAVA: &str = "-Xmx2g -XX:+UseSerialGC -XX:TieredStopAtLevel=1";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Same,
    Failure,
    /// The front refuses the line and names an alternative.
    Refusal,
}

struct ForeignLine {
    text: &'static str,
    expected: Expected,
    is_quick: bool,
    words: Vec<String>,
}

impl ForeignLine {
    fn parse(line: &'static str) -> Option<Self> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        let (is_quick, line) = line.strip_prefix("* ").map_or((false, line), |rest| (true, rest));
        let (expected, text) = match line.split_once(' ') {
            Some(("!", rest)) => (Expected::Failure, rest),
            Some(("-", rest)) => (Expected::Refusal, rest),
            _ => (Expected::Same, line),
        };
        Some(ForeignLine { text, expected, is_quick, words: split_words(text) })
    }

    fn tool(&self) -> &str {
        &self.words[0]
    }
}

fn split_words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (' ', None) => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

struct OtherTools {
    gatk: Tool,
    bwa: Tool,
    /// elPrep and bwa-mem2, used only by full runs.
    full: Option<(Tool, Tool)>,
}

/// Compares all command lines. A quick run includes the marked ones, the refusals, and the failures
/// that do not need Java.
pub fn compare_fronts(
    dir: &SampleDir<'_>,
    peers: &Peers,
    pairs: u64,
    full: bool,
    ledger: &mut Ledger,
) -> Result<()> {
    ledger.print_heading("fronts", "command lines of other tools");
    inputs::write_inputs(dir, peers, pairs)?;
    let full_tools = if full { Some((peers.elprep()?, peers.bwa_mem2()?)) } else { None };
    let others = OtherTools { gatk: peers.gatk()?, bwa: peers.bwa()?, full: full_tools };
    if let Some((_, bwa_mem2)) = &others.full {
        dir.run_peer(bwa_mem2, "index genome.fa")?;
    } else {
        ledger.record_skipped("fronts: elPrep, bwa-mem2, and most lines of Java", FULL_RUN);
    }
    for line in LINES.lines().filter_map(ForeignLine::parse) {
        if !full && line.expected == Expected::Same && !line.is_quick {
            continue;
        }
        if !full && line.expected == Expected::Failure && !["samtools", "bwa"].contains(&line.tool()) {
            continue;
        }
        ledger.check(&format!("front: {}", line.text), || line.compare_with_tool(dir, &others));
    }
    Ok(())
}

impl ForeignLine {
    fn compare_with_tool(&self, dir: &SampleDir<'_>, others: &OtherTools) -> Result<String> {
        let ours = self.run_line(&dir.make_empty_subdirectory("ours")?, None)?;
        if self.expected == Expected::Refusal {
            ensure!(ours.code == Some(1), "ended with {:?}: {}", ours.code, ours.said);
            let hint = ours.said.lines().rev().find_map(|line| line.split_once("; "));
            return Ok(hint.context("no way is named")?.1.to_owned());
        }
        let theirs = self.run_line(&dir.make_empty_subdirectory("theirs")?, Some(others))?;
        match (self.expected, ours.is_success(), theirs.is_success()) {
            (Expected::Failure, false, false) => Ok("both fail".to_owned()),
            (Expected::Same, true, true) => written::compare_directories(dir, self.text, self.tool()),
            _ => bail!(
                "readmill ended with {:?}, the tool with {:?}: {} {}",
                ours.code,
                theirs.code,
                last_line(&ours.said),
                last_line(&theirs.said)
            ),
        }
    }

    /// Runs the command line in an empty directory, with the tool itself if `tools` is given,
    /// otherwise with the front. `< FILE` and `> FILE` become standard input and output.
    fn run_line(&self, dir: &SampleDir<'_>, tools: Option<&OtherTools>) -> Result<ExitReport> {
        let mut words = self.words.clone();
        let mut redirected = |mark: &str| {
            let at = words.iter().position(|word| word == mark)?;
            words.remove(at);
            Some(words.remove(at))
        };
        let (from, to) = (redirected("<"), redirected(">"));
        let mut command = match tools {
            None => {
                let mut command = dir.readmill_command("");
                command.args(&words);
                command
            }
            Some(tools) => tools.tool_command(dir, &words)?,
        };
        command.stdin(match from {
            Some(name) => Stdio::from(File::open(dir.path(&name))?),
            None => Stdio::null(),
        });
        command.stdout(File::create(dir.path(to.as_deref().unwrap_or(written::STDOUT)))?);
        let output = command.stderr(Stdio::piped()).spawn()?.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(ExitReport { code: output.status.code(), said })
    }
}

struct ExitReport {
    code: Option<i32>,
    said: String,
}

impl ExitReport {
    fn is_success(&self) -> bool {
        self.code == Some(0)
    }
}

fn last_line(said: &str) -> &str {
    said.trim_end().lines().last().unwrap_or_default()
}

impl OtherTools {
    /// Returns the command of the tool named by the first word. Options for a Java launcher are
    /// removed, because the JVM is started directly.
    fn tool_command(&self, dir: &SampleDir<'_>, words: &[String]) -> Result<Command> {
        let (tool, words) = words.split_first().context("no tool")?;
        let mut words = words.to_vec();
        if let Some(at) = words.iter().position(|word| word == "--java-options") {
            words.drain(at..at + 2);
        }
        words.retain(|word| !word.starts_with("-Xmx"));
        let full = || self.full.as_ref().context("a tool of full runs");
        let mut command = match tool.as_str() {
            "samtools" => dir.samtools_1_24_command(""),
            "picard" => dir.picard_command(""),
            "gatk" => dir.peer_command(&self.gatk, ""),
            "bwa" => dir.peer_command(&self.bwa, ""),
            "elprep" => dir.peer_command(&full()?.0, ""),
            "bwa-mem2" => dir.peer_command(&full()?.1, ""),
            _ => bail!("no tool {tool}"),
        };
        command.args(words).env("JAVA_TOOL_OPTIONS", JAVA);
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_eighty_lines_and_more_that_are_compared() {
        let lines: Vec<ForeignLine> = LINES.lines().filter_map(ForeignLine::parse).collect();
        let compared = lines.iter().filter(|line| line.expected != Expected::Refusal).count();
        assert!(compared >= 80, "{compared}");
    }

    #[test]
    fn words_are_split_as_a_shell_does() {
        assert_eq!(split_words(r#"a "b c" d'e f' """#), ["a", "b c", "de f", ""]);
    }
}
