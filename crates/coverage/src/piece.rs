//! The contribution of a batch of sorted reads to the depths. Any thread can compute it.
//!
//! A piece holds depth changes, from which the overlaps of mates in the same batch are already
//! subtracted. Near the ends of the batch, a mate may be in a neighbouring piece, so the piece also
//! holds operations on the reads there for [`CoverageJoin`](crate::CoverageJoin):
//!
//! ```text
//!    head                                               tail
//!    |<- reads whose mate may be   reads that wait for ->|
//!    |   in an earlier piece       a mate in a later one |
//!    first read                                    last read
//! ```

use std::sync::Arc;

use readmill_record::{Batch, Charge, Error, PieceMaker, RecordRef, Result, Span};
use serde::{Deserialize, Serialize};

use crate::changes::DepthChanges;
use crate::mates::{
    AlignedBlock, ByName, DepthChange, Meeting, ReadPlace, WaitingRead, hash_name, subtract_overlap,
};
use crate::options::ReadOptions;

/// Hint for unsorted reads, which also names the flag to sort and count in one pass.
pub(crate) const SORT_HINT: &str =
    "sort the file first with readmill sort IN -o SORTED (in prep and align, use --sort coordinate)";

/// If the mate position of a read (PNEXT) is less than this many bases after the first read of a
/// piece, the mate may be in an earlier piece. The position is exact unless a program has moved a
/// read without updating its mate.
const BORDER_BASES: u32 = 1024;

/// The contribution of one batch of reads, made by [`CoveragePieceMaker`] and added by
/// [`CoverageJoin::add_piece`](crate::CoverageJoin::add_piece).
///
/// It can be stored between the stages of a job.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct CoveragePiece {
    pub(crate) contigs: Vec<ContigPiece>,
}

impl CoveragePiece {
    pub fn heap_bytes(&self) -> u64 {
        let bytes = |it: &ContigPiece| {
            let blocks: usize = it.head.iter().map(|op| op.block_capacity()).sum();
            let tails: usize = it.tail.iter().map(|read| read.blocks.capacity()).sum();
            it.events.capacity() * size_of::<DepthChange>()
                + it.head.capacity() * size_of::<HeadOp>()
                + it.tail.capacity() * size_of::<WaitingRead>()
                + (blocks + tails) * size_of::<AlignedBlock>()
        };
        self.contigs.iter().map(|it| bytes(it) as u64 + 96).sum()
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ContigPiece {
    pub(crate) contig: u32,
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// Depth changes, in order. Instead of a position, each has its distance from the previous
    /// change (the first: from the first read).
    pub(crate) events: Vec<DepthChange>,
    pub(crate) head: Vec<HeadOp>,
    pub(crate) tail: Vec<WaitingRead>,
}

/// Operation of a read on the reads of earlier pieces that wait for their mates.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HeadOp {
    /// Removes the waiting read with this name hash: a later read with the same name waits instead.
    Forget(u64),
    /// Subtracts the overlap with the mate, if the mate waits.
    Meet(WaitingRead),
    /// Subtracts the overlap with the mate, if the mate waits; otherwise, the read itself waits.
    Either(WaitingRead),
}

impl HeadOp {
    pub(crate) fn block_capacity(&self) -> usize {
        match self {
            HeadOp::Forget(_) => 0,
            HeadOp::Meet(read) | HeadOp::Either(read) => read.blocks.capacity(),
        }
    }
}

pub struct CoveragePieceMaker {
    options: Arc<ReadOptions>,
    lengths: Arc<[u32]>,
    changes: DepthChanges,
    names: WaitingNames,
    blocks: Vec<AlignedBlock>,
}

/// The reads of the current contig that wait for a mate in the same batch.
#[derive(Default)]
struct WaitingNames {
    by_name: ByName<NameState>,
    reads: Vec<LocalRead>,
    blocks: Vec<AlignedBlock>,
}

#[derive(Clone, Copy)]
enum NameState {
    /// The read with this index in [`WaitingNames::reads`] waits.
    Waits(u32),
    Unknown,
}

struct LocalRead {
    name: u64,
    place: ReadPlace,
    blocks: std::ops::Range<usize>,
    waits: bool,
}

impl WaitingNames {
    fn clear(&mut self) {
        self.by_name.clear();
        self.reads.clear();
        self.blocks.clear();
    }

    fn add_waiting(&mut self, name: u64, place: ReadPlace, blocks: &[AlignedBlock]) {
        let from = self.blocks.len();
        self.blocks.extend_from_slice(blocks);
        let number = self.reads.len() as u32;
        self.reads.push(LocalRead { name, place, blocks: from..self.blocks.len(), waits: true });
        if let Some(NameState::Waits(before)) = self.by_name.insert(name, NameState::Waits(number)) {
            self.reads[before as usize].waits = false;
        }
    }

    fn collect_tail(&self, last: u32) -> Vec<WaitingRead> {
        let waiting = self.reads.iter().filter(|read| read.waits && read.place.end > last);
        let owned = |read: &LocalRead| WaitingRead {
            name: read.name,
            place: read.place,
            blocks: self.blocks[read.blocks.clone()].to_vec(),
        };
        waiting.map(owned).collect()
    }
}

impl CoveragePieceMaker {
    pub fn new(options: &Arc<ReadOptions>, lengths: &Arc<[u32]>) -> Self {
        let (options, lengths) = (Arc::clone(options), Arc::clone(lengths));
        let (changes, names, blocks) = Default::default();
        CoveragePieceMaker { options, lengths, changes, names, blocks }
    }
}

impl PieceMaker for CoveragePieceMaker {
    type Piece = CoveragePiece;

    fn make(&mut self, batch: &Batch, _: &mut Charge) -> Result<CoveragePiece> {
        let mut piece = CoveragePiece::default();
        let mut rest = &batch.spans[..];
        let mut before = None;
        while let Some(&first) = rest.first() {
            let contig = batch.record(first).ref_id().cast_unsigned();
            if before.is_some_and(|before| contig < before) {
                return Err(unsorted_error(batch, first));
            }
            before = Some(contig);
            let other = |&&span: &&Span| batch.record(span).ref_id().cast_unsigned() != contig;
            let n = if rest.last().is_some_and(|last| !other(&last)) {
                rest.len()
            } else {
                rest.iter().position(|span| other(&span)).unwrap_or(rest.len())
            };
            let (spans, more) = rest.split_at(n);
            rest = more;
            if let Some(&length) = self.lengths.get(contig as usize) {
                piece.contigs.extend(self.make_contig_piece(batch, spans, contig, length)?);
            }
        }
        Ok(piece)
    }
}

impl CoveragePieceMaker {
    fn make_contig_piece(
        &mut self,
        batch: &Batch,
        spans: &[Span],
        contig: u32,
        length: u32,
    ) -> Result<Option<ContigPiece>> {
        let bytes: u64 = spans.iter().map(|span| u64::from(span.len)).sum();
        let start = |span: &Span| u32::try_from(batch.record(*span).pos()).ok();
        // Reads without a position come first, and reads after the end of the contig come last. Neither
        // is counted.
        let Some(first) = spans.iter().find_map(start).filter(|&first| first < length) else {
            return Ok(None);
        };
        self.changes.start_batch(first, length, bytes);
        self.names.clear();
        let (mut head, mut last) = (Vec::new(), first);
        for &span in spans {
            let record = batch.record(span);
            let Ok(start) = u32::try_from(record.pos()) else { continue };
            if start < last || record.ref_id().cast_unsigned() != contig {
                return Err(unsorted_error(batch, span));
            }
            last = start;
            if self.options.is_counted(record) && start < length {
                self.count_read(record, start, first, &mut head);
            }
        }
        let (events, tail) = (self.changes.take_sorted(), self.names.collect_tail(last));
        Ok(Some(ContigPiece { contig, first, last, events, head, tail }))
    }

    #[inline]
    fn count_read(&mut self, record: RecordRef<'_>, start: u32, first: u32, head: &mut Vec<HeadOp>) {
        let cigar = record.cigar();
        if self.options.fast_mode {
            let end = record.end().min(u32::MAX.into()) as u32;
            self.changes.add((start, 1));
            self.changes.add((end, -1));
            return;
        }
        self.blocks.clear();
        let end = append_blocks(cigar.ops(), start, &mut self.blocks);
        for &(from, to) in &self.blocks {
            self.changes.add((from, 1));
            self.changes.add((to, -1));
        }
        let end = if record.flags().is_unmapped() { start + 1 } else { end.max(start + 1) };
        let meeting = Meeting::for_record(record, end.into());
        if meeting != Meeting::Apart {
            let is_simple = cigar.ops().len() == 1 && !self.blocks.is_empty();
            let place = ReadPlace { start, end, is_simple };
            self.meet_mate(record, meeting, place, first, head);
        }
    }

    fn meet_mate(
        &mut self,
        record: RecordRef<'_>,
        meeting: Meeting,
        place: ReadPlace,
        first: u32,
        head: &mut Vec<HeadOp>,
    ) {
        let name = hash_name(record);
        let border = first.saturating_add(BORDER_BASES);
        let CoveragePieceMaker { names, changes, blocks, .. } = self;
        if meeting == Meeting::Wait {
            if place.start < border || matches!(names.by_name.get(&name), Some(NameState::Unknown)) {
                head.push(HeadOp::Forget(name));
            }
            names.add_waiting(name, place, blocks);
            return;
        }
        let owned = |blocks: &[AlignedBlock]| WaitingRead { name, place, blocks: blocks.to_vec() };
        match names.by_name.get(&name).copied() {
            Some(NameState::Waits(number)) => {
                names.by_name.remove(&name);
                let mate = &mut names.reads[number as usize];
                mate.waits = false;
                if mate.place.end > place.start {
                    let of_mate = &names.blocks[mate.blocks.clone()];
                    subtract_overlap((place, blocks), (mate.place, of_mate), |event| changes.add(event));
                } else if meeting == Meeting::Either {
                    names.add_waiting(name, place, blocks);
                }
            }
            Some(NameState::Unknown) if meeting == Meeting::Either => {
                head.push(HeadOp::Either(owned(blocks)));
            }
            Some(NameState::Unknown) => {
                names.by_name.remove(&name);
                head.push(HeadOp::Meet(owned(blocks)));
            }
            None => {
                let mate = record.next_pos().max(0).cast_unsigned();
                let may_be_before = mate < border;
                match meeting {
                    Meeting::Either if may_be_before => {
                        head.push(HeadOp::Either(owned(blocks)));
                        names.by_name.insert(name, NameState::Unknown);
                    }
                    Meeting::Either => names.add_waiting(name, place, blocks),
                    _ if may_be_before => head.push(HeadOp::Meet(owned(blocks))),
                    _ => {}
                }
            }
        }
    }
}

/// Appends the aligned blocks of a CIGAR to `out`. Deletions and skips separate blocks; insertions
/// do not. Returns the position after the last reference base.
#[inline]
fn append_blocks(ops: impl Iterator<Item = (u32, u32)>, start: u32, out: &mut Vec<AlignedBlock>) -> u32 {
    const ALIGNED: u32 = 0b1_1000_0001;
    const DELETED: u32 = 0b0_0000_1100;
    let mut at = start;
    for (op, n) in ops {
        if ALIGNED >> op & 1 != 0 {
            let end = at.saturating_add(n);
            match out.last_mut() {
                Some(last) if last.1 == at => last.1 = end,
                _ => out.push((at, end)),
            }
            at = end;
        } else if DELETED >> op & 1 != 0 {
            at = at.saturating_add(n);
        }
    }
    at
}

fn unsorted_error(batch: &Batch, span: Span) -> Error {
    let what = "the read is before the previous one, but coverage needs sorted reads";
    let record = batch.record(span);
    Error::input(what).record(span.stamp.ordinal()).qname(record.qname()).hint(SORT_HINT)
}
