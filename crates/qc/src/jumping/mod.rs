//! CollectJumpingLibraryMetrics: pairs that face outward, as those of a jumping library do, pairs that face inward, and
//! chimeras.
//!
//! A pair is a chimera if its reads are on two contigs or on the same strand, or if its insert size is above a limit: the
//! most frequent insert size of the first 50,000 pairs that face outward, but at least CHIMERA_KB_MIN. Picard reads its
//! input twice, first to find this limit. readmill reads it once: it counts pairs by insert size, and divides them as soon
//! as the limit is known. The limit depends on the order of the reads, so the pairs of a batch are a piece of an
//! [`OrderedTally`].

pub mod options;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_format::library_size::estimate_library_size;
use readmill_format::metrics::MetricsRow;
use readmill_format::report::ReportContents;
use readmill_record::{
    Batch, Charge, DynOrderedTally, Ledger, OrderedTally, PieceMaker, RecordRef, Result,
    SharedOrderedTally,
};
use serde::{Deserialize, Serialize};

use crate::counts::{SortedCounts, divide_or_zero};
use crate::depth::{ORDERED_MEMORY, USUAL_PIECE_BYTES};
use crate::read::{Orientation, pair_orientation};
use crate::{
    MetricProgram, MetricSelection, MetricSetup, PicardProgram, ProgramNeeds, RunEnd, RunningProgram,
};

const PROGRAM: PicardProgram =
    PicardProgram { name: "CollectJumpingLibraryMetrics", endings: &[".jump_metrics"] };

const COLUMNS: [&str; 17] = [
    "JUMP_PAIRS",
    "JUMP_DUPLICATE_PAIRS",
    "JUMP_DUPLICATE_PCT",
    "JUMP_LIBRARY_SIZE",
    "JUMP_MEAN_INSERT_SIZE",
    "JUMP_STDEV_INSERT_SIZE",
    "NONJUMP_PAIRS",
    "NONJUMP_DUPLICATE_PAIRS",
    "NONJUMP_DUPLICATE_PCT",
    "NONJUMP_LIBRARY_SIZE",
    "NONJUMP_MEAN_INSERT_SIZE",
    "NONJUMP_STDEV_INSERT_SIZE",
    "CHIMERIC_PAIRS",
    "FRAGMENTS",
    "PCT_JUMPS",
    "PCT_NONJUMPS",
    "PCT_CHIMERAS",
];

/// Number of pairs facing outward whose most frequent insert size is the limit.
const SAMPLE_PAIRS: u64 = 50_000;

pub(crate) struct JumpingLibrary;

impl MetricProgram for JumpingLibrary {
    fn programs(&self) -> &'static [PicardProgram] {
        &[PROGRAM]
    }

    fn needs(&self) -> ProgramNeeds {
        let refuses_intervals = Some("counts pairs anywhere");
        ProgramNeeds { order: true, refuses_intervals, ..ProgramNeeds::NOTHING }
    }

    fn usual_piece_bytes(&self, _: &MetricSelection) -> u64 {
        USUAL_PIECE_BYTES
    }

    fn start_run(&self, setup: &MetricSetup<'_>) -> Result<Box<dyn RunningProgram>> {
        let options = setup.options();
        Ok(Box::new(JumpingRun(Arc::new(JumpingTally {
            min_mapq: options.minimum_mapping_quality.unwrap_or(0),
            tail_limit: options.jumping.tail_limit.unwrap_or(10_000),
            min_limit: options.jumping.chimera_kb_min.unwrap_or(100_000),
            counts: Mutex::default(),
        }))))
    }
}

/// The program in a run.
struct JumpingRun(Arc<JumpingTally>);

impl RunningProgram for JumpingRun {
    fn ordered_tally(&self, ledger: &Ledger) -> Option<Arc<dyn DynOrderedTally>> {
        Some(SharedOrderedTally::new_shared(&self.0, ledger))
    }

    fn make_reports(&self, end: &RunEnd<'_>) -> Result<Vec<ReportContents>> {
        let row = std::mem::take(&mut *self.0.counts()).into_row(&self.0);
        let class = "picard.analysis.JumpingLibraryMetrics";
        Ok(end.make_files(&PROGRAM, |[file]| file.set_table(class, &COLUMNS, [row])))
    }
}

/// The count of a run.
struct JumpingTally {
    min_mapq: u8,
    tail_limit: u32,
    /// Minimum of the insert size above which pairs are chimeras (CHIMERA_KB_MIN).
    min_limit: u32,
    counts: Mutex<JumpingCounts>,
}

/// The first reads of the pairs of one batch.
#[derive(Debug, Default, Serialize, Deserialize)]
struct JumpingPiece {
    /// Pairs that are no chimeras unless their insert size is above the limit, in the order of the reads.
    facing: Vec<FacingPair>,
    /// Pairs on two contigs or on the same strand.
    chimeras: u64,
    /// Pairs of which one read is mapped.
    fragments: u64,
    /// Whether a pair without any position was found: Picard reads no further.
    is_last: bool,
}

/// A pair on one contig, on both strands.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct FacingPair {
    insert_size: u32,
    is_outward: bool,
    is_duplicate: bool,
}

/// The pairs of all pieces so far.
#[derive(Default)]
struct JumpingCounts {
    by_size: BTreeMap<u32, SizeCounts>,
    /// Pairs that face outward; counted up to [`SAMPLE_PAIRS`].
    sampled: u64,
    /// The largest insert size of pairs that are no chimeras, once it is known.
    limit: Option<u32>,
    chimeras: u64,
    fragments: u64,
    is_complete: bool,
}

/// Bytes of memory of an entry of [`JumpingCounts::by_size`], in a tree whose nodes are half full, and of the bins that are
/// made of it at the end.
const BYTES_PER_SIZE: u64 = 160;

/// Pairs of one insert size.
#[derive(Clone, Copy, Default)]
struct SizeCounts {
    outward: PairCounts,
    inward: PairCounts,
}

#[derive(Clone, Copy, Default)]
struct PairCounts {
    pairs: u64,
    duplicates: u64,
}

impl JumpingTally {
    fn counts(&self) -> MutexGuard<'_, JumpingCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether both mapping qualities are high enough. That of the mate is unknown without MQ, and then passes.
    fn passes_mapq(&self, record: RecordRef<'_>) -> bool {
        let of_mate = record.field(*b"MQ").and_then(|field| field.integer());
        record.mapq() >= self.min_mapq && of_mate.is_none_or(|mapq| mapq >= self.min_mapq.into())
    }
}

impl OrderedTally for JumpingTally {
    const MEMORY: &'static str = ORDERED_MEMORY;
    type Piece = JumpingPiece;
    type Maker = JumpingMaker;

    fn new_maker(self: &Arc<Self>) -> JumpingMaker {
        JumpingMaker(Arc::clone(self))
    }

    fn usual_piece_bytes(&self) -> u64 {
        USUAL_PIECE_BYTES
    }

    fn piece_bytes(piece: &JumpingPiece) -> u64 {
        (piece.facing.capacity() * size_of::<FacingPair>()) as u64
    }

    fn max_bytes_to_add(&self, piece: &JumpingPiece) -> u64 {
        self.heap_bytes() + BYTES_PER_SIZE * piece.facing.len() as u64
    }

    fn heap_bytes(&self) -> u64 {
        BYTES_PER_SIZE * self.counts().by_size.len() as u64
    }

    fn restart(&self) -> Result<()> {
        *self.counts() = JumpingCounts::default();
        Ok(())
    }

    fn add(&self, piece: JumpingPiece) -> Result<()> {
        self.counts().add(piece, self.min_limit);
        Ok(())
    }
}

/// Makes pieces, one for each thread.
struct JumpingMaker(Arc<JumpingTally>);

impl PieceMaker for JumpingMaker {
    type Piece = JumpingPiece;

    /// Counts each pair by its first read. As Picard, this includes secondary and supplementary records.
    fn make(&mut self, batch: &Batch, _: &mut Charge) -> Result<JumpingPiece> {
        let mut piece = JumpingPiece::default();
        for (_, record) in batch.records() {
            let flags = record.flags();
            if !flags.is_paired() || !flags.is_first() {
                continue;
            }
            match (flags.is_unmapped(), flags.is_mate_unmapped()) {
                (true, true) if record.ref_id() < 0 => {
                    piece.is_last = true;
                    break;
                }
                (true, true) => {}
                (true, false) | (false, true) => piece.fragments += 1,
                (false, false) if !self.0.passes_mapq(record) => {}
                (false, false) => match pair_orientation(record) {
                    None | Some(Orientation::Tandem) => piece.chimeras += 1,
                    Some(facing) => piece.facing.push(FacingPair {
                        insert_size: record.tlen().unsigned_abs(),
                        is_outward: facing == Orientation::Rf,
                        is_duplicate: flags.is_duplicate(),
                    }),
                },
            }
        }
        Ok(piece)
    }
}

impl JumpingCounts {
    fn add(&mut self, piece: JumpingPiece, min_limit: u32) {
        if self.is_complete {
            return;
        }
        self.chimeras += piece.chimeras;
        self.fragments += piece.fragments;
        self.is_complete = piece.is_last;
        for pair in piece.facing {
            if self.limit.is_some_and(|limit| pair.insert_size > limit) {
                self.chimeras += 1;
                continue;
            }
            let counts = self.by_size.entry(pair.insert_size).or_default();
            let counts = if pair.is_outward { &mut counts.outward } else { &mut counts.inward };
            counts.pairs += 1;
            counts.duplicates += u64::from(pair.is_duplicate);
            if pair.is_outward && self.limit.is_none() {
                self.sampled += 1;
                if self.sampled == SAMPLE_PAIRS {
                    self.set_limit(min_limit);
                }
            }
        }
    }

    /// Takes the most frequent insert size of pairs facing outward as the limit, and counts pairs above it as chimeras.
    fn set_limit(&mut self, min_limit: u32) {
        let limit = min_limit.max(self.facing(|counts| counts.outward).sizes.mode() as u32);
        self.limit = Some(limit);
        if let Some(above) = limit.checked_add(1) {
            let above = self.by_size.split_off(&above);
            self.chimeras += above.values().map(|it| it.outward.pairs + it.inward.pairs).sum::<u64>();
        }
    }

    /// Returns the sums of pairs that face one way.
    fn facing(&self, of: impl Fn(&SizeCounts) -> PairCounts) -> FacingTotals {
        let sizes = self.by_size.iter().map(|(&size, counts)| (i64::from(size), of(counts).pairs));
        FacingTotals {
            sizes: SortedCounts(sizes.filter(|&(_, pairs)| pairs > 0).collect()),
            duplicates: self.by_size.values().map(|counts| of(counts).duplicates).sum(),
        }
    }

    /// Returns the row of the table.
    fn into_row(mut self, tally: &JumpingTally) -> MetricsRow {
        if self.limit.is_none() {
            self.set_limit(tally.min_limit);
        }
        let [outward, inward] =
            [self.facing(|counts| counts.outward), self.facing(|counts| counts.inward)];
        let pairs = [outward.sizes.count(), inward.sizes.count(), self.chimeras];
        let all = pairs.iter().sum::<u64>() as f64;
        let mut row = MetricsRow::default();
        outward.push_to(&mut row, tally.tail_limit);
        inward.push_to(&mut row, tally.tail_limit);
        row.push_integer(self.chimeras).push_integer(self.fragments);
        pairs.into_iter().for_each(|pairs| _ = row.push_decimal(divide_or_zero(pairs as f64, all)));
        row
    }
}

/// All pairs that face one way.
struct FacingTotals {
    sizes: SortedCounts,
    duplicates: u64,
}

impl FacingTotals {
    fn push_to(mut self, row: &mut MetricsRow, tail_limit: u32) {
        let pairs = self.sizes.count();
        let library_size = estimate_library_size(pairs, pairs - self.duplicates).unwrap_or(0);
        trim_tail(&mut self.sizes, tail_limit);
        row.push_integer(pairs).push_integer(self.duplicates);
        row.push_decimal(divide_or_zero(self.duplicates as f64, pairs as f64))
            .push_integer(library_size);
        row.push_decimal(self.sizes.mean()).push_decimal(self.sizes.standard_deviation());
    }
}

/// Removes the tail of insert sizes: it begins at the first size above the mode that no pair has, or that fewer pairs
/// have than those of the mode divided by `limit`.
fn trim_tail(sizes: &mut SortedCounts, limit: u32) {
    let Some(mode) = (0..sizes.0.len()).rev().max_by_key(|&at| sizes.0[at].1) else { return };
    let min_pairs = sizes.0[mode].1 as f64 / f64::from(limit);
    let is_followed = |two: &&[(i64, u64)]| two[1].0 == two[0].0 + 1 && two[1].1 as f64 >= min_pairs;
    let kept = sizes.0[mode..].windows(2).take_while(is_followed).count();
    sizes.0.truncate(mode + 1 + kept);
}
