//! From the index as it was built to the bytes of the file.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use noodles_bgzf as bgzf;

use readmill_record::{Error, Result};

use super::builder::{IndexBuilder, Reference};
use super::chunk::{Chunk, offsets};
use super::scheme::{Kind, MIN_SHIFT, Scheme, first_bin, parent};

/// A bin whose chunks span fewer compressed bytes goes into its parent, as in htslib.
const MIN_SPAN: u64 = 1 << 16;

/// Bins with their merged chunks.
type Bins = Vec<(u32, Vec<Chunk>)>;

impl IndexBuilder {
    /// Writes the index file. An error, rather than an index that misses records, where the records
    /// were not in coordinate order.
    pub fn write_to(mut self, writer: &mut dyn Write) -> Result<()> {
        if self.unsorted {
            let what = "the records are not in coordinate order and cannot be indexed";
            return Err(Error::input(what).hint("sort the file by coordinate"));
        }
        self.close(self.n_ref);
        self.write(&mut BufWriter::new(writer))
            .map_err(|error| Error::io("cannot write the index", &error))
    }

    fn write(&self, writer: &mut dyn Write) -> io::Result<()> {
        match self.scheme.kind {
            Kind::Bai => {
                writer.write_all(b"BAI\x01")?;
                self.write_references(writer)
            }
            Kind::Csi => {
                let mut packed = bgzf::io::Writer::new(&mut *writer);
                packed.write_all(b"CSI\x01")?;
                for number in [u32::from(MIN_SHIFT), u32::from(self.scheme.depth), 0] {
                    packed.write_all(&number.to_le_bytes())?; // the last: bytes of what BAM has none of
                }
                self.write_references(&mut packed)?;
                packed.finish()?;
                Ok(())
            }
        }?;
        writer.flush()
    }

    fn write_references(&self, writer: &mut dyn Write) -> io::Result<()> {
        writer.write_all(&(self.n_ref as u32).to_le_bytes())?;
        writer.write_all(&self.done)?;
        writer.write_all(&self.unplaced.to_le_bytes())
    }
}

/// Appends what the file says of a reference sequence, which may have no records.
pub(super) fn reference(scheme: Scheme, reference: Option<Reference>, out: &mut Vec<u8>) {
    let Some(reference) = reference else {
        out.extend_from_slice(&0u32.to_le_bytes());
        if scheme.kind == Kind::Bai {
            out.extend_from_slice(&0u32.to_le_bytes());
        }
        return;
    };
    let (bins, offsets, summary) =
        (bins(reference.levels), offsets(&reference.windows), reference.summary);
    out.extend_from_slice(&(bins.len() as u32 + 1).to_le_bytes());
    let start = |bin, offset: u64, chunks: usize, out: &mut Vec<u8>| {
        out.extend_from_slice(&u32::to_le_bytes(bin));
        if scheme.kind == Kind::Csi {
            out.extend_from_slice(&offset.to_le_bytes());
        }
        out.extend_from_slice(&(chunks as u32).to_le_bytes());
    };
    for (bin, chunks) in &bins {
        let offset = offsets.get(scheme.first_window(*bin) as usize).copied().unwrap_or(0);
        start(*bin, offset, chunks.len(), out);
        for chunk in chunks {
            out.extend_from_slice(&chunk.begin.to_le_bytes());
            out.extend_from_slice(&chunk.end.to_le_bytes());
        }
    }
    // The pseudo-bin behind the last one.
    start(first_bin(u32::from(scheme.depth) + 1) + 1, 0, 2, out);
    for number in [summary.begin, summary.end, summary.mapped, summary.unmapped] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    if scheme.kind == Kind::Bai {
        out.extend_from_slice(&(offsets.len() as u32).to_le_bytes());
        offsets.iter().for_each(|offset| out.extend_from_slice(&offset.to_le_bytes()));
    }
}

/// Groups chunks by bin and moves bins of little extent into their parents, where these exist: a
/// query reads such blocks anyway, and the index gets smaller (htslib, `compress_binning`).
fn bins(levels: Vec<Vec<Chunk>>) -> Bins {
    let mut given: BTreeMap<u32, Vec<Chunk>> = BTreeMap::new();
    for chunk in levels.into_iter().flatten() {
        given.entry(chunk.bin).or_default().push(chunk);
    }
    let mut out = Bins::new();
    while let Some((bin, chunks)) = given.pop_last() {
        let begin = chunks.iter().map(|chunk| chunk.begin >> 16).min().unwrap_or(0);
        let end = chunks.iter().map(|chunk| chunk.end >> 16).max().unwrap_or(0);
        let above = parent(bin).and_then(|parent| given.get_mut(&parent));
        match above {
            Some(above) if end - begin < MIN_SPAN => above.extend(chunks),
            _ => out.push((bin, merged(bin, chunks))),
        }
    }
    out.reverse();
    out
}

/// Sorts the chunks of a bin and of those moved into it, and merges those that share a block.
fn merged(bin: u32, mut chunks: Vec<Chunk>) -> Vec<Chunk> {
    chunks.sort_unstable_by_key(|chunk| chunk.begin);
    let mut out: Vec<Chunk> = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let chunk = Chunk { bin, ..chunk };
        if !out.last_mut().is_some_and(|last| last.merge(chunk)) {
            out.push(chunk);
        }
    }
    out
}
