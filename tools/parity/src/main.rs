//! `./dev parity`: compares the results of readmill with samtools, Picard, GATK, bwa and
//! other tools (the peers).
//!
//! 1. `samples` simulates reads, or uses the user's files, and puts them into one directory per
//!    sample.
//! 2. `commands` runs readmill and the peers there, on the same files and with equivalent
//!    options.
//! 3. `outputs` compares their outputs: SAM text line by line, BAM bytes record by record.
//! 4. `ledger` prints one line per comparison, `ok` or `FAIL`, and counts them.
//!
//! docs/parity.md lists all comparisons with their tools, and gives a reason for each accepted
//! difference.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod align;
mod bqsr;
mod calling;
mod commands;
mod corpus;
mod coverage;
mod cram;
mod depth;
mod duplicate_marks;
mod duplicates;
mod fastqc;
mod filters;
mod fingerprint;
mod fronts;
mod gatk;
mod index_command;
mod indexes;
mod java;
mod ledger;
mod orders;
mod outputs;
mod pipeline;
mod qc;
mod qc_depths;
mod qc_jumping;
mod qc_rna;
mod qc_targets;
mod random;
mod random_cases;
mod regenerate;
mod reports;
mod samples;
mod samtools_duplicates;
mod several_inputs;
mod sort;
mod stats;
mod trim;
mod umi;
mod view;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Parser;
use commands::{Commands, SampleDir};
use corpus::report::ReportPaths;
use ledger::{FULL_RUN, Ledger};
use readmill_peers::Peers;
use samples::Sample;

/// Compare all outputs with samtools, Picard, GATK, bwa and others
#[derive(Parser)]
#[command(name = "./dev parity", bin_name = "./dev parity", max_term_width = 100)]
struct ParityArgs {
    /// Also compare results for this BAM file; may be repeated
    #[arg(long, value_name = "FILE.bam", num_args = 1..)]
    data: Vec<PathBuf>,
    /// Templates in each simulated sample [default: 100000, or 8000 with --quick]
    #[arg(long, value_name = "N")]
    pairs: Option<u64>,
    /// Small random inputs in each order, sets of several inputs, and small files to index [default: 1000, 1000
    /// and 300; 100, 40 and 40 with --quick]
    #[arg(long, value_name = "N")]
    cases: Option<u64>,
    /// For CI: small samples, fewer Java starts, and only peers that are quick to install
    #[arg(long)]
    quick: bool,
    /// Compare nothing; only install the peers that --quick needs and that take longest
    #[arg(long, conflicts_with_all = ["data", "corpus", "regenerate"])]
    install: bool,
    /// Do not simulate samples; use only the files of --data
    #[arg(long, requires = "data")]
    only_data: bool,
    /// Compare this program instead of building the one of this checkout
    #[arg(long, value_name = "PROGRAM")]
    readmill: Option<PathBuf>,
    /// Compare only these parts
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    only: Vec<ParityPart>,
    /// Compare all parts except these
    #[arg(long, value_name = "PART", value_delimiter = ',', conflicts_with = "only")]
    except: Vec<ParityPart>,
    /// Compare only on the SAM, BAM and CRAM files below this directory
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Compare quality metrics and coverage of the files of --corpus with those of Picard, samtools and mosdepth
    #[arg(long, requires = "corpus", conflicts_with = "cram")]
    metrics: bool,
    /// Write the CRAM files of --corpus in this version and profile, such as version=3.1,small
    #[arg(long, value_name = "FORMAT", requires = "corpus", default_value = "version=3.0")]
    cram: String,
    /// Write the totals of --corpus to this file, as Markdown
    #[arg(long, value_name = "FILE.md", requires = "corpus")]
    report: Option<PathBuf>,
    /// Write tab-separated files with a row per file of --corpus and per difference to this directory
    #[arg(long, value_name = "DIR", requires = "corpus")]
    tables: Option<PathBuf>,
    /// Instead of comparing, rewrite the oracles of tests/oracles whose names contain NAME, or all,
    /// from the output of the real tools
    #[arg(long, value_name = "NAME", num_args = 0..)]
    regenerate: Option<Vec<String>>,
    /// Regenerate only the cases whose names contain this
    #[arg(long, value_name = "TEXT", requires = "regenerate")]
    only_case: Option<String>,
    /// Keep the files in this directory
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ParityPart {
    /// Records that no aligner writes
    Odd,
    /// Small random inputs in every order
    Cases,
    /// Several inputs, with equal or clashing headers
    Several,
    /// Indexes of unusual files
    Indexes,
    /// Duplicate metrics of one or several libraries, also read by MultiQC
    Metrics,
    /// Molecules from UMIs, compared with umi_tools and fgumi
    Umi,
    /// Recalibrated base qualities, compared with GATK
    Bqsr,
    /// Filters and edits, compared with samtools view, elPrep and Picard
    Filters,
    /// Regions and flags of view, compared with samtools view
    View,
    /// Flagstat, idxstats, checksums, FASTQ and splits, compared with samtools
    #[value(name = "reports", alias = "beside")]
    Reports,
    /// Quality metrics, compared with Picard CollectMultipleMetrics
    Qc,
    /// FastQC modules, compared with FastQC
    Fastqc,
    /// Depths and regions, compared with mosdepth
    Coverage,
    /// Depths, coverage and statistics, compared with samtools depth, coverage and stats
    Depth,
    /// Command lines of other tools, run by the tool and by its front
    Fronts,
    /// CRAM in both versions and all profiles, compared with samtools and htsjdk
    Cram,
    /// Aligned reads, compared with bwa mem and minibwa; indexes, with bwa-mem2 and minibwa
    Align,
    /// Reads trimmed before alignment, compared with fastp
    Trim,
    /// Variants and the steps of calling them, compared with GATK HaplotypeCaller
    Calling,
    /// Samples in every order
    Orders,
    /// Samples sorted by coordinate, with duplicates marked, and through all steps
    Samples,
}

impl ParityArgs {
    fn has(&self, part: ParityPart) -> bool {
        let is_asked_for = self.only.is_empty() || self.only.contains(&part);
        is_asked_for && !self.except.contains(&part)
    }
}

/// Runs the comparisons that the command line selects. Returns an error if one of them failed, so
/// that CI fails as well.
fn main() -> Result<()> {
    let args = ParityArgs::parse();
    let peers = Peers::new()?;
    let temporary = tempfile::Builder::new().prefix("readmill-parity").tempdir()?;
    let root = args.keep.clone().unwrap_or_else(|| temporary.path().to_path_buf());
    if let Some(names) = &args.regenerate {
        return regenerate::regenerate_oracles(names, args.only_case.as_deref(), &peers, &root);
    }
    let commands = Commands::find_or_build(args.readmill.as_deref(), &peers)?;
    println!("{}", commands.versions_line()?);
    if args.install {
        println!("GATK {} is installed, too", peers.gatk()?.version);
        return Ok(());
    }

    let mut ledger = Ledger::default();
    let report = ReportPaths { page: args.report.as_deref(), tables: args.tables.as_deref() };
    if let (Some(corpus), true) = (&args.corpus, args.metrics) {
        corpus::metrics::compare_corpus_metrics(
            &SampleDir::new(&commands, &root.join("corpus"))?,
            &peers.mosdepth()?,
            &corpus.canonicalize()?,
            report,
            &mut ledger,
        )?;
        return report_totals(&ledger);
    }
    if let Some(corpus) = &args.corpus {
        let commands = match args.cram.contains("version=3.0") {
            true => commands,
            false => commands.reading_cram_3_1(&peers)?,
        };
        corpus::compare_corpus(
            &SampleDir::new(&commands, &root.join("corpus"))?,
            &corpus.canonicalize()?,
            &args.cram,
            report,
            &mut ledger,
        )?;
        return report_totals(&ledger);
    }
    if !args.only_data {
        compare_small_inputs(&args, &commands, &peers, &root, &mut ledger)?;
    }
    for sample in collect_samples(&args)? {
        let dir = SampleDir::new(&commands, &root.join(&sample.name))?;
        sample.write_input_bam(&dir)?;
        ledger.print_heading(&sample.name, sample.about);
        if args.has(ParityPart::Samples) {
            compare_sample(&dir, &sample, args.quick, &mut ledger);
        }
        if args.has(ParityPart::Bqsr) && sample.is_given() {
            bqsr::compare_sample(&dir, &peers, &sample, args.quick, &mut ledger);
        }
        if args.has(ParityPart::Orders) && is_ordered(&args, &sample) {
            orders::compare_orders(&dir, sample.is_deep, !args.quick, &mut ledger);
        }
        if args.keep.is_none() {
            std::fs::remove_dir_all(dir.directory())?;
        }
    }
    report_totals(&ledger)
}

/// Prints the number of comparisons and of skipped parts. Returns an error if a comparison failed.
fn report_totals(ledger: &Ledger) -> Result<()> {
    let left_out = match ledger.skipped_count() {
        0 => String::new(),
        parts => format!("; parts left out: {parts}"),
    };
    match ledger.failure_count() {
        0 => {
            println!("all {} comparisons ok{left_out}", ledger.comparison_count());
            Ok(())
        }
        failures => bail!("{failures} of {} comparisons failed{left_out}", ledger.comparison_count()),
    }
}

/// Runs the comparisons that generate their own inputs. Those that share the simulated samples are
/// in [`compare_sample`].
fn compare_small_inputs(
    args: &ParityArgs,
    commands: &Commands,
    peers: &Peers,
    root: &Path,
    ledger: &mut Ledger,
) -> Result<()> {
    let number = |quick, all| args.cases.unwrap_or(if args.quick { quick } else { all });
    let dir = |name| SampleDir::new(commands, &root.join(name));
    if args.has(ParityPart::Odd) {
        sort::compare_unusual(&dir("odd")?, ledger);
    }
    if args.has(ParityPart::Cases) {
        random_cases::compare_random_cases(&dir("cases")?, number(100, 1_000), ledger);
    }
    if args.has(ParityPart::Several) {
        several_inputs::compare_several_inputs(&dir("several")?, number(40, 1_000), ledger);
    }
    if args.has(ParityPart::Indexes) {
        indexes::compare_unusual_indexes(&dir("indexes")?, number(40, 300), ledger);
        index_command::compare_index_commands(
            &dir("index")?,
            peers,
            number(10, 100),
            args.quick,
            ledger,
        );
    }
    if args.has(ParityPart::Metrics) {
        duplicates::compare_duplicate_metrics(
            commands,
            peers,
            root,
            args.pairs.unwrap_or(20_000),
            !args.quick,
            ledger,
        )?;
        samtools_duplicates::compare_samtools_markdup(&dir("by-samtools")?, number(4, 200), ledger);
    }
    if args.has(ParityPart::Umi) && args.quick {
        ledger.record_skipped("umi: comparison with umi_tools and fgumi", FULL_RUN);
    } else if args.has(ParityPart::Umi) {
        umi::compare_molecules(&dir("molecules")?, peers, args.cases.unwrap_or(1_000), ledger);
    }
    if args.has(ParityPart::Filters) {
        let pairs = args.pairs.unwrap_or(if args.quick { 5_000 } else { 50_000 });
        filters::compare_filters(&dir("filters")?, peers, pairs, !args.quick, ledger)?;
    }
    if args.has(ParityPart::View) {
        let pairs = args.pairs.unwrap_or(if args.quick { 3_000 } else { 50_000 });
        view::compare_view(&dir("view")?, pairs, if args.quick { 60 } else { 1_000 }, ledger)?;
    }
    if args.has(ParityPart::Reports) {
        let pairs = args.pairs.unwrap_or(if args.quick { 5_000 } else { 50_000 });
        reports::compare_reports(&dir("reports")?, pairs, ledger)?;
    }
    if args.has(ParityPart::Cram) {
        let pairs = args.pairs.unwrap_or(if args.quick { 3_000 } else { 50_000 });
        let (root, inputs) = (root.join("cram"), (pairs, number(10, 150)));
        let reading_3_1 = commands.reading_cram_3_1(peers)?;
        cram::compare_cram_formats(commands, &reading_3_1, &root, inputs, !args.quick, ledger)?;
    }
    if args.has(ParityPart::Qc) {
        compare_quality_metrics(args, dir, ledger)?;
    }
    if args.has(ParityPart::Fastqc) {
        let reads = if args.quick { 5_000 } else { 60_000 };
        let sizes = (reads, args.pairs.unwrap_or(if args.quick { 1_000 } else { 50_000 }));
        fastqc::compare_with_fastqc(&dir("fastqc")?, peers, sizes, !args.quick, ledger)?;
    }
    if args.has(ParityPart::Coverage) && args.quick {
        ledger.record_skipped("coverage: comparison with mosdepth", FULL_RUN);
    } else if args.has(ParityPart::Coverage) {
        coverage::compare_with_mosdepth(
            &dir("coverage")?,
            peers,
            args.pairs.unwrap_or(50_000),
            number(10, 100),
            ledger,
        )?;
    }
    if args.has(ParityPart::Depth) {
        let pairs = args.pairs.unwrap_or(if args.quick { 500 } else { 30_000 });
        depth::compare_depth_commands(&dir("depth")?, pairs, number(2, 60), ledger)?;
        stats::compare_stats_commands(&dir("stats")?, pairs, number(2, 100), ledger)?;
    }
    if args.has(ParityPart::Align) {
        let pairs = args.pairs.unwrap_or(if args.quick { 1_500 } else { 10_000 });
        align::compare_aligners(&dir("align")?, peers, pairs, !args.quick, ledger)?;
    }
    if args.has(ParityPart::Trim) {
        let pairs = args.pairs.unwrap_or(if args.quick { 600 } else { 5_000 });
        trim::compare_with_fastp(&dir("trim")?, peers, pairs, !args.quick, ledger)?;
    }
    if args.has(ParityPart::Fronts) {
        let pairs = args.pairs.unwrap_or(if args.quick { 1_500 } else { 6_000 });
        fronts::compare_fronts(&dir("fronts")?, peers, pairs, !args.quick, ledger)?;
    }
    if args.has(ParityPart::Calling) {
        calling::compare_calling(commands, peers, &root.join("calling"), args.quick, ledger)?;
    }
    if args.has(ParityPart::Bqsr) {
        bqsr::compare_simulated(&dir("bases")?, &dir("bases.simulated")?, peers, args.quick, ledger);
    }
    Ok(())
}

/// Compares the programs of Picard, and the fingerprint. `dir` creates the directory of a comparison.
fn compare_quality_metrics<'a>(
    args: &ParityArgs,
    dir: impl Fn(&'static str) -> Result<SampleDir<'a>>,
    ledger: &mut Ledger,
) -> Result<()> {
    let pairs = args.pairs.unwrap_or(if args.quick { 2_000 } else { 50_000 });
    qc::compare_collectors(&dir("qc")?, pairs, ledger)?;
    fingerprint::compare_with_mpileup(&dir("fingerprint")?, pairs, ledger)?;
    qc_depths::compare_depth_collectors(&dir("depths")?, pairs, !args.quick, ledger)?;
    qc_targets::compare_target_metrics(&dir("targets")?, pairs, !args.quick, ledger)?;
    qc_rna::compare_rna_metrics(&dir("rna")?, pairs, !args.quick, ledger)?;
    qc_jumping::compare_jumping_metrics(&dir("jumping")?, pairs, ledger)
}

/// Returns the samples that at least one selected part compares: the simulated ones, and the files
/// of `--data`.
fn collect_samples(args: &ParityArgs) -> Result<Vec<Sample>> {
    let pairs = args.pairs.unwrap_or(if args.quick { 8_000 } else { 100_000 });
    let mut samples = if args.only_data { Vec::new() } else { samples::simulated_samples(pairs) };
    for path in &args.data {
        samples.push(Sample::from_file(path)?);
    }
    samples.retain(|sample| {
        let is_recalibrated = args.has(ParityPart::Bqsr) && sample.is_given();
        args.has(ParityPart::Samples) && (sample.is_quick || !args.quick)
            || is_recalibrated
            || args.has(ParityPart::Orders) && is_ordered(args, sample)
    });
    Ok(samples)
}

/// Returns whether `orders` uses this sample. With `--quick`, only samples with all kinds of
/// templates, and the deep sample, are sorted in every order.
fn is_ordered(args: &ParityArgs, sample: &Sample) -> bool {
    sample.has_all_kinds || sample.is_deep || !args.quick
}

/// Runs the comparisons on one sample. The order matters: later comparisons read files that earlier
/// ones leave in the directory, such as `sorted.bam` and `five.bam`.
fn compare_sample(dir: &SampleDir<'_>, sample: &Sample, quick: bool, ledger: &mut Ledger) {
    let every = !quick;
    sort::compare_with_samtools(dir, sample.is_deep, ledger);
    if sample.is_deep {
        indexes::compare_sample_indexes(dir, "sorted.bam", quick, ledger);
        duplicates::compare_spilled_tags(dir, ledger);
        return pipeline::compare_resources(dir, ledger);
    }
    duplicates::compare_coordinate_mode(dir, every || sample.has_ties, ledger);
    let rules = duplicates::additional_rules(sample.has_umis, every || sample.is_first);
    duplicates::compare_coordinate_tags(dir, &rules, ledger);
    if sample.is_grouped {
        duplicates::compare_template_mode(dir, every || sample.has_ties, ledger);
        duplicates::compare_template_tags(dir, &rules, ledger);
        sort::compare_block_writers(dir, ledger);
    }
    if sample.is_grouped && (every || sample.is_first) {
        pipeline::compare_with_chain(dir, ledger);
    }
    indexes::compare_sample_indexes(dir, "coordinate.bam", quick, ledger);
    if every || sample.is_first {
        sort::validate_outputs(dir, ledger);
    }
    pipeline::compare_resources(dir, ledger);
}
