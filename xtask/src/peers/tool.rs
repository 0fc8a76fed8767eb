//! A program and how it is called.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// A peer that is ready to run.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The short name, such as `samtools`.
    pub name: &'static str,
    /// The version the tool itself states (Picard: that of its jar).
    pub version: String,
    program: PathBuf,
    /// Arguments before those of a call.
    pub arguments: Vec<OsString>,
    /// Additional environment variables.
    pub environment: Vec<(&'static str, OsString)>,
}

impl Tool {
    /// A tool that needs only its program.
    pub fn plain(name: &'static str, program: PathBuf, version: String) -> Self {
        Tool { name, version, program, arguments: Vec::new(), environment: Vec::new() }
    }

    /// A command to which the tool's own arguments are added (samtools, fgumi: the subcommand first;
    /// Picard: the name of the Picard tool first; options for Java itself go in by the
    /// variable `JAVA_TOOL_OPTIONS`).
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        for (key, value) in &self.environment {
            command.env(key, value);
        }
        command
    }
}
