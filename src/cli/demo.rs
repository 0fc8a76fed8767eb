//! `readmill demo`: simulates a sample and processes it, so that new users can try readmill without
//! data.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use readmill::plan::{
    Command, Destination, DuplicateMode, Duplicates, Filters, Output, Plan, Reports, Resources, Steps,
    Verbosity,
};
use readmill::sample;
use readmill_engine::Crew;
#[cfg(feature = "bwa")]
use readmill_process::allocator::Heaps;
use readmill_process::console::Console;
use readmill_process::limit;
use readmill_record::{Error, Result};
use readmill_simulate::{Fault, Profile, Sample};
use readmill_sort::Order;

/// Simulates reads of a small genome. Then, in one pass, sorts them, marks duplicates, drops
/// unmapped reads, and replaces the read groups and the sequence dictionary.
#[derive(Args)]
pub struct DemoArgs {
    /// Write the simulated reads and the results to this directory [default: readmill-demo, or
    /// readmill-demo-page with --page]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Simulate N read pairs
    #[arg(long, value_name = "N")]
    pairs: Option<u64>,
    /// Start from FASTQ: index the genome, and align the reads in the same run
    #[cfg(feature = "bwa")]
    #[arg(long)]
    fastq: bool,
    /// Simulate a sample with four lanes and a 1 Mb genome, and write an HTML report,
    /// DIR/report.html
    #[cfg_attr(feature = "bwa", arg(long, conflicts_with = "fastq"))]
    #[cfg_attr(not(feature = "bwa"), arg(long))]
    page: bool,
    /// Simulate a problem in the sample of --page
    ///
    /// adapter: reads contain adapter sequence. amplified: a few molecules have many copies. lane:
    /// lane 2 has reads of another sample. cycle: one sequencing cycle fails. gc: GC-rich fragments
    /// are lost. targets: a third of the targets has low coverage.
    #[arg(long, value_name = "FAULT", requires = "page", value_parser = fault_parser())]
    plant: Option<String>,
}

fn fault_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(Fault::ALL.map(|(name, _)| name))
}

impl DemoArgs {
    /// Returns the allocator configuration: the same as for `align` if reads are aligned.
    #[cfg(feature = "bwa")]
    pub fn allocator_heaps(&self) -> Heaps {
        if self.fastq { Heaps::Aligning(limit::available_threads()) } else { Heaps::Few }
    }

    /// Runs the demonstration. `plan` returns the plan of a command line, which `--page` needs.
    pub fn run(&self, plan: impl Fn(&[String]) -> Result<Plan>) -> Result<()> {
        // Each demonstration has files of its own, so that none replaces the reference of another.
        let default = if self.page { "readmill-demo-page" } else { "readmill-demo" };
        let dir = self.output.as_deref().unwrap_or(Path::new(default));
        if dir.exists() && !dir.is_dir() {
            return Err(Error::usage(format!("{} is not a directory", dir.display()))
                .hint("give a directory for the simulated reads and the results: -o DIR"));
        }
        std::fs::create_dir_all(dir).map_err(|e| write_error(dir, &e))?;
        if self.page {
            return self.run_with_page(dir, plan);
        }
        let mut profile = Profile::demo();
        if let Some(pairs) = self.pairs {
            profile = profile.with_pairs(pairs);
        }
        let threads = limit::available_threads();
        #[cfg(feature = "bwa")]
        if self.fastq {
            return run_fastq_demo(&Sample::new(profile), dir, threads);
        }
        let (reads, dictionary) = (dir.join("reads.bam"), dir.join("target.dict"));
        print_line(&format!("simulating {} read pairs in {}", profile.pairs, reads.display()))?;
        let sample = Sample::new(profile);
        sample::write_sample_bam(&sample, &reads, 1, Crew { threads, in_flight: 2 * threads })?;
        write_dictionary(&sample, &dictionary)?;
        drop(sample); // frees the genome, which `-m` of the plan does not include

        let prepared = dir.join("prepared.bam");
        let plan = build_prep_plan(reads, dictionary, prepared.clone(), threads)?;
        print_line(&format!("running: readmill {}", repeatable_command_line(&plan)))?;
        let summary = readmill::run(&plan, &Console::new(Verbosity::Normal))?;
        print_line(&format!(
            "wrote {} of {} reads to {}",
            summary.written_records,
            summary.read_records,
            prepared.display()
        ))?;
        print_line(&format!(
            "the index is {}.bai; to view the reads: readmill view {0}",
            prepared.display()
        ))?;
        Ok(())
    }

    /// Simulates a sample with four lanes, and writes the HTML report of its run (`--page`).
    fn run_with_page(&self, dir: &Path, plan: impl Fn(&[String]) -> Result<Plan>) -> Result<()> {
        let fault = Fault::ALL.iter().find(|(name, _)| Some(*name) == self.plant.as_deref());
        let mut profile = Profile::gallery(fault.map(|(_, fault)| *fault));
        if let Some(pairs) = self.pairs {
            profile = profile.with_pairs(pairs);
        }
        let threads = limit::available_threads();
        print_line(&format!(
            "simulating {} read pairs in {}",
            profile.pairs,
            dir.join("reads.bam").display()
        ))?;
        let sample = Sample::new(profile);
        sample::write_sample_bam(
            &sample,
            &dir.join("reads.bam"),
            1,
            Crew { threads, in_flight: 2 * threads },
        )?;
        let write = |name: &str, text: &dyn Fn(&mut dyn Write) -> std::io::Result<()>| {
            let path = dir.join(name);
            let done = File::create(&path).map(BufWriter::new);
            let done = done.and_then(|mut file| text(&mut file).and_then(|()| file.flush()));
            done.map_err(|e| write_error(&path, &e))
        };
        write("ref.fa", &|w| sample.write_fasta(w))?;
        write("ref.fa.fai", &|w| sample.write_fai(w))?;
        let contigs = &sample.profile().contigs;
        let targets = sample.capture_targets();
        write("targets.bed", &|w| {
            let mut named = targets
                .iter()
                .filter_map(|(contig, start, end)| Some((&contigs.get(*contig)?.0, start, end)));
            named.try_for_each(|(contig, start, end)| writeln!(w, "{contig}\t{start}\t{end}"))
        })?;
        drop(sample);
        let words = PAGED.split(' ').map(|word| match word.strip_prefix("DIR/") {
            Some(name) => dir.join(name).display().to_string(),
            None => word.to_string(),
        });
        let plan = plan(&words.collect::<Vec<_>>())?;
        readmill::run(&plan, &Console::new(Verbosity::Normal))?;
        print_line(&format!("open {}", dir.join("report.html").display()))?;
        Ok(())
    }
}

/// Command line of the run for `--page`. `DIR/` is replaced by the directory of the demonstration.
const PAGED: &str = "prep DIR/reads.bam -o DIR/sample.bam --sort coordinate --mark-duplicates \
    --metrics DIR/sample.metrics --flagstat DIR/sample.flagstat \
    --stats DIR/sample.stats --reference DIR/ref.fa --qc DIR/sample --qc-metrics all,CollectWgsMetrics \
    --metric-accumulation-level ALL_READS,LIBRARY,READ_GROUP --coverage DIR/sample --coverage-by DIR/targets.bed \
    --coverage-no-per-base --json DIR/run.json --report DIR/report.html";

/// Simulates FASTQ files, then aligns and processes their reads in one pass (`--fastq`).
#[cfg(feature = "bwa")]
fn run_fastq_demo(sample: &Sample, dir: &Path, threads: usize) -> Result<()> {
    use readmill::plan::{Aligner, Aligning, LaneInput, ReadTags};
    use readmill_align::bwa::{BwaIndexOptions, BwaOptions, build_index, partial_index_files};
    use readmill_record::header::GivenReadGroup;

    let [fasta, one, two] = ["ref.fa", "reads_1.fq", "reads_2.fq"].map(|name| dir.join(name));
    let create = |path: &Path| File::create(path).map(BufWriter::new).map_err(|e| write_error(path, &e));
    print_line(&format!(
        "simulating a genome in {} and read pairs in {} and {}",
        fasta.display(),
        one.display(),
        two.display()
    ))?;
    let mut file = create(&fasta)?;
    sample.write_fasta(&mut file).and_then(|()| file.flush()).map_err(|e| write_error(&fasta, &e))?;
    let (mut first, mut last) = (create(&one)?, create(&two)?);
    let written = sample.write_fastq(&mut first, &mut last);
    written
        .and_then(|()| first.flush())
        .and_then(|()| last.flush())
        .map_err(|e| write_error(&one, &e))?;
    print_line(&format!("running: readmill index {}", fasta.display()))?;
    super::aligner_index::build_index_or_remove(&fasta, &partial_index_files(&fasta), |report| {
        build_index(&fasta, &fasta, BwaIndexOptions::default(), report)
    })?;
    let group = "@RG\\tID:demo\\tLB:lib1\\tSM:sample1\\tPL:ILLUMINA\\tPU:unit1";
    let files = format!("{} {} {}", fasta.display(), one.display(), two.display());
    let reads = vec![one, two];
    let lane = LaneInput {
        files: reads.clone(),
        index_files: Vec::new(),
        interleaved: false,
        records: false,
        group: Some(GivenReadGroup::parse(group)?.line),
    };
    let prepared = dir.join("prepared.bam");
    let mut plan = Plan::new(reads, &prepared);
    plan.command = Command::Align;
    plan.steps.sort = Some(Order::Coordinate);
    plan.steps.duplicates = Some(Duplicates::with_mode(DuplicateMode::Auto));
    let aligner = Aligner::Bwa(Box::<BwaOptions>::default());
    let read_tags = ReadTags::default();
    let aligning = Aligning {
        reference: Some(fasta),
        lanes: vec![lane],
        read_tags,
        trimming: None,
        aligner,
        words: Vec::new(),
        as_given: false,
        warnings: Vec::new(),
    };
    plan.resources.threads = threads;
    plan.resources.memory =
        readmill::memory::aligning_bytes(&aligning, plan.resources.threads)? + (512 << 20);
    plan.aligning = Some(aligning);
    let resources = format!("-o {} -m {}M", prepared.display(), plan.resources.memory >> 20);
    print_line(&format!("running: {} {files} -R '{group}' {resources}", plan.command_line()))?;
    let summary = readmill::run(&plan, &Console::new(Verbosity::Normal))?;
    print_line(&format!("wrote {} records to {}", summary.written_records, prepared.display()))?;
    print_line(&format!(
        "the index is {}.bai; to view the reads: readmill view {0}",
        prepared.display()
    ))?;
    Ok(())
}

fn print_line(line: &str) -> Result<()> {
    readmill_process::streams::write_stdout(&format!("{line}\n"))
}

fn write_error(path: &Path, error: &std::io::Error) -> Error {
    Error::io(format!("{} cannot be written", path.display()), error)
}

/// Writes the sample's dictionary without its last contig and in a different order, so that the run
/// has something to replace.
fn write_dictionary(sample: &Sample, path: &Path) -> Result<()> {
    let write = || {
        let mut file = BufWriter::new(File::create(path)?);
        let text = sample.header_text();
        let mut lines: Vec<&str> = text.lines().filter(|line| line.starts_with("@SQ")).collect();
        lines.pop();
        lines.rotate_right(1);
        writeln!(file, "@HD\tVN:1.6")?;
        lines.iter().try_for_each(|line| writeln!(file, "{line}"))?;
        file.flush()
    };
    write().map_err(|e| write_error(path, &e))
}

/// Returns the plan that processes the simulated BAM file with at most 512 MiB of memory.
fn build_prep_plan(
    input: PathBuf,
    dictionary: PathBuf,
    output: PathBuf,
    threads: usize,
) -> Result<Plan> {
    let resources = Resources {
        threads,
        memory: limit::default_limit().min(512 << 20),
        ..Resources::default_for_output(&output)
    };
    let filters = Filters::from_words([
        "--drop-unmapped".as_ref(),
        "--sequence-dictionary".as_ref(),
        dictionary.as_os_str(),
        "--read-group".as_ref(),
        "ID:demo LB:lib1 SM:sample1 PL:ILLUMINA PU:unit1".as_ref(),
    ])?;
    Ok(Plan {
        command: Command::Prep,
        inputs: vec![input],
        regions: None,
        aligning: None,
        merging: None,
        steps: Steps {
            filters,
            duplicates: Some(Duplicates::with_mode(DuplicateMode::Auto)),
            sort: Some(Order::Coordinate),
            ..Steps::default()
        },
        destination: Destination::Main(Output::new(output), Vec::new()),
        reports: Reports::default(),
        resources,
    })
}

/// Returns the command line of a plan, so that the user can repeat it.
fn repeatable_command_line(plan: &Plan) -> String {
    let words = plan.command_line();
    let words = words.trim_start_matches("readmill ");
    let input = plan.inputs[0].display();
    let output = plan.destination.main_output().map_or(Path::new("-"), |output| &output.path).display();
    format!("{words} {input} -o {output} -m {}M", plan.resources.memory >> 20)
}
