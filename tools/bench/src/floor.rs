//! The codec floor: the minimum time that any program needs to inflate the input and deflate the
//! output.
//!
//! It only inflates exactly the input's blocks, deflates exactly the output's blocks, and reads and
//! writes both files, with the same codec, level, threads and runner as readmill.
//!
//! The bytes to deflate are taken from an output of readmill. They are loaded before the clock
//! starts, because a sort also has them in memory. If the run spilled, a second floor adds the
//! spill codec ([`SpillFloor`]).

use std::fs::File;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use readmill_engine::{Crew, Pass, Pool};
use readmill_format::bgzf::{BlockReader, Chunk, Codec, Deflater, EOF_BLOCK, Inflater};
use readmill_format::spill_codec::{FrameCompressor, SpillCodec};
use readmill_peers::usage;
use readmill_record::{Error, Stamp};

use crate::contender::{Contender, LogSummary};
use crate::data;
use crate::work::BenchSetup;

#[derive(clap::Args)]
pub struct FloorArgs {
    /// File whose blocks are inflated; - for none
    input: PathBuf,
    /// File whose blocks are deflated
    output: PathBuf,
    /// File to write
    to: PathBuf,
    /// Compression level
    level: u8,
    /// Total number of threads
    threads: usize,
    /// Second file whose blocks are inflated
    #[arg(long, value_name = "FILE")]
    and: Option<PathBuf>,
    /// Compressed MiB that were spilled
    #[arg(long, value_name = "MIB", requires = "runs")]
    spilled: Option<u64>,
    /// Number of runs that were spilled
    #[arg(long, value_name = "N")]
    runs: Option<usize>,
}

pub const FLOOR_NAME: &str = "codec floor";

/// Returns the floor of a contender and, if it spills, a second one that includes the spill. Runs
/// the contender once to get its output.
pub fn floor_contenders(work: &BenchSetup, contender: &Contender) -> Result<Vec<Contender>> {
    let (kept, told) = run_and_keep_output(work, contender)?;
    let mut floors = vec![floor_contender(work, FLOOR_NAME, &work.data, &kept)];
    if let Some(told) = told.filter(|told| told.spilled > 0) {
        let spill = format!("--spilled {} --runs {}", told.spilled, told.runs);
        let mut with_spill =
            floor_contender(work, &format!("{FLOOR_NAME} with spill"), &work.data, &kept);
        with_spill.stages[0][0] = with_spill.stages[0][0].clone().add_words(&spill);
        floors.push(with_spill);
    }
    Ok(floors)
}

/// Runs a contender once and keeps its output as `floor-source.bam`. Also returns its log summary.
pub fn run_and_keep_output(
    work: &BenchSetup,
    contender: &Contender,
) -> Result<(PathBuf, Option<LogSummary>)> {
    let kept = work.file("floor-source.bam");
    let told = contender.measure(&work.directory)?.log_summary;
    std::fs::rename(&contender.output, &kept)?;
    Ok((kept, told))
}

/// Returns a floor that inflates one file (none for `-`) and deflates the contents of another.
pub fn floor_contender(work: &BenchSetup, name: &str, inflated: &Path, deflated: &Path) -> Contender {
    let output = work.file("floor.bam");
    let call = work.own_call("floor-once").arg(inflated).arg(deflated).arg(&output);
    let call = call.arg(work.options.level.to_string()).arg(work.options.threads.to_string());
    Contender::self_timed(name, work.options.runs, output, call)
}

#[derive(Default)]
struct Inflated {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
}

/// Measures once and prints seconds of wall time and of CPU time.
///
/// Runs as `floor-once` in its own process; the contender that started it parses the printed line.
pub fn measure_floor(args: &FloorArgs) -> Result<()> {
    let crew = Crew { threads: args.threads, in_flight: 2 * args.threads };
    let blocks = load_blocks(&args.output)?;
    let directory = args.to.parent().unwrap_or(Path::new("."));
    let spill = args.spilled.map(|mib| {
        SpillFloor::distribute_records(&args.output, args.runs.unwrap_or(1), mib << 20, directory)
    });
    let spill = spill.transpose()?;
    let used = usage::own_usage()?.cpu;
    let started = Instant::now();
    for input in [Some(&args.input), args.and.as_ref()].into_iter().flatten() {
        if input.as_os_str() != "-" {
            inflate_file(crew, input)?;
        }
    }
    let spilled = spill.as_ref().map(|spill| spill.round_trip(crew)).transpose()?;
    deflate_blocks(crew, &blocks, args.level, &args.to)?;
    let wall = started.elapsed();
    let cpu = usage::own_usage()?.cpu - used;
    println!("{} {}", wall.as_secs_f64(), cpu.as_secs_f64());
    if let Some((raw, packed)) = spilled {
        eprintln!("{raw} bytes of records were spilled as {packed}");
    }
    Ok(())
}

fn open_blocks(path: &Path) -> Result<BlockReader<File>> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(BlockReader::new(file, false))
}

fn load_blocks(path: &Path) -> Result<Vec<Inflated>> {
    let (mut reader, mut inflater, mut all) = (open_blocks(path)?, Inflater::default(), Vec::new());
    let mut chunk = Chunk::default();
    while reader.next_chunk(&mut chunk)? {
        let mut inflated = Inflated::default();
        inflater.append_chunk(&chunk, &mut inflated.bytes)?;
        inflated.lengths.extend(chunk.blocks.iter().map(|block| block.inflated));
        all.push(inflated);
    }
    Ok(all)
}

fn inflate_file(crew: Crew, path: &Path) -> Result<()> {
    let mut reader = open_blocks(path)?;
    let chunks = Pool::new(crew.in_flight);
    let next = |_| {
        let mut chunk: Chunk = chunks.take().unwrap_or_default();
        Ok(reader.next_chunk(&mut chunk)?.then_some(chunk))
    };
    let done = |_, chunk| {
        chunks.put(chunk);
        Ok(())
    };
    readmill_engine::run_pass(crew, &Inflate, next, |_, chunk| Ok(chunk), done)?;
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

    fn make_worker(&self) -> Self::Worker {
        Default::default()
    }

    fn open(&self, worker: &mut Self::Worker, chunk: Chunk) -> readmill_record::Result<Chunk> {
        let (inflater, bytes) = worker;
        bytes.clear();
        inflater.append_chunk(&chunk, bytes)?;
        Ok(chunk)
    }

    fn work(&self, _: &mut Self::Worker, chunk: Chunk) -> readmill_record::Result<Chunk> {
        Ok(chunk)
    }
}

fn deflate_blocks(crew: Crew, blocks: &[Inflated], level: u8, to: &Path) -> Result<()> {
    let failed = || format!("cannot write {}", to.display());
    let mut file = File::create(to).with_context(failed)?;
    let mut left = blocks.iter();
    let pass = Deflate { level, parts: Pool::new(crew.in_flight), blocks: PhantomData };
    readmill_engine::run_pass(
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

    fn make_worker(&self) -> Deflater {
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
            deflater.deflate_block(block, &mut part);
            rest = after;
        }
        Ok(part)
    }
}

const FRAME_BYTES: usize = 64 << 10;

/// Measures the minimum cost of spilling: compresses as many bytes as readmill spilled with the
/// spill codec, writes them to a file, reads them back and decompresses them.
///
/// The contents of the real runs are unknown, but each had a random part of the final order. So the
/// records of the output are distributed over one list per run, and one more for the reads that
/// stay in memory. Pairs of records stay together, so that adjacent mates remain adjacent. Frames
/// of the lists are compressed, repeatedly if necessary, until they have as many compressed bytes
/// as readmill spilled.
pub struct SpillFloor {
    frames: Vec<Vec<u8>>,
    bytes: u64,
    directory: PathBuf,
}

/// A frame in the file: its offset, compressed size and raw size, in bytes.
type PackedFrame = (u64, usize, usize);

impl SpillFloor {
    /// Distributes the records of a sorted file over `runs` lists and divides them into frames.
    pub fn distribute_records(sorted: &Path, runs: usize, bytes: u64, directory: &Path) -> Result<Self> {
        let mut hands = vec![Vec::new(); runs.max(1)];
        let (mut frames, mut number) = (Vec::new(), 0u64);
        data::for_each_batch(sorted, |batch| {
            for (_, record) in batch.records() {
                // The real stamps are input positions, which are nearly random in sorted order.
                let stamp = Stamp::new(number.wrapping_mul(0x9e37_79b9) & 0x07ff_ffff, 0);
                let turn = (number / 2 % (hands.len() as u64 + 1)) as usize;
                number += 1;
                let Some(hand) = hands.get_mut(turn) else { continue };
                hand.extend_from_slice(&stamp.0.to_le_bytes());
                hand.extend_from_slice(record.raw());
                if hand.len() >= FRAME_BYTES {
                    frames.push(std::mem::replace(hand, Vec::with_capacity(FRAME_BYTES + 4096)));
                }
            }
        })?;
        frames.extend(hands.into_iter().filter(|hand| !hand.is_empty()));
        ensure!(!frames.is_empty(), "{} has no records to spill", sorted.display());
        Ok(SpillFloor { frames, bytes, directory: directory.to_path_buf() })
    }

    /// Writes and reads all frames once. Returns the bytes before and after compression.
    pub fn round_trip(&self, crew: Crew) -> Result<(u64, u64)> {
        let failed = || format!("spilling to {}", self.directory.display());
        let mut file = tempfile::tempfile_in(&self.directory).with_context(failed)?;
        let packed = self.write_frames(crew, &mut file).with_context(failed)?;
        let mut left = packed.iter().copied();
        let read = Unpack { file: &file, codec: SpillCodec::default() };
        readmill_engine::run_pass(crew, &read, |_| Ok(left.next()), |_, it| Ok(it), |_, ()| Ok(()))?;
        let raw = packed.iter().map(|packed| packed.2 as u64).sum();
        Ok((raw, packed.iter().map(|packed| packed.1 as u64).sum()))
    }

    fn write_frames(&self, crew: Crew, file: &mut File) -> io::Result<Vec<PackedFrame>> {
        let (mut packed, mut frames) = (Vec::new(), self.frames.iter().cycle());
        let written = AtomicU64::new(0);
        let pass = Pack { buffers: Pool::new(crew.in_flight), frames: PhantomData };
        readmill_engine::run_pass(
            crew,
            &pass,
            |_| Ok(frames.next().filter(|_| written.load(Relaxed) < self.bytes)),
            |_, frame| Ok(frame),
            |_, (bytes, raw): (Vec<u8>, usize)| {
                file.write_all(&bytes)?;
                let at = written.fetch_add(bytes.len() as u64, Relaxed);
                packed.push((at, bytes.len(), raw));
                pass.buffers.put(bytes);
                Ok(())
            },
        )?;
        Ok(packed)
    }
}

struct Pack<'a> {
    buffers: Pool<Vec<u8>>,
    frames: PhantomData<&'a Vec<u8>>,
}

impl<'a> Pass for Pack<'a> {
    type Input = &'a Vec<u8>;
    type Opened = &'a Vec<u8>;
    type Linked = &'a Vec<u8>;
    type Output = (Vec<u8>, usize);
    type Worker = FrameCompressor;
    type Error = io::Error;

    fn make_worker(&self) -> FrameCompressor {
        FrameCompressor::new(SpillCodec::default())
    }

    fn open(&self, _: &mut FrameCompressor, frame: &'a Vec<u8>) -> io::Result<&'a Vec<u8>> {
        Ok(frame)
    }

    fn work(
        &self,
        compressor: &mut FrameCompressor,
        frame: &'a Vec<u8>,
    ) -> io::Result<(Vec<u8>, usize)> {
        let mut bytes = self.buffers.take().unwrap_or_default();
        bytes.clear();
        compressor.compress(frame, &mut bytes);
        Ok((bytes, frame.len()))
    }
}

struct Unpack<'a> {
    file: &'a File,
    codec: SpillCodec,
}

impl Pass for Unpack<'_> {
    type Input = PackedFrame;
    type Opened = PackedFrame;
    type Linked = PackedFrame;
    type Output = ();
    type Worker = (Vec<u8>, Vec<u8>);
    type Error = Error;

    fn make_worker(&self) -> Self::Worker {
        Default::default()
    }

    fn open(&self, _: &mut Self::Worker, packed: PackedFrame) -> readmill_record::Result<PackedFrame> {
        Ok(packed)
    }

    fn work(&self, worker: &mut Self::Worker, packed: PackedFrame) -> readmill_record::Result<()> {
        let ((at, bytes, raw), (from, to)) = (packed, worker);
        from.resize(bytes, 0);
        to.resize(raw, 0);
        let read = self.file.read_exact_at(from, at);
        read.map_err(|e| Error::io("reading back what was spilled", &e))?;
        self.codec.decompress(from, to)
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
            deflater.deflate_block(&block, &mut bytes);
        }
        bytes.extend_from_slice(&EOF_BLOCK);
        std::fs::write(&from, &bytes).unwrap();
        let crew = Crew { threads: 2, in_flight: 4 };
        inflate_file(crew, &from).unwrap();
        deflate_blocks(crew, &load_blocks(&from).unwrap(), 6, &to).unwrap();
        assert!(std::fs::read(&to).unwrap() == bytes);
    }

    #[test]
    fn as_many_bytes_go_to_disk_as_were_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let frames: Vec<Vec<u8>> =
            (0..9u8).map(|i| b"read 99 chr1 ".repeat(500 + usize::from(i))).collect();
        let spill = SpillFloor { frames, bytes: 20_000, directory: directory.path().to_path_buf() };
        let (raw, packed) = spill.round_trip(Crew { threads: 2, in_flight: 4 }).unwrap();
        assert!((20_000..21_000).contains(&packed), "{packed}");
        assert!(raw > 10 * packed);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
