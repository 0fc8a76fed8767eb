//! `readmill import`: converts FASTQ files to unaligned records.

use std::ops::RangeInclusive;

use clap::Args;
use readmill::addons::ReadTally;
use readmill::plan::{Aligner, Aligning, Command, Import, Steps};
use readmill::{Plan, memory};
use readmill_fastq::QualityEncoding;
use readmill_process::limit;
use readmill_record::{Error, Result};
use readmill_stats::adapters as adapter_tally;

use super::common::OutputFlags;
use super::filter_flags::FilterFlags;
use super::read_tags::{AdapterFlags, ReadTagFlags};
use super::reads::ReadsFlags;
use super::sort::OutputOrder;

const MAX_FASTQ_QUALITY: u8 = 93;

#[derive(Args)]
#[command(
    after_help = "The records are the same as those of samtools import and Picard FastqToSam: FLAG is 77 and 141 for pairs and 4 for single reads, and /1 and /2 are removed from names. The input can also be unaligned SAM, BAM or CRAM, to mark adapters or barcodes."
)]
pub struct ImportArgs {
    #[command(flatten)]
    reads: ReadsFlags,
    #[command(flatten)]
    qualities: QualityFlags,
    /// Add a comment line (@CO) to the header. May be repeated
    #[arg(long, value_name = "TEXT")]
    comment: Vec<String>,
    /// Flag single reads as read 1 or read 2, according to /1 or /2 in their names
    ///
    /// With --casava, the comments of the reads decide, as in samtools import.
    #[arg(long)]
    ends_by_name: bool,
    /// Fail if the input contains no reads [default: write an output without reads]
    #[arg(long, overrides_with = "allow_empty")]
    require_reads: bool,
    /// Accept input without reads (the default)
    #[arg(long, overrides_with = "require_reads", hide = true)]
    allow_empty: bool,
    #[command(flatten)]
    adapters: AdapterFlags,
    #[command(flatten)]
    read_tags: ReadTagFlags,
    #[command(flatten)]
    sort: OutputOrder,
    #[command(flatten)]
    filters: FilterFlags,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(Args)]
#[command(next_help_heading = "Qualities")]
struct QualityFlags {
    /// Quality encoding of FASTQ files: standard, illumina, solexa or detect
    ///
    /// standard is Phred + 33, and illumina is Phred + 64. detect determines the encoding from the
    /// first 10,000 records, as Picard FastqToSam does.
    #[arg(long, value_name = "ENCODING", default_value = "standard", value_parser = parse_encoding)]
    quality_encoding: EncodingChoice,
    /// Fail if a base has a quality below N
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=93))]
    min_quality: u8,
    /// Fail if a base has a quality above N
    #[arg(long, value_name = "N", default_value_t = MAX_FASTQ_QUALITY, value_parser = clap::value_parser!(u8).range(0..=93))]
    max_quality: u8,
}

/// The value of `--quality-encoding`. `None` means that the encoding is detected.
#[derive(Clone, Copy)]
struct EncodingChoice(Option<QualityEncoding>);

fn parse_encoding(text: &str) -> Result<EncodingChoice, String> {
    match text.to_ascii_lowercase().as_str() {
        "detect" => Ok(EncodingChoice(None)),
        name => name
            .parse()
            .map(|encoding| EncodingChoice(Some(encoding)))
            .map_err(|_: Error| format!("{text:?} is not one of standard, illumina, solexa and detect")),
    }
}

impl QualityFlags {
    /// Returns the accepted range of qualities. A read with a quality outside this range is an
    /// error.
    fn quality_range(&self) -> Result<RangeInclusive<u8>> {
        if self.min_quality > self.max_quality {
            let what = format!(
                "--min-quality {} is above --max-quality {}",
                self.min_quality, self.max_quality
            );
            return Err(Error::usage(what).hint("lower --min-quality, or raise --max-quality"));
        }
        Ok(self.min_quality..=self.max_quality)
    }

    /// Returns the flags that differ from their defaults, for `CL` of the `@PG` line.
    fn command_words(&self) -> Vec<String> {
        let encoding = self.quality_encoding.0.map_or("detect", QualityEncoding::name);
        [
            ("--quality-encoding", encoding.to_string(), "standard".to_string()),
            ("--min-quality", self.min_quality.to_string(), "0".to_string()),
            ("--max-quality", self.max_quality.to_string(), MAX_FASTQ_QUALITY.to_string()),
        ]
        .into_iter()
        .filter(|(_, value, usual)| value != usual)
        .map(|(flag, value, _)| format!("{flag} {value}"))
        .collect()
    }
}

impl ImportArgs {
    pub fn build_plan(&self) -> Result<Plan> {
        self.reads.check_output(self.output.is_named())?;
        let lanes = self.reads.build_lanes(self.read_tags.uses_comments())?;
        let mut words = self.qualities.command_words();
        words.extend(self.ends_by_name.then(|| "--ends-by-name".to_string()));
        if let Some(word) = words.first().filter(|_| lanes.iter().any(|lane| lane.records)) {
            return Err(Error::usage(format!("{word} works only with FASTQ input"))
                .hint("omit it: SAM, BAM and CRAM records already have Phred qualities and flags for read 1 and read 2"));
        }
        if let Some(comment) = self.comment.iter().find(|text| text.contains(['\n', '\r'])) {
            return Err(Error::usage(format!("--comment {comment:?} has more than one line"))
                .hint("give --comment once for each line"));
        }
        let import = Import {
            encoding: self.qualities.quality_encoding.0,
            qualities: self.qualities.quality_range()?,
            comments: self.comment.clone(),
            needs_reads: self.require_reads && !self.allow_empty,
            ends_by_name: self.ends_by_name,
        };
        let steps = Steps {
            filters: self.filters.parse_filters()?,
            sort: self.sort.requested_order(),
            ..Steps::default()
        };
        let mut plan = self.output.build_plan(Command::Import, self.reads.files(), steps)?;
        if let Some(file) = self.adapters.metrics_file() {
            plan.reports.add_ons.push(ReadTally::new(&adapter_tally::SPEC, file));
        }
        let mut read_tags = self
            .read_tags
            .build_request(self.adapters.build_adapter_rules()?, self.adapters.command_words());
        self.reads.divide_structures(&mut read_tags);
        plan.inputs.extend(self.reads.index_files());
        let aligning = Aligning {
            reference: None,
            lanes,
            read_tags,
            trimming: None,
            aligner: Aligner::None(import),
            words,
            as_given: self.reads.as_given() || self.ends_by_name,
            warnings: self.reads.warnings(),
        };
        if self.output.memory().is_none() {
            let more = memory::aligning_bytes(&aligning, plan.resources.threads)?;
            plan.resources.memory =
                limit::cap_to_address_space(plan.resources.memory.saturating_add(more));
        }
        plan.aligning = Some(aligning);
        Ok(plan)
    }
}
