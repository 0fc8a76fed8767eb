//! Runs the tests of `python`: they run jobs on a Dask cluster, kill parts of it, run the commands
//! of docs/cluster.md, and validate a sample with samtools, Picard and GATK.

use std::process::Command;

use anyhow::{Context, Result};
use readmill_peers::{Peers, workspace};

use crate::cohort::Cohort;
use crate::outcome::{CheckCounts, run_to_end};

pub fn check_dask(cohort: &Cohort, peers: &Peers, outcome: &mut CheckCounts) -> Result<()> {
    let python = peers.dask()?;
    outcome.print_title(&format!("Dask {}", python.version));
    let directory = cohort.make_directory("dask", true)?;
    outcome.check(
        "jobs on three workers, on hosts of their own if this is root; a worker, the scheduler and the driver are killed; the output is that of a direct run; the commands of docs/cluster.md run; a validation finds no unexplained difference from samtools, Picard and GATK",
        || {
            let home = workspace().join("python");
            let mut tests = python.command();
            tests.current_dir(&directory).env("READMILL", &cohort.readmill).env("PYTHONPATH", &home);
            tests.env("READMILL_COHORT", &directory);
            let tools = [
                ("READMILL_TEST_SAMTOOLS", peers.newest_samtools()?),
                ("READMILL_TEST_PICARD", peers.picard()?),
                ("READMILL_TEST_GATK", peers.gatk()?),
            ];
            for (variable, tool) in tools {
                tests.env(variable, quote_words(&tool.command()));
            }
            tests.args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--log-level=CRITICAL"]);
            let said = run_to_end(tests.arg(home.join("tests")), &directory.join("pytest.log"))?.expect_success()?;
            let last = said.lines().rfind(|line| line.contains(" passed"));
            Ok(last.context("no test was run")?.to_string())
        },
    );
    Ok(())
}

/// Returns a command as a line of the shell, in which each word is quoted.
fn quote_words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''")));
    words.collect::<Vec<_>>().join(" ")
}
