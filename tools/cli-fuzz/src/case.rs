//! A case: a command line and its damaged inputs. Both are derived from the case number, so that a
//! case can be repeated.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use readmill_simulate::Rng;

use crate::damage::{damage_file, words};
use crate::judge::{self, Finding};
use crate::lines::Line;
use crate::run::{FuzzRun, RunOutcome, fresh_directory};
use crate::seeds::Seeds;

const STAGES: &str = "stages";

const SPARE_MEMORY_MIB: [u64; 3] = [0, 8, 64];

const KEPT_DIRECTORIES: [&str; 2] = [STAGES, "work"];

/// A command line that succeeds on undamaged inputs, with the findings of
/// [`Workplace::examine_line`].
pub struct Target {
    pub line: Line,
    /// Minimum memory that it accepts with two threads, in MiB.
    pub min_memory_mib: u64,
    /// Outputs that differ between runs because they contain times.
    pub changing_outputs: Vec<String>,
}

pub struct CaseResult {
    pub damaged: Vec<String>,
    pub code: Option<i32>,
    /// Peak memory as a fraction of the limit, the larger value of both runs.
    pub memory_share: f64,
    pub findings: Vec<Finding>,
}

/// The directory in which one thread runs its cases one after another. Each case replaces the files
/// of the previous one.
pub struct Workplace<'a> {
    directory: PathBuf,
    program: &'a Path,
    seeds: &'a Seeds,
}

impl<'a> Workplace<'a> {
    pub fn new(directory: PathBuf, program: &'a Path, seeds: &'a Seeds) -> Self {
        Self { directory, program, seeds }
    }

    fn scratch(&self) -> PathBuf {
        self.directory.join("scratch")
    }

    /// Runs a command line on undamaged inputs to determine its minimum memory and the outputs that
    /// change from run to run. If the line fails and so cannot be fuzzed, the reason is returned as
    /// the inner error.
    pub fn examine_line(&self, line: Line) -> Result<Result<Target, String>> {
        self.write_inputs(&line, &BTreeMap::new())?;
        let mut memory = 1;
        for _ in 0..6 {
            let outcome = self.run_line(&line, 2, memory, &BTreeMap::new())?;
            match judge::requested_memory_mib(judge::first_error(&outcome)) {
                _ if outcome.code == Some(line.exit_code) => break,
                // Each command of such a line gets a part of the memory, so the message states less
                // than the whole line needs.
                Some(wanted) if wanted > memory => memory = wanted,
                Some(_) => memory = judge::DEFAULT_MEMORY_MIB.min(2 * memory),
                None => break,
            }
        }
        if memory == 1 {
            memory = judge::DEFAULT_MEMORY_MIB;
        }
        let one = self.run_line(&line, 1, memory, &BTreeMap::new())?;
        let two = self.run_line(&line, 2, memory, &BTreeMap::new())?;
        if one.code != Some(line.exit_code) || two.code != Some(line.exit_code) {
            let said = two.stderr.lines().find(|line| line.contains("error: ")).unwrap_or("no message");
            return Ok(Err(format!("exit code {:?} with {memory}M: {said}", two.code)));
        }
        Ok(Ok(Target {
            changing_outputs: judge::changing_outputs(&one, &two),
            line,
            min_memory_mib: memory,
        }))
    }

    /// Runs case `number` with one and with two threads. Returns the index of its target and the
    /// result. The files remain until the next case, for [`Self::keep_files`].
    pub fn run_case(&self, number: u64, targets: &[Target]) -> Result<(usize, CaseResult)> {
        let mut rng = Rng::new(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x636c_6966_757a);
        let which = rng.index(targets.len());
        let target = &targets[which];
        let mut line = Cow::Borrowed(&target.line);
        let memory = target.min_memory_mib + rng.pick(&SPARE_MEMORY_MIB);
        let mut damaged = BTreeMap::new();
        let in_stages = !line.before.is_empty();
        let mut stages = BTreeMap::new();
        if in_stages {
            self.write_inputs(&line, &damaged)?;
            self.prepare_stages(&line)?;
            self.damage_stages(&mut stages, &mut rng)?;
        } else {
            let of_words = rng.index(12);
            if of_words < 2 {
                line.to_mut().words = words::damage_words(&line.words, &mut rng);
            }
            if of_words != 0 {
                self.damage_inputs(&target.line, &mut damaged, &mut rng);
            }
            self.write_inputs(&target.line, &damaged)?;
        }
        let line = &*line;
        let one = self.run_line(line, 1, memory, &stages)?;
        let two = self.run_line(line, 2, memory, &stages)?;
        let mut findings = judge::judge_run(&one, memory, &KEPT_DIRECTORIES);
        for finding in judge::judge_run(&two, memory, &KEPT_DIRECTORIES) {
            if !findings.iter().any(|found| found.kind == finding.kind) {
                findings.push(finding);
            }
        }
        if findings.is_empty() {
            // A damaged command line may have renamed an output that contains times.
            let renamed = line
                .words
                .iter()
                .filter(|word| !target.changing_outputs.is_empty() && !target.line.words.contains(word));
            let changing: Vec<String> = target.changing_outputs.iter().chain(renamed).cloned().collect();
            findings.extend(judge::compare_runs(&one, &two, &changing));
        }
        let peak = one.usage.peak.max(two.usage.peak);
        let mut names: Vec<String> = damaged.keys().chain(stages.keys()).cloned().collect();
        if line.words != target.line.words {
            names.push(format!("as {}", line.words.join(" ")));
        }
        let share = peak as f64 / (memory << 20) as f64;
        self.write_description(line, memory, number, &findings, &[one.stderr, two.stderr])?;
        Ok((which, CaseResult { damaged: names, code: one.code, memory_share: share, findings }))
    }

    /// Damages one or two of the inputs that a command line names, or files that belong to them,
    /// such as an index.
    fn damage_inputs(&self, line: &Line, damaged: &mut BTreeMap<String, Vec<u8>>, rng: &mut Rng) {
        let inputs = line.inputs();
        for _ in 0..if rng.is_once_in(8) { 2 } else { 1 } {
            let named = inputs[rng.index(inputs.len())];
            let beside: Vec<&str> = self.seeds.files_of(named).collect();
            if beside.is_empty() {
                continue;
            }
            let name = if rng.is_once_in(3) { beside[rng.index(beside.len())] } else { beside[0] };
            let other = self.seeds.files.values().nth(rng.index(self.seeds.files.len()));
            let bytes =
                damage_file(name, &self.seeds.files[name], other.map_or(&[], |other| &other[..]), rng);
            damaged.insert(name.to_owned(), bytes);
        }
    }

    fn damage_stages(&self, damaged: &mut BTreeMap<String, Vec<u8>>, rng: &mut Rng) -> Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.directory.join("prepared").join(STAGES))? {
            let path = entry?.path();
            if path.is_file() {
                files.push(path);
            }
        }
        files.sort();
        for _ in 0..if rng.is_once_in(8) { 2 } else { 1 } {
            let Some(path) = files.get(rng.index(files.len().max(1))) else { return Ok(()) };
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let bytes = damage_file(&name, &fs::read(path)?, b"", rng);
            damaged.insert(format!("{STAGES}/{name}"), bytes);
        }
        Ok(())
    }

    /// Writes the inputs of a line into `in/`, some of them damaged. Each case gets copies, because
    /// a command may write an index next to its input, or replace it.
    fn write_inputs(&self, line: &Line, damaged: &BTreeMap<String, Vec<u8>>) -> Result<()> {
        let inputs = fresh_directory(&self.directory.join("in"))?;
        for name in line.inputs().iter().flat_map(|name| self.seeds.files_of(name)) {
            let place = inputs.join(name);
            fs::write(place, damaged.get(name).unwrap_or(&self.seeds.files[name]))?;
        }
        fresh_directory(&self.directory.join("prepared"))?;
        Ok(())
    }

    /// Runs the preceding commands of a staged job on undamaged inputs, and keeps the stage
    /// files in `prepared/`.
    fn prepare_stages(&self, line: &Line) -> Result<()> {
        self.clear_scratch()?;
        for words in &line.before {
            let memory = judge::DEFAULT_MEMORY_MIB;
            let (program, directory) = (self.program, &self.scratch());
            let run = FuzzRun { program, words, stdin: None, directory, threads: 1, memory };
            let outcome = run.run()?;
            anyhow::ensure!(outcome.code == Some(0), "{}: {}", words.join(" "), outcome.stderr);
        }
        let kept = self.directory.join("prepared").join(STAGES);
        fs::rename(self.scratch().join(STAGES), kept).context("no files of stages")
    }

    fn clear_scratch(&self) -> Result<()> {
        fresh_directory(&self.scratch())?;
        Ok(symlink(self.directory.join("in"), self.scratch().join("in"))?)
    }

    /// Runs a line once in an empty directory. For a staged job, the prepared stage files are first
    /// copied there, and those in `stages` replace them.
    fn run_line(
        &self,
        line: &Line,
        threads: usize,
        memory: u64,
        stages: &BTreeMap<String, Vec<u8>>,
    ) -> Result<RunOutcome> {
        let prepared = self.directory.join("prepared").join(STAGES);
        if !line.before.is_empty() && !prepared.exists() {
            self.prepare_stages(line)?;
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
        FuzzRun { program: self.program, words, stdin, directory: &self.scratch(), threads, memory }
            .run()
    }

    /// Writes `case.txt`, which describes the command line and the findings. Without findings,
    /// writes nothing.
    fn write_description(
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

    pub fn keep_files(&self, place: &Path) -> Result<()> {
        fresh_directory(place)?;
        for name in ["in", "scratch", "prepared", "case.txt"] {
            copy_tree(&self.directory.join(name), &place.join(name))?;
        }
        Ok(())
    }
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
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
                copy_tree(&entry.path(), &to.join(entry.file_name()))?;
            }
        }
    }
    Ok(())
}
