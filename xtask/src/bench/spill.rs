//! The least cost of spilling: compresses as many bytes as were spilled with the codec of the spill, writes them to
//! a file, reads them back and decompresses them.
//!
//! The content of the real runs is unknown, but each held a share of the final order. So the records of the output
//! are distributed at random (in pairs, so that adjacent mates stay adjacent) over as many lists as there were
//! runs, and one more that stays in memory. Frames of the lists are compressed until
//! they make as many compressed bytes as readmill spilled.

use std::fs::File;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::{Context, Result, ensure};
use readmill_engine::{Crew, Pass, Pool};
use readmill_format::spill_codec::{FrameCompressor, SpillCodec};
use readmill_record::{Error, Stamp};

use super::batches;

/// Bytes of records in a frame.
const FRAME: usize = 64 << 10;

/// Frames to be spilled.
pub struct Spill {
    frames: Vec<Vec<u8>>,
    /// Compressed bytes to be written.
    bytes: u64,
    directory: PathBuf,
}

/// The place of a frame in the file: its offset, its bytes there, and its bytes in memory.
type Packed = (u64, usize, usize);

impl Spill {
    /// Deals out the records of `sorted`.
    pub fn prepare(sorted: &Path, runs: usize, bytes: u64, directory: &Path) -> Result<Self> {
        let mut hands = vec![Vec::new(); runs.max(1)];
        let (mut frames, mut number) = (Vec::new(), 0u64);
        batches::each(sorted, |batch| {
            for (_, record) in batch.records() {
                // Stamps replace places in the input, which are as good as random here.
                let stamp = Stamp::new(number.wrapping_mul(0x9e37_79b9) & 0x07ff_ffff, 0);
                let turn = (number / 2 % (hands.len() as u64 + 1)) as usize;
                number += 1;
                let Some(hand) = hands.get_mut(turn) else { continue };
                hand.extend_from_slice(&stamp.0.to_le_bytes());
                hand.extend_from_slice(record.raw());
                if hand.len() >= FRAME {
                    frames.push(std::mem::replace(hand, Vec::with_capacity(FRAME + 4096)));
                }
            }
        })?;
        frames.extend(hands.into_iter().filter(|hand| !hand.is_empty()));
        ensure!(!frames.is_empty(), "{} has no records to spill", sorted.display());
        Ok(Spill { frames, bytes, directory: directory.to_path_buf() })
    }

    /// Compresses, writes, reads and decompresses; returns the bytes before and after compression.
    pub fn pass(&self, crew: Crew) -> Result<(u64, u64)> {
        let failed = || format!("spilling to {}", self.directory.display());
        let mut file = tempfile::tempfile_in(&self.directory).with_context(failed)?;
        let packed = self.write(crew, &mut file).with_context(failed)?;
        let mut left = packed.iter().copied();
        let read = Unpack { file: &file, codec: SpillCodec::default() };
        readmill_engine::run(crew, &read, |_| Ok(left.next()), |_, it| Ok(it), |_, ()| Ok(()))?;
        let raw = packed.iter().map(|packed| packed.2 as u64).sum();
        Ok((raw, packed.iter().map(|packed| packed.1 as u64).sum()))
    }

    fn write(&self, crew: Crew, file: &mut File) -> io::Result<Vec<Packed>> {
        let (mut packed, mut frames) = (Vec::new(), self.frames.iter().cycle());
        let written = AtomicU64::new(0);
        let pass = Pack { buffers: Pool::new(crew.in_flight), frames: PhantomData };
        readmill_engine::run(
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

    fn worker(&self) -> FrameCompressor {
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
    type Input = Packed;
    type Opened = Packed;
    type Linked = Packed;
    type Output = ();
    /// A frame as it is in the file, and decompressed.
    type Worker = (Vec<u8>, Vec<u8>);
    type Error = Error;

    fn worker(&self) -> Self::Worker {
        Default::default()
    }

    fn open(&self, _: &mut Self::Worker, packed: Packed) -> readmill_record::Result<Packed> {
        Ok(packed)
    }

    fn work(&self, worker: &mut Self::Worker, packed: Packed) -> readmill_record::Result<()> {
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
    fn as_many_bytes_go_to_disk_as_were_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let frames: Vec<Vec<u8>> =
            (0..9u8).map(|i| b"read 99 chr1 ".repeat(500 + usize::from(i))).collect();
        let spill = Spill { frames, bytes: 20_000, directory: directory.path().to_path_buf() };
        let (raw, packed) = spill.pass(Crew { threads: 2, in_flight: 4 }).unwrap();
        assert!((20_000..21_000).contains(&packed), "{packed}");
        assert!(raw > 10 * packed);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
