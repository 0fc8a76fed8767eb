//! Targets for fuzzing: the formats that readmill reads, with arbitrary bytes as input.
//!
//! A [`Target`] reads bytes through the same public functions as the program. It asserts
//! that invalid input is refused with an error of the input, and checks properties of the
//! input that is accepted.
//!
//! Targets are used in two ways:
//!
//! - `tests/fuzz` replays the inputs in `corpus/TARGET` and `found/TARGET` (which failed
//!   once), and a few thousand seeded changes of them.
//! - `./dev fuzz` runs libFuzzer under AddressSanitizer, which also limits memory and time
//!   per input.
//!
//! A target takes tens of microseconds, so that millions of inputs take minutes. It starts
//! no threads, opens no files on disk, and keeps objects that are costly to make for the
//! next input.

mod accessors;
mod align;
mod bam;
mod bgzf;
pub mod changes;
mod cram;
mod expression;
mod fastq;
mod features;
mod header;
mod indexes;
mod limits;
mod pieces;
mod reference;
mod report;
mod sam;
mod seeds;
mod steps;

pub use cram::{put_itf8, whole_files as whole_cram_files};
pub use limits::MEMORY;
use limits::{MOST, expect_refusal, memory};

/// A format that is fuzzed. libFuzzer and `tests/fuzz` call `run` for each input; `seeds` gives the
/// inputs to start with.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// Maximum size of an input in bytes. Larger inputs are slower and find nothing more.
    pub most: usize,
    pub run: fn(&[u8]),
    pub seeds: fn() -> Vec<Vec<u8>>,
}

pub const TARGETS: &[Target] = &[
    Target { name: "bam_record", most: 512, run: bam::record, seeds: bam::records },
    Target { name: "bam_stream", most: 2048, run: bam::stream, seeds: bam::streams },
    Target { name: "bgzf", most: 1024, run: bgzf::blocks, seeds: bgzf::files },
    Target { name: "bwa_index", most: 3072, run: align::index, seeds: align::indexes },
    Target { name: "cram_codec", most: 512, run: cram::codec, seeds: cram::compressed },
    Target { name: "cram_container", most: 2048, run: cram::container, seeds: cram::containers },
    Target { name: "cram_file", most: 4096, run: cram::files, seeds: cram::whole_files },
    Target { name: "cram_records", most: 1536, run: cram::records, seeds: cram::bodies },
    Target { name: "expression", most: 256, run: expression::text, seeds: expression::texts },
    Target { name: "fastq", most: 1024, run: fastq::files, seeds: fastq::texts },
    Target { name: "features", most: 1024, run: features::places, seeds: features::files },
    Target { name: "header", most: 1024, run: header::texts, seeds: header::headers },
    Target { name: "index", most: 512, run: indexes::regions, seeds: indexes::files },
    Target { name: "reference", most: 1024, run: reference::indexed, seeds: reference::files },
    Target { name: "regions", most: 128, run: features::regions, seeds: features::arguments },
    Target { name: "report", most: 2048, run: report::table, seeds: report::tables },
    Target { name: "sam_line", most: 512, run: sam::line, seeds: sam::lines },
    Target { name: "steps", most: 1024, run: steps::batch, seeds: steps::batches },
];

impl Target {
    /// Returns the target with this name, at compile time. `fuzz/libfuzzer.rs` calls it.
    ///
    /// # Panics
    /// If there is none.
    pub const fn of_build(name: &str) -> Target {
        let mut at = 0;
        while at < TARGETS.len() {
            if equal(TARGETS[at].name.as_bytes(), name.as_bytes()) {
                return TARGETS[at];
            }
            at += 1;
        }
        panic!("no target has this name")
    }

    /// Writes the seeds as files into the directory that the environment variable
    /// `READMILL_FUZZ_SEEDS` names. Does nothing if it is not set.
    ///
    /// # Panics
    /// If a file cannot be written.
    pub fn write_seeds_of_build(&self) {
        let Some(directory) = std::env::var_os("READMILL_FUZZ_SEEDS") else { return };
        for (number, seed) in (self.seeds)().iter().enumerate() {
            let path = std::path::Path::new(&directory).join(format!("seed-{number}"));
            std::fs::write(&path, seed).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
    }
}

const fn equal(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}
