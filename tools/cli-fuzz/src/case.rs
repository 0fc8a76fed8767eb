//! One case: a command line, and the inputs that are damaged for it. Both follow from the number of the case.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use readmill_simulate::Rng;

use crate::damage::{damage, words};
use crate::judge::{self, Finding};
use crate::lines::Line;
use crate::run::{Outcome, Run, fresh_directory};
use crate::seeds::Seeds;

/// The directory of stages, which lines of jobs in stages name.
const STAGES: &str = "stages";

/// Memory beyond the least, in MiB.
const SPARE_MEMORY: [u64; 3] = [0, 8, 64];

/// Directories that a job in stages keeps when it fails.
const KEPT: [&str; 2] = [STAGES, "work"];

/// A line that works with sound inputs, and what is known of it.
pub struct Target {
    /// The line.
    pub line: Line,
    /// The least memory that it accepts with two threads, in MiB.
    pub memory: u64,
    /// Outputs that differ from run to run: times are in them.
    pub changing: Vec<String>,
}

/// What a case did.
pub struct CaseResult {
    /// What was damaged.
    pub damaged: Vec<String>,
    /// The exit code with one thread.
    pub code: Option<i32>,
    /// The largest peak of memory, as a part of the limit.
    pub share: f64,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// The directory in which one thread runs its cases, one after the other.
pub struct Workplace<'a> {
    directory: PathBuf,
    program: &'a Path,
    seeds: &'a Seeds,
}

impl<'a> Workplace<'a> {
    /// A workplace in this directory.
    pub fn new(directory: PathBuf, program: &'a Path, seeds: &'a Seeds) -> Self {
        Self { directory, program, seeds }
    }

    fn scratch(&self) -> PathBuf {
        self.directory.join("scratch")
    }

    /// Runs a line on sound inputs with one and two threads. Returns why it cannot be fuzzed, if so.
    pub fn examine(&self, line: Line) -> Result<Result<Target, String>> {
        self.lay_out(&line, &BTreeMap::new())?;
        let mut memory = 1;
        for _ in 0..6 {
            let outcome = self.run(&line, 2, memory, &BTreeMap::new())?;
            match judge::wanted_memory(judge::first_error(&outcome)) {
                _ if outcome.code == Some(line.code) => break,
                // A line of several commands has a part of the memory for each.
                Some(wanted) if wanted > memory => memory = wanted,
                Some(_) => memory = judge::DEFAULT_MEMORY.min(2 * memory),
                None => break,
            }
        }
        if memory == 1 {
            memory = judge::DEFAULT_MEMORY;
        }
        let one = self.run(&line, 1, memory, &BTreeMap::new())?;
        let two = self.run(&line, 2, memory, &BTreeMap::new())?;
        if one.code != Some(line.code) || two.code != Some(line.code) {
            let said = two.stderr.lines().find(|line| line.contains("error: ")).unwrap_or("no message");
            return Ok(Err(format!("exit code {:?} with {memory}M: {said}", two.code)));
        }
        Ok(Ok(Target { changing: judge::changing_outputs(&one, &two), line, memory }))
    }

    /// Runs a case; its files stay until the next one.
    pub fn run_case(&self, number: u64, targets: &[Target]) -> Result<(usize, CaseResult)> {
        let mut rng = Rng::new(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x636c_6966_757a);
        let which = rng.index(targets.len());
        let target = &targets[which];
        let mut line = Cow::Borrowed(&target.line);
        let memory = target.memory + rng.pick(&SPARE_MEMORY);
        let mut damaged = BTreeMap::new();
        let in_stages = !line.before.is_empty();
        let mut stages = BTreeMap::new();
        if in_stages {
            self.lay_out(&line, &damaged)?;
            self.prepare(&line)?;
            self.damage_stages(&mut stages, &mut rng)?;
        } else {
            let of_words = rng.index(12);
            if of_words < 2 {
                line.to_mut().words = words::damage(&line.words, &mut rng);
            }
            if of_words != 0 {
                self.damage_inputs(&target.line, &mut damaged, &mut rng);
            }
            self.lay_out(&target.line, &damaged)?;
        }
        let line = &*line;
        let one = self.run(line, 1, memory, &stages)?;
        let two = self.run(line, 2, memory, &stages)?;
        let mut findings = judge::judge_run(&one, memory, &KEPT);
        for finding in judge::judge_run(&two, memory, &KEPT) {
            if !findings.iter().any(|found| found.kind == finding.kind) {
                findings.push(finding);
            }
        }
        if findings.is_empty() {
            // An output with times in it may have got another name.
            let renamed = line
                .words
                .iter()
                .filter(|word| !target.changing.is_empty() && !target.line.words.contains(word));
            let changing: Vec<String> = target.changing.iter().chain(renamed).cloned().collect();
            findings.extend(judge::compare_runs(&one, &two, &changing));
        }
        let peak = one.usage.peak.max(two.usage.peak);
        let mut names: Vec<String> = damaged.keys().chain(stages.keys()).cloned().collect();
        if line.words != target.line.words {
            names.push(format!("as {}", line.words.join(" ")));
        }
        let share = peak as f64 / (memory << 20) as f64;
        self.describe(line, memory, number, &findings, &[one.stderr, two.stderr])?;
        Ok((which, CaseResult { damaged: names, code: one.code, share, findings }))
    }

    /// Damages one or two of the inputs that a line names, or what is beside them.
    fn damage_inputs(&self, line: &Line, damaged: &mut BTreeMap<String, Vec<u8>>, rng: &mut Rng) {
        let inputs = line.inputs();
        for _ in 0..if rng.once_in(8) { 2 } else { 1 } {
            let named = inputs[rng.index(inputs.len())];
            let beside: Vec<&str> = self.seeds.named_by(named).collect();
            if beside.is_empty() {
                continue;
            }
            let name = if rng.once_in(3) { beside[rng.index(beside.len())] } else { beside[0] };
            let other = self.seeds.files.values().nth(rng.index(self.seeds.files.len()));
            let bytes =
                damage(name, &self.seeds.files[name], other.map_or(&[], |other| &other[..]), rng);
            damaged.insert(name.to_owned(), bytes);
        }
    }

    /// Damages one or two of the files of stages.
    fn damage_stages(&self, damaged: &mut BTreeMap<String, Vec<u8>>, rng: &mut Rng) -> Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.directory.join("prepared").join(STAGES))? {
            let path = entry?.path();
            if path.is_file() {
                files.push(path);
            }
        }
        files.sort();
        for _ in 0..if rng.once_in(8) { 2 } else { 1 } {
            let Some(path) = files.get(rng.index(files.len().max(1))) else { return Ok(()) };
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let bytes = damage(&name, &fs::read(path)?, b"", rng);
            damaged.insert(format!("{STAGES}/{name}"), bytes);
        }
        Ok(())
    }

    /// Makes the directory of inputs, sound and damaged. All are files of this case, since a command may write an index
    /// beside its input, or replace one.
    fn lay_out(&self, line: &Line, damaged: &BTreeMap<String, Vec<u8>>) -> Result<()> {
        let inputs = fresh_directory(&self.directory.join("in"))?;
        for name in line.inputs().iter().flat_map(|name| self.seeds.named_by(name)) {
            let place = inputs.join(name);
            fs::write(place, damaged.get(name).unwrap_or(&self.seeds.files[name]))?;
        }
        fresh_directory(&self.directory.join("prepared"))?;
        Ok(())
    }

    /// Runs what stands before a line on sound inputs, and keeps the files of the stages.
    fn prepare(&self, line: &Line) -> Result<()> {
        self.clear_scratch()?;
        for words in &line.before {
            let memory = judge::DEFAULT_MEMORY;
            let (program, directory) = (self.program, &self.scratch());
            let run = Run { program, words, stdin: None, directory, threads: 1, memory };
            let outcome = run.outcome()?;
            anyhow::ensure!(outcome.code == Some(0), "{}: {}", words.join(" "), outcome.stderr);
        }
        let kept = self.directory.join("prepared").join(STAGES);
        fs::rename(self.scratch().join(STAGES), kept).context("no files of stages")
    }

    fn clear_scratch(&self) -> Result<()> {
        fresh_directory(&self.scratch())?;
        Ok(symlink(self.directory.join("in"), self.scratch().join("in"))?)
    }

    /// Runs a line once, on files of stages that are damaged in this way.
    fn run(
        &self,
        line: &Line,
        threads: usize,
        memory: u64,
        stages: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Outcome> {
        let prepared = self.directory.join("prepared").join(STAGES);
        if !line.before.is_empty() && !prepared.exists() {
            self.prepare(line)?;
        }
        self.clear_scratch()?;
        if !line.before.is_empty() {
            fs::create_dir(self.scratch().join(STAGES))?;
            for entry in fs::read_dir(&prepared)? {
                let path = entry?.path();
                let place = self.scratch().join(STAGES).join(path.file_name().unwrap_or_default());
                if path.is_file() {
                    fs::copy(&path, place)?;
                }
            }
        }
        for (name, bytes) in stages {
            fs::write(self.scratch().join(name), bytes)?;
        }
        let (words, stdin) = (&line.words[..], line.stdin.as_deref());
        Run { program: self.program, words, stdin, directory: &self.scratch(), threads, memory }
            .outcome()
    }

    /// Writes what was run and what is wrong beside the files of a case with findings.
    fn describe(
        &self,
        line: &Line,
        memory: u64,
        number: u64,
        findings: &[Finding],
        said: &[String; 2],
    ) -> Result<()> {
        if findings.is_empty() {
            return Ok(());
        }
        let mut text = format!(
            "case {number}\nreadmill {}\nas {:?}\nin scratch/, with READMILL_MEMORY={memory}M and READMILL_THREADS=1, then 2\n",
            line.text, line.words
        );
        findings.iter().for_each(|finding| text += &format!("{}: {}\n", finding.kind, finding.detail));
        said.iter()
            .zip([1, 2])
            .for_each(|(said, threads)| text += &format!("\nthreads {threads}:\n{said}"));
        Ok(fs::write(self.directory.join("case.txt"), text)?)
    }

    /// Copies the files of the last case to another directory.
    pub fn keep(&self, place: &Path) -> Result<()> {
        fresh_directory(place)?;
        for name in ["in", "scratch", "prepared", "case.txt"] {
            copy(&self.directory.join(name), &place.join(name))?;
        }
        Ok(())
    }
}

/// Copies a file, or a directory with all below it. The link to the inputs stays a link, those to sound inputs become files.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_file() {
        fs::copy(from, to)?;
    } else if from.is_symlink() {
        symlink("../in", to)?;
    } else if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            if entry.file_name() == "in" && entry.file_type()?.is_symlink() {
                symlink("../in", to.join("in"))?;
            } else {
                copy(&entry.path(), &to.join(entry.file_name()))?;
            }
        }
    }
    Ok(())
}
