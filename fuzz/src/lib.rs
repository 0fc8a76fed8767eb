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

pub use cram::{file_seeds as whole_cram_files, put_itf8};
pub use limits::MEMORY_BYTES;
use limits::{ITEM_LIMIT, expect_refusal, memory_ledger};

/// A format that is fuzzed. libFuzzer and `tests/fuzz` call `run` for each input; `seeds` gives the
/// inputs to start with.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    /// Maximum size of an input in bytes. Larger inputs are slower and find nothing more.
    pub max_bytes: usize,
    pub run: fn(&[u8]),
    pub seeds: fn() -> Vec<Vec<u8>>,
}

pub const TARGETS: &[Target] = &[
    Target { name: "bam_record", max_bytes: 512, run: bam::check_record, seeds: bam::record_seeds },
    Target { name: "bam_stream", max_bytes: 2048, run: bam::check_stream, seeds: bam::stream_seeds },
    Target { name: "bgzf", max_bytes: 1024, run: bgzf::check_blocks, seeds: bgzf::block_seeds },
    Target { name: "bwa_index", max_bytes: 3072, run: align::check_index, seeds: align::index_seeds },
    Target { name: "cram_codec", max_bytes: 512, run: cram::check_codec, seeds: cram::codec_seeds },
    Target {
        name: "cram_container",
        max_bytes: 2048,
        run: cram::check_container,
        seeds: cram::container_seeds,
    },
    Target { name: "cram_file", max_bytes: 4096, run: cram::check_file, seeds: cram::file_seeds },
    Target {
        name: "cram_records",
        max_bytes: 1536,
        run: cram::check_records,
        seeds: cram::record_seeds,
    },
    Target {
        name: "expression",
        max_bytes: 256,
        run: expression::check_expression,
        seeds: expression::expression_seeds,
    },
    Target { name: "fastq", max_bytes: 1024, run: fastq::check_files, seeds: fastq::fastq_seeds },
    Target {
        name: "features",
        max_bytes: 1024,
        run: features::check_places,
        seeds: features::place_seeds,
    },
    Target { name: "header", max_bytes: 1024, run: header::check_headers, seeds: header::header_seeds },
    Target { name: "index", max_bytes: 512, run: indexes::check_index, seeds: indexes::index_seeds },
    Target {
        name: "reference",
        max_bytes: 1024,
        run: reference::check_reference,
        seeds: reference::reference_seeds,
    },
    Target {
        name: "regions",
        max_bytes: 128,
        run: features::check_regions,
        seeds: features::region_seeds,
    },
    Target { name: "report", max_bytes: 2048, run: report::check_table, seeds: report::table_seeds },
    Target { name: "sam_line", max_bytes: 512, run: sam::check_line, seeds: sam::line_seeds },
    Target { name: "steps", max_bytes: 1024, run: steps::check_batch, seeds: steps::batch_seeds },
];

impl Target {
    /// Returns the target with this name, at compile time. `fuzz/libfuzzer.rs` calls it.
    ///
    /// # Panics
    /// If there is none.
    pub const fn of_build(name: &str) -> Target {
        let mut at = 0;
        while at < TARGETS.len() {
            if bytes_equal(TARGETS[at].name.as_bytes(), name.as_bytes()) {
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

const fn bytes_equal(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}
