//! The options of all programs, as flags of the command line.
//!
//! An option of one program stands in a struct beside it; options that several programs share stand here. A field is a
//! flag of the same name, its doc comment is the help, and its alias is Picard's name of it. A flag that was not given
//! is `None`: the program that uses it knows the default.

use std::path::PathBuf;

use clap::Args;

use crate::alignment::options::AlignmentOptions;
use crate::flags::given_or;
use crate::gc_bias::options::GcBiasOptions;
use crate::insert_size::options::InsertSizeOptions;
use crate::levels::Level;
use crate::read::PreparedRead;
use crate::rna::options::RnaOptions;
use crate::substitutions::{CountedQualities, SubstitutionOptions};
use crate::targets::options::TargetOptions;
use crate::wgs::options::WgsOptions;

/// The greatest depth as of which deeper positions may count.
const MAX_COVERAGE_CAP: u32 = 1_000_000;

/// Picard's options of all programs, in the order of the help.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Quality metrics")]
pub struct QcOptions {
    /// Levels of alignments, insert sizes, GC bias, targets and RNA [default: ALL_READS]
    #[arg(
        long,
        alias = "METRIC_ACCUMULATION_LEVEL",
        value_name = "LIST",
        value_delimiter = ',',
        ignore_case = true,
        value_enum
    )]
    pub metric_accumulation_level: Vec<Level>,
    /// Of CollectAlignmentSummaryMetrics.
    #[command(flatten)]
    pub alignment: AlignmentOptions,
    /// Of CollectInsertSizeMetrics.
    #[command(flatten)]
    pub insert_size: InsertSizeOptions,
    /// Count insert sizes and substitutions of duplicates, too
    #[arg(long, alias = "INCLUDE_DUPLICATES")]
    pub include_duplicates: bool,
    /// Qualities and bases by cycle of aligned reads only
    #[arg(long, alias = "ALIGNED_READS_ONLY")]
    pub aligned_reads_only: bool,
    /// Qualities and bases by cycle of reads only that pass quality controls
    #[arg(long, alias = "PF_READS_ONLY")]
    pub pf_reads_only: bool,
    /// Count N in the distribution of qualities, too
    #[arg(long, alias = "INCLUDE_NO_CALLS")]
    pub include_no_calls: bool,
    /// Take quality yield and substitutions from QUAL even where there is OQ
    #[arg(long)]
    pub ignore_original_qualities: bool,
    /// Of CollectGcBiasMetrics.
    #[command(flatten)]
    pub gc_bias: GcBiasOptions,
    /// Least quality of bases whose substitutions are counted [default: 20]
    #[arg(long, alias = "MINIMUM_QUALITY_SCORE", value_name = "N", value_parser = clap::value_parser!(u8).range(0..=93))]
    pub minimum_quality_score: Option<u8>,
    /// Least mapping quality of reads whose substitutions or depths are counted [default: 30; depths: 20;
    /// CollectRawWgsMetrics: 0; CollectTargetedPcrMetrics: 1]
    #[arg(long, alias = "MINIMUM_MAPPING_QUALITY", value_name = "N")]
    pub minimum_mapping_quality: Option<u8>,
    /// Of CollectSequencingArtifactMetrics and CollectOxoGMetrics.
    #[command(flatten)]
    pub substitutions: SubstitutionOptions,
    /// Least quality of bases that count for the depth [default: 20; CollectRawWgsMetrics: 3;
    /// CollectTargetedPcrMetrics: 0]
    #[arg(long, alias = "MINIMUM_BASE_QUALITY", value_name = "N", value_parser = clap::value_parser!(u8).range(0..=127))]
    pub minimum_base_quality: Option<u8>,
    /// Deeper positions count as of this depth [default: 250; CollectRawWgsMetrics: 100000; targets: 200, for the
    /// sensitivity to SNPs alone]
    #[arg(
        long,
        alias = "COVERAGE_CAP",
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_COVERAGE_CAP))
    )]
    pub coverage_cap: Option<u32>,
    /// Of CollectWgsMetrics and its like.
    #[command(flatten)]
    pub wgs: WgsOptions,
    /// Sums of qualities that are drawn for the sensitivity to heterozygous SNPs [default: 10000]
    #[arg(long, alias = "SAMPLE_SIZE", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sample_size: Option<u32>,
    /// Count depths, and CollectOxoGMetrics, in these intervals only: an interval list of Picard, or a BED file
    #[arg(long, alias = "INTERVALS", value_name = "FILE")]
    pub intervals: Option<PathBuf>,
    /// Of CollectHsMetrics and CollectTargetedPcrMetrics.
    #[command(flatten)]
    pub targets: TargetOptions,
    /// Of CollectRnaSeqMetrics.
    #[command(flatten)]
    pub rna: RnaOptions,
}

impl QcOptions {
    /// Returns the levels at which alignments, insert sizes, GC bias, targets and RNA are summed up.
    pub(crate) fn levels(&self) -> Vec<Level> {
        given_or(&self.metric_accumulation_level, &[Level::AllReads])
    }

    /// Returns the qualities by which substitutions are counted.
    pub(crate) fn counted_qualities(&self) -> CountedQualities {
        CountedQualities::new(self.minimum_quality_score, !self.ignore_original_qualities)
    }

    /// Returns the number of sums of qualities that are drawn for the sensitivity to SNPs.
    pub(crate) fn sample_size(&self) -> u32 {
        self.sample_size.unwrap_or(10_000)
    }

    /// Whether bases and qualities by cycle, and the distribution of qualities, leave this read out.
    pub(crate) fn leaves_out(&self, read: &PreparedRead<'_>) -> bool {
        self.pf_reads_only && read.flags.is_qc_fail()
            || self.aligned_reads_only && read.flags.is_unmapped()
    }
}
