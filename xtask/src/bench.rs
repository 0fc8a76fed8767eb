//! Time and memory of whole processes, compared with the peers and the codec floor.
//!
//! All contenders of a table are measured in one run, in turns (A B C A B C …), so that what else happens on
//! the machine hits them alike. This process stays small, because Linux counts a parent's memory for its
//! children: data is made, counted and compressed in processes of their own.

mod align;
mod batches;
mod chains;
mod codecs;
mod contender;
mod cram;
mod drive;
mod filters;
mod floor;
mod jobs;
mod kernel;
mod machine;
mod markers;
mod memory;
mod options;
mod phases;
mod piles;
mod recalibrators;
mod serial;
mod sorters;
mod spill;
mod table;
mod tally;
mod threads;
mod told;
mod truth;
mod usage;
mod work;

use std::path::PathBuf;

use anyhow::Result;
use options::Options;
use work::Work;

/// Options of `bench`.
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
    /// Sort, mark PCR and optical duplicates, count errors, recalibrate base qualities: readmill with and without the
    /// last steps, elPrep, GATK and the codec floor
    FourSteps(recalibrators::Args),
    /// Recalibrate reads that are sorted and marked: readmill and GATK, the counting alone and the rest alone
    BqsrAlone(recalibrators::Args),
    /// The five steps with and without all cheap filters
    Filters(Options),
    /// Sort in any order: readmill, samtools, fgumi, sambamba, elPrep, Picard and the codec floor
    Sort(Options),
    /// Sort BAM into CRAM with its reference, on 1 and on 2 threads: readmill and samtools, by CRAM 3.0 and by its
    /// own version
    Cram(cram::Args),
    /// Sort and mark duplicates: readmill with and without marking, samtools, dupblaster and fgumi, samblaster,
    /// sambamba, bamsormadup, elPrep, Picard and the codec floor
    Duplicates(Options),
    /// Mark duplicates of reads sorted by coordinate: readmill, samtools, sambamba, Picard and the codec floor
    DuplicatesSorted(Options),
    /// From FASTQ to aligned, sorted, marked and indexed reads: readmill, its kernel alone and the codec floor,
    /// bwa-mem2 and bwa before samtools
    Align(align::Args),
    /// Cost of all reads at one position, and of all copies of a molecule on one tile: readmill, samtools, Picard
    Piles(piles::Args),
    /// readmill's sort beside its codec floor alone, without and with the codec of what it spills
    Floor(Options),
    /// Sort what is sorted already: readmill beside a copy by readmill and samtools, with much and little memory
    Sorted(Options),
    /// readmill's sort with the least memory to 4 GiB: peak, spill, time, and whether the output is the same
    Memory(Options),
    /// The serial phases of a sort, and what they allow on many cores, at levels 1 and 6
    Serial(Options),
    /// readmill's sort of the same reads as samtools and as Picard write them
    Input(Options),
    /// All codecs and levels on blocks of BAM files, without any peer
    Codecs(Options),
    /// Ways of reading and locks that threads share, as Langmead et al. 2018 compare them; simulated for more cores
    Threads(threads::Args),
    /// One measurement of the codec floor
    #[command(hide = true)]
    FloorOnce(floor::Args),
    /// One measurement of the bare aligner kernel
    #[command(hide = true)]
    KernelOnce(kernel::Args),
    /// One sort on one thread with a clock around each serial call
    #[command(hide = true)]
    SerialOnce(drive::Args),
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
        Bench::FourSteps(args) => jobs::four_steps(&Work::prepare(args.options)?, &args.truth),
        Bench::BqsrAlone(args) => jobs::bqsr_alone(&mut Work::prepare(args.options)?, &args.truth),
        Bench::Filters(options) => filters::run(&Work::prepare(options)?),
        Bench::Sort(options) => jobs::sort(&mut Work::prepare(options)?),
        Bench::Cram(args) => cram::run(args),
        Bench::Duplicates(options) => jobs::duplicates(&Work::prepare(options)?),
        Bench::DuplicatesSorted(options) => jobs::duplicates_sorted(&mut Work::prepare(options)?),
        Bench::Align(args) => align::run(args),
        Bench::Piles(args) => piles::run(args),
        Bench::Floor(options) => jobs::floor(&mut Work::prepare(options)?),
        Bench::Sorted(options) => jobs::sorted(&mut Work::prepare(options)?),
        Bench::Memory(options) => memory::run(&mut Work::prepare(options)?),
        Bench::Serial(options) => serial::run(&mut Work::prepare(options)?),
        Bench::Input(options) => jobs::input(&Work::prepare(options)?),
        Bench::Codecs(options) => codecs::run(&Work::prepare(options)?),
        Bench::Threads(args) => threads::run(&args),
        Bench::FloorOnce(args) => floor::run(&args),
        Bench::KernelOnce(args) => kernel::run(&args),
        Bench::SerialOnce(args) => drive::run(&args),
        Bench::Tally { file } => tally::run(&file),
    }
}
