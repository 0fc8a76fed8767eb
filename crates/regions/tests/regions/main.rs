//! Compares regions with those of GATK, which `Regions.java` and `Profiles.java` of `tests/oracles/java`
//! print.
#![allow(clippy::unwrap_used)]

mod cases;
mod describe;
mod draws;
mod edges;
mod finalize;
mod intake;
mod profiles;
mod stored;

use std::path::Path;

use describe::RegionRun;
use profiles::hash_block;
use stored::{PROFILE_BLOCKS, PROFILES_IN_BLOCK, StoredRun, stored_runs};

/// Returns the lines of GATK's results that start with this word.
fn gatk_lines(word: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracles/java/regions.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| line.split(' ').next() == Some(word));
    lines.map(str::to_owned).collect()
}

fn compare_runs(are_compared: impl Fn(&StoredRun) -> bool) {
    for run in stored_runs().iter().filter(|run| are_compared(run)) {
        let mut ours = RegionRun::new(&run.input, run.uses_intervals, run.ploidy).unwrap();
        ours.lists_all = run.is_listed;
        let ours = run.summarize(&ours.describe(&run.input.sam).unwrap());
        let (ours, gatk) = (Vec::from_iter(ours.lines()), gatk_lines(&run.label));
        let difference = ours.iter().zip(&gatk).find(|(ours, gatk)| ours != gatk);
        assert_eq!(difference, None, "our line and GATK's");
        assert_eq!(ours.len(), gatk.len());
        assert!(!gatk.is_empty(), "{} is not stored", run.label);
    }
}

#[test]
fn regions_are_cut_from_random_profiles_as_by_gatk() {
    let line = |block| format!("profiles {block} {:x}", hash_block(block, PROFILES_IN_BLOCK));
    assert_eq!(Vec::from_iter((0..PROFILE_BLOCKS).map(line)), gatk_lines("profiles"));
}

#[test]
fn regions_reads_and_loci_at_edges_are_those_of_gatk() {
    compare_runs(|run| run.is_listed);
}

#[test]
fn regions_of_random_reads_are_those_of_gatk() {
    compare_runs(|run| !run.is_listed);
}
