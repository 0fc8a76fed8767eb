//! `readmill demo`: the main job on a sample made on the spot.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
#[cfg(feature = "bwa")]
use readmill::allocator::Heaps;
use readmill::console::Console;
use readmill::plan::{
    self, Command, Destination, DuplicateMode, Duplicates, Filters, Output, Plan, Resources, Steps,
    Tallies, Verbosity,
};
use readmill::{limit, sample};
use readmill_engine::Crew;
use readmill_format::spill_codec::SpillCodec;
use readmill_record::{Error, Result};
use readmill_simulate::{Profile, Sample};
use readmill_sort::Order;

/// Simulates reads of a small genome, then sorts them, marks duplicates, drops unmapped reads, and replaces
/// read groups and the sequence dictionary, in one pass.
#[derive(Args)]
pub struct DemoArgs {
    /// Directory for the sample and the result
    #[arg(short, long, value_name = "DIR", default_value = "readmill-demo")]
    output: PathBuf,
    /// Pairs of reads to simulate
    #[arg(long, value_name = "N")]
    pairs: Option<u64>,
    /// Start from FASTQ: make an index of the genome, and align the reads in the same pass
    #[cfg(feature = "bwa")]
    #[arg(long)]
    fastq: bool,
}

impl DemoArgs {
    /// As many as [`Align`](super::align::Align) has, if it aligns.
    #[cfg(feature = "bwa")]
    pub fn heaps(&self) -> Heaps {
        if self.fastq { Heaps::Aligning(plan::threads()) } else { Heaps::Few }
    }

    pub fn run(&self) -> Result<()> {
        let dir = &self.output;
        std::fs::create_dir_all(dir).map_err(|e| failed(dir, &e))?;
        let mut profile = Profile::demo();
        if let Some(pairs) = self.pairs {
            profile = profile.with_pairs(pairs);
        }
        let threads = plan::threads();
        #[cfg(feature = "bwa")]
        if self.fastq {
            return aligned(&Sample::new(profile), dir, threads);
        }
        let (reads, dictionary) = (dir.join("reads.bam"), dir.join("target.dict"));
        println!("simulating {} read pairs into {}", profile.pairs, reads.display());
        let made = Sample::new(profile);
        sample::write_bam(&made, &reads, 1, Crew { threads, in_flight: 2 * threads })?;
        write_dictionary(&made, &dictionary)?;
        drop(made); // its genome is not part of the memory the pipeline is given

        let prepared = dir.join("prepared.bam");
        let plan = preparing(reads, dictionary, prepared.clone(), threads)?;
        println!("running: readmill {}", shown(&plan));
        let summary = readmill::run(&plan, &Console::new(Verbosity::Normal))?;
        println!("{} of {} reads are left in {}", summary.written, summary.read, prepared.display());
        println!("its index is {}.bai; look at it with: samtools view {0}", prepared.display());
        Ok(())
    }
}

/// Simulates FASTQ files, and aligns and prepares their reads in one pass.
#[cfg(feature = "bwa")]
fn aligned(made: &Sample, dir: &Path, threads: usize) -> Result<()> {
    use readmill::plan::{Aligner, Aligning, Lane, ReadTags, read_group};
    use readmill_align::bwa::{BwaOptions, IndexOptions, build_index, unfinished};

    let [fasta, one, two] = ["ref.fa", "reads_1.fq", "reads_2.fq"].map(|name| dir.join(name));
    let create = |path: &Path| File::create(path).map(BufWriter::new).map_err(|e| failed(path, &e));
    println!(
        "simulating a genome into {}, and pairs of reads into {} and {}",
        fasta.display(),
        one.display(),
        two.display()
    );
    let mut file = create(&fasta)?;
    made.write_fasta(&mut file).and_then(|()| file.flush()).map_err(|e| failed(&fasta, &e))?;
    let (mut first, mut last) = (create(&one)?, create(&two)?);
    let written = made.write_fastq(&mut first, &mut last);
    written.and_then(|()| first.flush()).and_then(|()| last.flush()).map_err(|e| failed(&one, &e))?;
    println!("running: readmill index {}", fasta.display());
    super::aligner_index::complete_or_gone(&fasta, &unfinished(&fasta), |report| {
        build_index(&fasta, &fasta, IndexOptions::default(), report)
    })?;
    let group = "@RG\\tID:demo\\tLB:lib1\\tSM:sample1\\tPL:ILLUMINA\\tPU:unit1";
    let files = format!("{} {} {}", fasta.display(), one.display(), two.display());
    let reads = vec![one, two];
    let lane = Lane {
        files: reads.clone(),
        interleaved: false,
        records: false,
        group: Some(read_group(group)?),
    };
    let prepared = dir.join("prepared.bam");
    let mut plan = Plan::new(reads, &prepared);
    plan.command = Command::Align;
    plan.steps.sort = Some(Order::Coordinate);
    plan.steps.duplicates = Some(Duplicates::marked(DuplicateMode::Auto));
    let aligner = Aligner::Bwa(Box::<BwaOptions>::default());
    let read_tags = ReadTags::default();
    let aligning = Aligning {
        reference: Some(fasta),
        lanes: vec![lane],
        read_tags,
        aligner,
        words: Vec::new(),
        as_given: false,
    };
    plan.resources.threads = threads;
    plan.resources.memory =
        readmill::memory::of_aligning(&aligning, plan.resources.threads)? + (512 << 20);
    plan.aligning = Some(aligning);
    let resources = format!("-o {} -m {}M", prepared.display(), plan.resources.memory >> 20);
    println!("running: {} {files} -R '{group}' {resources}", plan.command_line());
    let summary = readmill::run(&plan, &Console::new(Verbosity::Normal))?;
    println!("{} records of them are in {}", summary.written, prepared.display());
    println!("its index is {}.bai; look at it with: samtools view {0}", prepared.display());
    Ok(())
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::io(format!("{} cannot be written", path.display()), error)
}

/// The sample's dictionary in another order and without its last contig.
fn write_dictionary(made: &Sample, path: &Path) -> Result<()> {
    let write = || {
        let mut file = BufWriter::new(File::create(path)?);
        let text = made.header_text();
        let mut lines: Vec<&str> = text.lines().filter(|line| line.starts_with("@SQ")).collect();
        lines.pop();
        lines.rotate_right(1);
        writeln!(file, "@HD\tVN:1.6")?;
        lines.iter().try_for_each(|line| writeln!(file, "{line}"))?;
        file.flush()
    };
    write().map_err(|e| failed(path, &e))
}

fn preparing(input: PathBuf, dictionary: PathBuf, output: PathBuf, threads: usize) -> Result<Plan> {
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
            duplicates: Some(Duplicates::marked(DuplicateMode::Auto)),
            sort: Some(Order::Coordinate),
            ..Steps::default()
        },
        destination: Destination::Main(Output::new(output), Vec::new()),
        tallies: Tallies::default(),
        resources: Resources {
            threads,
            memory: limit::default_limit().min(512 << 20),
            temp_dirs: vec![std::env::temp_dir()],
            spill_codec: SpillCodec::default(),
            allow_missing_eof: false,
            allow_same_input: false,
            reference: None,
            explain: false,
            verbosity: Verbosity::Normal,
        },
    })
}

/// The plan as a command the user can repeat.
fn shown(plan: &Plan) -> String {
    let words = plan.command_line();
    let words = words.trim_start_matches("readmill ");
    let input = plan.inputs[0].display();
    let output = plan.destination.main().map_or(Path::new("-"), |output| &output.path).display();
    format!("{words} {input} -o {output} -m {}M", plan.resources.memory >> 20)
}
