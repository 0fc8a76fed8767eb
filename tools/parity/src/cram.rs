//! Compares CRAM of both versions and all profiles with samtools and htsjdk. The inputs are unusual
//! records, small random files, and simulated reads with their reference; each is compared like a
//! corpus file.

use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::commands::{Commands, SampleDir};
use crate::corpus;
use crate::corpus::report::ReportPaths;
use crate::ledger::Ledger;
use crate::random::SeededRandom;
use crate::random_cases::{Oracle, random_header, random_reads};
use crate::{samples, sort};

const FORMATS: [&str; 5] = [
    "version=3.0",
    "version=3.1,normal",
    "version=3.1,archive",
    "version=3.1,fast",
    "version=3.1,small",
];
const QUICK_FORMATS: usize = 2;

/// Maximum number of reads in a random input, large enough for codecs that are not chosen for small
/// blocks. (Names are ASCII only, because htsjdk reads names as UTF-8.)
const MAX_RANDOM_READS: u64 = 300;

/// Compares `cases` random inputs and `pairs` simulated templates in CRAM: in all formats if
/// `full`, otherwise in the first ones. `reading_3_1` has a Picard whose htsjdk reads version 3.1.
pub fn compare_cram_formats(
    commands: &Commands,
    reading_3_1: &Commands,
    root: &Path,
    (pairs, cases): (u64, u64),
    full: bool,
    ledger: &mut Ledger,
) -> Result<()> {
    let inputs = SampleDir::new(commands, &root.join("inputs"))?;
    write_inputs(&inputs, pairs, cases)?;
    for format in &FORMATS[..if full { FORMATS.len() } else { QUICK_FORMATS }] {
        ledger
            .print_heading(&format!("cram {format}"), "odd records, random inputs and simulated reads");
        let commands = if *format == FORMATS[0] { commands } else { reading_3_1 };
        let dir = SampleDir::new(commands, &root.join(format))?;
        corpus::compare_corpus(&dir, inputs.directory(), format, ReportPaths::default(), ledger)?;
    }
    Ok(())
}

fn write_inputs(dir: &SampleDir<'_>, pairs: u64, cases: u64) -> Result<()> {
    fs::write(dir.path("odd.sam"), sort::unusual_records())?;
    for case in 0..cases {
        let random = &mut SeededRandom::new(case);
        let mut text = random_header(random).into_bytes();
        text.extend_from_slice(&random_reads(random, Oracle::Picard, MAX_RANDOM_READS));
        fs::write(dir.path(&format!("random.{case}.sam")), text)?;
    }
    let sample = samples::sample_with_libraries(2, pairs);
    sample.write_input_bam(dir)?;
    sample.prepare_known_files(dir)?;
    dir.run_samtools_1_24("sort --no-PG -o sorted.bam in.bam")?;
    Ok(())
}
