//! Flags of recalibration, under GATK's names.

use std::path::PathBuf;

use clap::Args;
use readmill::plan::{Apply, TableRequest};
use readmill_bqsr::covariates::LONGEST_CONTEXT;
use readmill_bqsr::recalibration::MOST_CYCLES;
use readmill_bqsr::{ApplyOptions, Arguments, CountOptions, Writing};

/// Flags of counting.
#[derive(Args)]
#[command(next_help_heading = "Recalibration: counting")]
pub struct CountingFlags {
    /// Known sites, at which a mismatch is no error: VCF, BCF, BED, plain or compressed, without an index; may be given again
    #[arg(long, value_name = "FILE")]
    known_sites: Vec<PathBuf>,
    /// Count even where no file of --known-sites has a site
    #[arg(long)]
    allow_empty: bool,
    /// Longest read that can be counted, in cycles
    #[arg(long, value_name = "N", default_value_t = Arguments::default().maximum_cycle_value, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_CYCLES)))]
    maximum_cycle_value: u32,
    /// Bases of a context of mismatches
    #[arg(long, value_name = "N", default_value_t = Arguments::default().mismatches_context_size, value_parser = clap::value_parser!(u8).range(1..=i64::from(LONGEST_CONTEXT)))]
    mismatches_context_size: u8,
    /// Bases of a context of insertions and deletions
    #[arg(long, value_name = "N", default_value_t = Arguments::default().indels_context_size, value_parser = clap::value_parser!(u8).range(1..=i64::from(LONGEST_CONTEXT)))]
    indels_context_size: u8,
    /// Bases of at most this quality at the ends of a read are in no context
    #[arg(long, value_name = "Q", default_value_t = Arguments::default().low_quality_tail, value_parser = clap::value_parser!(i8).range(0..=93))]
    low_quality_tail: i8,
    /// Quality of the bases of reads that have none, which are not counted otherwise
    #[arg(long, value_name = "Q", value_parser = clap::value_parser!(u8).range(0..=93))]
    default_base_qualities: Option<u8>,
    /// Levels of the quantised qualities that the table proposes
    #[arg(long, value_name = "N", default_value_t = Arguments::default().quantizing_levels, value_parser = clap::value_parser!(u32).range(1..=1000))]
    quantizing_levels: u32,
    /// Count insertions and deletions, too
    #[arg(long)]
    compute_indel_bqsr_tables: bool,
}

/// Flags of qualities, for counting and applying.
#[derive(Args)]
#[command(next_help_heading = "Recalibration")]
pub struct QualityFlags {
    /// Bases of less quality are neither counted nor changed
    #[arg(long, value_name = "Q", default_value = "6", value_parser = clap::value_parser!(u8).range(0..=94))]
    preserve_qscores_less_than: u8,
    /// Begin with the qualities in OQ, where reads have it
    #[arg(long)]
    use_original_qualities: bool,
}

/// How a table is applied.
#[derive(Args)]
#[command(next_help_heading = "Recalibration: applying")]
pub struct ApplyingFlags {
    /// Round qualities from 6 on to the nearest of these; may be given again
    #[arg(long, value_name = "Q", value_delimiter = ',', conflicts_with = "quantize_quals", value_parser = clap::value_parser!(u8).range(0..=93))]
    static_quantized_quals: Vec<u8>,
    /// Round down to the next of --static-quantized-quals
    #[arg(long, requires = "static_quantized_quals", conflicts_with = "quantize_quals")]
    round_down_quantized: bool,
    /// Quantise qualities into so many levels; -1 for the levels of the table
    #[arg(long, value_name = "N", default_value = "0", allow_hyphen_values = true, value_parser = clap::value_parser!(i32).range(-1..=94))]
    quantize_quals: i32,
    /// Keep the old qualities in OQ, unless there are some already
    #[arg(long)]
    emit_original_quals: bool,
    /// Prior quality of every read group, in place of the reported one, if above 0
    #[arg(long, value_name = "Q", allow_hyphen_values = true, value_parser = parse_prior)]
    global_qscore_prior: Option<f64>,
    /// Leave qualities as they are where the table lacks the read group
    #[arg(long)]
    allow_missing_read_group: bool,
    /// Drop the reads that GATK's ApplyBQSR drops: without read group, bases or qualities, with N in the CIGAR, or at odds with it
    #[arg(long)]
    gatk_drop_malformed: bool,
}

fn parse_prior(text: &str) -> Result<f64, String> {
    let prior: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    (-1.0..=93.0).contains(&prior).then_some(prior).ok_or_else(|| "a quality up to 93".into())
}

/// Where reads must lie to be counted.
pub struct CountRegions {
    /// Where they must.
    pub intervals: Vec<String>,
    /// Where they must not.
    pub exclude: Vec<String>,
    /// Bases by which intervals are widened.
    pub padding: u32,
}

impl CountingFlags {
    /// Whether anything is asked for that is not the default.
    pub fn is_given(&self) -> bool {
        let usual = Arguments::default();
        let arguments = Arguments {
            mismatches_context_size: self.mismatches_context_size,
            indels_context_size: self.indels_context_size,
            maximum_cycle_value: self.maximum_cycle_value,
            low_quality_tail: self.low_quality_tail,
            quantizing_levels: self.quantizing_levels,
            ..usual.clone()
        };
        arguments != usual
            || !self.known_sites.is_empty()
            || self.allow_empty
            || self.default_base_qualities.is_some()
            || self.compute_indel_bqsr_tables
    }

    /// Returns the request for tables of the reads, before and after recalibration, counted against `reference`.
    pub fn table_request(
        &self,
        qualities: &QualityFlags,
        reference: PathBuf,
        regions: CountRegions,
        [table, after]: [Option<PathBuf>; 2],
    ) -> TableRequest {
        let arguments = Arguments {
            mismatches_context_size: self.mismatches_context_size,
            indels_context_size: self.indels_context_size,
            maximum_cycle_value: self.maximum_cycle_value,
            low_quality_tail: self.low_quality_tail,
            quantizing_levels: self.quantizing_levels,
            ..Arguments::default()
        };
        let counting = CountOptions {
            arguments,
            preserve_less_than: qualities.preserve_qscores_less_than,
            use_original: qualities.use_original_qualities,
            default_quality: self.default_base_qualities,
            indels: self.compute_indel_bqsr_tables,
        };
        TableRequest {
            reference,
            known_sites: self.known_sites.clone(),
            allow_empty: self.allow_empty,
            bootstrap: false,
            intervals: regions.intervals,
            exclude_intervals: regions.exclude,
            interval_padding: regions.padding,
            counting,
            table,
            after,
        }
    }
}

impl QualityFlags {
    /// Whether anything is asked for that is not the default.
    pub fn is_given(&self) -> bool {
        self.use_original_qualities
            || self.preserve_qscores_less_than != CountOptions::default().preserve_less_than
    }
}

impl ApplyingFlags {
    /// Whether anything is asked for that is not the default.
    pub fn is_given(&self) -> bool {
        !self.static_quantized_quals.is_empty()
            || self.quantize_quals != 0
            || self.emit_original_quals
            || self.global_qscore_prior.is_some()
            || self.allow_missing_read_group
            || self.gatk_drop_malformed
    }

    /// How a table is applied.
    pub fn apply(&self, qualities: &QualityFlags) -> Apply {
        let applying = ApplyOptions {
            preserve_below: qualities.preserve_qscores_less_than,
            quantize: self.quantize_quals,
            static_quantized: self.static_quantized_quals.clone(),
            round_down: self.round_down_quantized,
            global_prior: self.global_qscore_prior.filter(|&prior| prior > 0.0),
        };
        let writing = Writing {
            use_original: qualities.use_original_qualities,
            emit_original: self.emit_original_quals,
            allow_missing_group: self.allow_missing_read_group,
            drop_malformed: self.gatk_drop_malformed,
        };
        Apply { applying, writing }
    }
}
