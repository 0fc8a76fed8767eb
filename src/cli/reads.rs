//! Flags of reads that are not aligned: their files, how these belong together, and their read groups.

use std::path::PathBuf;

use clap::Args;
use readmill::plan::{self, Lane};
use readmill_record::header::HeaderLine;
use readmill_record::{Error, Result};

use super::hints::{is_named_as_records, no_output};

/// Files of reads.
#[derive(Args)]
pub struct ReadsFlags {
    /// FASTQ files, plain, by gzip, bgzip or zstd; - for standard input. Two are a pair, four are two lanes of pairs, and so on; one alone has single reads. Or SAM, BAM or CRAM files of reads that are not aligned, each a lane
    #[arg(value_name = "READS", required = true)]
    reads: Vec<PathBuf>,
    /// Each file has single reads, however many there are
    #[arg(long, conflicts_with = "interleaved")]
    single: bool,
    /// Each file has both reads of each pair, one after the other
    #[arg(short = 'p', long)]
    interleaved: bool,
    /// Take FASTQ files as they are given, even where names or comments of their first reads say otherwise: that R2 comes before R1, or that pairs alternate in one file
    #[arg(long)]
    as_given: bool,
    /// Each file is SAM, BAM or CRAM, of reads that are not aligned: for pipes, as files show it
    #[arg(long, conflicts_with_all = ["single", "interleaved"])]
    unaligned: bool,
    /// Read group, such as '@RG\tID:lane1\tSM:sample'; given once for all files, or once for each lane
    #[arg(short = 'R', long = "rg", value_name = "LINE", value_parser = plan::read_group)]
    groups: Vec<HeaderLine>,
}

impl ReadsFlags {
    /// The files.
    pub fn files(&self) -> Vec<PathBuf> {
        self.reads.clone()
    }

    /// Whether the files are taken as they are given.
    pub fn as_given(&self) -> bool {
        self.as_given
    }

    /// Refuses a last file that is probably the output, unless one is named.
    pub fn check_output(&self, is_named: bool) -> Result<()> {
        match &self.reads[..] {
            [_, .., last] if !is_named && is_named_as_records(last) => {
                Err(no_output(&self.reads, &[("-o", last)]))
            }
            _ => Ok(()),
        }
    }

    /// The lanes that these files are; `says_comments` is whether comments of FASTQ are asked for.
    pub fn lanes(&self, says_comments: bool) -> Result<Vec<Lane>> {
        let reads = &self.reads;
        let records = self.unaligned || reads.iter().any(|path| readmill_fastq::holds_records(path));
        if records {
            return self.lanes_of_records(says_comments);
        }
        let each = if self.single || self.interleaved || reads.len() == 1 { 1 } else { 2 };
        if !reads.len().is_multiple_of(each) {
            return Err(Error::usage(format!("{} files are not pairs of files", reads.len()))
                .hint("give two for each lane; or say --single, or --interleaved"));
        }
        let lanes = reads.len() / each;
        if self.groups.len() > 1 && self.groups.len() != lanes {
            return Err(Error::usage(format!(
                "there are {} read groups for {lanes} lanes",
                self.groups.len()
            ))
            .hint("give -R once, or once for each lane, in their order"));
        }
        let group = |lane: usize| self.groups.get(if self.groups.len() > 1 { lane } else { 0 }).cloned();
        let lane = |(at, files): (usize, &[PathBuf])| Lane {
            files: files.to_vec(),
            interleaved: self.interleaved,
            records: false,
            group: group(at),
        };
        Ok(reads.chunks(each).enumerate().map(lane).collect())
    }

    /// Files whose records say what FASTQ leaves to flags.
    fn lanes_of_records(&self, says_comments: bool) -> Result<Vec<Lane>> {
        if !self.groups.is_empty() {
            return Err(Error::usage("reads of SAM, BAM and CRAM keep their read groups")
                .hint("leave -R out; --read-group puts all reads into one"));
        }
        if self.single || self.interleaved || says_comments {
            return Err(Error::usage("--single, -p, -C and --casava are for FASTQ")
                .hint("leave them out: records of SAM, BAM and CRAM tell themselves"));
        }
        let lane = |path: &PathBuf| {
            let records = self.unaligned || readmill_fastq::holds_records(path);
            Lane { files: vec![path.clone()], interleaved: false, records, group: None }
        };
        Ok(self.reads.iter().map(lane).collect())
    }
}
