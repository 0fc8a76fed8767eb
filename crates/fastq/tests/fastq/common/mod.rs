//! Shared parts of the tests: a serial reader of FASTQ to compare with, files of every kind, and a crew of threads.
#![allow(dead_code, clippy::unwrap_used, clippy::disallowed_methods)]

pub mod crew;
pub mod files;
pub mod oracle;

use readmill_simulate::Rng;

/// True in `percent` cases of a hundred.
pub fn chance(random: &mut Rng, percent: usize) -> bool {
    random.index(100) < percent
}
