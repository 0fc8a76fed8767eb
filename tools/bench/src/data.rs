//! The subcommand `data`: simulates a sample of any size in constant memory, as BAM or FASTQ with
//! its reference and known sites.
//!
//! Also reads the records of a BAM file batch by batch on one thread, to count them and for the
//! spill floor.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;
use readmill_engine::Crew;
use readmill_format::bgzf::Chunk;
use readmill_format::chain::{ChunkLinker, LinkedRecords, OpenedChunk};
use readmill_input::{OpenOptions, Opener, Source};
use readmill_record::{Batch, Limit};
use readmill_simulate::{Flowcell, Profile, Qualities, Sample};

#[derive(clap::Args)]
pub struct DataArgs {
    /// Read pairs; 1 million make about 210 MB of BAM
    #[arg(long, value_name = "N", default_value_t = 150_000)]
    pairs: u64,
    /// Seed of every random decision
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Kind of sample
    #[arg(long, default_value = "demo")]
    profile: ProfileName,
    /// Also write r1.fastq and r2.fastq
    #[arg(long)]
    fastq: bool,
    /// Compression level of the BAM file, 0 to 12
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u8).range(0..=12))]
    level: u8,
    /// Directory for the files; made if it does not exist
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

/// The kinds of samples that `--profile` selects.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProfileName {
    /// 2 Mb of genome, forty quality levels
    Small,
    /// 8 Mb of genome, forty quality levels
    Middle,
    /// 20 Mb of genome, forty quality levels
    Demo,
    /// Like demo, with four quality levels
    Binned,
    /// Like binned, on a patterned flow cell
    Patterned,
    /// Like demo, with a UMI in each name and an RX tag
    Umi,
    /// Like binned, with all pairs from 200 amplicons
    Amplicon,
}

impl ProfileName {
    fn to_profile(self) -> Profile {
        let demo = Profile::demo();
        match self {
            ProfileName::Small => Profile::small(),
            ProfileName::Middle => {
                let part = |(name, length): (String, u32)| (name, (length * 2 / 5).max(16_569));
                Profile { contigs: demo.contigs.into_iter().map(part).collect(), ..Profile::demo() }
            }
            ProfileName::Demo => demo,
            ProfileName::Binned => Profile { qualities: Qualities::Binned, ..demo },
            ProfileName::Patterned => {
                Profile { qualities: Qualities::Binned, flowcell: Flowcell::Patterned, ..demo }
            }
            ProfileName::Amplicon => Profile { qualities: Qualities::Binned, amplicons: 200, ..demo },
            ProfileName::Umi => Profile { umi_names: true, ..demo },
        }
    }
}

/// Writes the reference, known sites, BAM and, if requested, FASTQ. Prints the path of the BAM
/// file.
pub fn simulate_data(args: DataArgs) -> Result<()> {
    let directory = &args.output;
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let sample = Sample::new(args.profile.to_profile().with_pairs(args.pairs).with_seed(args.seed));
    write_file(directory, "reference.fa", |w| sample.write_fasta(w))?;
    write_file(directory, "reference.fa.fai", |w| sample.write_fai(w))?;
    write_file(directory, "known.vcf", |w| sample.write_known_sites(w))?;
    if args.fastq {
        write_file(directory, "r1.fastq", |r1| {
            let mut r2 = BufWriter::new(File::create(directory.join("r2.fastq"))?);
            sample.write_fastq(r1, &mut r2)?;
            r2.flush()
        })?;
    }
    let reads = directory.join("reads.bam");
    write_bam(&sample, args.level, &reads)?;
    println!("{}", reads.display());
    Ok(())
}

fn write_file(
    directory: &Path,
    name: &str,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<()> {
    let path = directory.join(name);
    let made = || {
        let mut file = BufWriter::new(File::create(&path)?);
        write(&mut file)?;
        file.flush()
    };
    made().with_context(|| format!("cannot write {}", path.display()))
}

/// Writes the reads in aligner order, on all threads of the machine.
fn write_bam(sample: &Sample, level: u8, path: &Path) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(readmill::sample::write_sample_bam(
        sample,
        path,
        level,
        Crew { threads, in_flight: 2 * threads },
    )?)
}

pub fn open_bam(file: &Path) -> Result<Source> {
    let input = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let rules = OpenOptions { max_line: Limit::UNLIMITED, ..OpenOptions::default() };
    Source::open(Box::new(input), &rules).with_context(|| file.display().to_string())
}

/// Calls `take` with each batch of a BAM file, in file order, all on the calling thread. Used to
/// count records and to prepare the spill.
pub fn for_each_batch(file: &Path, mut take: impl FnMut(&Batch)) -> Result<()> {
    let mut source = open_bam(file)?;
    let mut opener = Opener::new(source.header(), None);
    let (mut link, mut chunk, mut batch) =
        (ChunkLinker::new(Limit::of_bytes(1 << 30)), Chunk::default(), Batch::default());
    loop {
        let claim = source.claim(std::mem::take(&mut chunk))?;
        let ended = claim.is_none();
        let linked = match claim {
            Some(claim) => {
                let mut opened = OpenedChunk::reuse(std::mem::take(&mut batch));
                chunk = opener.open(claim, &mut opened)?;
                link.link_chunk(opened)
            }
            None => link.finish_input(std::mem::take(&mut batch)),
        };
        let LinkedRecords { batch: linked, number, fault, .. } = linked;
        fault.map_or(Ok(()), Err)?;
        let linked = linked.check(number, source.header().n_ref())?;
        take(&linked);
        batch = linked;
        if ended {
            return Ok(());
        }
    }
}

pub fn print_tally(file: &Path) -> Result<()> {
    let (mut records, mut duplicates) = (0, 0);
    for_each_batch(file, |batch| {
        records += batch.len();
        duplicates += batch.records().filter(|(_, record)| record.flags().is_duplicate()).count();
    })?;
    println!("{records} {duplicates}");
    Ok(())
}
