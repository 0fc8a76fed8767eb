//! Regenerates hashes of results of Java and of GATK's functions, by the Java programs beside them.

use std::path::Path;

use anyhow::Result;

use super::asked::RegenerateRequest;
use crate::calling::alignments::{describe_finalized, describe_pairwise};
use crate::calling::regions::describe_stored_runs;
use crate::java::run_java_source;

/// Number of blocks, and of points in a block. The tests of `crates/jmath` know the second.
const BLOCKS_AND_SIZE: [&str; 2] = ["2", "2000"];

/// Returns the results of `Numbers.java` for `numbers.txt`.
pub fn hash_numbers(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    hash_results(asked, &path.with_file_name("Numbers.java"), &["all"])
}

/// Returns the results of `Likelihoods.java` for `likelihoods.txt`.
pub fn hash_likelihoods(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    hash_results(asked, &path.with_file_name("Likelihoods.java"), &[])
}

/// Returns the results of `Regions.java` and `Profiles.java` for `regions.txt`.
pub fn describe_regions(asked: &RegenerateRequest<'_>, _path: &Path) -> Result<String> {
    let dir = asked.dir.make_empty_subdirectory("regions")?;
    describe_stored_runs(asked.peers, dir.directory())
}

/// Returns the results of `Pairwise.java` for `pairwise.txt`.
pub fn print_pairwise_cases(asked: &RegenerateRequest<'_>, _path: &Path) -> Result<String> {
    describe_pairwise(asked.peers)
}

/// Returns the results of `Finalize.java` for `finalize.txt`.
pub fn print_finalized_reads(asked: &RegenerateRequest<'_>, _path: &Path) -> Result<String> {
    describe_finalized(asked.peers)
}

/// Returns what the program prints, after an empty first line.
fn hash_results(asked: &RegenerateRequest<'_>, source: &Path, words: &[&str]) -> Result<String> {
    let results = run_java_source(asked.peers, source, &[words, &BLOCKS_AND_SIZE].concat())?;
    Ok(format!("\n{results}"))
}
