//! The runs whose results from GATK are stored in `tests/oracles/java/regions.txt`.

use std::fmt::Write as _;

use super::cases::RegionInput;
use super::draws::hash_number;
use super::edges::edge_input;

/// Blocks of random profiles, and contigs in each.
pub const PROFILE_BLOCKS: usize = 20;
/// Contigs in a block of random profiles.
pub const PROFILES_IN_BLOCK: usize = 100;
const RANDOM_INPUTS: u64 = 4;
const CONTIGS_OF_RANDOM_INPUT: usize = 40;

/// Input of a run, and how its results are stored.
pub struct StoredRun {
    /// The first word of its lines.
    pub label: String,
    /// Reference, reads and intervals.
    pub input: RegionInput,
    /// Whether the run is restricted to the intervals.
    pub uses_intervals: bool,
    /// Copies of each chromosome.
    pub ploidy: usize,
    /// Whether all lines are stored, with reads and loci, or their number and hash.
    pub is_listed: bool,
}

impl StoredRun {
    /// Returns the stored lines of a run with these regions.
    pub fn summarize(&self, text: &str) -> String {
        let mut lines = String::new();
        if self.is_listed {
            for line in text.lines() {
                writeln!(lines, "{} {line}", self.label).expect("a string");
            }
        } else {
            let mut hash = 0;
            text.bytes().for_each(|letter| hash_number(&mut hash, u64::from(letter)));
            writeln!(lines, "{} {} {hash:x}", self.label, text.lines().count()).expect("a string");
        }
        lines
    }
}

/// Returns all runs.
pub fn stored_runs() -> Vec<StoredRun> {
    let mut runs = Vec::new();
    for uses_intervals in [false, true] {
        let suffix = if uses_intervals { "_intervals" } else { "" };
        let label = format!("edges{suffix}");
        runs.push(StoredRun { label, input: edge_input(), uses_intervals, ploidy: 2, is_listed: true });
        for seed in 0..RANDOM_INPUTS {
            let label = format!("random_{seed}{suffix}");
            let input = RegionInput::draw(seed, CONTIGS_OF_RANDOM_INPUT);
            runs.push(StoredRun { label, input, uses_intervals, ploidy: 2, is_listed: false });
        }
    }
    for ploidy in [1, 3, 8] {
        let input = RegionInput::draw(ploidy as u64, CONTIGS_OF_RANDOM_INPUT);
        let label = format!("ploidy_{ploidy}");
        runs.push(StoredRun { label, input, uses_intervals: false, ploidy, is_listed: false });
    }
    runs
}
