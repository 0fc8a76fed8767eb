//! Simulated data of any size in a fixed amount of memory: reads as BAM, the reference, known sites.
//!
//! The reads are simulated serially (that is what makes a seed mean something) and compressed on all
//! threads. Beside the genome, one byte a base, only the batches under way are held.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;
use readmill_engine::{Crew, Pass, Pool};
use readmill_format::{bam, bgzf};
use readmill_record::{Batch, Span, Stamp};
use readmill_simulate::{Flowcell, Profile, Qualities, Sample};

/// Bytes of records simulated, and then compressed, together.
const BATCH: usize = 1 << 20;

/// What data to make, and where.
#[derive(clap::Args)]
pub struct Args {
    /// Read pairs; 1 million make about 210 MB of BAM
    #[arg(long, value_name = "N", default_value_t = 150_000)]
    pairs: u64,
    /// Seed of every random decision
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// What the sample looks like
    #[arg(long, default_value = "demo")]
    profile: Look,
    /// Write r1.fastq and r2.fastq, too
    #[arg(long)]
    fastq: bool,
    /// Compression level of the BAM file, 0 to 12
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u8).range(0..=12))]
    level: u8,
    /// Directory for the files; it is made if need be
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

/// Named looks of a sample.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Look {
    /// 2 Mb of genome, forty quality levels
    Small,
    /// 20 Mb of genome, forty quality levels
    Demo,
    /// As demo, with four quality levels
    Binned,
    /// As binned, on a patterned flow cell
    Patterned,
    /// As demo, with a UMI in each name and an RX tag
    Umi,
}

impl Look {
    fn profile(self) -> Profile {
        let demo = Profile::demo();
        match self {
            Look::Small => Profile::small(),
            Look::Demo => demo,
            Look::Binned => Profile { qualities: Qualities::Binned, ..demo },
            Look::Patterned => {
                Profile { qualities: Qualities::Binned, flowcell: Flowcell::Patterned, ..demo }
            }
            Look::Umi => Profile { umi_names: true, ..demo },
        }
    }
}

/// Writes the files.
pub fn run(args: Args) -> Result<()> {
    let directory = &args.output;
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let sample = Sample::new(args.profile.profile().with_pairs(args.pairs).with_seed(args.seed));
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

/// Writes the sample's reads in aligner order.
pub fn write_bam(sample: &Sample, level: u8, path: &Path) -> Result<()> {
    let failed = || format!("cannot write {}", path.display());
    let mut file = File::create(path).with_context(failed)?;
    let (mut header, mut blocks) = (Vec::new(), Vec::new());
    sample.raw_header(&mut header);
    bam::Encoder::new(level, None).bytes(&header, &mut blocks);
    file.write_all(&blocks).with_context(failed)?;

    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let crew = Crew { threads, in_flight: 2 * threads };
    let (batches, parts) = (Pool::new(crew.in_flight), Pool::new(crew.in_flight));
    let mut records = sample.records();
    readmill_engine::run(
        crew,
        &Compress { level, batches: &batches, parts: &parts },
        |_| Ok(simulate(&mut records, batches.take().unwrap_or_default())),
        |_, batch| Ok(batch),
        |_, part: Vec<u8>| {
            file.write_all(&part)?;
            parts.put(part);
            Ok(())
        },
    )
    .and_then(|_| file.write_all(&bgzf::EOF_BLOCK))
    .with_context(failed)
}

/// The next templates in the memory of `batch`, or nothing when there are no more.
fn simulate(records: &mut readmill_simulate::Records<'_>, mut batch: Batch) -> Option<Batch> {
    batch.clear();
    while batch.bytes.len() < BATCH && records.next(&mut batch.bytes) {}
    (!batch.bytes.is_empty()).then_some(batch)
}

/// Finds the records of a batch and compresses them.
struct Compress<'a> {
    level: u8,
    batches: &'a Pool<Batch>,
    parts: &'a Pool<Vec<u8>>,
}

impl Pass for Compress<'_> {
    type Input = Batch;
    type Opened = Batch;
    type Linked = Batch;
    type Output = Vec<u8>;
    type Worker = bam::Encoder;
    type Error = std::io::Error;

    fn worker(&self) -> bam::Encoder {
        bam::Encoder::new(self.level, None)
    }

    fn open(&self, _: &mut bam::Encoder, mut batch: Batch) -> std::io::Result<Batch> {
        let Batch { bytes, spans, .. } = &mut batch;
        let mut start = 0;
        while let Some(size) = bytes[start..].first_chunk::<4>() {
            let len = u32::from_le_bytes(*size) + 4;
            spans.push(Span { start: start as u32, len, stamp: Stamp::default() });
            start += len as usize;
        }
        Ok(batch)
    }

    fn work(&self, encoder: &mut bam::Encoder, batch: Batch) -> std::io::Result<Vec<u8>> {
        let mut part = self.parts.take().unwrap_or_default();
        part.clear();
        encoder.partition(&batch, &mut part);
        self.batches.put(batch);
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_format::bgzf::{BlockReader, Chunk, Inflater};

    #[test]
    fn the_file_holds_the_header_and_every_record_in_order() {
        let sample = Sample::new(Look::Umi.profile().with_pairs(3000).with_seed(7));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("reads.bam");
        write_bam(&sample, 1, &path).unwrap();

        let mut expected = Vec::new();
        sample.raw_header(&mut expected);
        let mut records = sample.records();
        while records.next(&mut expected) {}
        let mut reader = BlockReader::new(File::open(&path).unwrap(), false);
        let (mut chunk, mut inflater, mut all) = (Chunk::default(), Inflater::default(), Vec::new());
        while reader.next_chunk(&mut chunk).unwrap() {
            inflater.chunk(&chunk, &mut all).unwrap();
        }
        assert!(all.len() > 2 * BATCH, "several batches are wanted");
        assert!(all == expected);
    }
}
