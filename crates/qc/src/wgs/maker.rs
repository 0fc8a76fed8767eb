//! Makes pieces: decides which reads and bases count, and counts their depths.

use std::sync::Arc;

use readmill_record::{Batch, Charge, Flags, OrderedTally, PieceMaker, RecordRef, Result};
use xxhash_rust::xxh3::xxh3_64;

use super::counting::WgsCounting;
use super::piece::{ContigPiece, Excluded, RulesPiece, WgsPiece};
use super::rules::WgsRules;
use crate::depth::ORDERED_MEMORY;
use crate::depth::depths::{DepthCounter, MAX_READS, PAGE, end_of, page_of};
use crate::depth::reads::{IS_N, MAX_QUAL, Reads, as_java};
use crate::read::N;
use crate::reference::ReferencePages;
use crate::unsorted::unsorted_error;

/// Maximum number of bytes of base values in a piece, unless a single read has more.
const MAX_VALUES: usize = 1 << 28;

/// Number of pages whose masks are kept.
const MASKS: usize = 64;

/// Turns batches of sorted reads into pieces, on one thread. Its memory is reused for the next
/// batch.
pub(crate) struct WgsMaker {
    counting: Arc<WgsCounting>,
    counter: DepthCounter,
    masks: Masks,
    codes: Vec<u8>,
}

/// Which positions count: those that are not N in the reference and, if there are intervals, are in
/// one. Masks of recent pages are kept.
struct Masks {
    bases: ReferencePages,
    pages: Vec<PageMask>,
}

struct PageMask {
    /// The contig and the number of the page.
    key: Option<(u32, u32)>,
    /// Whether all positions of the page count.
    all: bool,
    counts: Box<[bool; PAGE]>,
}

impl Masks {
    fn new() -> Self {
        let none = || PageMask { key: None, all: false, counts: Box::new([false; PAGE]) };
        Masks { bases: ReferencePages::default(), pages: (0..MASKS).map(|_| none()).collect() }
    }

    /// Returns the mask of a page. Computes it if it is not kept.
    #[inline]
    fn page_mask(&mut self, counting: &WgsCounting, contig: u32, page: u32) -> Result<&PageMask> {
        let at = (page ^ contig) as usize % MASKS;
        if self.pages[at].key != Some((contig, page)) {
            self.fill_mask(counting, contig, page)?;
        }
        Ok(&self.pages[at])
    }

    #[cold]
    fn fill_mask(&mut self, counting: &WgsCounting, contig: u32, page: u32) -> Result<()> {
        let mask = &mut self.pages[(page ^ contig) as usize % MASKS];
        mask.key = None;
        mask.counts.fill(false);
        let first = (end_of(page) - PAGE as u64) as u32;
        let place = counting.reference.place(contig.cast_signed())?;
        if let Some((number, length)) = place.filter(|(_, length)| first < *length) {
            let end = end_of(page).min(length.into()) as u32;
            let codes = self.bases.window_of(&counting.reference).codes(number, first, end)?;
            mask.counts.iter_mut().zip(codes).for_each(|(counts, &code)| *counts = code != N);
            if let Some(intervals) = &counting.intervals {
                let mut at = first;
                while at < end {
                    let next = intervals.next_interval(contig, at).unwrap_or((end, end));
                    let (from, to) = (next.0.clamp(at, end), next.1.min(end));
                    mask.counts[(at - first) as usize..(from - first) as usize].fill(false);
                    at = to.max(from);
                }
            }
        }
        mask.all = mask.counts.iter().all(|&counts| counts);
        mask.key = Some((contig, page));
        Ok(())
    }

    fn count_positions(
        &mut self,
        counting: &WgsCounting,
        contig: u32,
        start: u32,
        length: u32,
    ) -> Result<u64> {
        let (mut position, end, mut counted) = (start, start.saturating_add(length), 0);
        while position < end {
            let (page, at) = page_of(position);
            let n = ((end - position) as usize).min(PAGE - at);
            let mask = self.page_mask(counting, contig, page)?;
            counted += mask.counts[at..at + n].iter().filter(|&&counts| counts).count() as u64;
            position += n as u32;
        }
        Ok(counted)
    }

    /// Sets the values of positions that do not count to 0. Returns the number of positions that
    /// count.
    #[inline]
    fn mask_values(
        &mut self,
        counting: &WgsCounting,
        contig: u32,
        start: u32,
        values: &mut [u8],
    ) -> Result<u32> {
        let (mut position, mut rest, mut counted) = (start, values, 0);
        while !rest.is_empty() {
            let (page, at) = page_of(position);
            let n = rest.len().min(PAGE - at);
            let (values, more) = rest.split_at_mut(n);
            let mask = self.page_mask(counting, contig, page)?;
            if mask.all {
                counted += n as u32;
            } else {
                for (value, &counts) in values.iter_mut().zip(&mask.counts[at..]) {
                    *value = if counts { *value } else { 0 };
                    counted += u32::from(counts);
                }
            }
            position = position.wrapping_add(n as u32);
            rest = more;
        }
        Ok(counted)
    }
}

/// The counted reads of a contig that are not in a piece yet.
struct GatheredReads {
    contig: u32,
    last: u32,
    reads: Reads,
}

impl WgsCounting {
    /// A piece keeps a byte for each aligned base of its reads, usually 3 MB. What exceeds this share is
    /// charged, so that the minimum memory of a run stays small.
    pub(crate) const USUAL_PIECE_BYTES: u64 = 2 << 20;
}

impl OrderedTally for WgsCounting {
    const MEMORY: &'static str = ORDERED_MEMORY;
    const TRIMS: bool = true;
    type Piece = WgsPiece;
    type Maker = WgsMaker;

    fn new_maker(self: &Arc<Self>) -> WgsMaker {
        WgsMaker::new(Arc::clone(self))
    }

    fn usual_piece_bytes(&self) -> u64 {
        Self::USUAL_PIECE_BYTES
    }

    fn piece_bytes(piece: &WgsPiece) -> u64 {
        piece.heap_bytes()
    }

    /// Includes reads that wait for later ones, and empty lists that are kept for reuse.
    fn max_bytes_to_add(&self, piece: &WgsPiece) -> u64 {
        self.lock_join().max_bytes(piece) + self.bytes_of_lists()
    }

    fn heap_bytes(&self) -> u64 {
        self.lock_join().heap_bytes() + self.bytes_of_lists()
    }

    fn restart(&self) -> Result<()> {
        *self.lock_join() = self.empty_join();
        Ok(())
    }

    fn add(&self, piece: WgsPiece) -> Result<()> {
        self.lock_join().add_piece(piece, |reads| self.keep_for_reuse(reads))
    }
}

impl PieceMaker for WgsMaker {
    type Piece = WgsPiece;

    fn make(&mut self, batch: &Batch, _: &mut Charge) -> Result<WgsPiece> {
        let counting = Arc::clone(&self.counting);
        let each = |rules| self.make_rules_piece(&counting, batch, rules);
        Ok(WgsPiece { by_rules: counting.rules.iter().map(each).collect::<Result<_>>()? })
    }

    fn trim(&self, piece: &mut WgsPiece, max_span: u32) {
        for (rules, piece) in self.counting.rules.iter().zip(&mut piece.by_rules) {
            piece.contigs.iter_mut().for_each(|piece| piece.trim(max_span, rules));
        }
    }
}

impl WgsMaker {
    pub fn new(counting: Arc<WgsCounting>) -> Self {
        let (counter, codes) = (DepthCounter::default(), Vec::new());
        WgsMaker { counting, counter, masks: Masks::new(), codes }
    }

    fn make_rules_piece(
        &mut self,
        counting: &WgsCounting,
        batch: &Batch,
        rules: &WgsRules,
    ) -> Result<RulesPiece> {
        let mut piece = RulesPiece::default();
        let mut gathered = GatheredReads { contig: 0, last: 0, reads: counting.empty_reads() };
        for (stamp, record) in batch.records() {
            let Some(contig) = u32::try_from(record.ref_id()).ok() else { continue };
            if record.flags().is_secondary() || is_outside(counting, contig, record) {
                continue;
            }
            if self.is_excluded(counting, record, rules, &mut piece.excluded) {
                continue;
            }
            let flags = record.flags();
            let Some(start) = u32::try_from(record.pos()).ok() else { continue };
            if flags.is_unmapped() || flags.is_qc_fail() {
                continue;
            }
            let is_full =
                gathered.reads.list.len() >= MAX_READS || gathered.reads.values().len() >= MAX_VALUES;
            if contig != gathered.contig || is_full {
                self.flush_reads(&mut gathered, rules, &mut piece);
                let last = if contig == gathered.contig { gathered.last } else { 0 };
                if contig < gathered.contig {
                    return Err(unsorted_error().record(stamp.ordinal()).qname(record.qname()));
                }
                (gathered.contig, gathered.last) = (contig, last);
            }
            if start < gathered.last {
                return Err(unsorted_error().record(stamp.ordinal()).qname(record.qname()));
            }
            gathered.last = start;
            self.add_record(counting, contig, start, record, &mut gathered.reads)?;
        }
        self.flush_reads(&mut gathered, rules, &mut piece);
        counting.keep_for_reuse(gathered.reads);
        Ok(piece)
    }

    /// Moves the gathered reads with their depths to the piece.
    fn flush_reads(&mut self, gathered: &mut GatheredReads, rules: &WgsRules, piece: &mut RulesPiece) {
        if gathered.reads.list.is_empty() {
            return;
        }
        let reads = std::mem::replace(&mut gathered.reads, self.counting.empty_reads());
        let depths = self.counter.count_by_name(&reads, rules.counted_bases());
        let head = reads.list.len() as u32;
        piece.contigs.push(ContigPiece { contig: gathered.contig, head, reads, depths });
    }

    /// Returns whether a record is excluded by mapping quality, flags, or as an adapter. Adds its
    /// aligned bases to the reason, in the order in which Picard's filters apply.
    #[inline]
    fn is_excluded(
        &mut self,
        counting: &WgsCounting,
        record: RecordRef<'_>,
        rules: &WgsRules,
        excluded: &mut Excluded,
    ) -> bool {
        let (flags, mapq) = (record.flags(), record.mapq());
        let may_be_adapter = mapq == 0 || flags.is_unmapped();
        let bases = if may_be_adapter && counting.adapters.is_record_adapter(record, &mut self.codes) {
            &mut excluded.adapter
        } else if mapq < rules.min_mapq {
            &mut excluded.mapq
        } else if flags.is_duplicate() {
            &mut excluded.duplicates
        } else if !rules.count_unpaired
            && flags.0 & (Flags::PAIRED | Flags::MATE_UNMAPPED) != Flags::PAIRED
        {
            &mut excluded.unpaired
        } else {
            return false;
        };
        let aligned = record.cigar().ops().filter(|(op, _)| is_aligned(*op));
        *bases += aligned.map(|(_, n)| u64::from(n)).sum::<u64>();
        true
    }

    #[inline]
    fn add_record(
        &mut self,
        counting: &WgsCounting,
        contig: u32,
        start: u32,
        record: RecordRef<'_>,
        reads: &mut Reads,
    ) -> Result<()> {
        let quals = record.qual();
        let quals = if quals.first() == Some(&0xff) { &[][..] } else { quals };
        let has_n = record
            .seq()
            .iter()
            .fold(false, |any, &byte| any | (byte & 0xf0 == N << 4) | (byte & 0x0f == N));
        let has_odd = quals.iter().fold(0, |all, &qual| all | qual) > MAX_QUAL;
        let (mut position, mut offset, mut counted, mut any) = (start, 0_usize, 0, false);
        for (op, n) in record.cigar().ops() {
            match op {
                op if is_aligned(op) => {
                    // Picard does not expect records without qualities; their bases do not count.
                    if let Some(quals) = quals.get(offset..offset + n as usize) {
                        let values = reads.push_block(position, quals);
                        if has_odd {
                            values.iter_mut().for_each(|value| *value = as_java(*value));
                        }
                        if has_n {
                            mark_n(record.seq(), offset, values);
                        }
                        counted += self.masks.mask_values(counting, contig, position, values)?;
                        any |= n > 0;
                    } else {
                        reads.without_quals +=
                            self.masks.count_positions(counting, contig, position, n)?;
                    }
                    position = position.saturating_add(n);
                    offset += n as usize;
                }
                INSERTION | SOFT_CLIP => offset += n as usize,
                DELETION | GAP => position = position.saturating_add(n),
                _ => {}
            }
        }
        if any {
            reads.push_read(xxh3_64(record.qname()), start, position, counted);
        } else {
            reads.forget_blocks();
        }
        Ok(())
    }
}

/// CIGAR operations, as BAM encodes them.
const INSERTION: u32 = 1;
const DELETION: u32 = 2;
const GAP: u32 = 3;
const SOFT_CLIP: u32 = 4;

/// Returns whether the operation is M, = or X.
#[inline]
fn is_aligned(op: u32) -> bool {
    0b1_1000_0001 >> op & 1 != 0
}

/// Returns whether a record does not overlap any interval.
#[inline]
fn is_outside(counting: &WgsCounting, contig: u32, record: RecordRef<'_>) -> bool {
    let Some(intervals) = &counting.intervals else { return false };
    let start = record.pos().max(0).cast_unsigned();
    let end = record.end().clamp(0, u32::MAX.into()) as u32;
    !intervals.overlaps(contig, start, end)
}

/// Marks bases that are N. The first value is for the base at index `offset` of the read.
fn mark_n(seq: &[u8], offset: usize, values: &mut [u8]) {
    for (at, value) in (offset..).zip(values) {
        let pair = seq[at / 2];
        let code = if at % 2 == 0 { pair >> 4 } else { pair & 15 };
        if code == N {
            *value |= IS_N;
        }
    }
}
