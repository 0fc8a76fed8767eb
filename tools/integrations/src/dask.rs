//! Runs the Dask tests of `python`: they run jobs on a cluster, kill parts of it, and run the
//! commands of docs/cluster.md.

use anyhow::{Context, Result};
use readmill_peers::{Peers, workspace};

use crate::cohort::Cohort;
use crate::outcome::{CheckCounts, run_to_end};

pub fn check_dask(cohort: &Cohort, peers: &Peers, outcome: &mut CheckCounts) -> Result<()> {
    let python = peers.dask()?;
    outcome.print_title(&format!("Dask {}", python.version));
    let directory = cohort.make_directory("dask", true)?;
    outcome.check(
        "jobs on three workers, on hosts of their own if this is root; a worker, the scheduler and the driver are killed; the output is that of a direct run; the commands of docs/cluster.md run",
        || {
            let home = workspace().join("python");
            let mut tests = python.command();
            tests.current_dir(&directory).env("READMILL", &cohort.readmill).env("PYTHONPATH", &home);
            tests.env("READMILL_COHORT", &directory);
            tests.args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--log-level=CRITICAL"]);
            let said = run_to_end(tests.arg(home.join("tests")), &directory.join("pytest.log"))?.expect_success()?;
            let last = said.lines().rfind(|line| line.contains(" passed"));
            Ok(last.context("no test was run")?.to_string())
        },
    );
    Ok(())
}
