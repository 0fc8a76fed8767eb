//! The contribution of a batch to the statistics that depend on the order of reads: depths, and bins of
//! GC and depth. Any thread can compute it.

use std::sync::Arc;

use readmill_coverage::changes::{DepthChange, DepthChanges};
use readmill_record::{Batch, Charge, Flags, PieceMaker, RecordRef, Result};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::selection::Selected;
use super::settings::StatsSettings;
use super::targets::for_each_block;

/// The contribution of one batch, made by [`StatsPieceMaker`] and added to
/// [`StatsOrder`](super::StatsOrder).
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct StatsPiece {
    /// Runs of sorted reads on one contig, up to the first read that is not in order.
    pub(super) runs: Vec<ContigRun>,
    /// The batch has a read that is not in order, and the runs end before it.
    pub(super) is_cut: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ContigRun {
    pub contig: u32,
    pub first: u32,
    pub last: u32,
    /// Changes of the depth, in order. Instead of a position, each has its distance from the previous
    /// change (the first: from the first read).
    pub events: Vec<DepthChange>,
    pub reads: Vec<GcRead>,
    /// Reads that may overlap their mates. `events` does not include them: they are resolved when pieces
    /// are joined.
    pub mates: Vec<MateRead>,
}

/// The contribution of a mapped read to a GC-depth bin.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct GcRead {
    pub step: u32,
    pub gc: u32,
    pub length: u32,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MateRead {
    pub read: u32,
    pub name: u64,
    pub is_first: bool,
    pub blocks: Vec<(u32, u32)>,
}

impl StatsPiece {
    pub fn heap_bytes(&self) -> u64 {
        let bytes = |run: &ContigRun| {
            let blocks: usize = run.mates.iter().map(|mate| mate.blocks.capacity() * 8).sum();
            run.events.capacity() * size_of::<DepthChange>()
                + run.reads.capacity() * size_of::<GcRead>()
                + run.mates.capacity() * size_of::<MateRead>()
                + blocks
        };
        self.runs.iter().map(|run| (bytes(run) + size_of::<ContigRun>()) as u64).sum()
    }
}

pub struct StatsPieceMaker {
    settings: Arc<StatsSettings>,
    changes: DepthChanges,
    parts: Vec<(i64, i64)>,
}

impl StatsPieceMaker {
    pub(super) fn new(settings: &Arc<StatsSettings>) -> Self {
        let (changes, parts) = Default::default();
        StatsPieceMaker { settings: Arc::clone(settings), changes, parts }
    }
}

impl PieceMaker for StatsPieceMaker {
    type Piece = StatsPiece;

    /// Creates the piece of a batch. An unsorted batch is not an error: the piece records it, and
    /// `is sorted` becomes 0.
    fn make(&mut self, batch: &Batch, _: &mut Charge) -> Result<StatsPiece> {
        let (mut piece, mut open) = (StatsPiece::default(), None::<ContigRun>);
        let bytes = batch.record_bytes();
        let has_targets = self.settings.targets.is_some();
        for (_, record) in batch.records() {
            if let Some(targets) = &self.settings.targets
                && targets.find_overlap(record, Some(&mut self.parts)).is_none()
            {
                continue;
            }
            if !is_placed(record) || self.settings.selection.classify_read(record) != Selected::Yes {
                continue;
            }
            let (Ok(contig), Ok(start)) = (u32::try_from(record.ref_id()), u32::try_from(record.pos()))
            else {
                continue;
            };
            let run = match &mut open {
                Some(run) if run.contig == contig => run,
                other => {
                    if let Some(before) = other.take() {
                        piece.runs.push(ContigRun { events: self.changes.take_sorted(), ..before });
                    }
                    self.changes.start_batch(start, u32::MAX, bytes);
                    let (first, last, events) = (start, start, Vec::new());
                    let (reads, mates) = Default::default();
                    other.insert(ContigRun { contig, first, last, events, reads, mates })
                }
            };
            if start < run.last {
                piece.is_cut = true;
                break;
            }
            let (gc, length) = (count_gc(record), record.l_seq() as u32);
            let parts = has_targets.then_some(&self.parts[..]);
            if self.settings.options.remove_overlaps && may_overlap(record) {
                let mut blocks = Vec::new();
                for_each_block(record, parts, |from, to| {
                    blocks.push((clamp_position(from), clamp_position(to)))
                });
                let (name, is_first) = (xxh3_64(record.qname()), record.flags().is_first());
                run.mates.push(MateRead { read: run.reads.len() as u32, name, is_first, blocks });
            } else {
                for_each_block(record, parts, |from, to| {
                    self.changes.add((clamp_position(from), 1));
                    self.changes.add((clamp_position(to), -1));
                });
            }
            run.reads.push(GcRead { step: start - run.last, gc, length });
            run.last = start;
        }
        piece.runs.extend(open.map(|run| ContigRun { events: self.changes.take_sorted(), ..run }));
        Ok(piece)
    }
}

fn clamp_position(position: i64) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// Returns whether a read is mapped, primary or supplementary, and has bases.
fn is_placed(record: RecordRef<'_>) -> bool {
    record.flags().0 & (Flags::UNMAPPED | Flags::SECONDARY) == 0 && record.l_seq() > 0
}

/// Returns whether a read may overlap its mate, by samtools' conditions: TLEN must be less than
/// twice the read length.
fn may_overlap(record: RecordRef<'_>) -> bool {
    let flags = record.flags();
    flags.is_paired()
        && !flags.is_mate_unmapped()
        && flags.is_first() != flags.is_last()
        && u64::from(record.tlen().unsigned_abs()) < 2 * record.l_seq() as u64
}

/// Returns the number of G and C in the bases of a read. It is 0 for supplementary reads, and for
/// segments that are neither first nor last, as in samtools.
fn count_gc(record: RecordRef<'_>) -> u32 {
    let flags = record.flags();
    if !flags.is_primary() || super::partial::segment_index(flags).is_none() {
        return 0;
    }
    let is_gc = |base: u8| u32::from(base == 2 || base == 4);
    let seq = record.seq();
    let all: u32 = seq.iter().map(|&two| is_gc(two >> 4) + is_gc(two & 15)).sum();
    // The last four bits of an odd number of bases are padding.
    let odd = if record.l_seq() % 2 == 1 { seq.last().map_or(0, |&two| is_gc(two & 15)) } else { 0 };
    all - odd
}
