//! Time and memory of whole processes, beside the peers and beside the codec floor.
//!
//! All contenders of a table are measured in one run, in turns (A B C A B C …), so that what else happens on
//! the machine hits them alike. This process stays small, because Linux counts a parent's memory for its
//! children: data is made, counted and compressed in processes of their own.

mod contender;
mod floor;
mod jobs;
mod machine;
mod options;
mod table;
mod tally;
mod usage;
mod work;

use std::path::PathBuf;

use anyhow::Result;
use options::Options;
use work::Work;

/// What is measured.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(clap::Subcommand)]
enum Bench {
    /// Sort, mark duplicates, drop unmapped reads, replace read groups and the dictionary: readmill, elPrep,
    /// samtools, Picard and the codec floor
    FiveSteps(Options),
    /// Sort by coordinate: readmill, samtools, sambamba, elPrep, Picard and the codec floor
    Sort(Options),
    /// readmill's sort beside its codec floor alone
    Floor(Options),
    /// readmill's sort of the same reads as samtools and as Picard write them
    Input(Options),
    /// One measurement of the codec floor
    #[command(hide = true)]
    FloorOnce(floor::Args),
    /// Counts records and duplicates
    #[command(hide = true)]
    Tally {
        /// The BAM file
        file: PathBuf,
    },
}

/// Measures, and prints the table.
pub fn run(args: Args) -> Result<()> {
    match args.bench {
        Bench::FiveSteps(options) => jobs::five_steps(&Work::prepare(options)?),
        Bench::Sort(options) => jobs::sort(&Work::prepare(options)?),
        Bench::Floor(options) => jobs::floor(&Work::prepare(options)?),
        Bench::Input(options) => jobs::input(&Work::prepare(options)?),
        Bench::FloorOnce(args) => floor::run(&args),
        Bench::Tally { file } => tally::run(&file),
    }
}
