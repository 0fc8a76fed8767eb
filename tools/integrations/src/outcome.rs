//! The lines `ok` and `FAIL`, and runs of commands.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

/// Counts checks and prints the result of each.
#[derive(Default)]
pub struct Outcome {
    checks: usize,
    failures: usize,
}

impl Outcome {
    /// Begins an engine.
    pub fn title(&mut self, engine: &str) {
        println!("-- {engine}");
    }

    /// Makes one check, which returns what it saw. Any error is a failure of the check.
    pub fn check(&mut self, what: &str, check: impl FnOnce() -> Result<String>) {
        self.checks += 1;
        match check() {
            Ok(seen) => println!("ok    {what} ({seen})"),
            Err(error) => {
                self.failures += 1;
                println!("FAIL  {what}: {error:#}");
            }
        }
    }

    /// Checks made.
    pub fn checks(&self) -> usize {
        self.checks
    }

    /// Checks that failed.
    pub fn failures(&self) -> usize {
        self.failures
    }
}

/// The end of a command: whether it succeeded, and all that it printed.
pub struct Ended {
    pub is_ok: bool,
    pub said: String,
}

impl Ended {
    /// What was said, if the command succeeded.
    ///
    /// # Errors
    /// The last lines of what it said, if it failed.
    pub fn succeeded(self) -> Result<String> {
        if self.is_ok {
            return Ok(self.said);
        }
        Err(anyhow::anyhow!("the command failed:\n{}", self.tail()))
    }

    /// What was said, if the command failed.
    ///
    /// # Errors
    /// The last lines of what it said, if it succeeded.
    pub fn failed(self) -> Result<String> {
        if !self.is_ok {
            return Ok(self.said);
        }
        Err(anyhow::anyhow!("the command did not fail:\n{}", self.tail()))
    }

    fn tail(&self) -> String {
        let lines: Vec<&str> = self.said.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}

/// Runs a command. What it prints goes through a file, so that a process that it leaves behind is not waited for.
pub fn finish(command: &mut Command, log: &Path) -> Result<Ended> {
    let file = File::create(log)?;
    let status = command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .status()
        .with_context(|| format!("cannot start {command:?}"))?;
    Ok(Ended { is_ok: status.success(), said: String::from_utf8_lossy(&fs::read(log)?).into_owned() })
}
