//! Runs the tests of `experiments/cluster`, the cost model of processing a sample on many machines.

use anyhow::{Context, Result};
use readmill_peers::{Peers, workspace};

use crate::cohort::Cohort;
use crate::outcome::{CheckCounts, run_to_end};

pub fn check_cost_model(cohort: &Cohort, peers: &Peers, outcome: &mut CheckCounts) -> Result<()> {
    let python = peers.simpy()?;
    outcome.print_title(&format!("SimPy {}", python.version));
    let directory = cohort.make_directory("cost", false)?;
    outcome.check(
        "simulated clusters take what the formulas say; docs/cluster-cost.md has their tables",
        || {
            let mut tests = python.command();
            tests.current_dir(&directory).env("READMILL", &cohort.readmill);
            tests.args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]);
            tests.arg(workspace().join("experiments/cluster"));
            let said = run_to_end(&mut tests, &directory.join("pytest.log"))?.expect_success()?;
            let last = said.lines().rfind(|line| line.contains(" passed"));
            Ok(last.context("no test was run")?.to_string())
        },
    );
    Ok(())
}
