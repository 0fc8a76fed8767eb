//! Compares genotyping with that of HaplotypeCaller.
//!
//! `Genotypes.java` prints random cases, and what GATK returns for them.

#[path = "../../../../crates/genotypes/tests/genotypes/replay.rs"]
mod replay;

use std::path::Path;

use anyhow::{Result, ensure};
use readmill_jmath::{JavaMath, Log10Sums};
use readmill_peers::Peers;

use crate::java::run_java_source;
use crate::ledger::Ledger;

/// Kinds of cases, and what they compare.
const KINDS: [(&str, &str); 5] = [
    ("merges", "alleles of events and their haplotypes"),
    ("phases", "phases of calls"),
    ("likelihoods", "likelihoods of genotypes"),
    ("sites", "frequencies of alleles and calls of sites"),
    ("regions", "calls of regions"),
];
/// Runs of the Java program for each kind, and cases in one run.
const RUNS: u64 = 5;
const CASES: usize = 20_000;

/// Compares random cases of each kind. `source` is `Genotypes.java`.
pub fn compare_genotypes(peers: &Peers, source: &Path, ledger: &mut Ledger) {
    for (kind, about) in KINDS {
        ledger.check(&format!("calling: {about}"), || {
            let sums = Log10Sums::new(JavaMath::of_this_processor());
            let mut cases = 0;
            for seed in 1..=RUNS {
                let words = [kind.to_owned(), seed.to_string(), CASES.to_string()];
                let text = run_java_source(peers, source, &words)?;
                cases += count_equal_cases(&sums, &text)?;
            }
            Ok(format!("{cases} cases have the same results"))
        });
    }
}

fn count_equal_cases(sums: &Log10Sums, text: &str) -> Result<usize> {
    let replayed = replay::replay_cases(sums, text);
    let (count, first) = (replayed.differences.len(), replayed.differences.first());
    ensure!(count == 0, "{count} of {} cases differ; the first is {first:?}", replayed.cases);
    ensure!(replayed.cases > 0, "GATK printed no cases");
    Ok(replayed.cases)
}
