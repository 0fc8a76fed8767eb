//! Compares the parts of variant calling with GATK HaplotypeCaller.
//!
//! `files` compares whole files of `readmill call`. The others call the crates directly, and a Java program
//! of `tests/oracles/java` calls GATK's classes on the same input and prints what they return.

pub mod alignments;
mod assembly;
mod files;
mod genotypes;
mod likelihoods;
mod records;
pub mod regions;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use readmill_peers::Peers;

use crate::commands::{Commands, SampleDir};
use crate::java::{java_source, missing_for_java_source};
use crate::ledger::Ledger;

/// Compares each step, or says why this machine cannot. Files are written below `root`.
pub fn compare_calling(
    commands: &Commands,
    peers: &Peers,
    root: &Path,
    quick: bool,
    ledger: &mut Ledger,
) -> Result<()> {
    let what = "calling: comparison with GATK HaplotypeCaller";
    if quick {
        ledger.record_skipped(what, "it needs a JDK, for runs without --quick");
        return Ok(());
    }
    if let Some(why) = missing_for_java_source()? {
        ledger.record_skipped(what, &why);
        return Ok(());
    }
    fs::create_dir_all(root)?;
    files::compare_files(&SampleDir::new(commands, &root.join("files"))?, peers, ledger)?;
    regions::compare_regions(peers, root, ledger);
    alignments::compare_alignments(peers, ledger);
    assembly::compare_assemblies(peers, ledger);
    let programs = ["PairHmm.java", "ReadLikelihoods.java"].map(java_source);
    likelihoods::compare_likelihoods(peers, programs.each_ref().map(PathBuf::as_path), ledger);
    genotypes::compare_genotypes(peers, &java_source("Genotypes.java"), ledger);
    records::compare_records(peers, &java_source(""), root, ledger);
    Ok(())
}
