//! Time and memory of whole processes, compared with the peers and the codec floor.
//!
//! All contenders of a table are measured in one run, in turns (A B C A B C …), so that what else happens on
//! the machine hits them alike. This process stays small, because Linux counts a parent's memory for its
//! children: data is made, counted and compressed in processes of their own.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod align;
mod clocked_sort;
mod codecs;
mod contender;
mod data;
mod data_file;
mod fastq;
mod five_steps;
mod floor;
mod jobs;
mod kernel;
mod machine;
mod memory;
mod options;
mod qc;
mod recalibration;
mod same_position;
mod serial;
mod sorters;
mod table;
mod view;
mod work;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use options::Options;
use readmill_contention::experiment;
use readmill_peers::target_directory;
use work::Work;

/// Measure time and memory, compared with the peers
#[derive(Parser)]
#[command(name = "./dev bench", bin_name = "./dev bench", max_term_width = 100)]
enum Bench {
    /// Sort, mark duplicates, drop unmapped reads, replace read groups and the dictionary: readmill, elPrep,
    /// samtools, Picard and the codec floor
    FiveSteps(Options),
    /// Sort, mark PCR and optical duplicates, count errors, recalibrate base qualities: readmill with and without the
    /// last steps, elPrep, GATK and the codec floor
    FourSteps(recalibration::Args),
    /// Recalibrate reads that are sorted and marked: readmill and GATK, the counting alone and the rest alone
    BqsrAlone(recalibration::Args),
    /// The five steps with and without all cheap filters
    Filters(Options),
    /// Sort in any order: readmill, samtools, fgumi, sambamba, elPrep, Picard and the codec floor
    Sort(Options),
    /// Sort BAM into CRAM with its reference, on 1 and on 2 threads: readmill and samtools, by CRAM 3.0 and by its
    /// own version
    Cram(jobs::CramArgs),
    /// Sort and mark duplicates: readmill with and without marking, samtools, dupblaster and fgumi, samblaster,
    /// sambamba, bamsormadup, elPrep, Picard and the codec floor
    Duplicates(Options),
    /// Mark duplicates of reads sorted by coordinate: readmill, samtools, sambamba, Picard and the codec floor
    DuplicatesSorted(Options),
    /// From FASTQ to aligned, sorted, marked and indexed reads: readmill, its kernel alone and the codec floor,
    /// bwa-mem2 and bwa before samtools
    Align(align::Args),
    /// Cost of all reads at one position, and of all copies of a molecule on one tile: readmill, samtools, Picard
    Piles(same_position::Args),
    /// Compare readmill's sort with the codec floor, without other tools; if the sort spills, also with the floor that
    /// includes the spill
    Floor(Options),
    /// Sort what is sorted already: readmill beside a copy by readmill and samtools, with much and little memory
    Sorted(Options),
    /// readmill's sort with the least memory to 4 GiB: peak, spill, time, and whether the output is the same
    Memory(Options),
    /// The serial phases of a sort, and what they allow on many cores, at levels 1 and 6
    Serial(Options),
    /// readmill's sort of the same reads as samtools and as Picard write them
    Input(Options),
    /// Quality metrics and coverage while reads are sorted and marked, and alone: readmill, Picard, riker, mosdepth
    Qc(recalibration::Args),
    /// FASTQ on its way in: modules of FastQC, and trimming, beside FastQC and fastp
    Fastq(Options),
    /// Regions and whole files of BAM, CRAM and compressed SAM: the CPU time of readmill's and samtools' view
    View(view::Args),
    /// All codecs and levels on blocks of BAM files, without any peer
    Codecs(Options),
    /// Ways of reading and locks that threads share, as Langmead et al. 2018 compare them; simulated for more cores
    Threads(ThreadsArgs),
    /// One measurement of the codec floor
    #[command(hide = true)]
    FloorOnce(floor::Args),
    /// One measurement of the bare aligner kernel
    #[command(hide = true)]
    KernelOnce(kernel::Args),
    /// One sort on one thread with a clock around each serial call
    #[command(hide = true)]
    SerialOnce(clocked_sort::Args),
    /// Make simulated reads
    Data(data::Args),
    /// Counts records and duplicates
    #[command(hide = true)]
    Tally {
        /// The BAM file
        file: PathBuf,
    },
}

fn main() -> Result<()> {
    match Bench::parse() {
        Bench::FiveSteps(options) => jobs::five_steps(&Work::prepare(options)?),
        Bench::FourSteps(args) => jobs::four_steps(&Work::prepare(args.options)?, &args.truth),
        Bench::BqsrAlone(args) => jobs::bqsr_alone(&mut Work::prepare(args.options)?, &args.truth),
        Bench::Filters(options) => five_steps::with_filters(&Work::prepare(options)?),
        Bench::Sort(options) => jobs::sort(&mut Work::prepare(options)?),
        Bench::Cram(args) => jobs::cram(args),
        Bench::Duplicates(options) => jobs::duplicates(&Work::prepare(options)?),
        Bench::DuplicatesSorted(options) => jobs::duplicates_sorted(&mut Work::prepare(options)?),
        Bench::Align(args) => align::run(args),
        Bench::Piles(args) => same_position::run(args),
        Bench::Floor(options) => jobs::floor(&mut Work::prepare(options)?),
        Bench::Sorted(options) => jobs::sorted(&mut Work::prepare(options)?),
        Bench::Memory(options) => memory::run(&mut Work::prepare(options)?),
        Bench::Serial(options) => serial::run(&mut Work::prepare(options)?),
        Bench::Input(options) => jobs::input(&Work::prepare(options)?),
        Bench::Qc(args) => qc::run(Work::prepare(args.options)?, &args.truth),
        Bench::Fastq(options) => fastq::run(options),
        Bench::View(args) => view::run(args),
        Bench::Codecs(options) => codecs::run(&Work::prepare(options)?),
        Bench::Threads(args) => run_threads(&args),
        Bench::FloorOnce(args) => floor::run(&args),
        Bench::KernelOnce(args) => kernel::run(&args),
        Bench::SerialOnce(args) => clocked_sort::run(&args),
        Bench::Data(args) => data::run(args),
        Bench::Tally { file } => data::tally(&file),
    }
}

/// Options of `bench threads`.
#[derive(clap::Args)]
struct ThreadsArgs {
    /// A small run, to see that all of it works
    #[arg(long)]
    quick: bool,
    /// Pairs of reads that are measured
    #[arg(long, value_name = "N", default_value_t = 500_000)]
    pairs: u64,
    /// Measurements of each figure
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
    /// Numbers of threads that are measured together
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2,8,32")]
    threads: Vec<usize>,
    /// Seconds of each such measurement
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    seconds: f64,
    /// Cores for which is projected, with two threads each
    #[arg(long, value_name = "N", default_value_t = 256)]
    cores: usize,
    /// Directory for the reads [default: target/bench]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Directory for the plots [default: that of the reads]
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

/// Measures and simulates; prints the tables and writes the plots.
///
/// The experiment of Langmead et al. 2018: ways of reading, locks, and a simulation of both on more cores than this
/// machine has.
fn run_threads(args: &ThreadsArgs) -> Result<()> {
    let directory = args.directory.clone().unwrap_or_else(|| target_directory().join("bench"));
    let directory = directory.join("threads");
    let options = experiment::Options {
        plots: args.plots.clone().unwrap_or_else(|| directory.clone()),
        directory,
        pairs: if args.quick { args.pairs.min(5000) } else { args.pairs },
        rounds: if args.quick { 1 } else { args.runs },
        cores: args.cores,
        threads: args.threads.iter().map(|&threads| threads.max(1)).collect(),
        work: vec![0.0, 5.0, 20.0],
        seconds: if args.quick { 0.02 } else { args.seconds },
    };
    println!("## Threads that share an input\n\n{}\n", machine::describe());
    print!("{}", experiment::run(&options)?);
    Ok(())
}
