//! Flags for reads that are not aligned yet, which `align` and `import` share: the files, how they
//! form lanes, and their read groups.

use std::path::PathBuf;

use clap::Args;
use readmill::plan::{IndexReads, LaneInput, ReadTags};
use readmill_fastq::{Purpose, ReadStructure};
use readmill_record::header::GivenReadGroup;
use readmill_record::{Error, Result};

use super::hints::{is_named_as_records, missing_output_error, refuse_picard_arguments};

#[derive(Args)]
pub struct ReadsFlags {
    /// FASTQ: one file with single reads or two with pairs; or unaligned SAM, BAM or CRAM
    ///
    /// FASTQ files are plain text, or compressed with gzip, bgzip or zstd; - means standard input.
    /// One file has single reads, two files have the reads of pairs, and four files have two lanes
    /// of pairs. Each SAM, BAM or CRAM file is one lane.
    #[arg(value_name = "READS", required = true)]
    reads: Vec<PathBuf>,
    /// Each file has single reads, even if several files are given
    #[arg(long, conflicts_with = "interleaved")]
    single: bool,
    /// Each file has pairs: read 1 and read 2 alternate (interleaved)
    #[arg(short = 'p', long)]
    interleaved: bool,
    /// Do not check the order of FASTQ files
    ///
    /// By default, it is an error if the names or comments of the first reads show that R2 is given
    /// before R1, or that a file is interleaved.
    #[arg(long)]
    as_given: bool,
    /// Standard input or a pipe has unaligned SAM, BAM or CRAM (in files, the format is detected)
    #[arg(long, conflicts_with_all = ["single", "interleaved"])]
    unaligned: bool,
    /// Read group of the reads, such as '@RG\tID:lane1\tSM:sample'
    ///
    /// Give the flag once for all files, or once for each lane.
    #[arg(short = 'R', long = "rg", value_name = "LINE", value_parser = GivenReadGroup::parse)]
    groups: Vec<GivenReadGroup>,
    #[command(flatten)]
    index: IndexReadFlags,
}

#[derive(Args)]
pub struct IndexReadFlags {
    /// FASTQ file of the first index read (I1), which is written to BC and QT
    ///
    /// The file has one record for each template, in the same order. Give the flag once for each
    /// lane.
    #[arg(long, help_heading = "Index reads", value_name = "FASTQ", conflicts_with = "unaligned")]
    i1: Vec<PathBuf>,
    /// FASTQ file of the second index read (I2), which is appended to BC after a -
    ///
    /// The file has one record for each template, in the same order. Give the flag once for each
    /// lane.
    #[arg(long, help_heading = "Index reads", value_name = "FASTQ", conflicts_with = "unaligned")]
    i2: Vec<PathBuf>,
    /// FASTQ file of UMIs, which are written to RX and QX
    ///
    /// The file has one record for each template, in the same order. Give the flag once for each
    /// lane.
    #[arg(long, help_heading = "Index reads", value_name = "FASTQ", conflicts_with_all = ["unaligned", "umi_from_name"])]
    umi_fastq: Vec<PathBuf>,
}

impl IndexReadFlags {
    /// Returns each given flag for index reads, with its files and the purpose of their bases.
    fn given_flags(&self) -> impl Iterator<Item = (&'static str, &[PathBuf], Purpose)> {
        let all = [
            ("--i1", &self.i1[..], Purpose::Sample),
            ("--i2", &self.i2[..], Purpose::Sample),
            ("--umi-fastq", &self.umi_fastq[..], Purpose::Molecule),
        ];
        all.into_iter().filter(|(_, files, _)| !files.is_empty())
    }

    /// Returns the index read files of the lane with 0-based index `lane`.
    fn lane_files(&self, lane: usize) -> Vec<PathBuf> {
        self.given_flags().filter_map(|(_, files, _)| files.get(lane).cloned()).collect()
    }

    /// Returns a usage error if a flag is not given exactly `lanes` times.
    fn check_file_counts(&self, lanes: usize) -> Result<()> {
        for (flag, files, _) in self.given_flags() {
            if files.len() != lanes {
                let what = format!("{flag} has {} files, but there are {lanes} lanes", files.len());
                return Err(Error::usage(what)
                    .hint(format!("give {flag} once for each lane, in the same order")));
            }
        }
        Ok(())
    }
}

impl ReadsFlags {
    pub fn files(&self) -> Vec<PathBuf> {
        self.reads.clone()
    }

    /// Returns the index read files of all lanes.
    pub fn index_files(&self) -> impl Iterator<Item = PathBuf> {
        self.index.given_flags().flat_map(|(_, files, _)| files.iter().cloned())
    }

    /// Moves the read structures of index reads, which follow those of reads, from
    /// `tags.structures` to `tags.index_reads`. An index read without a structure is, as a whole, a
    /// sample barcode or a UMI.
    pub fn divide_structures(&self, tags: &mut ReadTags) {
        let given: Vec<_> = self.index.given_flags().collect();
        let whole = |purpose: Purpose| ReadStructure::whole_read(purpose);
        let reads = tags.structures.len().saturating_sub(given.len());
        let segments = if self.interleaved || self.reads.len() > 1 && !self.single { 2 } else { 1 };
        // If there are only as many structures as reads, index reads have none.
        let own =
            if tags.structures.len() > segments { tags.structures.split_off(reads) } else { Vec::new() };
        let mut own = own.into_iter();
        tags.index_reads = given
            .into_iter()
            .map(|(flag, _, purpose)| {
                let structure = own.next().unwrap_or_else(|| whole(purpose));
                IndexReads { flag, structure, usual: whole(purpose) }
            })
            .collect();
    }

    pub fn as_given(&self) -> bool {
        self.as_given
    }

    /// Returns warnings about empty fields of the read groups.
    pub fn warnings(&self) -> Vec<String> {
        self.groups.iter().filter_map(GivenReadGroup::empty_fields_warning).collect()
    }

    /// Returns an error if the last file is probably meant as the output. `is_named` means that
    /// `-o` is given.
    pub fn check_output(&self, is_named: bool) -> Result<()> {
        refuse_picard_arguments(&self.reads)?;
        match &self.reads[..] {
            [_, .., last] if !is_named && is_named_as_records(last) => {
                Err(missing_output_error(&self.reads, &[("-o", last)]))
            }
            _ => Ok(()),
        }
    }

    /// Returns the lanes that the files form. `says_comments` means that FASTQ comments are parsed
    /// (`-C` or `--casava`).
    ///
    /// # Errors
    /// Fails if the number of files is odd, if the number of read groups differs from the number of
    /// lanes, or if a flag does not apply to files of this kind.
    pub fn build_lanes(&self, says_comments: bool) -> Result<Vec<LaneInput>> {
        let reads = &self.reads;
        let records = self.unaligned || reads.iter().any(|path| readmill_fastq::holds_records(path));
        if records {
            return self.build_record_lanes(says_comments);
        }
        let each = if self.single || self.interleaved || reads.len() == 1 { 1 } else { 2 };
        if !reads.len().is_multiple_of(each) {
            return Err(Error::usage(format!(
                "an odd number of files ({}) cannot have pairs",
                reads.len()
            ))
            .hint("give two files for each lane, or use --single or --interleaved"));
        }
        let lanes = reads.len() / each;
        self.index.check_file_counts(lanes)?;
        if self.groups.len() > 1 && self.groups.len() != lanes {
            return Err(Error::usage(format!(
                "{} read groups are given, but there are {lanes} lanes",
                self.groups.len()
            ))
            .hint("give -R once, or once for each lane, in the same order"));
        }
        let group = |lane: usize| self.groups.get(if self.groups.len() > 1 { lane } else { 0 });
        let group = |lane: usize| group(lane).map(|given| given.line.clone());
        let lane = |(at, files): (usize, &[PathBuf])| LaneInput {
            files: files.to_vec(),
            index_files: self.index.lane_files(at),
            interleaved: self.interleaved,
            records: false,
            group: group(at),
        };
        Ok(reads.chunks(each).enumerate().map(lane).collect())
    }

    /// Returns the lanes of SAM, BAM and CRAM files. Flags for FASTQ are errors, because the
    /// records contain this information.
    fn build_record_lanes(&self, says_comments: bool) -> Result<Vec<LaneInput>> {
        if let Some((flag, ..)) = self.index.given_flags().next() {
            return Err(Error::usage(format!("{flag} works only with FASTQ input"))
                .hint("omit it: SAM, BAM and CRAM records have barcodes in optional fields"));
        }
        if !self.groups.is_empty() {
            return Err(Error::usage(
                "-R works only with FASTQ input; reads from SAM, BAM and CRAM keep their read groups",
            )
            .hint("omit -R, or use --read-group to put all reads into one read group"));
        }
        if self.single || self.interleaved || says_comments {
            return Err(Error::usage("--single, -p, -C and --casava work only with FASTQ input")
                .hint("omit them: SAM, BAM and CRAM records contain this information"));
        }
        let lane = |path: &PathBuf| {
            let records = self.unaligned || readmill_fastq::holds_records(path);
            let (files, index_files) = (vec![path.clone()], Vec::new());
            LaneInput { files, index_files, interleaved: false, records, group: None }
        };
        Ok(self.reads.iter().map(lane).collect())
    }
}
