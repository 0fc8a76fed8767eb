//! `readmill stats`: computes the statistics of samtools stats. Its flags have the same letters as
//! in samtools stats, except for letters with a different meaning in all readmill commands.

use std::path::PathBuf;

use clap::Args;
use readmill::Plan;
use readmill::addons::ReadTally;
use readmill::plan::{RegionRequest, Reports};
use readmill_record::{Error, Flags, Result};
use readmill_stats::stats::{CoverageBins, MAX_INSERT_SIZE, StatsOptions};

use super::tally::TallyArgs;

#[derive(Args)]
#[command(after_help = "\
The output has the rows of samtools stats, which MultiQC and plot-bamstats read. The depth distribution (COV) and the depth by GC content (GCD) need reads sorted by coordinate. The flags are those of samtools stats, except that -m is --memory and -q is --quiet, as in all commands; for samtools -m and -q, use --most-inserts and --trim-quality. -@ is the total number of threads.")]
pub struct StatsArgs {
    #[command(flatten)]
    args: TallyArgs,
    /// Report the depth distribution from MIN to MAX, in bins of STEP
    #[arg(short, long, value_name = "MIN,MAX,STEP", default_value_t, help_heading = "Rows")]
    coverage: CoverageBins,
    /// Window size for the depth by GC content (GCD), in bases
    #[arg(long = "GC-depth", alias = "gc-depth", value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1 << 30), help_heading = "Rows")]
    gc_depth: u32,
    /// Maximum insert size. Larger insert sizes are counted as this size
    #[arg(short, long, value_name = "N", default_value_t = 8000, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_INSERT_SIZE)), help_heading = "Rows")]
    insert_size: u32,
    /// Fraction of the pairs that is used for insert sizes; pairs with the largest sizes are left
    /// out
    #[arg(long, value_name = "SHARE", default_value_t = 0.99, value_parser = parse_share, help_heading = "Rows")]
    most_inserts: f32,
    /// Do not write rows for insert sizes that do not occur
    #[arg(short = 'x', long, help_heading = "Rows")]
    sparse: bool,
    /// Report the number of bases that bwa would trim at this quality threshold. 0 disables this
    #[arg(long, value_name = "Q", default_value_t = 0, value_parser = clap::value_parser!(i32).range(0..=255), help_heading = "Rows")]
    trim_quality: i32,
    /// Exclude duplicates
    #[arg(short = 'd', long, help_heading = "Reads")]
    remove_dups: bool,
    /// Count only reads with all of these flags
    #[arg(short = 'f', long, value_name = "FLAGS", default_value = "0", help_heading = "Reads")]
    required_flag: Flags,
    /// Exclude reads with any of these flags
    #[arg(short = 'F', long, value_name = "FLAGS", help_heading = "Reads")]
    filtering_flag: Vec<Flags>,
    /// Count only reads of the read group with this ID, or with this sample (SM)
    #[arg(short = 'I', long, value_name = "NAME", help_heading = "Reads")]
    id: Option<String>,
    /// Count only reads with exactly N bases
    #[arg(short = 'l', long, value_name = "N", help_heading = "Reads")]
    read_length: Option<u32>,
    /// Count bases in the overlap of mates only once, in depths and in "bases mapped (cigar)"
    #[arg(short = 'p', long, help_heading = "Reads")]
    remove_overlaps: bool,
    /// Count only in the regions of this file; needs sorted reads
    ///
    /// Each line has a contig, and the first and last base of a region (1-based).
    #[arg(short, long, value_name = "FILE", help_heading = "Regions")]
    target_regions: Option<PathBuf>,
    /// Also report the fraction of the regions with a depth above N
    #[arg(short = 'g', long, value_name = "N", default_value_t = 0, help_heading = "Regions")]
    cov_threshold: u32,
    /// Read and count only this region, using the index of the input. May be repeated
    #[arg(long, value_name = "REGION", help_heading = "Regions")]
    region: Vec<String>,
    /// Index file of the input [default: the index with the usual name]
    #[arg(long, value_name = "FILE", requires = "region", help_heading = "Regions")]
    region_index: Option<PathBuf>,
}

impl StatsArgs {
    pub fn build_plan(&self) -> Result<Plan> {
        if self.cov_threshold > 0 && self.target_regions.is_none() && self.region.is_empty() {
            return Err(Error::usage("-g reports a fraction of the regions, but no regions are given")
                .hint("give a file of regions with -t, or a region with --region"));
        }
        let duplicates = if self.remove_dups { Flags::DUPLICATE } else { 0 };
        let options = StatsOptions {
            coverage: self.coverage,
            gc_bin: self.gc_depth,
            exclude_flags: self.filtering_flag.iter().fold(duplicates, |all, flags| all | flags.0),
            require_flags: self.required_flag.0,
            max_insert_size: self.insert_size,
            main_bulk: self.most_inserts,
            read_length: self.read_length,
            id: self.id.clone(),
            trim_quality: self.trim_quality,
            sparse: self.sparse,
            remove_overlaps: self.remove_overlaps,
            targets: self.target_regions.clone(),
            within_regions: !self.region.is_empty(),
            coverage_threshold: self.cov_threshold,
        };
        let tally = ReadTally::with_stats(options, self.args.output());
        let mut plan = self.args.build_plan("stats", Reports::only(tally))?;
        plan.regions = (!self.region.is_empty()).then(|| RegionRequest {
            texts: self.region.clone(),
            each_once: true,
            index: self.region_index.clone(),
            ..RegionRequest::default()
        });
        Ok(plan)
    }
}

fn parse_share(text: &str) -> std::result::Result<f32, String> {
    let share = text.parse::<f32>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("{text:?} is not a fraction from 0 to 1"))
}
