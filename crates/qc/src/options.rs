//! The options of all programs, as flags of the command line.
//!
//! Options of one program are in a struct next to the program. Options that several programs share
//! are here. Each field is a flag of the same name; its doc comment is the help text, and its alias
//! is Picard's name of the option. A flag that the user did not give is `None`, and the program
//! that uses it applies its own default.

use std::path::PathBuf;

use clap::Args;

use crate::alignment::options::AlignmentOptions;
use crate::flags::given_or;
use crate::gc_bias::options::GcBiasOptions;
use crate::insert_size::options::InsertSizeOptions;
use crate::jumping::options::JumpingOptions;
use crate::levels::Level;
use crate::read::PreparedRead;
use crate::rna::options::RnaOptions;
use crate::substitutions::{CountedQualities, SubstitutionOptions};
use crate::targets::options::TargetOptions;
use crate::wgs::options::WgsOptions;

/// Maximum of `--coverage-cap`. The memory of histograms of depths grows with it.
const MAX_COVERAGE_CAP: u32 = 1_000_000;

/// The options of all programs, in the order in which the help lists them.
///
/// All options default to "not given", so code that needs only a few of them can use the update
/// syntax of structs:
///
/// ```
/// use readmill_qc::QcOptions;
///
/// let mut options = QcOptions { coverage_cap: Some(500), ..QcOptions::default() };
/// options.gc_bias.scan_window_size = Some(50);
/// assert_eq!(options.minimum_base_quality, None);
/// ```
///
/// The command line includes this struct with `#[command(flatten)]`.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Quality metrics")]
pub struct QcOptions {
    /// Group alignments, insert sizes, GC bias, targets and RNA by [default: ALL_READS]
    #[arg(
        long,
        alias = "METRIC_ACCUMULATION_LEVEL",
        value_name = "LIST",
        value_delimiter = ',',
        ignore_case = true,
        value_enum
    )]
    pub metric_accumulation_level: Vec<Level>,
    #[command(flatten)]
    pub alignment: AlignmentOptions,
    #[command(flatten)]
    pub insert_size: InsertSizeOptions,
    /// Also count insert sizes and substitutions of duplicates
    #[arg(long, alias = "INCLUDE_DUPLICATES")]
    pub include_duplicates: bool,
    /// Limit metrics by quality or cycle to aligned reads
    #[arg(long, alias = "ALIGNED_READS_ONLY")]
    pub aligned_reads_only: bool,
    /// Limit metrics by quality or cycle to reads that pass quality checks
    #[arg(long, alias = "PF_READS_ONLY")]
    pub pf_reads_only: bool,
    /// Include N in the distribution of qualities
    #[arg(long, alias = "INCLUDE_NO_CALLS")]
    pub include_no_calls: bool,
    /// Count quality yield and substitutions by QUAL, not OQ
    #[arg(long)]
    pub ignore_original_qualities: bool,
    #[command(flatten)]
    pub gc_bias: GcBiasOptions,
    /// Minimum base quality for counting substitutions [default: 20]
    #[arg(long, alias = "MINIMUM_QUALITY_SCORE", value_name = "N", value_parser = clap::value_parser!(u8).range(0..=93))]
    pub minimum_quality_score: Option<u8>,
    /// Minimum mapping quality for substitutions, depths and jumping pairs [default: 30; depths: 20;
    /// CollectRawWgsMetrics, CollectJumpingLibraryMetrics: 0; CollectTargetedPcrMetrics: 1]
    #[arg(long, alias = "MINIMUM_MAPPING_QUALITY", value_name = "N")]
    pub minimum_mapping_quality: Option<u8>,
    #[command(flatten)]
    pub substitutions: SubstitutionOptions,
    /// Minimum base quality for depths [default: 20; CollectRawWgsMetrics: 3; CollectTargetedPcrMetrics: 0]
    #[arg(long, alias = "MINIMUM_BASE_QUALITY", value_name = "N", value_parser = clap::value_parser!(u8).range(0..=127))]
    pub minimum_base_quality: Option<u8>,
    /// Count deeper positions at this depth [default: 250; CollectRawWgsMetrics: 100000; targets: 200, only for the
    /// sensitivity to SNPs]
    #[arg(
        long,
        alias = "COVERAGE_CAP",
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_COVERAGE_CAP))
    )]
    pub coverage_cap: Option<u32>,
    #[command(flatten)]
    pub wgs: WgsOptions,
    /// Random samples for the sensitivity to heterozygous SNPs [default: 10000]
    #[arg(long, alias = "SAMPLE_SIZE", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sample_size: Option<u32>,
    /// Limit depths and CollectOxoGMetrics to these intervals (Picard interval list or BED)
    #[arg(long, alias = "INTERVALS", value_name = "FILE")]
    pub intervals: Option<PathBuf>,
    #[command(flatten)]
    pub targets: TargetOptions,
    #[command(flatten)]
    pub rna: RnaOptions,
    #[command(flatten)]
    pub jumping: JumpingOptions,
}

impl QcOptions {
    /// Returns the levels at which alignments, insert sizes, GC bias, targets and RNA are summed
    /// up. The default is all reads together.
    pub(crate) fn levels(&self) -> Vec<Level> {
        given_or(&self.metric_accumulation_level, &[Level::AllReads])
    }

    /// Returns the rule that decides which bases count as substitutions, by their quality.
    pub(crate) fn counted_qualities(&self) -> CountedQualities {
        CountedQualities::new(self.minimum_quality_score, !self.ignore_original_qualities)
    }

    /// Returns the number of random sums of qualities for the sensitivity to heterozygous SNPs
    /// (Picard's SAMPLE_SIZE).
    pub(crate) fn sample_size(&self) -> u32 {
        self.sample_size.unwrap_or(10_000)
    }

    /// Returns whether the metrics of bases and qualities by cycle, and the distribution of
    /// qualities, skip this read because of `--pf-reads-only` or `--aligned-reads-only`.
    pub(crate) fn leaves_out(&self, read: &PreparedRead<'_>) -> bool {
        self.pf_reads_only && read.flags.is_qc_fail()
            || self.aligned_reads_only && read.flags.is_unmapped()
    }
}
