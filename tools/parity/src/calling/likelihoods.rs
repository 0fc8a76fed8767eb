//! Compares likelihoods of reads with those of GKL's kernels, and what GATK does with reads and their
//! likelihoods before it genotypes.

use std::path::Path;

use anyhow::{Result, bail, ensure};
use readmill_likelihoods::{Instructions, PairHmm};
use readmill_peers::Peers;

use crate::java::run_java_source;
use crate::ledger::Ledger;

// The tests of the crate compare the stored results in the same way.
#[allow(clippy::unwrap_used)]
#[path = "../../../../crates/likelihoods/tests/likelihoods/engine.rs"]
mod engine;
#[allow(clippy::unwrap_used)]
#[path = "../../../../crates/likelihoods/tests/likelihoods/regions.rs"]
mod regions;

use regions::KERNELS;

/// Number of Java runs, and of regions in a run, so that the output of a run fits in memory.
const RUNS: usize = 4;
const REGIONS: usize = 1000;

/// The regions before these are in the stored results.
const FIRST_REGION: usize = 1000;

/// Compares both parts by the Java programs `PairHmm.java` and `ReadLikelihoods.java`. Each is one
/// comparison.
pub fn compare_likelihoods(peers: &Peers, [kernels, engine]: [&Path; 2], ledger: &mut Ledger) {
    let what = "likelihoods: kernels of GKL";
    if Instructions::list_available().contains(&Instructions::Avx512) {
        ledger.check(what, || compare_kernels(peers, kernels));
    } else {
        ledger.record_skipped(what, "GKL's fused kernel needs AVX-512");
    }
    ledger.check("likelihoods: qualities, caps, removed reads, best haplotypes", || {
        compare_engine(peers, engine)
    });
}

/// Returns what a program prints for the regions of a run.
fn print_regions(peers: &Peers, program: &Path, run: usize) -> Result<String> {
    let first = FIRST_REGION + run * REGIONS;
    run_java_source(peers, program, &[first.to_string(), REGIONS.to_string()])
}

fn compare_kernels(peers: &Peers, program: &Path) -> Result<String> {
    let mut hmms = KERNELS.map(|(_, flavour, precision)| PairHmm::new(flavour, precision));
    let (mut pairs, mut differences, mut first) = (0, 0, None);
    for run in 0..RUNS {
        let text = print_regions(peers, program, run)?;
        for (comparison, (kernel, ..)) in
            regions::compare_regions(&text, &mut hmms).into_iter().zip(KERNELS)
        {
            pairs += comparison.pairs;
            differences += comparison.differences;
            first = first.or(comparison.first_difference.map(|it| format!("{kernel}, {it}")));
        }
    }
    ensure!(pairs > 0, "nothing was compared");
    match first {
        Some(first) => bail!("{differences} of {pairs} likelihoods differ, the first in {first}"),
        None => Ok(format!("{pairs} likelihoods by {} kernels", KERNELS.len())),
    }
}

fn compare_engine(peers: &Peers, program: &Path) -> Result<String> {
    let (mut lines, mut pairs, mut differences, mut first) = (0, 0, 0, None);
    for run in 0..RUNS {
        let comparison = engine::compare_engine(&print_regions(peers, program, run)?);
        lines += comparison.lines;
        pairs += comparison.pairs;
        differences += comparison.differences;
        first = first.or(comparison.first_difference);
    }
    ensure!(pairs > 0, "nothing was compared");
    match first {
        Some(first) => bail!("{differences} of {lines} results differ, the first in {first}"),
        None => Ok(format!("{pairs} pairs, {lines} results")),
    }
}
