//! The subcommand `codecs`: speed and compressed size of every codec and level on blocks of BAM
//! files.
//!
//! The blocks are those that readmill writes, with the reads in input order and sorted. One thread
//! compresses and decompresses about 1 MiB of them at a time, as readmill does, and the result is
//! compared with the original. Speeds are per CPU time, which other load on the machine affects
//! less than wall time.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use readmill_format::bgzf::{BgzfBlock, BlockReader, Chunk, Codec, Deflater, Inflater};
use readmill_format::spill_codec::{FrameCompressor, SpillCodec};
use readmill_peers::usage;

use crate::contender::Call;
use crate::data_file::DataTable;
use crate::work::BenchSetup;

/// Minimum size of the measured blocks in bytes. They are spread evenly over the file.
const MIN_SAMPLE_BYTES: usize = 24 << 20;

const BATCH_BLOCKS: usize = 16;

/// The baseline for other output codecs: zlib level 6, the default of htslib and htsjdk.
const OUTPUT_BASE: (Codec, u8) = (Codec::ZlibRs, 6);

pub fn bench_codecs(work: &BenchSetup) -> Result<()> {
    println!("### Codecs\n\n{}", work.describe_setup());
    println!(
        "One thread; medians of {}. MB/s of CPU time, of what is not compressed. × is the ratio to the row in bold. \
         Levels are the libraries' own. zlib is zlib-rs, which is faster than zlib at the same level.",
        work.options.runs
    );
    for (title, order) in [("Sorted by coordinate", "coordinate"), ("As the input has them", "none")] {
        let blocks = sample_blocks(&rewrite_in_order(work, order)?)?;
        let mut output = Vec::new();
        for &codec in Codec::available() {
            for level in codec.own_levels().filter(|&level| is_measured(codec, level)) {
                output.push(CoderTimes::new(format!("{codec} {level}"), BgzfBlocks::new(codec, level)));
            }
        }
        measure_coders(&mut output, &blocks, work.options.runs)?;
        let base = format!("{} {}", OUTPUT_BASE.0, OUTPUT_BASE.1);
        print_coders(work, &format!("{title}: codecs for output"), &output, &base, &blocks)?;
        let spill =
            SpillCodec::ALL.map(|codec| CoderTimes::new(codec.to_string(), SpillFrames::new(codec)));
        let mut spill = Vec::from(spill);
        measure_coders(&mut spill, &blocks, work.options.runs)?;
        let (title, base) = (format!("{title}: codecs for the spill"), SpillCodec::default());
        print_coders(work, &title, &spill, &base.to_string(), &blocks)?;
    }
    Ok(())
}

/// Returns whether a level is measured. Levels with the same result as their neighbours are
/// omitted.
fn is_measured(codec: Codec, level: u8) -> bool {
    !matches!((codec, level), (Codec::Libdeflate, 8 | 10 | 11) | (Codec::ZlibRs, 7 | 8))
}

/// Rewrites the input in this order with readmill, so that its blocks are those of readmill.
fn rewrite_in_order(work: &BenchSetup, order: &str) -> Result<PathBuf> {
    let file = work.file(&format!("codecs-{order}.bam"));
    let call = Call::new(&work.readmill).arg("prep").arg(&work.data).arg("-o").arg(&file);
    let (memory, threads) = (work.options.memory, work.options.threads);
    let call = call.add_words(&format!("--sort {order} -l 1 --no-index -m {memory}M -@ {threads}"));
    work.run_once(call)?;
    Ok(file)
}

/// Returns the payloads of every n-th block of a file, at least [`MIN_SAMPLE_BYTES`] in total if
/// the file is large enough.
///
/// `n` starts at 1 and doubles whenever too many blocks are kept.
fn sample_blocks(file: &Path) -> Result<Vec<Vec<u8>>> {
    let input = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut reader = BlockReader::new(input, false);
    let (mut chunk, mut inflater) = (Chunk::default(), Inflater::default());
    let (mut kept, mut bytes, mut every, mut number) = (Vec::new(), Vec::new(), 1, 0);
    while reader.next_chunk(&mut chunk)? {
        bytes.clear();
        inflater.append_chunk(&chunk, &mut bytes)?;
        let mut rest = bytes.as_slice();
        for block in &chunk.blocks {
            let (payload, after) = rest.split_at(block.inflated as usize);
            rest = after;
            if !payload.is_empty() && number % every == 0 {
                kept.push(payload.to_vec());
            }
            number += 1;
        }
        if kept.iter().map(Vec::len).sum::<usize>() > 2 * MIN_SAMPLE_BYTES {
            let mut keep = false;
            kept.retain(|_| {
                keep = !keep;
                keep
            });
            every *= 2;
        }
    }
    Ok(kept)
}

/// A codec under test: BGZF blocks, or spill frames.
///
/// `compress` keeps its result, to which `size` and `decompress` refer. So only the codec's work is
/// timed, and buffers are reused.
trait Coder {
    fn compress(&mut self, payloads: &[Vec<u8>]);
    fn size(&self) -> usize;
    /// Decompresses the last compressed data into `out`, which must be empty.
    fn decompress(&mut self, out: &mut Vec<u8>) -> Result<()>;
}

struct BgzfBlocks {
    deflater: Deflater,
    inflater: Inflater,
    chunk: Chunk,
}

impl BgzfBlocks {
    fn new(codec: Codec, own_level: u8) -> Self {
        let deflater = Deflater::at_own_level(codec, own_level);
        BgzfBlocks { deflater, inflater: Inflater::default(), chunk: Chunk::default() }
    }
}

impl Coder for BgzfBlocks {
    fn compress(&mut self, payloads: &[Vec<u8>]) {
        let Chunk { compressed, blocks, inflated, .. } = &mut self.chunk;
        compressed.clear();
        blocks.clear();
        *inflated = 0;
        for payload in payloads {
            let start = compressed.len();
            self.deflater.deflate_block(payload, compressed);
            let size = (compressed.len() - start) as u32;
            blocks.push(BgzfBlock {
                start: start as u32,
                header: 18,
                size,
                inflated: payload.len() as u32,
            });
            *inflated += payload.len();
        }
    }

    fn size(&self) -> usize {
        self.chunk.compressed.len()
    }

    fn decompress(&mut self, out: &mut Vec<u8>) -> Result<()> {
        Ok(self.inflater.append_chunk(&self.chunk, out)?)
    }
}

struct SpillFrames {
    compressor: FrameCompressor,
    bytes: Vec<u8>,
    /// Compressed and raw size of each frame in bytes.
    lengths: Vec<(usize, usize)>,
}

impl SpillFrames {
    fn new(codec: SpillCodec) -> Self {
        SpillFrames { compressor: FrameCompressor::new(codec), bytes: Vec::new(), lengths: Vec::new() }
    }
}

impl Coder for SpillFrames {
    fn compress(&mut self, payloads: &[Vec<u8>]) {
        self.bytes.clear();
        self.lengths.clear();
        for payload in payloads {
            let start = self.bytes.len();
            self.compressor.compress(payload, &mut self.bytes);
            self.lengths.push((self.bytes.len() - start, payload.len()));
        }
    }

    fn size(&self) -> usize {
        self.bytes.len()
    }

    fn decompress(&mut self, out: &mut Vec<u8>) -> Result<()> {
        out.resize(self.lengths.iter().map(|(_, raw)| raw).sum(), 0);
        let (mut rest, mut left) = (self.bytes.as_slice(), out.as_mut_slice());
        for &(compressed, raw) in &self.lengths {
            let (frame, after) = rest.split_at(compressed);
            let (into, unfilled) = left.split_at_mut(raw);
            self.compressor.codec().decompress(frame, into)?;
            (rest, left) = (after, unfilled);
        }
        Ok(())
    }
}

struct CoderTimes {
    name: String,
    coder: Box<dyn Coder>,
    size: usize,
    compressing: Vec<Duration>,
    decompressing: Vec<Duration>,
}

impl CoderTimes {
    fn new(name: String, coder: impl Coder + 'static) -> Self {
        let (compressing, decompressing) = Default::default();
        CoderTimes { name, coder: Box::new(coder), size: 0, compressing, decompressing }
    }

    /// Compresses and decompresses all blocks once. Fails if the data changed.
    fn measure_round(&mut self, blocks: &[Vec<u8>]) -> Result<()> {
        let (mut there, mut back, mut size, mut out) = (Duration::ZERO, Duration::ZERO, 0, Vec::new());
        for payloads in blocks.chunks(BATCH_BLOCKS) {
            let start = usage::own_usage()?.cpu;
            self.coder.compress(payloads);
            let middle = usage::own_usage()?.cpu;
            out.clear();
            self.coder.decompress(&mut out)?;
            back += usage::own_usage()?.cpu - middle;
            there += middle - start;
            size += self.coder.size();
            ensure!(out == payloads.concat(), "{} does not give back what it was given", self.name);
        }
        self.size = size;
        self.compressing.push(there);
        self.decompressing.push(back);
        Ok(())
    }

    fn median_seconds(&self) -> (f64, f64) {
        (median_of_rounds(&self.compressing), median_of_rounds(&self.decompressing))
    }
}

fn median_of_rounds(rounds: &[Duration]) -> f64 {
    let mut sorted = rounds.to_vec();
    sorted.sort();
    sorted.get(sorted.len() / 2).map_or(f64::NAN, Duration::as_secs_f64)
}

fn measure_coders(rows: &mut [CoderTimes], blocks: &[Vec<u8>], rounds: usize) -> Result<()> {
    for round in 1..=rounds {
        for row in &mut *rows {
            row.measure_round(blocks)?;
        }
        eprintln!("round {round} of {rounds}: {} codecs", rows.len());
    }
    Ok(())
}

/// The columns of the data file: the sample, then the cells of [`cells`].
const COLUMNS: [&str; 9] = [
    "blocks",
    "mb",
    "codec",
    "compress_mb_per_s",
    "compress_ratio",
    "decompress_mb_per_s",
    "decompress_ratio",
    "compression_ratio",
    "size_ratio",
];

/// Prints a table and adds it to the data file. Ratios are relative to the codec named `base`.
fn print_coders(
    work: &BenchSetup,
    title: &str,
    rows: &[CoderTimes],
    base: &str,
    blocks: &[Vec<u8>],
) -> Result<()> {
    let raw = blocks.iter().map(Vec::len).sum::<usize>();
    println!("\n#### {title}\n\n{} blocks, {:.1} MB\n", blocks.len(), raw as f64 / 1e6);
    println!("| | compress MB/s | × | decompress MB/s | × | ratio | size × |");
    println!("|---|---|---|---|---|---|---|");
    let Some(base) = rows.iter().find(|row| row.name == base) else { return Ok(()) };
    let sample = [blocks.len().to_string(), format!("{:.1}", raw as f64 / 1e6)];
    let mut lines = Vec::new();
    for row in rows {
        let cells = cells(row, base, raw);
        let bold = if row.name == base.name { "**" } else { "" };
        println!("| {bold}{}{bold} | {} |", cells[0], cells[1..].join(" | "));
        lines.push(sample.iter().cloned().chain(cells).collect());
    }
    work.save_table(&DataTable { file: "codecs", title, columns: &COLUMNS, rows: lines })
}

/// Returns the name of a codec, its speeds and sizes, and their ratios to `base`.
fn cells(row: &CoderTimes, base: &CoderTimes, raw: usize) -> [String; 7] {
    let speed = |seconds: f64| format!("{:.0}", raw as f64 / 1e6 / seconds);
    let ((there, back), (base_there, base_back)) = (row.median_seconds(), base.median_seconds());
    [
        row.name.clone(),
        speed(there),
        format!("{:.2}", base_there / there),
        speed(back),
        format!("{:.2}", base_back / back),
        format!("{:.3}", raw as f64 / row.size as f64),
        format!("{:.3}", row.size as f64 / base.size as f64),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_coders_give_back_what_they_were_given() {
        let blocks: Vec<Vec<u8>> = (1..40usize)
            .map(|n| (0..n * 997 % 60_000 + 1).map(|i| ((i * n) >> 3) as u8).collect())
            .collect();
        let mut rows = vec![CoderTimes::new("zlib".into(), BgzfBlocks::new(Codec::ZlibRs, 1))];
        rows.extend(
            SpillCodec::ALL.map(|codec| CoderTimes::new(codec.to_string(), SpillFrames::new(codec))),
        );
        measure_coders(&mut rows, &blocks, 1).unwrap();
        assert!(rows.iter().all(|row| row.size > 0 && row.compressing.len() == 1));
    }

    #[test]
    fn cells_have_speeds_sizes_and_ratios() {
        let row = |name: &str, seconds, size| CoderTimes {
            size,
            compressing: vec![Duration::from_secs(seconds); 3],
            decompressing: vec![Duration::from_secs(1); 3],
            ..CoderTimes::new(name.into(), SpillFrames::new(SpillCodec::None))
        };
        let (base, other) = (row("base", 4, 5_000_000), row("other", 2, 4_000_000));
        let shown = cells(&other, &base, 20_000_000);
        assert_eq!(shown, ["other", "10", "2.00", "20", "1.00", "5.000", "0.800"]);
        assert_eq!(cells(&base, &base, 20_000_000)[..3], ["base", "5", "1.00"]);
        assert_eq!(shown.len() + 2, COLUMNS.len());
    }
}
