//! `readmill stats`, by the letters of samtools where they are free.

use std::path::PathBuf;

use clap::Args;
use readmill::Plan;
use readmill::plan::{RegionRequest, Tallies};
use readmill_filters::tally::stats::{self, CoverageBins, MAX_INSERT_SIZE, StatsOptions};
use readmill_record::{Error, Flags, Result};

use super::tally::TallyArgs;

/// Flags of statistics: those of samtools stats.
#[derive(Args)]
#[command(after_help = "\
The rows are those of samtools stats, which MultiQC and plot-bamstats read. The distribution of depths (COV) and the depth by GC \
(GCD) are there if the reads are sorted by coordinate. The letters are those of samtools stats, but for -m and -q, which are the \
memory and --quiet as everywhere: say --most-inserts and --trim-quality. -@ counts all threads.")]
pub struct StatsArgs {
    #[command(flatten)]
    args: TallyArgs,
    /// Rows of depths: the least and the greatest depth, and depths of a row
    #[arg(short, long, value_name = "MIN,MAX,STEP", default_value_t, help_heading = "Rows")]
    coverage: CoverageBins,
    /// Positions of a bin of GC and depth
    #[arg(long = "GC-depth", alias = "gc-depth", value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1 << 30), help_heading = "Rows")]
    gc_depth: u32,
    /// Larger insert sizes count as this one
    #[arg(short, long, value_name = "N", default_value_t = 8000, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_INSERT_SIZE)), help_heading = "Rows")]
    insert_size: u32,
    /// The share of pairs in rows, mean and deviation of insert sizes; the largest are left out
    #[arg(long, value_name = "SHARE", default_value_t = 0.99, value_parser = parse_share, help_heading = "Rows")]
    most_inserts: f32,
    /// Leave out rows of insert sizes that no pair has
    #[arg(short = 'x', long, help_heading = "Rows")]
    sparse: bool,
    /// Count bases below this quality as trimmed, from the end of a read as bwa trims it; 0 for none
    #[arg(long, value_name = "Q", default_value_t = 0, value_parser = clap::value_parser!(i32).range(0..=255), help_heading = "Rows")]
    trim_quality: i32,
    /// Leave out duplicates
    #[arg(short = 'd', long, help_heading = "Reads")]
    remove_dups: bool,
    /// Count only reads with all of these flags
    #[arg(short = 'f', long, value_name = "FLAGS", default_value = "0", help_heading = "Reads")]
    required_flag: Flags,
    /// Leave out reads with any of these flags
    #[arg(short = 'F', long, value_name = "FLAGS", help_heading = "Reads")]
    filtering_flag: Vec<Flags>,
    /// Count only reads of this read group, or of the read groups of this sample
    #[arg(short = 'I', long, value_name = "NAME", help_heading = "Reads")]
    id: Option<String>,
    /// Count only reads of so many bases
    #[arg(short = 'l', long, value_name = "N", help_heading = "Reads")]
    read_length: Option<u32>,
    /// Count bases that both mates cover once, in depths and in bases mapped (cigar)
    #[arg(short = 'p', long, help_heading = "Reads")]
    remove_overlaps: bool,
    /// Count in these regions alone: lines of a contig, its first and its last base, 1-based; needs sorted reads
    #[arg(short, long, value_name = "FILE", help_heading = "Regions")]
    target_regions: Option<PathBuf>,
    /// Tell which share of the regions is deeper than this
    #[arg(short = 'g', long, value_name = "N", default_value_t = 0, help_heading = "Regions")]
    cov_threshold: u32,
    /// Read this region alone, and count in it; may be given again; needs an index beside the input
    #[arg(long, value_name = "REGION", help_heading = "Regions")]
    region: Vec<String>,
    /// The index, if it is not beside the input
    #[arg(long, value_name = "FILE", requires = "region", help_heading = "Regions")]
    region_index: Option<PathBuf>,
}

impl StatsArgs {
    /// A plan that counts statistics alone.
    pub fn plan(&self) -> Result<Plan> {
        if self.cov_threshold > 0 && self.target_regions.is_none() && self.region.is_empty() {
            return Err(Error::usage("-g tells a share of regions, and there are none")
                .hint("give a file of regions by -t, or a region by --region"));
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
        let tallies = Tallies { stats: options, ..Tallies::only(&stats::SPEC, self.args.output()) };
        let mut plan = self.args.plan("stats", tallies)?;
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
    share.ok_or_else(|| format!("{text:?} is not a share, from 0 to 1"))
}
