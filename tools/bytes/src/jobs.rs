//! Runs command lines, each with one revision, a number of threads and an amount of memory.
#![allow(clippy::disallowed_methods, reason = "programs run in parallel")]

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use readmill_bytes::lines::{CommandLine, Stage};

use super::digest::hash_outputs;
use super::verdict::RunResult;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    pub threads: usize,
    /// Memory as passed to `-m`; `None` for the minimum that the program accepts.
    pub memory: Option<&'static str>,
}

/// All resources that a command line is run with. The first are the baseline for the others.
pub const RESOURCES: [Resources; 6] = [
    Resources { threads: 1, memory: Some("4G") },
    Resources { threads: 1, memory: None },
    Resources { threads: 2, memory: Some("4G") },
    Resources { threads: 2, memory: None },
    Resources { threads: 8, memory: Some("4G") },
    Resources { threads: 8, memory: None },
];

impl Resources {
    pub fn describe(self) -> String {
        format!("-@ {} -m {}", self.threads, self.memory.unwrap_or("least"))
    }
}

/// One run: the program of one revision, a command line, and its resources.
pub struct Job<'a> {
    pub program: &'a Path,
    pub line: &'a CommandLine,
    pub resources: Resources,
}

/// Runs all jobs below a directory, `at_once` at a time. Calls `done` with the index and the result
/// of each, on any thread.
pub fn run_all(
    jobs: &[Job<'_>],
    at_once: usize,
    below: &Path,
    inputs: &Path,
    done: impl Fn(usize, Result<RunResult>) + Sync,
) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for worker in 0..at_once {
            let (next, done) = (&next, &done);
            scope.spawn(move || {
                let place = WorkerDir { directory: below.join(worker.to_string()), inputs };
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(number) else { return };
                    let outcome = place.run_job(job).with_context(|| job.line.text.clone());
                    done(number, outcome);
                }
            });
        }
    });
}

/// The directory of one worker. File names are the same in every run, so that outputs do not depend
/// on paths.
struct WorkerDir<'a> {
    directory: PathBuf,
    inputs: &'a Path,
}

impl WorkerDir<'_> {
    fn scratch(&self) -> PathBuf {
        self.directory.join("scratch")
    }

    /// Empties the scratch directory and links the inputs into it.
    fn reset_scratch(&self) -> Result<()> {
        if self.directory.exists() {
            fs::remove_dir_all(&self.directory)?;
        }
        fs::create_dir_all(self.scratch())?;
        Ok(std::os::unix::fs::symlink(self.inputs, self.scratch().join("in"))?)
    }

    fn run_job(&self, job: &Job<'_>) -> Result<RunResult> {
        let memory = job.line.stages.iter().map(|stage| self.stage_memory(job, stage));
        let memory: Vec<String> = memory.collect::<Result<_>>()?;
        self.reset_scratch()?;
        let errors = File::create(self.directory.join("errors"))?;
        let (mut children, mut last): (Vec<Child>, Option<ChildStdout>) = (Vec::new(), None);
        for (stage, memory) in job.line.stages.iter().zip(&memory) {
            let input = match (last.take(), &job.line.stdin) {
                (Some(pipe), _) => Stdio::from(pipe),
                (None, Some(name)) => Stdio::from(File::open(self.scratch().join(name))?),
                (None, None) => Stdio::null(),
            };
            let mut command = self.stage_command(job, stage, memory);
            command.stdin(input).stdout(Stdio::piped()).stderr(errors.try_clone()?);
            let mut child = command.spawn().context("readmill does not start")?;
            last = child.stdout.take();
            children.push(child);
        }
        let mut stdout = Vec::new();
        last.context("no standard output")?.read_to_end(&mut stdout)?;
        let mut code = 0;
        for child in &mut children {
            // A program terminated by a signal has no exit code.
            let own = child.wait()?.code().unwrap_or(-1);
            code = if own == 0 { code } else { own };
        }
        let errors = fs::read_to_string(self.directory.join("errors"))?;
        let outputs = hash_outputs(&self.scratch(), &stdout)?;
        Ok(RunResult {
            code,
            is_unknown: code == 1 && is_unknown(&errors),
            said: error_line(&errors),
            outputs,
        })
    }

    fn stage_command(&self, job: &Job<'_>, stage: &Stage, memory: &str) -> Command {
        let mut command = Command::new(job.program);
        command.current_dir(self.scratch()).env_remove("TMPDIR").args(&stage.words);
        if stage.takes_resources {
            command.args(["-@", &job.resources.threads.to_string(), "-m", memory]);
        }
        command
    }

    /// Returns the memory for one program. The minimum is parsed from the program's error message
    /// when it gets too little.
    fn stage_memory(&self, job: &Job<'_>, stage: &Stage) -> Result<String> {
        if let Some(given) = job.resources.memory {
            return Ok(given.to_owned());
        }
        if !stage.takes_resources {
            return Ok(String::new());
        }
        self.reset_scratch()?;
        let refused = self.stage_command(job, stage, TOO_LITTLE_MEMORY).stdin(Stdio::null()).output()?;
        Ok(parse_min_memory(&String::from_utf8_lossy(&refused.stderr))
            .unwrap_or(TOO_LITTLE_MEMORY)
            .to_owned())
    }
}

const TOO_LITTLE_MEMORY: &str = "1M";

fn parse_min_memory(refusal: &str) -> Option<&str> {
    refusal.split("needs at least -m ").nth(1)?.split_whitespace().next()
}

/// Returns whether the messages report an unknown option or command.
fn is_unknown(errors: &str) -> bool {
    let unknown =
        ["error: unexpected argument", "error: unrecognized subcommand", "error: invalid value"];
    errors.lines().any(|line| unknown.iter().any(|start| line.starts_with(start)))
}

fn error_line(errors: &str) -> String {
    errors.lines().find(|line| line.contains("error: ")).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::digest::Digest;
    use super::*;

    #[test]
    fn messages_are_understood() {
        let refusal =
            "readmill: error: this command needs at least -m 39M with 1 thread, but -m is 1M; raise -m";
        assert_eq!(parse_min_memory(refusal), Some("39M"));
        assert_eq!(parse_min_memory("readmill 0.0.0 sort: a -> b"), None);
        assert!(is_unknown("error: unexpected argument '--foo' found\n\nUsage: readmill\n"));
        assert!(!is_unknown(refusal));
        assert_eq!(error_line(&format!("readmill 0.0.0\n{refusal}\n")), refusal);
    }

    #[test]
    fn a_pipe_is_run_and_what_is_written_is_collected() {
        // A script replaces the program: it copies its input, and creates a file named like its
        // first argument.
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("program");
        fs::write(&program, "#!/bin/sh\ncat; echo \"$@\" > \"$1\"; exit \"$2\"\n").unwrap();
        let mut mode = fs::metadata(&program).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
        fs::set_permissions(&program, mode).unwrap();
        let inputs = home.path().join("inputs");
        fs::create_dir(&inputs).unwrap();
        fs::write(inputs.join("a"), "text").unwrap();
        let stage = |words: &str, takes_resources| Stage {
            words: words.split(' ').map(str::to_owned).collect(),
            takes_resources,
        };
        let line = CommandLine {
            text: String::new(),
            code: 0,
            stdin: Some("in/a".into()),
            stages: vec![stage("one 0", true), stage("two 3", false)],
        };
        let job = Job { program: &program, line: &line, resources: RESOURCES[4] };
        let found = std::sync::Mutex::new(Vec::new());
        run_all(&[job], 2, &home.path().join("runs"), &inputs, |number, outcome| {
            found.lock().unwrap().push((number, outcome.unwrap()));
        });
        let mut found = found.into_inner().unwrap();
        let (number, outcome) = found.remove(0);
        assert_eq!((number, outcome.code, outcome.is_unknown), (0, 3, false));
        let hashes: Vec<_> =
            outcome.outputs.into_iter().map(|(name, digest)| (name, digest.bytes)).collect();
        let wanted = [("one", "one 0 -@ 8 -m 4G\n"), ("standard output", "text"), ("two", "two 3\n")];
        let wanted =
            wanted.map(|(name, text)| (name.to_owned(), Digest::of_bytes(text.as_bytes()).bytes));
        assert_eq!(hashes, wanted);
    }
}
