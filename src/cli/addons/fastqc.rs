//! Flags for FastQC modules, which are counted in the same pass or directly from FASTQ files.

use std::path::{Path, PathBuf};

use clap::Args;
use readmill::addons::FastqcRequest;
use readmill::memory;
use readmill::plan::{Aligner, Aligning, Import, LaneInput, ReadTags, Reports};
use readmill_fastq::QualityEncoding;
use readmill_fastqc::FastqcOptions;
use readmill_record::{Error, Result};

use super::flags::{AddOnFlags, GivenRun};

#[derive(Args)]
#[command(next_help_heading = "FastQC")]
pub struct FastqcFlags {
    /// Write FastQC results of the unmodified input reads to DIR/NAME_fastqc/fastqc_data.txt and
    /// summary.txt
    #[arg(long, value_name = "DIR")]
    fastqc: Option<PathBuf>,
    /// Do not group positions of long reads in FastQC modules (fastqc --nogroup)
    #[arg(long, requires = "fastqc")]
    fastqc_nogroup: bool,
}

impl FastqcFlags {
    pub fn directory(&self) -> Option<&Path> {
        self.fastqc.as_deref()
    }

    /// Returns the request for reports of the unmodified reads of `inputs`.
    pub fn request(&self, inputs: &[PathBuf]) -> Result<Option<FastqcRequest>> {
        let options = FastqcOptions { no_group: self.fastqc_nogroup };
        self.fastqc.as_ref().map(|directory| FastqcRequest::new(directory, inputs, options)).transpose()
    }
}

impl AddOnFlags for FastqcFlags {
    fn is_empty(&self) -> bool {
        self.fastqc.is_none()
    }

    fn add_to(&self, reports: &mut Reports, run: &GivenRun<'_>) -> Result<()> {
        self.request(run.inputs)?.into_iter().for_each(|request| reports.add_ons.push(request));
        Ok(())
    }
}

/// Returns how FASTQ files are read if only FastQC modules are counted, and the memory for this
/// with `threads` threads, in bytes. Returns `None` if the inputs are SAM, BAM or CRAM.
///
/// # Errors
/// Fails if only some inputs are FASTQ.
pub fn plan_fastq_only(inputs: &[PathBuf], threads: usize) -> Result<Option<(Aligning, u64)>> {
    let fastq = inputs.iter().filter(|path| readmill_fastq::holds_fastq(path)).count();
    if fastq == 0 {
        return Ok(None);
    }
    if fastq < inputs.len() {
        let what = "some inputs are FASTQ and others are not";
        return Err(Error::usage(what).hint("run the command once for each format"));
    }
    let import = Import {
        encoding: Some(QualityEncoding::Standard),
        qualities: 0..=93,
        comments: Vec::new(),
        needs_reads: false,
        ends_by_name: true, // so that /1 and /2 in names are not checked
    };
    let lane = |path: &PathBuf| LaneInput {
        files: vec![path.clone()],
        index_files: Vec::new(),
        interleaved: false,
        records: false,
        group: None,
    };
    let aligning = Aligning {
        trimming: None,
        reference: None,
        lanes: inputs.iter().map(lane).collect(),
        read_tags: ReadTags::default(),
        aligner: Aligner::None(import),
        words: Vec::new(),
        as_given: true,
        warnings: Vec::new(),
    };
    let memory = memory::aligning_bytes(&aligning, threads)?;
    Ok(Some((aligning, memory)))
}
