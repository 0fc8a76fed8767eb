//! Measures time and memory of readmill, of other programs, and of the minimum work that any
//! program must do.
//!
//! Each subcommand compares several contenders, which are measured in turns (A B C A B C ...), so
//! that other load on the machine affects all of them. The result is a Markdown table on standard
//! output.
//!
//! ```text
//! options ─► work        the directory, the input, the release build, the peers
//!            jobs, ...   the contenders of a subcommand: command lines in pipes
//!            table       rounds of measurements, medians, the printed table
//! ```
//!
//! This process stays small, because Linux counts a parent's memory for its children. So data is
//! generated, counted and compressed in separate processes (the hidden subcommands).

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
mod picture;
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
use work::BenchSetup;

/// Measure time and memory, compared with the peers
#[derive(Parser)]
#[command(name = "./dev bench", bin_name = "./dev bench", max_term_width = 100)]
enum Bench {
    /// Sort, mark duplicates, drop unmapped reads, replace read groups and the dictionary:
    /// readmill, elPrep, samtools, Picard and the codec floor
    FiveSteps(Options),
    /// Sort, mark PCR and optical duplicates, count errors, recalibrate base qualities: readmill
    /// with and without the last two steps, elPrep, GATK and the codec floor
    FourSteps(recalibration::RecalibrationArgs),
    /// Recalibrate sorted and marked reads, counting and applying measured separately: readmill and
    /// GATK
    BqsrAlone(recalibration::RecalibrationArgs),
    /// The five steps, with and without additional cheap filters
    Filters(Options),
    /// Sort in any order: readmill, samtools, fgumi, sambamba, elPrep, Picard and the codec floor
    Sort(Options),
    /// Sort BAM into CRAM with its reference, on 1 and on 2 threads: readmill and samtools, in CRAM
    /// 3.0 and in the profiles of 3.1
    Cram(jobs::CramArgs),
    /// Sort and mark duplicates: readmill with and without marking, samtools, dupblaster and fgumi, samblaster,
    /// sambamba, bamsormadup, elPrep, Picard and the codec floor
    Duplicates(Options),
    /// Mark duplicates of reads sorted by coordinate: readmill, samtools, sambamba, Picard and the codec floor
    DuplicatesSorted(Options),
    /// FASTQ to aligned, sorted, marked and indexed reads: readmill, its kernel alone, the codec
    /// floor, and bwa-mem2 and bwa in a pipe with samtools
    Align(align::AlignBenchArgs),
    /// Cost of many reads at one position, and of many copies of a molecule on one tile: readmill,
    /// samtools, Picard
    Piles(same_position::PilesArgs),
    /// readmill's sort and the codec floor without other programs; with the floor of the spill, if
    /// the sort spills
    Floor(Options),
    /// Sort reads that are already sorted: readmill sort, readmill copy and samtools, with much and
    /// little memory
    Sorted(Options),
    /// readmill's sort with the minimum memory up to 4 GiB: peak, spill, time, and whether outputs
    /// are equal
    Memory(Options),
    /// Serial phases of a sort, and the time they imply on many cores, at levels 1 and 6
    Serial(Options),
    /// readmill's sort of the same reads as samtools and as Picard write them
    Input(Options),
    /// Quality metrics and coverage, during a sort and alone: readmill, Picard, riker, mosdepth
    Qc(recalibration::RecalibrationArgs),
    /// FastQC modules and trimming of FASTQ input: readmill, FastQC and fastp
    Fastq(Options),
    /// CPU time of view, for regions and whole files of BAM, CRAM and compressed SAM: readmill and
    /// samtools
    View(view::ViewBenchArgs),
    /// All codecs and levels on blocks of BAM files, without other programs
    Codecs(Options),
    /// Ways of reading and locks that threads share (Langmead et al. 2018), measured, and simulated
    /// for more cores
    Threads(ThreadsArgs),
    /// Draw the picture of the README from the data file of `duplicates`, without measuring
    Picture(picture::PictureArgs),
    /// One measurement of the codec floor
    #[command(hide = true)]
    FloorOnce(floor::FloorArgs),
    /// One measurement of the bare aligner kernel
    #[command(hide = true)]
    KernelOnce(kernel::KernelArgs),
    /// One sort on one thread with a clock around each serial call
    #[command(hide = true)]
    SerialOnce(clocked_sort::ClockedSortArgs),
    /// Make simulated reads
    Data(data::DataArgs),
    /// Print the numbers of records and duplicates
    #[command(hide = true)]
    Tally {
        /// BAM file
        file: PathBuf,
    },
}

fn main() -> Result<()> {
    match Bench::parse() {
        Bench::FiveSteps(options) => jobs::bench_five_steps(&BenchSetup::prepare(options)?),
        Bench::FourSteps(args) => {
            jobs::bench_four_steps(&BenchSetup::prepare(args.options)?, &args.truth)
        }
        Bench::BqsrAlone(args) => {
            jobs::bench_bqsr_alone(&mut BenchSetup::prepare(args.options)?, &args.truth)
        }
        Bench::Filters(options) => five_steps::bench_filters(&BenchSetup::prepare(options)?),
        Bench::Sort(options) => jobs::bench_sort(&mut BenchSetup::prepare(options)?),
        Bench::Cram(args) => jobs::bench_cram(args),
        Bench::Duplicates(options) => jobs::bench_duplicates(&BenchSetup::prepare(options)?),
        Bench::DuplicatesSorted(options) => {
            jobs::bench_duplicates_sorted(&mut BenchSetup::prepare(options)?)
        }
        Bench::Align(args) => align::bench_align(args),
        Bench::Piles(args) => same_position::bench_piles(args),
        Bench::Floor(options) => jobs::bench_floor(&mut BenchSetup::prepare(options)?),
        Bench::Sorted(options) => jobs::bench_sorted(&mut BenchSetup::prepare(options)?),
        Bench::Memory(options) => memory::bench_memory(&mut BenchSetup::prepare(options)?),
        Bench::Serial(options) => serial::bench_serial(&mut BenchSetup::prepare(options)?),
        Bench::Input(options) => jobs::bench_input(&BenchSetup::prepare(options)?),
        Bench::Qc(args) => qc::bench_qc(BenchSetup::prepare(args.options)?, &args.truth),
        Bench::Fastq(options) => fastq::bench_fastq(options),
        Bench::View(args) => view::bench_view(args),
        Bench::Codecs(options) => codecs::bench_codecs(&BenchSetup::prepare(options)?),
        Bench::Threads(args) => run_threads(&args),
        Bench::Picture(args) => picture::draw_pictures(&args),
        Bench::FloorOnce(args) => floor::measure_floor(&args),
        Bench::KernelOnce(args) => kernel::measure_kernel(&args),
        Bench::SerialOnce(args) => clocked_sort::clock_sort(&args),
        Bench::Data(args) => data::simulate_data(args),
        Bench::Tally { file } => data::print_tally(&file),
    }
}

#[derive(clap::Args)]
struct ThreadsArgs {
    /// Use little data, to check that everything works
    #[arg(long)]
    quick: bool,
    /// Read pairs to measure
    #[arg(long, value_name = "N", default_value_t = 500_000)]
    pairs: u64,
    /// Measurements of each figure
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
    /// Numbers of threads to measure
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2,8,32")]
    threads: Vec<usize>,
    /// Seconds of each measurement with several threads
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    seconds: f64,
    /// Number of cores to project to, with two threads each
    #[arg(long, value_name = "N", default_value_t = 256)]
    cores: usize,
    /// Directory for the reads [default: target/bench]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Directory for the plots [default: the directory of the reads]
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

/// Runs the experiment of Langmead et al. 2018 and prints its tables: ways of reading, locks, and a
/// simulation of both on more cores than this machine has.
fn run_threads(args: &ThreadsArgs) -> Result<()> {
    let directory = args.directory.clone().unwrap_or_else(|| target_directory().join("bench"));
    let directory = directory.join("threads");
    let options = experiment::ExperimentOptions {
        plots: args.plots.clone().unwrap_or_else(|| directory.clone()),
        directory,
        pairs: if args.quick { args.pairs.min(5000) } else { args.pairs },
        rounds: if args.quick { 1 } else { args.runs },
        cores: args.cores,
        threads: args.threads.iter().map(|&threads| threads.max(1)).collect(),
        work: vec![0.0, 5.0, 20.0],
        seconds: if args.quick { 0.02 } else { args.seconds },
    };
    println!("## Threads that share an input\n\n{}\n", machine::describe_machine());
    print!("{}", experiment::run_experiment(&options)?);
    Ok(())
}
