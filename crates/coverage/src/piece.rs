//! The contribution of a batch of sorted reads to the depths. Any thread can compute it.
//!
//! A piece has the changes of the depth. Mates that are both in the batch are resolved here. Near the
//! borders of the batch, a mate may be in a neighbouring piece, so the piece also has what
//! [`Join`](crate::Join) must do with the reads there:
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

use crate::changes::Changes;
use crate::mates::{Block, ByName, Event, Meeting, ReadPlace, WaitingRead, name_of, take_back};
use crate::options::ReadOptions;

/// The hint for unsorted reads. It also names the flag of the commands that sort and count in one pass.
pub(crate) const SORT_FIRST: &str = "sort the file first: readmill sort IN -o SORTED (prep and align count in the same pass: --sort coordinate)";

/// Distance in bases from the first read of a piece within which the mate position of a read (PNEXT) may
/// point to a read of an earlier piece. The position is exact unless a program has moved a read without
/// updating its mate.
const BORDER: u32 = 1024;

/// The contribution of one batch of reads, made by [`CoveragePieceMaker`] and added by
/// [`Join::add`](crate::Join::add).
///
/// It can be stored between the stages of a job.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct CoveragePiece {
    pub(crate) contigs: Vec<ContigPiece>,
}

impl CoveragePiece {
    pub fn heap_bytes(&self) -> u64 {
        let bytes = |it: &ContigPiece| {
            let blocks: usize = it.head.iter().map(|op| op.blocks()).sum();
            let tails: usize = it.tail.iter().map(|read| read.blocks.capacity()).sum();
            it.events.capacity() * size_of::<Event>()
                + it.head.capacity() * size_of::<HeadOp>()
                + it.tail.capacity() * size_of::<WaitingRead>()
                + (blocks + tails) * size_of::<Block>()
        };
        self.contigs.iter().map(|it| bytes(it) as u64 + 96).sum()
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ContigPiece {
    pub(crate) contig: u32,
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// Changes of the depth, in order. Instead of a position, each has its distance from the previous
    /// change (the first: from the first read).
    pub(crate) events: Vec<Event>,
    pub(crate) head: Vec<HeadOp>,
    pub(crate) tail: Vec<WaitingRead>,
}

/// An operation of a read on the reads of earlier pieces that wait for their mates.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HeadOp {
    /// Removes a waiting read with this name hash: a later read of the same name waits now.
    Forget(u64),
    /// Subtracts the overlap with the mate, if the mate waits.
    Meet(WaitingRead),
    /// Subtracts the overlap with the mate, if the mate waits; otherwise, the read itself waits.
    Either(WaitingRead),
}

impl HeadOp {
    pub(crate) fn blocks(&self) -> usize {
        match self {
            HeadOp::Forget(_) => 0,
            HeadOp::Meet(read) | HeadOp::Either(read) => read.blocks.capacity(),
        }
    }
}

pub struct CoveragePieceMaker {
    options: Arc<ReadOptions>,
    lengths: Arc<[u32]>,
    changes: Changes,
    names: Names,
    blocks: Vec<Block>,
}

/// The reads of the current contig that wait for a mate in the same batch.
#[derive(Default)]
struct Names {
    by_name: ByName<Standing>,
    reads: Vec<LocalRead>,
    blocks: Vec<Block>,
}

#[derive(Clone, Copy)]
enum Standing {
    /// The read with this index in [`Names::reads`] waits.
    Waits(u32),
    Unknown,
}

struct LocalRead {
    name: u64,
    place: ReadPlace,
    blocks: std::ops::Range<usize>,
    waits: bool,
}

impl Names {
    fn clear(&mut self) {
        self.by_name.clear();
        self.reads.clear();
        self.blocks.clear();
    }

    fn wait(&mut self, name: u64, place: ReadPlace, blocks: &[Block]) {
        let from = self.blocks.len();
        self.blocks.extend_from_slice(blocks);
        let number = self.reads.len() as u32;
        self.reads.push(LocalRead { name, place, blocks: from..self.blocks.len(), waits: true });
        if let Some(Standing::Waits(before)) = self.by_name.insert(name, Standing::Waits(number)) {
            self.reads[before as usize].waits = false;
        }
    }

    fn tail(&self, last: u32) -> Vec<WaitingRead> {
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
                return Err(unsorted(batch, first));
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
                piece.contigs.extend(self.contig(batch, spans, contig, length)?);
            }
        }
        Ok(piece)
    }
}

impl CoveragePieceMaker {
    fn contig(
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
        self.changes.begin(first, length, bytes);
        self.names.clear();
        let (mut head, mut last) = (Vec::new(), first);
        for &span in spans {
            let record = batch.record(span);
            let Ok(start) = u32::try_from(record.pos()) else { continue };
            if start < last || record.ref_id().cast_unsigned() != contig {
                return Err(unsorted(batch, span));
            }
            last = start;
            if self.options.counts(record) && start < length {
                self.count(record, start, first, &mut head);
            }
        }
        let (events, tail) = (self.changes.take(), self.names.tail(last));
        Ok(Some(ContigPiece { contig, first, last, events, head, tail }))
    }

    #[inline]
    fn count(&mut self, record: RecordRef<'_>, start: u32, first: u32, head: &mut Vec<HeadOp>) {
        let cigar = record.cigar();
        if self.options.fast_mode {
            let end = record.end().min(u32::MAX.into()) as u32;
            self.changes.add((start, 1));
            self.changes.add((end, -1));
            return;
        }
        self.blocks.clear();
        let end = blocks(cigar.ops(), start, &mut self.blocks);
        for &(from, to) in &self.blocks {
            self.changes.add((from, 1));
            self.changes.add((to, -1));
        }
        let end = if record.flags().is_unmapped() { start + 1 } else { end.max(start + 1) };
        let meeting = Meeting::of(record, end.into());
        if meeting != Meeting::Apart {
            let is_simple = cigar.ops().len() == 1 && !self.blocks.is_empty();
            let place = ReadPlace { start, end, is_simple };
            self.meet(record, meeting, place, first, head);
        }
    }

    fn meet(
        &mut self,
        record: RecordRef<'_>,
        meeting: Meeting,
        place: ReadPlace,
        first: u32,
        head: &mut Vec<HeadOp>,
    ) {
        let name = name_of(record);
        let border = first.saturating_add(BORDER);
        let CoveragePieceMaker { names, changes, blocks, .. } = self;
        if meeting == Meeting::Wait {
            if place.start < border || matches!(names.by_name.get(&name), Some(Standing::Unknown)) {
                head.push(HeadOp::Forget(name));
            }
            names.wait(name, place, blocks);
            return;
        }
        let owned = |blocks: &[Block]| WaitingRead { name, place, blocks: blocks.to_vec() };
        match names.by_name.get(&name).copied() {
            Some(Standing::Waits(number)) => {
                names.by_name.remove(&name);
                let mate = &mut names.reads[number as usize];
                mate.waits = false;
                if mate.place.end > place.start {
                    let of_mate = &names.blocks[mate.blocks.clone()];
                    take_back((place, blocks), (mate.place, of_mate), |event| changes.add(event));
                } else if meeting == Meeting::Either {
                    names.wait(name, place, blocks);
                }
            }
            Some(Standing::Unknown) if meeting == Meeting::Either => {
                head.push(HeadOp::Either(owned(blocks)));
            }
            Some(Standing::Unknown) => {
                names.by_name.remove(&name);
                head.push(HeadOp::Meet(owned(blocks)));
            }
            None => {
                let mate = record.next_pos().max(0).cast_unsigned();
                let may_be_before = mate < border;
                match meeting {
                    Meeting::Either if may_be_before => {
                        head.push(HeadOp::Either(owned(blocks)));
                        names.by_name.insert(name, Standing::Unknown);
                    }
                    Meeting::Either => names.wait(name, place, blocks),
                    _ if may_be_before => head.push(HeadOp::Meet(owned(blocks))),
                    _ => {}
                }
            }
        }
    }
}

/// Appends the aligned blocks of a CIGAR to `out`. Deletions and skips separate blocks, insertions do
/// not. Returns the position after the last reference base.
#[inline]
fn blocks(ops: impl Iterator<Item = (u32, u32)>, start: u32, out: &mut Vec<Block>) -> u32 {
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

fn unsorted(batch: &Batch, span: Span) -> Error {
    let what = "the read lies before the one ahead of it, and coverage is counted of sorted reads";
    let record = batch.record(span);
    Error::input(what).record(span.stamp.ordinal()).qname(record.qname()).hint(SORT_FIRST)
}
