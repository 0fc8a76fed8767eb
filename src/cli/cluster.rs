//! `readmill cluster`: starts the Python package `readmill.cluster`, which runs a command in stages
//! on a Dask cluster.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::process::CommandExt;
use std::process::Command;

use clap::Args;
use readmill_record::{Error, Result};

/// The output of `python3 -m readmill.cluster PLACE --help`, for machines without the package. A
/// test compares it with the package.
const HELP_TEXTS: &[(&str, &str)] = &[
    ("local", include_str!("cluster_help/local.txt")),
    ("slurm", include_str!("cluster_help/slurm.txt")),
];

const PYTHON_MODULE: &str = "readmill.cluster";

/// Runs a command in stages, on worker processes of this machine or of SLURM. Prints a Python
/// script that does this; with `--run`, runs the script. The output is the same as without workers.
#[derive(Args)]
#[command(
    override_usage = "readmill cluster <local|slurm> [OPTIONS] -- COMMAND…",
    after_help = "readmill cluster needs python3 and readmill's Python package. To install it, run this in the source directory: pip install './python[slurm]'. docs/cluster.md has a tutorial. readmill cluster slurm --help lists the options."
)]
pub struct ClusterArgs {
    /// local or slurm, options, --, then the command with its flags
    #[arg(value_name = "WORD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

impl ClusterArgs {
    /// Replaces this process by Python. If the Python module is missing, help is printed from
    /// [`HELP_TEXTS`].
    pub fn run(&self) -> Result<()> {
        let python = || Command::new("python3");
        if let Err(error) = require_module(python()) {
            let Some(help) = self.requested_help() else { return Err(error) };
            let text = format!("{help}\nreadmill cluster is not ready to run: {error}\n");
            let mut output = std::io::stdout();
            return output
                .write_all(text.as_bytes())
                .and_then(|()| output.flush())
                .map_err(|error| Error::io("standard output cannot be written", &error));
        }
        let mut command = python();
        command.args(["-m", PYTHON_MODULE]).args(&self.words);
        if std::env::var_os("READMILL").is_none()
            && let Ok(this) = std::env::current_exe()
        {
            command.env("READMILL", this);
        }
        Err(Error::io("python3 cannot be started", &command.exec()))
    }

    fn requested_help(&self) -> Option<&'static str> {
        let mut own = self.words.iter().take_while(|word| *word != "--");
        let place = own.next()?;
        let text = HELP_TEXTS.iter().find(|(name, _)| place == name).map(|(_, text)| *text)?;
        own.any(|word| word == "--help" || word == "-h").then_some(text)
    }
}

fn require_module(mut python: Command) -> Result<()> {
    let found = python
        .args(["-c", &format!("import {PYTHON_MODULE}")])
        .output()
        .map_err(|e| Error::io("python3 cannot be started", &e).hint("install Python 3.10 or later"))?;
    if found.status.success() {
        Ok(())
    } else {
        Err(missing_package_error(&String::from_utf8_lossy(&found.stderr)))
    }
}

/// Returns the error for a missing Python package, with the commands that install it. `said` is
/// Python's output, whose last line contains the cause.
fn missing_package_error(said: &str) -> Error {
    let last = said.trim_end().lines().last().unwrap_or_default();
    Error::usage(format!("python3 cannot import the package readmill ({last})")).hint(
        "install it in the source directory of readmill: python3 -m venv readmill-python && . readmill-python/bin/activate && \
         pip install './python[slurm]'",
    )
}
