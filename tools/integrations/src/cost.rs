//! Runs the tests of `experiments/cluster`, the cost model of a sample that is processed on many
//! machines.

use anyhow::{Context, Result};
use readmill_peers::{Peers, workspace};

use crate::cohort::Cohort;
use crate::outcome::{Outcome, finish};

pub fn run(cohort: &Cohort, peers: &Peers, outcome: &mut Outcome) -> Result<()> {
    let python = peers.simpy()?;
    outcome.title(&format!("SimPy {}", python.version));
    let directory = cohort.directory("cost", false)?;
    outcome.check(
        "simulated clusters take what the formulas say; docs/cluster-cost.md has their tables",
        || {
            let mut tests = python.command();
            tests.current_dir(&directory).env("READMILL", &cohort.readmill);
            tests.args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]);
            tests.arg(workspace().join("experiments/cluster"));
            let said = finish(&mut tests, &directory.join("pytest.log"))?.succeeded()?;
            let last = said.lines().rfind(|line| line.contains(" passed"));
            Ok(last.context("no test was run")?.to_string())
        },
    );
    Ok(())
}
