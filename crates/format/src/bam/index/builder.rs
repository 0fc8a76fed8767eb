//! Builds the index of a file, partition by partition, and writes it.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use readmill_record::{Error, Header, Result};

use super::bucket_order::bucket_order;
use super::fragment::{Fragment, ReferencePart};
use crate::bgzf::{Codec, Deflater, EOF_BLOCK};

use super::scheme::{
    BinChunk, IndexFormat, IndexScheme, MIN_SHIFT, ReferenceSummary, Windows, bin_level, extend_windows,
    first_bin, parent_bin, rebase_offset, window_offset,
};

/// The index of a file under construction.
///
/// Partitions are added in file order ([`IndexBuilder::add_fragment`]); then the index is written
/// ([`IndexBuilder::write_to`]). For the current reference sequence, the builder holds 24 bytes for
/// each chunk and 16 bytes for each run of windows; for earlier ones, it holds only the encoded
/// bytes of the index file. [`BamEncoder`](crate::bam::BamEncoder) shows an example.
#[derive(Debug)]
pub struct IndexBuilder {
    scheme: IndexScheme,
    n_ref: usize,
    open: Option<ReferenceIndex>,
    encoded: Vec<u8>,
    encoded_count: usize,
    unplaced: u64,
    last: u64,
    unsorted: bool,
    meta: Vec<u8>,
}

impl IndexBuilder {
    pub fn new(scheme: IndexScheme, header: &Header) -> Self {
        Self::with_reference_count(scheme, header.references().len())
    }

    pub fn with_reference_count(scheme: IndexScheme, n_ref: usize) -> Self {
        let (open, done, n_done, unplaced, last, unsorted, meta) = Default::default();
        IndexBuilder {
            scheme,
            n_ref,
            open,
            encoded: done,
            encoded_count: n_done,
            unplaced,
            last,
            unsorted,
            meta,
        }
    }

    /// Raises the number of reference sequences so that it includes that of the last record. In
    /// BCF, contig numbers may have gaps.
    pub fn extend_references(&mut self) {
        let last = self.open.as_ref().map_or(0, |open| open.ref_id + 1);
        self.n_ref = self.n_ref.max(self.encoded_count).max(last);
    }

    /// Sets the number of reference sequences and the metadata of the index (columns and names).
    /// For text, both are known only after the last record.
    pub fn set_references(&mut self, n_ref: usize, meta: Vec<u8>) {
        (self.n_ref, self.meta) = (n_ref, meta);
    }

    /// Adds the next partition, which starts at byte `base` of the file. If it is out of order,
    /// [`IndexBuilder::write_to`] fails.
    pub fn add_fragment(&mut self, fragment: Fragment, base: u64) {
        self.unplaced += fragment.unplaced;
        if let Some((first, last)) = fragment.range {
            self.unsorted |= fragment.unsorted || first < self.last;
            self.last = last;
        }
        if self.unsorted {
            return; // there will be no index
        }
        let (mut chunks, mut windows) = (&fragment.chunks[..], &fragment.windows[..]);
        for part in &fragment.parts {
            let own_chunks = chunks.split_off(..part.chunks).unwrap_or_default();
            let own_windows = windows.split_off(..part.windows).unwrap_or_default();
            let n_levels = usize::from(self.scheme.depth) + 1;
            match &mut self.open {
                Some(reference) if reference.ref_id == part.ref_id => {
                    reference.add_part(part, own_chunks, own_windows, base);
                }
                _ => {
                    self.close_references(part.ref_id);
                    let mut reference = ReferenceIndex::new(part, base, n_levels);
                    reference.add_part(part, own_chunks, own_windows, base);
                    self.open = Some(reference);
                }
            }
        }
    }

    fn close_references(&mut self, next: usize) {
        if let Some(open) = self.open.take() {
            self.add_empty_references(open.ref_id);
            append_reference(self.scheme, Some(open), &mut self.encoded);
            self.encoded_count += 1;
        }
        self.add_empty_references(next);
    }

    fn add_empty_references(&mut self, next: usize) {
        for _ in self.encoded_count..next {
            self.reserve_entry();
            append_reference(self.scheme, None, &mut self.encoded);
        }
        self.encoded_count = self.encoded_count.max(next);
        self.reserve_entry();
    }

    /// Grows `encoded` by a quarter if an entry of usual size would not fit, which keeps its memory
    /// close to its size.
    fn reserve_entry(&mut self) {
        if self.encoded.capacity() - self.encoded.len() < 256 {
            self.encoded.reserve_exact(4096 + self.encoded.len() / 4);
        }
    }

    pub fn heap_bytes(&self) -> u64 {
        let open = self.open.as_ref().map_or(0, |reference| {
            let chunks: usize = reference.levels.iter().map(Vec::capacity).sum();
            chunks * size_of::<BinChunk>() + reference.windows.capacity() * size_of::<(u32, u64)>()
        });
        (self.encoded.capacity() + open) as u64
    }

    /// Returns the memory in bytes that the index of a file with this header usually needs,
    /// assuming that each window has reads.
    pub fn usual_bytes(header: &Header) -> u64 {
        let windows = header.references().iter().map(|contig| u64::from(contig.length >> MIN_SHIFT) + 1);
        windows.map(|windows| 64 + 40 * windows).sum()
    }

    /// Returns whether all records so far are in coordinate order. Only such a file can be indexed.
    pub fn is_sorted(&self) -> bool {
        !self.unsorted
    }
}

impl IndexBuilder {
    /// Writes the index file.
    ///
    /// # Errors
    /// Fails if the records were not in coordinate order, because the index would then miss some of
    /// them, or if writing fails.
    pub fn write_to(mut self, writer: &mut dyn Write) -> Result<()> {
        if self.unsorted {
            let what = "the records are not in coordinate order and cannot be indexed";
            return Err(Error::input(what).hint("sort the file by coordinate"));
        }
        self.close_references(self.n_ref);
        self.write_file(&mut BufWriter::new(writer))
            .map_err(|error| Error::io("cannot write the index", &error))
    }

    fn write_file(&self, writer: &mut dyn Write) -> io::Result<()> {
        let number = |number: usize| (number as u32).to_le_bytes();
        let n_ref = number(self.n_ref);
        let start = match self.scheme.kind {
            IndexFormat::Bai => [&b"BAI\x01"[..], &n_ref].concat(),
            IndexFormat::Tbi => [&b"TBI\x01"[..], &n_ref, &self.meta].concat(),
            IndexFormat::Csi => {
                let head = [self.scheme.min_shift.into(), self.scheme.depth.into(), self.meta.len()];
                [&b"CSI\x01"[..], head.map(number).as_flattened(), &self.meta, &n_ref].concat()
            }
        };
        let unplaced = self.unplaced.to_le_bytes();
        let mut parts = [&start[..], &self.encoded, &unplaced].into_iter();
        if self.scheme.kind == IndexFormat::Bai {
            parts.try_for_each(|part| writer.write_all(part))?;
        } else {
            let mut packed = PackedWriter::new(writer);
            parts.try_for_each(|part| packed.write_bytes(part))?;
            packed.finish()?;
        }
        writer.flush()
    }
}

/// Compression level of the index, as a libdeflate level. It corresponds to htslib's level 6.
const INDEX_LEVEL: u8 = 7;

const INDEX_BLOCK_BYTES: usize = 0xff00;

struct PackedWriter<'a> {
    writer: &'a mut dyn Write,
    deflater: Deflater,
    bytes: Vec<u8>,
    block: Vec<u8>,
}

impl<'a> PackedWriter<'a> {
    fn new(writer: &'a mut dyn Write) -> Self {
        let deflater = Deflater::new(Codec::default(), INDEX_LEVEL);
        PackedWriter {
            writer,
            deflater,
            bytes: Vec::with_capacity(INDEX_BLOCK_BYTES),
            block: Vec::new(),
        }
    }

    fn write_bytes(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(INDEX_BLOCK_BYTES - self.bytes.len()));
            self.bytes.extend_from_slice(now);
            bytes = later;
            if self.bytes.len() == INDEX_BLOCK_BYTES {
                self.close_block()?;
            }
        }
        Ok(())
    }

    fn close_block(&mut self) -> io::Result<()> {
        if !self.bytes.is_empty() {
            self.block.clear();
            self.deflater.deflate_block(&self.bytes, &mut self.block);
            self.bytes.clear();
            self.writer.write_all(&self.block)?;
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.close_block()?;
        self.writer.write_all(&EOF_BLOCK)
    }
}

/// A bin whose chunks span fewer compressed bytes than this is merged into its parent, as in
/// htslib.
const MIN_BIN_SPAN: u64 = 1 << 16;

type Bins = BTreeMap<u32, Vec<BinChunk>>;

#[derive(Debug)]
struct ReferenceIndex {
    ref_id: usize,
    summary: ReferenceSummary,
    levels: Vec<Vec<BinChunk>>,
    windows: Windows,
}

impl ReferenceIndex {
    fn new(first: &ReferencePart, base: u64, n_levels: usize) -> Self {
        let begin = rebase_offset(first.summary.begin, base);
        let summary = ReferenceSummary { begin, end: begin, mapped: 0, unmapped: 0 };
        let levels = vec![Vec::new(); n_levels];
        ReferenceIndex { ref_id: first.ref_id, summary, levels, windows: Windows::default() }
    }

    fn add_part(
        &mut self,
        part: &ReferencePart,
        chunks: &[BinChunk],
        windows: &[(u32, u64)],
        base: u64,
    ) {
        self.summary.end = rebase_offset(part.summary.end, base);
        self.summary.mapped += part.summary.mapped;
        self.summary.unmapped += part.summary.unmapped;
        for &(end, offset) in windows {
            extend_windows(&mut self.windows, usize::MAX, end, rebase_offset(offset, base));
        }
        for chunk in chunks {
            let (chunk, level) = (chunk.with_base(base), &mut self.levels[bin_level(chunk.bin)]);
            if !level.last_mut().is_some_and(|last| last.try_merge(chunk)) {
                level.push(chunk);
            }
        }
    }
}

fn append_reference(scheme: IndexScheme, reference: Option<ReferenceIndex>, out: &mut Vec<u8>) {
    let Some(reference) = reference else {
        out.extend_from_slice(&0u32.to_le_bytes());
        if scheme.kind != IndexFormat::Csi {
            out.extend_from_slice(&0u32.to_le_bytes());
        }
        return;
    };
    let (windows, summary) = (&reference.windows, reference.summary);
    let meta_bin = first_bin(u32::from(scheme.depth) + 1) + 1; // the pseudo-bin after the last one
    let (order, mut bins) = group_bins(reference.levels, meta_bin);
    out.extend_from_slice(&(bins.len() as u32 + 1).to_le_bytes());
    let start = |bin, offset: u64, chunks: usize, out: &mut Vec<u8>| {
        out.extend_from_slice(&u32::to_le_bytes(bin));
        if scheme.kind == IndexFormat::Csi {
            out.extend_from_slice(&offset.to_le_bytes());
        }
        out.extend_from_slice(&(chunks as u32).to_le_bytes());
    };
    for bin in order {
        if bin == meta_bin {
            start(bin, 0, 2, out);
            for number in [summary.begin, summary.end, summary.mapped, summary.unmapped] {
                out.extend_from_slice(&number.to_le_bytes());
            }
        } else if let Some(chunks) = bins.remove(&bin) {
            let offset = window_offset(windows, scheme.first_window(bin)).unwrap_or(0);
            start(bin, offset, chunks.len(), out);
            for chunk in chunks {
                out.extend_from_slice(&chunk.begin.to_le_bytes());
                out.extend_from_slice(&chunk.end.to_le_bytes());
            }
        }
    }
    if scheme.kind != IndexFormat::Csi {
        let n = windows.last().map_or(0, |&(end, _)| end);
        out.extend_from_slice(&n.to_le_bytes());
        let mut first = 0;
        for &(end, offset) in windows {
            (first..end).for_each(|_| out.extend_from_slice(&offset.to_le_bytes()));
            first = end;
        }
    }
}

/// Groups chunks by bin, and moves small bins into their parents if these exist (`compress_binning`
/// of htslib). A query reads their blocks anyway, and the index becomes smaller. Also returns the
/// order of the bins in the file.
fn group_bins(levels: Vec<Vec<BinChunk>>, meta_bin: u32) -> (Vec<u32>, Bins) {
    let mut given: BTreeMap<u32, Vec<BinChunk>> = BTreeMap::new();
    for chunk in levels.into_iter().flatten() {
        given.entry(chunk.bin).or_default().push(chunk);
    }
    let mut firsts: Vec<(u64, u32)> =
        given.iter().filter_map(|(&bin, chunks)| Some((chunks.first()?.begin, bin))).collect();
    firsts.sort_unstable();
    let order = bucket_order(firsts.into_iter().map(|(_, bin)| bin).chain([meta_bin]));
    let mut out = Bins::new();
    while let Some((bin, chunks)) = given.pop_last() {
        let begin = chunks.iter().map(|chunk| chunk.begin >> 16).min().unwrap_or(0);
        let end = chunks.iter().map(|chunk| chunk.end >> 16).max().unwrap_or(0);
        let above = parent_bin(bin).and_then(|parent| given.get_mut(&parent));
        match above {
            Some(above) if end - begin < MIN_BIN_SPAN => above.extend(chunks),
            _ => drop(out.insert(bin, merge_chunks(bin, chunks))),
        }
    }
    (order, out)
}

fn merge_chunks(bin: u32, mut chunks: Vec<BinChunk>) -> Vec<BinChunk> {
    chunks.sort_unstable_by_key(|chunk| chunk.begin);
    let mut out: Vec<BinChunk> = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let chunk = BinChunk { bin, ..chunk };
        if !out.last_mut().is_some_and(|last| last.try_merge(chunk)) {
            out.push(chunk);
        }
    }
    out
}
