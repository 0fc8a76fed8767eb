//! Compares CIGARs, Smith-Waterman alignments, and the finalized reads of regions with GATK's.

#[path = "../../../../crates/regions/tests/regions/finalize/case.rs"]
mod finalize_case;
#[path = "../../../../crates/pairwise/tests/pairwise/case.rs"]
mod pairwise_case;

use anyhow::{Result, anyhow, ensure};
use readmill_pairwise::SmithWaterman;
use readmill_peers::Peers;

use crate::java::{java_source, run_java_source};
use crate::ledger::Ledger;

/// First seeds of the runs of the Java programs.
const SEEDS: std::ops::Range<usize> = 1..11;
const CASES_PER_RUN: usize = 50_000;
const MAX_SEQUENCE_LENGTH: usize = 500;
const REGIONS_PER_RUN: usize = 5_000;

/// Compares random CIGARs and sequences, and the reads of random regions.
pub fn compare_alignments(peers: &Peers, ledger: &mut Ledger) {
    ledger.check("calling: CIGARs, left alignment and Smith-Waterman of random sequences", || {
        let mut aligner = SmithWaterman::default();
        let (mut cases, mut alignments) = (0, 0);
        for run in SEEDS {
            let gatk = print_pairwise(peers, run * CASES_PER_RUN, CASES_PER_RUN, MAX_SEQUENCE_LENGTH)?;
            for line in gatk.lines() {
                let (ours, gatk) = pairwise_case::compare_case(&mut aligner, line);
                ensure!(ours == gatk, "{line:?}: readmill gives {ours:?}");
                cases += 1;
                alignments += usize::from(line.starts_with("sw\t"));
            }
        }
        ensure!(cases > 0 && alignments > 0, "nothing was compared");
        Ok(format!("{cases} cases, of which {alignments} are alignments"))
    });
    ledger.check("calling: finalized reads of random regions", || {
        let (mut regions, mut reads) = (0, 0);
        for run in SEEDS {
            let gatk = print_finalized(peers, run * REGIONS_PER_RUN, REGIONS_PER_RUN)?;
            let comparison =
                finalize_case::compare_regions(&gatk).map_err(|error| anyhow!("{error}"))?;
            if let Some(different) = comparison.different.first() {
                return Err(anyhow!("a region differs:\n{different}"));
            }
            regions += comparison.regions;
            reads += comparison.reads;
        }
        ensure!(regions > 0 && reads > 0, "nothing was compared");
        Ok(format!("{reads} reads of {regions} regions"))
    });
}

fn print_pairwise(peers: &Peers, first: usize, count: usize, longest: usize) -> Result<String> {
    let words = [first, count, longest].map(|number| number.to_string());
    run_java_source(peers, &java_source("Pairwise.java"), &words)
}

fn print_finalized(peers: &Peers, first: usize, count: usize) -> Result<String> {
    let words = [first, count].map(|number| number.to_string());
    run_java_source(peers, &java_source("Finalize.java"), &words)
}

/// Returns GATK's results for `pairwise.txt`, after an empty first line.
pub fn describe_pairwise(peers: &Peers) -> Result<String> {
    Ok(format!("\n{}", print_pairwise(peers, 1, 900, 60)?))
}

/// Returns GATK's results for `finalize.txt`, after an empty first line.
pub fn describe_finalized(peers: &Peers) -> Result<String> {
    Ok(format!("\n{}", print_finalized(peers, 0, 30)?))
}
