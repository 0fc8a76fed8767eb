//! Regenerates results of Java and of GATK's functions, by the Java programs beside them.

use std::path::Path;

use anyhow::Result;

use super::asked::RegenerateRequest;
use crate::calling::alignments::{describe_finalized, describe_pairwise};
use crate::calling::regions::describe_stored_runs;
use crate::java::run_java_source;

/// Number of blocks, and of points in a block. The tests of `crates/jmath` know the second.
const BLOCKS_AND_SIZE: [&str; 2] = ["2", "2000"];

/// First seed and number of the graphs of `sequence_graphs.txt`.
const GRAPHS: [&str; 2] = ["1", "150"];

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

/// Returns the results of `PairHmm.java` for `pair_hmm.txt`, from edge cases and a few
/// regions.
pub fn print_kernel_likelihoods(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    print_regions(asked, &path.with_file_name("PairHmm.java"), "14")
}

/// Returns the results of `ReadLikelihoods.java` for `read_likelihoods.txt`, from edge cases and a few
/// regions.
pub fn print_read_likelihoods(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    print_regions(asked, &path.with_file_name("ReadLikelihoods.java"), "16")
}

fn print_regions(asked: &RegenerateRequest<'_>, source: &Path, regions: &str) -> Result<String> {
    let results = run_java_source(asked.peers, source, &["-4", regions])?;
    Ok(format!("\n{results}"))
}

/// Returns the results of `Assembly.java` for `assembly.txt`.
pub fn print_assemblies(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    print_results(asked, &path.with_file_name("Assembly.java"), &[])
}

/// Returns the results of `SequenceGraphs.java` for `sequence_graphs.txt`.
pub fn print_sequence_graphs(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    print_results(asked, &path.with_file_name("SequenceGraphs.java"), &GRAPHS)
}

/// Returns what the program prints about blocks of points, after an empty first line.
fn hash_results(asked: &RegenerateRequest<'_>, source: &Path, words: &[&str]) -> Result<String> {
    print_results(asked, source, &[words, &BLOCKS_AND_SIZE].concat())
}

/// Returns what the program prints, after an empty first line.
fn print_results(asked: &RegenerateRequest<'_>, source: &Path, words: &[&str]) -> Result<String> {
    let results = run_java_source(asked.peers, source, words)?;
    Ok(format!("\n{results}"))
}

/// Returns the results of `Genotypes.java` for `genotypes.txt`.
pub fn print_genotypes(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    let source = path.with_file_name("Genotypes.java");
    Ok(format!("\n{}", run_java_source(asked.peers, &source, &["stored", "1", "0"])?))
}

/// Returns the calls and results of `Annotations.java` for `annotations.txt`.
pub fn list_annotations(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    let source = path.with_file_name("Annotations.java");
    Ok(format!("\n{}", run_java_source(asked.peers, &source, &["11", "24", "60"])?))
}

/// Returns the files of HaplotypeCaller that `Files.java` prints for `files.txt`.
pub fn list_files(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    let directory = tempfile::tempdir()?;
    let temporary = directory.path().to_string_lossy();
    let source = path.with_file_name("Files.java");
    Ok(format!("\n{}", run_java_source(asked.peers, &source, &["1", "800", &temporary])?))
}

/// Returns the regions and files of `References.java` for `references.txt`.
pub fn list_references(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    let source = path.with_file_name("References.java");
    Ok(format!("\n{}", run_java_source(asked.peers, &source, &["11", "9", "8"])?))
}
