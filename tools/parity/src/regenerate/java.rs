//! Regenerates hashes of results of Java and of GATK's functions, by the Java programs beside them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::asked::RegenerateRequest;

/// Number of blocks, and of points in a block. The tests of `crates/jmath` know the second.
const BLOCKS_AND_SIZE: [&str; 2] = ["2", "2000"];

/// Returns the results of `Numbers.java` for `numbers.txt`. It needs a JDK 17.
pub fn hash_numbers(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    run_program(asked, &path.with_file_name("Numbers.java"), &["all"])
}

/// Returns the results of `Likelihoods.java` for `likelihoods.txt`. It needs a JDK 17.
pub fn hash_likelihoods(asked: &RegenerateRequest<'_>, path: &Path) -> Result<String> {
    run_program(asked, &path.with_file_name("Likelihoods.java"), &[])
}

/// Runs a program from its source, with GATK's classes, and returns what it prints after an empty
/// first line.
fn run_program(asked: &RegenerateRequest<'_>, source: &Path, words: &[&str]) -> Result<String> {
    // The last bit of Java's logarithms depends on the maker of the processor.
    let processor = fs::read_to_string("/proc/cpuinfo").context("/proc/cpuinfo")?;
    ensure!(processor.contains("GenuineIntel"), "these results are those of an Intel processor");
    let version = Command::new("java").arg("-version").output().context("cannot run java")?;
    let version = String::from_utf8_lossy(&version.stderr).into_owned();
    ensure!(version.contains("\"17."), "these results are those of Java 17, not of {version}");

    let mut tool = asked.peers.gatk()?;
    if let Some(main) = tool.arguments.last_mut() {
        *main = source.into();
    }
    let output = tool.command().args(words).args(BLOCKS_AND_SIZE).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} failed: {errors}", source.display());
    Ok(format!("\n{}", String::from_utf8(output.stdout)?))
}
