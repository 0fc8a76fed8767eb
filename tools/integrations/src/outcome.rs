//! The results of checks, and the execution of commands.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

/// Counts the checks and prints the result of each.
#[derive(Default)]
pub struct CheckCounts {
    checks: usize,
    failures: usize,
}

impl CheckCounts {
    pub fn print_title(&mut self, engine: &str) {
        println!("-- {engine}");
    }

    /// Runs one check. `check` returns what it observed, which is printed; an error fails the
    /// check.
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

    pub fn checks(&self) -> usize {
        self.checks
    }

    pub fn failures(&self) -> usize {
        self.failures
    }
}

pub struct Ended {
    pub is_ok: bool,
    pub said: String,
}

impl Ended {
    /// Returns the output of a command that must succeed.
    ///
    /// # Errors
    ///
    /// The command failed. The error has the last 40 lines of its output.
    pub fn expect_success(self) -> Result<String> {
        if self.is_ok {
            return Ok(self.said);
        }
        Err(anyhow::anyhow!("the command failed:\n{}", self.last_lines()))
    }

    /// Returns the output of a command that must fail.
    ///
    /// # Errors
    ///
    /// The command succeeded. The error has the last 40 lines of its output.
    pub fn expect_failure(self) -> Result<String> {
        if !self.is_ok {
            return Ok(self.said);
        }
        Err(anyhow::anyhow!("the command did not fail:\n{}", self.last_lines()))
    }

    /// Returns the last 40 lines of the output, and before them the failures that pytest lists:
    /// libraries may write many lines after this list.
    fn last_lines(&self) -> String {
        let lines: Vec<&str> = self.said.lines().collect();
        let (others, last) = lines.split_at(lines.len().saturating_sub(40));
        let failures =
            others.iter().filter(|line| line.starts_with("FAILED ") || line.starts_with("ERROR "));
        failures.chain(last).copied().collect::<Vec<_>>().join("\n")
    }
}

/// Runs a command and returns its exit status and output. The output goes to a file: with a pipe,
/// this would also wait for background processes left by the command.
pub fn run_to_end(command: &mut Command, log: &Path) -> Result<Ended> {
    let file = File::create(log)?;
    let status = command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .status()
        .with_context(|| format!("cannot start {command:?}"))?;
    Ok(Ended { is_ok: status.success(), said: String::from_utf8_lossy(&fs::read(log)?).into_owned() })
}
