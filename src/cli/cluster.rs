//! `readmill cluster`: hands over to the Python package, which starts a cluster of Dask.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;
use readmill_record::{Error, Result};

/// The module that does the work.
const MODULE: &str = "readmill.cluster";

/// Start workers on this machine, or on SLURM, and have them run a command in stages. Prints a Python script that does so; with
/// `--run`, runs it. The output is that of the command by itself.
#[derive(Args)]
#[command(
    override_usage = "readmill cluster <local|slurm> [OPTIONS] -- COMMAND…",
    after_help = "This needs python3 with the package in the directory python of readmill: pip install './python[slurm]'. \
docs/cluster.md begins with ten minutes on a laptop; readmill cluster slurm --help lists the options."
)]
pub struct ClusterArgs {
    /// Where the workers run (local or slurm), options, and behind -- the command, as it is given by itself
    #[arg(value_name = "WORD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl ClusterArgs {
    /// Replaces this process by Python.
    pub fn run(&self) -> Result<()> {
        let python = || Command::new("python3");
        let found = python().args(["-c", &format!("import {MODULE}")]).output().map_err(|e| {
            Error::io("python3 cannot be started", &e).hint("install Python 3.10 or later")
        })?;
        if !found.status.success() {
            return Err(missing(&String::from_utf8_lossy(&found.stderr)));
        }
        let mut command = python();
        command.args(["-m", MODULE]).args(&self.words);
        if std::env::var_os("READMILL").is_none()
            && let Ok(this) = std::env::current_exe()
        {
            command.env("READMILL", this);
        }
        Err(Error::io("python3 cannot be started", &command.exec()))
    }
}

/// What to do where Python cannot import the module; `said` is what it said.
fn missing(said: &str) -> Error {
    let last = said.trim_end().lines().last().unwrap_or_default();
    Error::usage(format!("python3 has no package readmill ({last})")).hint(
        "in the checkout of readmill: python3 -m venv readmill-python && . readmill-python/bin/activate && \
         pip install './python[slurm]'",
    )
}
