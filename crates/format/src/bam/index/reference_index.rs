//! The index of one reference sequence, under construction and as bytes of the file.

use std::collections::BTreeMap;

use super::chunk::{Chunk, Summary, Windows, offsets, reach, rebase};
use super::fragment::ReferencePart;
use super::scheme::{IndexFormat, Scheme, first_bin, level, parent};

/// A bin whose chunks span fewer compressed bytes is merged into its parent, as in htslib.
const MIN_SPAN: u64 = 1 << 16;

/// Bins with their merged chunks.
type Bins = Vec<(u32, Vec<Chunk>)>;

/// The index of one reference sequence that has records.
#[derive(Debug)]
pub(super) struct ReferenceIndex {
    pub(super) ref_id: usize,
    pub(super) summary: Summary,
    /// Chunks by level and then in file order, which is also the order of bins.
    pub(super) levels: Vec<Vec<Chunk>>,
    pub(super) windows: Windows,
}

impl ReferenceIndex {
    pub(super) fn new(first: &ReferencePart, base: u64, n_levels: usize) -> Self {
        let begin = rebase(first.summary.begin, base);
        let summary = Summary { begin, end: begin, mapped: 0, unmapped: 0 };
        let levels = vec![Vec::new(); n_levels];
        ReferenceIndex { ref_id: first.ref_id, summary, levels, windows: Windows::default() }
    }

    pub(super) fn absorb(
        &mut self,
        part: &ReferencePart,
        (chunks, windows): (&[Chunk], &[(u32, u64)]),
        base: u64,
    ) {
        self.summary.end = rebase(part.summary.end, base);
        self.summary.mapped += part.summary.mapped;
        self.summary.unmapped += part.summary.unmapped;
        for &(end, offset) in windows {
            reach(&mut self.windows, usize::MAX, end, rebase(offset, base));
        }
        for chunk in chunks {
            let (chunk, level) = (chunk.rebased(base), &mut self.levels[level(chunk.bin)]);
            if !level.last_mut().is_some_and(|last| last.merge(chunk)) {
                level.push(chunk);
            }
        }
    }
}

/// Appends the entry of a reference sequence, which may have no records.
pub(super) fn append(scheme: Scheme, reference: Option<ReferenceIndex>, out: &mut Vec<u8>) {
    let Some(reference) = reference else {
        out.extend_from_slice(&0u32.to_le_bytes());
        if scheme.kind == IndexFormat::Bai {
            out.extend_from_slice(&0u32.to_le_bytes());
        }
        return;
    };
    let (bins, offsets, summary) =
        (bins(reference.levels), offsets(&reference.windows), reference.summary);
    out.extend_from_slice(&(bins.len() as u32 + 1).to_le_bytes());
    let start = |bin, offset: u64, chunks: usize, out: &mut Vec<u8>| {
        out.extend_from_slice(&u32::to_le_bytes(bin));
        if scheme.kind == IndexFormat::Csi {
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
    // The pseudo-bin after the last one.
    start(first_bin(u32::from(scheme.depth) + 1) + 1, 0, 2, out);
    for number in [summary.begin, summary.end, summary.mapped, summary.unmapped] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    if scheme.kind == IndexFormat::Bai {
        out.extend_from_slice(&(offsets.len() as u32).to_le_bytes());
        offsets.iter().for_each(|offset| out.extend_from_slice(&offset.to_le_bytes()));
    }
}

/// Groups chunks by bin and moves small bins into their parents, if these exist: a query reads such blocks anyway,
/// and the index gets smaller (htslib, `compress_binning`).
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

/// Sorts the chunks of a bin, including those moved into it, and merges those that share a block.
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
