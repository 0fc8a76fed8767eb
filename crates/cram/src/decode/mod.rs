//! Decodes a container into raw BAM records.
//!
//! 1. The compression header defines how each data series is stored (`scheme`), and so which
//!    blocks are needed.
//! 2. For each slice, these blocks are inflated (`slice`).
//! 3. Records are decoded one after the other: first their fields and tags (`record`), then
//!    bases, CIGAR, MD and NM from their differences to the reference (`features`). Each is
//!    appended as BAM without its mate fields.
//! 4. When all records of the slice are decoded, the mate fields are filled in (`mates`).
//!
//! If only FLAG and MAPQ are wanted, steps 3 and 4 are replaced by a loop over a few series
//! (`flags`).

mod features;
mod flags;
mod mates;
mod options;
mod parts;
mod record;
mod slice;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use readmill_format::chain::OpenedChunk;
use readmill_format::reference::WINDOW_BYTES;
use readmill_record::{Charge, Detail, Result};

use crate::bases::Bases;
use crate::block::{ContentType, CramBlock};
use crate::codec::{Codecs, rans};
use crate::encoding::Streams;
use crate::num::{ByteCursor, damaged_cram};
use crate::reader::{Container, Sizes, exceeds_container_error, parts_bound};
use crate::scheme::{Blocks, Scheme};
use mates::RecordNote;
pub use options::{DecodeOptions, Stop};
pub use parts::Setup;

const MAX_KEPT_BYTES: usize = 1 << 20;

/// Maximum memory that a decoder keeps between containers: a window of the reference, rANS tables,
/// blocks, and the parts of a record. The planner charges it once per thread.
pub const DECODER_BYTES: usize = WINDOW_BYTES + rans::TABLES_BYTES + MAX_KEPT_BYTES + (1 << 20);

const MAX_KEPT_BLOCKS: usize = 256;

/// The limits of the slices of a container that are not yet decoded: bytes of BAM, prepaid bytes of
/// the parts of a record, number of records, and bytes of inflated blocks.
struct SliceLimits {
    bound: usize,
    parts: usize,
    records: usize,
    sizes: Sizes,
}

/// Maximum number of values that take no bits, per byte of records that a container may have. The
/// records of valid files have at most three per byte: a base can be one feature of four values,
/// and takes a byte and a half.
const MAX_CONSTANTS_PER_BYTE: usize = 8;

/// Decodes containers into BAM records. Each thread has its own.
///
/// It keeps tables, blocks and buffers between containers, at most [`DECODER_BYTES`] in total.
/// Memory beyond that, for a large container, is freed once the container is decoded.
pub struct Decoder {
    setup: Arc<Setup>,
    codecs: Codecs,
    bases: Bases,
    streams: Streams,
    embedded: Vec<u8>,
    notes: Vec<RecordNote>,
    scratch: parts::RecordBuffers,
    extra: Charge,
}

impl Decoder {
    pub fn new(setup: Arc<Setup>) -> Self {
        Decoder {
            codecs: Codecs::default(),
            bases: setup.references.bases_reader(),
            streams: Streams::default(),
            embedded: Vec::new(),
            notes: Vec::new(),
            scratch: parts::RecordBuffers::default(),
            extra: setup.references.ledger().empty_charge("CRAM decoders"),
            setup,
        }
    }

    /// Decodes a container into `opened`. If the container is damaged, `opened` keeps the records
    /// before the damage and the error.
    ///
    /// With [`Detail::Places`], records have no name, bases or optional fields; with
    /// [`Detail::Flags`], they may also lack a position. Neither needs a reference. Blocks that
    /// only hold other data are not inflated, but their checksums are verified.
    pub fn open(
        &mut self,
        container: &Container,
        wanted: impl Into<DecodeOptions>,
        opened: &mut OpenedChunk,
    ) {
        if let Err(error) = self.decode_container(container, wanted.into(), opened) {
            opened.set_fault(error);
        }
        self.free_large_buffers();
    }

    /// Frees memory in excess of [`DECODER_BYTES`], because the next container is not charged for
    /// it.
    fn free_large_buffers(&mut self) {
        let mut left = MAX_KEPT_BYTES;
        let mut keep = |bytes: usize| {
            let kept = left.checked_sub(bytes);
            left = kept.unwrap_or(left);
            kept.is_some()
        };
        self.notes.clear();
        if !keep(self.notes.capacity() * size_of::<RecordNote>()) {
            self.notes = Vec::new();
        }
        self.scratch.clear();
        if !keep(self.scratch.capacity_bytes()) {
            self.scratch = parts::RecordBuffers::default();
        }
        self.extra.resize(0);
        let Streams { core, external, .. } = &mut self.streams;
        external.truncate(MAX_KEPT_BLOCKS);
        let blocks = external.iter_mut().map(|stream| &mut stream.bytes);
        for block in blocks.chain([&mut core.bytes, &mut self.embedded]) {
            if !keep(block.capacity()) {
                *block = Vec::new();
            }
        }
    }

    fn decode_container(
        &mut self,
        container: &Container,
        wanted: DecodeOptions,
        opened: &mut OpenedChunk,
    ) -> Result<()> {
        let (bytes, version) = (container.blocks(), self.setup.version);
        let mut cursor = ByteCursor(bytes);
        let first = CramBlock::read(&mut cursor, version)?;
        if first.content != ContentType::CompressionHeader {
            return Err(damaged_cram("a container does not begin with its compression header"));
        }
        let mut sizes = container.sizes();
        sizes.take_block(&first)?;
        first.inflate(&mut self.codecs, &mut self.embedded)?;
        let mut scheme = Scheme::read(&self.embedded)?;
        let blocks = scheme.needed_blocks(wanted.detail);
        if let Blocks::AllExcept(_) = blocks {
            scheme.keep_only_places();
        }
        let left_out = !matches!(blocks, Blocks::All);
        let (bound, parts) = (container.max_bam_bytes(), container.max_parts_bytes());
        opened.bytes_mut().reserve(if left_out { 0 } else { container.likely_bytes() });
        let records = container.header.records;
        self.streams.constants_left = bound.saturating_mul(MAX_CONSTANTS_PER_BYTE);
        let mut limits = SliceLimits { bound, parts, records, sizes };
        for &landmark in &container.header.landmarks {
            let slice = bytes.get(landmark as usize..).filter(|_| landmark >= 0);
            let mut slice =
                ByteCursor(slice.ok_or_else(|| damaged_cram("a slice starts outside its container"))?);
            self.decode_slice(&mut slice, (&scheme, &blocks), wanted, &mut limits, opened)?;
        }
        if limits.records > 0 {
            let found = records - limits.records;
            return Err(damaged_cram(format!(
                "the header of a container states {records} records, but its slices have {found}"
            )));
        }
        Ok(())
    }

    fn decode_slice(
        &mut self,
        cursor: &mut ByteCursor<'_>,
        (scheme, blocks): (&Scheme, &Blocks),
        wanted: DecodeOptions,
        limits: &mut SliceLimits,
        opened: &mut OpenedChunk,
    ) -> Result<()> {
        let version = self.setup.version;
        let slice = slice::read_slice(
            cursor,
            version,
            &mut self.codecs,
            &mut self.streams,
            &mut self.embedded,
            blocks,
            &mut limits.sizes,
        )?;
        let left = limits.records.checked_sub(slice.records);
        limits.records = left.ok_or_else(exceeds_container_error)?;
        let (series, tags) = scheme.resolve_blocks(&self.streams);
        if let Blocks::Only(_) = blocks {
            return flags::decode_flags(&series, &mut self.streams, slice.records, limits.bound, opened);
        }
        let places_only = wanted.detail <= Detail::Places;
        self.notes.reserve_exact(slice.records);
        let mut check = None;
        if !places_only {
            check = slice::ReferenceCheck::new(&slice, scheme, &self.bases, &self.embedded)?;
        }
        let lines = record::stored_tag_lists(scheme, &tags);
        let start = opened.bytes_mut().len();
        self.notes.clear();
        let mut reader = parts::RecordReader {
            setup: &self.setup,
            needs_only_places: places_only,
            blocks_skipped: matches!(blocks, Blocks::AllExcept(_)),
            scheme,
            slice: &slice,
            series: &series,
            tag_lists: &lines,
            streams: &mut self.streams,
            bases: slice::SliceReference::new(
                &slice,
                scheme.needs_reference && !places_only,
                check,
                &mut self.bases,
                &self.embedded,
            ),
            scratch: &mut self.scratch,
            last_pos: i64::from(slice.start),
            parts: parts::PartsMemory::new(limits.parts, &mut self.extra),
            first_records: HashMap::new(),
        };
        let (mut wrong, mut ahead) = (None, mates::PendingMates::default());
        for _ in 0..slice.records {
            let bytes = opened.bytes_mut();
            let at = bytes.len();
            reader.parts.start_record(parts_bound(limits.bound.saturating_sub(at)));
            let read = reader.decode_next(&mut self.notes, bytes);
            let fits = bytes.len() <= limits.bound;
            if let Err(error) = read.and(if fits { Ok(()) } else { Err(exceeds_container_error()) }) {
                bytes.truncate(at);
                self.notes.truncate(self.notes.iter().take_while(|note| note.at < at).count());
                wrong = Some(error);
                break;
            }
            if let Some(stop) = wanted.stop
                && !ahead.is_needed(stop, &mut self.notes)
            {
                break;
            }
        }
        if let Err(error) = reader.bases.verify_reference(&slice) {
            opened.bytes_mut().truncate(start);
            return Err(error);
        }
        if wrong.is_none() {
            mates::restore_mates(&mut self.notes, &mut opened.bytes_mut()[..])?;
        }
        let end = opened.bytes_mut().len();
        let starts = self.notes.iter().map(|note| note.at);
        let ends = self.notes.iter().skip(1).map(|note| note.at).chain([end]);
        debug_assert!(self.notes.first().is_none_or(|note| note.at == start));
        starts.zip(ends).for_each(|(from, to)| opened.push_sized_record(from, to - from));
        wrong.map_or(Ok(()), Err)
    }
}
