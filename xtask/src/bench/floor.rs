//! The codec floor: inflate exactly the input's blocks, deflate exactly the output's blocks, read and write
//! both files, and do nothing else; same codec, level, threads and runner as readmill.
//!
//! The bytes to deflate come from an output that exists already. They are brought into memory before the
//! clock starts, as the sort has them in memory, too. Where a run has spilled there is a second floor, which
//! adds the codec of the spill ([`super::spill`]).

use std::fs::File;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use readmill_engine::{Crew, Pass, Pool};
use readmill_format::bgzf::{BlockReader, Chunk, Codec, Deflater, EOF_BLOCK, Inflater};

use super::contender::Contender;
use super::spill::Spill;
use super::told::LogSummary;
use super::usage;
use super::work::Work;

/// Options of `bench floor-once`.
#[derive(clap::Args)]
pub struct Args {
    /// The file whose blocks are inflated; - for none
    input: PathBuf,
    /// The file whose blocks are deflated
    output: PathBuf,
    /// Where they are written
    to: PathBuf,
    /// Compression level
    level: u8,
    /// Threads in all
    threads: usize,
    /// Another file whose blocks are inflated
    #[arg(long, value_name = "FILE")]
    and: Option<PathBuf>,
    /// MiB that were spilled, compressed
    #[arg(long, value_name = "MIB", requires = "runs")]
    spilled: Option<u64>,
    /// Runs in which they were
    #[arg(long, value_name = "N")]
    runs: Option<usize>,
}

/// The name of the floor in tables.
pub const NAME: &str = "codec floor";

/// The floors of what `contender` does, without and, if it spills, with the spill. It is run once for its
/// output.
pub fn contenders(work: &Work, contender: &Contender) -> Result<Vec<Contender>> {
    let (kept, told) = keep(work, contender)?;
    let mut floors = vec![of(work, NAME, &work.data, &kept)];
    if let Some(told) = told.filter(|told| told.spilled > 0) {
        let spill = format!("--spilled {} --runs {}", told.spilled, told.runs);
        let mut with_spill = of(work, &format!("{NAME} with spill"), &work.data, &kept);
        with_spill.stages[0][0] = with_spill.stages[0][0].clone().words(&spill);
        floors.push(with_spill);
    }
    Ok(floors)
}

/// Runs a contender once for its output, and keeps that.
pub fn keep(work: &Work, contender: &Contender) -> Result<(PathBuf, Option<LogSummary>)> {
    let kept = work.file("floor-source.bam");
    let told = contender.measure(&work.directory)?.told;
    std::fs::rename(&contender.output, &kept)?;
    Ok((kept, told))
}

/// A floor that inflates one file (none for `-`) and deflates the content of another.
pub fn of(work: &Work, name: &str, inflated: &Path, deflated: &Path) -> Contender {
    let output = work.file("floor.bam");
    let call = work.own_call("bench floor-once").arg(inflated).arg(deflated).arg(&output);
    let call = call.arg(work.options.level.to_string()).arg(work.options.threads.to_string());
    Contender::own_clock(name, work.options.runs, output, call)
}

/// The blocks of one chunk, inflated.
#[derive(Default)]
struct Inflated {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
}

/// Measures once and prints wall seconds and CPU seconds.
pub fn run(args: &Args) -> Result<()> {
    let crew = Crew { threads: args.threads, in_flight: 2 * args.threads };
    let blocks = load(&args.output)?;
    let directory = args.to.parent().unwrap_or(Path::new("."));
    let spill = args
        .spilled
        .map(|mib| Spill::prepare(&args.output, args.runs.unwrap_or(1), mib << 20, directory));
    let spill = spill.transpose()?;
    let used = usage::own()?.cpu;
    let started = Instant::now();
    for input in [Some(&args.input), args.and.as_ref()].into_iter().flatten() {
        if input.as_os_str() != "-" {
            inflate(crew, input)?;
        }
    }
    let spilled = spill.as_ref().map(|spill| spill.pass(crew)).transpose()?;
    deflate(crew, &blocks, args.level, &args.to)?;
    let wall = started.elapsed();
    let cpu = usage::own()?.cpu - used;
    println!("{} {}", wall.as_secs_f64(), cpu.as_secs_f64());
    if let Some((raw, packed)) = spilled {
        eprintln!("{raw} bytes of records were spilled as {packed}");
    }
    Ok(())
}

fn open(path: &Path) -> Result<BlockReader<File>> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(BlockReader::new(file, false))
}

fn load(path: &Path) -> Result<Vec<Inflated>> {
    let (mut reader, mut inflater, mut all) = (open(path)?, Inflater::default(), Vec::new());
    let mut chunk = Chunk::default();
    while reader.next_chunk(&mut chunk)? {
        let mut inflated = Inflated::default();
        inflater.chunk(&chunk, &mut inflated.bytes)?;
        inflated.lengths.extend(chunk.blocks.iter().map(|block| block.inflated));
        all.push(inflated);
    }
    Ok(all)
}

fn inflate(crew: Crew, path: &Path) -> Result<()> {
    let mut reader = open(path)?;
    let chunks = Pool::new(crew.in_flight);
    let next = |_| {
        let mut chunk: Chunk = chunks.take().unwrap_or_default();
        Ok(reader.next_chunk(&mut chunk)?.then_some(chunk))
    };
    let done = |_, chunk| {
        chunks.put(chunk);
        Ok(())
    };
    readmill_engine::run(crew, &Inflate, next, |_, chunk| Ok(chunk), done)?;
    Ok(())
}

struct Inflate;

impl Pass for Inflate {
    type Input = Chunk;
    type Opened = Chunk;
    type Linked = Chunk;
    type Output = Chunk;
    type Worker = (Inflater, Vec<u8>);
    type Error = readmill_record::Error;

    fn worker(&self) -> Self::Worker {
        Default::default()
    }

    fn open(&self, worker: &mut Self::Worker, chunk: Chunk) -> readmill_record::Result<Chunk> {
        let (inflater, bytes) = worker;
        bytes.clear();
        inflater.chunk(&chunk, bytes)?;
        Ok(chunk)
    }

    fn work(&self, _: &mut Self::Worker, chunk: Chunk) -> readmill_record::Result<Chunk> {
        Ok(chunk)
    }
}

fn deflate(crew: Crew, blocks: &[Inflated], level: u8, to: &Path) -> Result<()> {
    let failed = || format!("cannot write {}", to.display());
    let mut file = File::create(to).with_context(failed)?;
    let mut left = blocks.iter();
    let pass = Deflate { level, parts: Pool::new(crew.in_flight), blocks: PhantomData };
    readmill_engine::run(
        crew,
        &pass,
        |_| Ok(left.next()),
        |_, inflated| Ok(inflated),
        |_, part: Vec<u8>| {
            file.write_all(&part)?;
            pass.parts.put(part);
            Ok(())
        },
    )
    .and_then(|_| file.write_all(&EOF_BLOCK))
    .with_context(failed)
}

struct Deflate<'a> {
    level: u8,
    parts: Pool<Vec<u8>>,
    blocks: PhantomData<&'a Inflated>,
}

impl<'a> Pass for Deflate<'a> {
    type Input = &'a Inflated;
    type Opened = &'a Inflated;
    type Linked = &'a Inflated;
    type Output = Vec<u8>;
    type Worker = Deflater;
    type Error = io::Error;

    fn worker(&self) -> Deflater {
        Deflater::new(Codec::default(), self.level)
    }

    fn open(&self, _: &mut Deflater, inflated: &'a Inflated) -> io::Result<&'a Inflated> {
        Ok(inflated)
    }

    fn work(&self, deflater: &mut Deflater, inflated: &'a Inflated) -> io::Result<Vec<u8>> {
        let mut part = self.parts.take().unwrap_or_default();
        part.clear();
        let mut rest = inflated.bytes.as_slice();
        for &length in inflated.lengths.iter().filter(|length| **length > 0) {
            let (block, after) = rest.split_at(length as usize);
            deflater.block(block, &mut part);
            rest = after;
        }
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_blocks_come_out() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        let (mut deflater, mut bytes) = (Deflater::new(Codec::default(), 6), Vec::new());
        for n in 1..300usize {
            let block: Vec<u8> = (0..n * 97 % 60_000 + 1).map(|i| ((i * n) >> 3) as u8).collect();
            deflater.block(&block, &mut bytes);
        }
        bytes.extend_from_slice(&EOF_BLOCK);
        std::fs::write(&from, &bytes).unwrap();
        let crew = Crew { threads: 2, in_flight: 4 };
        inflate(crew, &from).unwrap();
        deflate(crew, &load(&from).unwrap(), 6, &to).unwrap();
        assert!(std::fs::read(&to).unwrap() == bytes);
    }
}
