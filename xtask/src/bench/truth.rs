//! The reference and the known sites for recalibration, in the formats that each program reads.
//!
//! GATK needs a dictionary and indexes next to the files, elPrep files in its own format. All of that is made once
//! and stays; none of it is measured. readmill takes the files as they are.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::contender::{Call, Program};
use super::work::Work;

/// Where the truth comes from, for reads that are not simulated.
#[derive(clap::Args)]
pub struct Flags {
    /// Reference of the reads in --data, with its .fai beside it; what GATK and elPrep need besides is made beside
    /// it, too
    #[arg(long, value_name = "FASTA", requires = "data")]
    reference: Option<PathBuf>,
    /// Known sites of --data (VCF), which GATK's index and elPrep's form of them are made beside; may be given again
    #[arg(long, value_name = "FILE", requires = "data")]
    known_sites: Vec<PathBuf>,
}

/// A reference and known sites.
pub struct BqsrInputs {
    /// The reference.
    pub reference: PathBuf,
    /// The known sites.
    pub known_sites: Vec<PathBuf>,
}

impl BqsrInputs {
    /// Takes the files of the flags, or those that belong to simulated reads.
    pub fn of(work: &Work, flags: &Flags) -> Result<Self> {
        if work.options.data.is_none() {
            let reference = work.data.with_file_name("reference.fa");
            return Ok(BqsrInputs {
                reference,
                known_sites: vec![work.data.with_file_name("known.vcf")],
            });
        }
        let canonical = |file: &PathBuf| {
            file.canonicalize().with_context(|| format!("cannot read {}", file.display()))
        };
        let reference = flags.reference.as_ref().context("--data needs its --reference, too")?;
        Ok(BqsrInputs {
            reference: canonical(reference)?,
            known_sites: flags.known_sites.iter().map(canonical).collect::<Result<_>>()?,
        })
    }

    /// Sees to it that GATK finds its dictionary and its indexes.
    pub fn index_for_gatk(&self, work: &Work, program: &Program) -> Result<()> {
        let call = |tool: &str| Call::new(program).words(tool);
        make(work, &self.reference, &self.reference.with_extension("dict"), |to| {
            call("CreateSequenceDictionary -R").arg(&self.reference).arg("-O").arg(to)
        })?;
        for sites in &self.known_sites {
            let end = if sites.extension().is_some_and(|end| end == "gz") { "tbi" } else { "idx" };
            make(work, sites, &with_end(sites, end), |to| {
                call("IndexFeatureFile -I").arg(sites).arg("-O").arg(to)
            })?;
        }
        Ok(())
    }

    /// The same as elPrep reads it.
    pub fn for_elprep(&self, work: &Work, program: &Program) -> Result<BqsrInputs> {
        let convert = |how: &str, from: &PathBuf, end: &str| {
            let made = with_end(from, end);
            make(work, from, &made, |to| Call::new(program).arg(how).arg(from).arg(to))?;
            Ok(made)
        };
        let sites = |from| convert("vcf-to-elsites", from, "elsites");
        Ok(BqsrInputs {
            reference: convert("fasta-to-elfasta", &self.reference, "elfasta")?,
            known_sites: self.known_sites.iter().map(sites).collect::<Result<_>>()?,
        })
    }
}

/// `known.vcf` as `known.vcf.idx`.
fn with_end(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(end);
    name.into()
}

/// Makes one file of another, unless that was done since the other was written.
fn make(work: &Work, from: &Path, to: &Path, call: impl FnOnce(&Path) -> Call) -> Result<()> {
    let written = |file: &Path| file.metadata().and_then(|meta| meta.modified()).ok();
    if written(to).is_some_and(|made| Some(made) >= written(from)) {
        return Ok(());
    }
    // The end of the name stays, because it can decide the format.
    let name = to.file_name().with_context(|| format!("{} has no name", to.display()))?;
    let partial = to.with_file_name(format!("partial-{}", name.to_string_lossy()));
    // The programs do not overwrite files of an interrupted run.
    let _ = std::fs::remove_file(&partial);
    work.do_once(call(&partial))?;
    std::fs::rename(&partial, to).with_context(|| format!("cannot write {}", to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_added_to_names() {
        assert_eq!(with_end(Path::new("/a/known.vcf.gz"), "tbi"), Path::new("/a/known.vcf.gz.tbi"));
        assert_eq!(with_end(Path::new("ref.fa"), "elfasta"), Path::new("ref.fa.elfasta"));
    }
}
