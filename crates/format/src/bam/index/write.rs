//! From the index as it was built to the file, which noodles writes.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use noodles_bam::bai;
use noodles_csi::binning_index::index::reference_sequence::bin::Chunk as FileChunk;
use noodles_csi::binning_index::index::reference_sequence::index::{BinnedIndex, LinearIndex};
use noodles_csi::binning_index::index::reference_sequence::{Bin, Index, Metadata};
use noodles_csi::binning_index::index::{Index as FileIndex, ReferenceSequence};

use readmill_record::{Error, Result};

use super::builder::{IndexBuilder, Reference};
use super::chunk::Chunk;
use super::scheme::{Kind, MIN_SHIFT, Scheme, parent};

/// A bin whose chunks span fewer compressed bytes goes into its parent, as in htslib.
const MIN_SPAN: u64 = 1 << 16;

/// Bins with their merged chunks.
type Bins = Vec<(u32, Vec<Chunk>)>;

impl IndexBuilder {
    /// Writes the index file. An error, rather than an index that misses records, where the records
    /// were not in coordinate order.
    pub fn write_to(self, writer: &mut dyn Write) -> Result<()> {
        if self.unsorted {
            let what = "the records are not in coordinate order and cannot be indexed";
            return Err(Error::input(what).hint("sort the file by coordinate"));
        }
        write(writer, self.scheme, self.n_ref, self.references, self.unplaced)
            .map_err(|error| Error::io("cannot write the index", &error))
    }
}

/// Writes the index of a file with `n_ref` reference sequences, of which `references` have records.
fn write(
    writer: &mut dyn Write,
    scheme: Scheme,
    n_ref: usize,
    references: Vec<Reference>,
    unplaced: u64,
) -> io::Result<()> {
    let mut writer = BufWriter::new(writer);
    match scheme.kind {
        Kind::Bai => {
            let linear = |_: &Bins, offsets: Vec<u64>| -> LinearIndex {
                offsets.into_iter().map(Into::into).collect()
            };
            let index = assemble(scheme, n_ref, references, unplaced, linear);
            bai::io::Writer::new(&mut writer).write_index(&index)?;
        }
        Kind::Csi => {
            let binned = |bins: &Bins, offsets: Vec<u64>| -> BinnedIndex {
                let offset = |bin| offsets.get(scheme.first_window(bin) as usize).copied();
                let entry = |&(bin, _): &(u32, _)| (bin as usize, offset(bin).unwrap_or(0).into());
                bins.iter().map(entry).collect()
            };
            let index = assemble(scheme, n_ref, references, unplaced, binned);
            let mut csi = noodles_csi::io::Writer::new(&mut writer);
            csi.write_index(&index)?;
            csi.into_inner().finish()?;
        }
    }
    writer.flush()
}

/// The index as noodles has it; `offsets` turns bins and the offsets of windows into what the format
/// keeps of the latter.
fn assemble<I: Index>(
    scheme: Scheme,
    n_ref: usize,
    references: Vec<Reference>,
    unplaced: u64,
    offsets: impl Fn(&Bins, Vec<u64>) -> I,
) -> FileIndex<I> {
    let mut given = references.into_iter().peekable();
    let mut all = Vec::with_capacity(n_ref);
    for ref_id in 0..n_ref {
        let reference = given.next_if(|reference| reference.ref_id == ref_id);
        let (bins, windows, metadata) = match reference {
            Some(reference) => {
                let s = reference.summary;
                let metadata = Metadata::new(s.begin.into(), s.end.into(), s.mapped, s.unmapped);
                (bins(reference.levels), reference.windows.offsets(), Some(metadata))
            }
            None => (Bins::new(), Vec::new(), None),
        };
        let index = offsets(&bins, windows);
        let bins = bins.into_iter().map(|(bin, chunks)| (bin as usize, file_bin(&chunks))).collect();
        all.push(ReferenceSequence::new(bins, index, metadata));
    }
    FileIndex::builder()
        .set_min_shift(MIN_SHIFT)
        .set_depth(scheme.depth)
        .set_reference_sequences(all)
        .set_unplaced_unmapped_record_count(unplaced)
        .build()
}

fn file_bin(chunks: &[Chunk]) -> Bin {
    let chunk = |chunk: &Chunk| FileChunk::new(chunk.begin.into(), chunk.end.into());
    Bin::new(chunks.iter().map(chunk).collect())
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
