//! Makes pieces: finds the bases of reads on targets, and the reasons why other bases do not count.

use std::sync::Arc;

use readmill_record::cigar::{consumes_query, consumes_reference};
use readmill_record::{Batch, Charge, Flags, OrderedTally, PieceMaker, RecordRef, Result};

use super::clip::Clip;
use super::counting::TargetCounting;
use super::join::TargetJoin;
use super::piece::{TargetCounts, TargetPiece, UnitPart, UnitPiece};
use super::rules::TargetRules;
use crate::depth::ORDERED_MEMORY;
use crate::depth::depths::{DepthCounter, Depths, MAX_READS};
use crate::depth::reads::{Reads, as_java, is_called, is_good};
use crate::levels::GroupFinder;
use crate::unsorted::unsorted_error;

/// Maximum number of bytes of base values in a part, unless a single read has more.
const MAX_VALUES: usize = 1 << 22;

/// A read is charged before it is processed if it spans more reference bases than this and more
/// than its own length, because a long deletion needs memory that the batch has not paid for.
const FAR: u64 = 1 << 16;

const INSERTION: u32 = 1;
const DELETION: u32 = 2;

/// Turns batches of sorted reads into pieces, on one thread. Its memory is reused for the next
/// batch.
pub(crate) struct TargetMaker {
    counting: Arc<TargetCounting>,
    counter: DepthCounter,
    codes: Vec<u8>,
    found: FoundTargets,
    group: GroupFinder,
}

/// The contribution of one record to each of its rows. The memory is reused.
#[derive(Default)]
struct FoundTargets {
    counts: TargetCounts,
    /// Runs of bases on targets, as the number of the first position and the length.
    runs: Vec<(u32, u32)>,
    values: Vec<u8>,
    /// Targets on which the record has a counted base.
    covered: Vec<u32>,
}

/// The reads of a row that are not in a part yet.
#[derive(Default)]
struct GatheredTargets {
    piece: UnitPiece,
    reads: Reads,
}

/// Aligned bases: their position, and their qualities.
#[derive(Clone, Copy)]
struct Aligned<'a> {
    contig: u32,
    start: u32,
    length: u32,
    quals: Quals<'a>,
}

#[derive(Clone, Copy)]
enum Quals<'a> {
    /// One quality for each base.
    Each(&'a [u8]),
    /// The same quality for all bases, such as deleted bases, so that no list is needed.
    Same(u8),
}

impl Quals<'_> {
    #[inline]
    fn push_values(self, from: usize, to: usize, into: &mut Vec<u8>) {
        match self {
            Quals::Each(quals) => into.extend(quals[from..to].iter().map(|&qual| as_java(qual))),
            Quals::Same(qual) => into.resize(into.len() + to - from, as_java(qual)),
        }
    }

    /// Returns the number of bases whose quality is at least `min_qual`. `length` is the number of
    /// bases.
    #[inline]
    fn count_at_least(self, min_qual: u8, length: u32) -> u64 {
        match self {
            Quals::Each(quals) => quals.iter().filter(|&&qual| as_java(qual) >= min_qual).count() as u64,
            Quals::Same(qual) if as_java(qual) >= min_qual => length.into(),
            Quals::Same(_) => 0,
        }
    }
}

impl TargetMaker {
    pub fn new(counting: Arc<TargetCounting>) -> Self {
        TargetMaker {
            counting,
            counter: DepthCounter::default(),
            codes: Vec::new(),
            found: FoundTargets::default(),
            group: GroupFinder::default(),
        }
    }
}

impl OrderedTally for TargetCounting {
    const MEMORY: &'static str = ORDERED_MEMORY;
    const TRIMS: bool = true;
    type Piece = TargetPiece;
    type Maker = TargetMaker;

    fn new_maker(self: &Arc<Self>) -> TargetMaker {
        TargetMaker::new(Arc::clone(self))
    }

    fn usual_piece_bytes(&self) -> u64 {
        self.usual_piece_bytes
    }

    fn piece_bytes(piece: &TargetPiece) -> u64 {
        piece.heap_bytes()
    }

    fn max_bytes_to_add(&self, piece: &TargetPiece) -> u64 {
        self.heap_bytes() + TargetJoin::max_growth_bytes(piece)
    }

    /// Includes results that grow with the depth of the targets.
    fn heap_bytes(&self) -> u64 {
        self.lock_join().heap_bytes()
    }

    fn restart(&self) -> Result<()> {
        *self.lock_join() = TargetJoin::new(&self.rules, self.units);
        Ok(())
    }

    fn add(&self, piece: TargetPiece) -> Result<()> {
        self.lock_join().add_piece(piece, &self.rules)
    }
}

impl PieceMaker for TargetMaker {
    type Piece = TargetPiece;

    fn trim(&self, piece: &mut TargetPiece, max_span: u32) {
        piece.trim(max_span, &self.counting.rules);
    }

    /// `charge` pays for deleted bases, because they are bases of the reference, whose number the
    /// batch does not limit.
    fn make(&mut self, batch: &Batch, charge: &mut Charge) -> Result<TargetPiece> {
        let counting = Arc::clone(&self.counting);
        let mut piece = TargetPiece::default();
        let mut gathered: Vec<Vec<GatheredTargets>> = Vec::new();
        for _ in &counting.rules {
            gathered.push((0..counting.units).map(|_| GatheredTargets::default()).collect());
        }
        for (stamp, record) in batch.records() {
            let place = (u32::try_from(record.ref_id()), u32::try_from(record.pos()));
            if let (Ok(contig), Ok(start)) = place {
                let [_, last] = piece.ends.get_or_insert([(contig, start); 2]);
                if (contig, start) < *last {
                    return Err(unsorted_error().record(stamp.ordinal()).qname(record.qname()));
                }
                *last = (contig, start);
            }
            let group = self.group.find_group(&counting.levels, record);
            for (rules, units) in counting.rules.iter().zip(&mut gathered) {
                if rules.include_indels {
                    charge.grow(deleted_bytes(&counting, rules, record, group))?;
                }
                let mut found = std::mem::take(&mut self.found);
                found.clear();
                self.count_record(&counting, rules, record, &mut found);
                for &unit in &counting.units_of_group[group] {
                    self.add_to_row(rules, &found, &mut units[unit]);
                }
                self.found = found;
            }
        }
        for (rules, units) in counting.rules.iter().zip(gathered) {
            let complete = |mut unit: GatheredTargets| {
                self.flush_reads(rules, &mut unit);
                unit.piece
            };
            piece.by_rules.push(units.into_iter().map(complete).collect());
        }
        Ok(piece)
    }
}

impl TargetMaker {
    fn add_to_row(&mut self, rules: &TargetRules, found: &FoundTargets, unit: &mut GatheredTargets) {
        unit.piece.counts.add(&found.counts);
        let Some((&(start, _), &(last, length))) = found.runs.first().zip(found.runs.last()) else {
            return;
        };
        let reads = &mut unit.reads;
        let mut values = &found.values[..];
        for &(start, length) in &found.runs {
            let (run, rest) = values.split_at(length as usize);
            reads.push_block(start, run);
            values = rest;
        }
        reads.push_read(0, start, last + length, 0);
        if rules.per_target {
            for &target in &found.covered {
                match unit.piece.reads.last_mut() {
                    Some((number, count)) if *number == target => *count += 1,
                    _ => unit.piece.reads.push((target, 1)),
                }
            }
        }
        if reads.list.len() >= MAX_READS || reads.values().len() >= MAX_VALUES {
            self.flush_reads(rules, unit);
        }
    }

    /// Moves the gathered reads with their depths to the piece.
    fn flush_reads(&mut self, rules: &TargetRules, unit: &mut GatheredTargets) {
        if unit.reads.list.is_empty() {
            return;
        }
        let reads = std::mem::take(&mut unit.reads);
        let depths = self.counter.count_each(&reads, rules.counted_bases());
        let quals = self.counter.all_qualities(&reads);
        crate::counts::add_each(&mut unit.piece.quals, &quals);
        unit.piece.parts.push(UnitPart { reads, depths });
    }

    /// Finds the contribution of a record, applying the filters in Picard's order.
    fn count_record(
        &mut self,
        counting: &TargetCounting,
        rules: &TargetRules,
        record: RecordRef<'_>,
        found: &mut FoundTargets,
    ) {
        let (flags, counts) = (record.flags(), &mut found.counts);
        counts.records = 1;
        if flags.is_secondary() {
            return;
        }
        let (is_primary, is_mapped) = (!flags.is_supplementary(), !flags.is_unmapped());
        let is_unique = !flags.is_duplicate();
        if is_primary {
            counts.reads = 1;
            counts.pf_reads = u64::from(!flags.is_qc_fail());
            counts.pf_unique_reads = u64::from(!flags.is_qc_fail() && is_unique);
            counts.pf_unique_aligned_reads = u64::from(!flags.is_qc_fail() && is_unique && is_mapped);
        }
        if flags.is_qc_fail() {
            return;
        }
        if is_primary {
            counts.pf_bases = record.l_seq() as u64;
        }
        if !is_mapped {
            return;
        }
        let blocks = record.cigar().ops().filter(|&(op, _)| is_aligned(op));
        let aligned: u64 = blocks.map(|(_, n)| u64::from(n)).sum();
        counts.pf_aligned_bases = aligned;
        counts.pf_unique_aligned_bases = if is_unique { aligned } else { 0 };
        let place = u32::try_from(record.ref_id()).ok().zip(u32::try_from(record.pos()).ok());
        let end = record.end().clamp(0, u32::MAX.into()) as u32;
        let is_near = place.is_some_and(|(contig, start)| is_near(rules, contig, start, end));
        let is_pair = flags.0 & (Flags::PAIRED | Flags::FIRST | Flags::MATE_UNMAPPED)
            == Flags::PAIRED | Flags::FIRST;
        if is_primary && is_pair && is_near {
            counts.selected_pairs = 1;
            counts.selected_unique_pairs = u64::from(is_unique);
        }
        match place.filter(|_| is_near) {
            Some((contig, start)) => {
                counts.on_probe = on_probes(rules, contig, start, record);
                counts.near_probe = aligned - counts.on_probe;
            }
            None => counts.off_probe = aligned,
        }
        if !is_unique {
            counts.duplicates = aligned;
            return;
        }
        let mapq = record.mapq();
        if mapq == 0 && counting.adapters.is_record_adapter(record, &mut self.codes) {
            counts.adapters = aligned;
            return;
        }
        if mapq < rules.min_mapq {
            counts.low_mapq = aligned;
            return;
        }
        let clip = if rules.clip_overlaps { Clip::from_record(record) } else { Clip::NONE };
        counts.overlaps = clip.bases;
        let is_mapped_pair = is_primary && flags.is_paired() && !flags.is_mate_unmapped();
        count_bases(rules, record, place, end, clip, found);
        if is_mapped_pair {
            found.counts.on_target_from_pairs = found.counts.on_target;
        }
    }
}

impl FoundTargets {
    fn clear(&mut self) {
        self.counts = TargetCounts::default();
        self.runs.clear();
        self.values.clear();
        self.covered.clear();
        self.values.shrink_to(1 << 16);
    }
}

/// Returns the maximum memory in bytes that the deleted bases of a read on targets may take. 0
/// unless the read spans more than `FAR` reference bases and more than its own length. `group` is
/// the group of the read.
fn deleted_bytes(
    counting: &TargetCounting,
    rules: &TargetRules,
    record: RecordRef<'_>,
    group: usize,
) -> u64 {
    let place = u32::try_from(record.ref_id()).ok().zip(u32::try_from(record.pos()).ok());
    let Some((contig, start)) = place else { return 0 };
    let span = record.cigar().reference_length().clamp(0, u32::MAX.into()) as u64;
    if span <= FAR.max(record.l_seq() as u64) {
        return 0;
    }
    let end = start.saturating_add(span as u32);
    let targets = &rules.targets;
    let bases = u64::from(targets.base_number(contig, end) - targets.base_number(contig, start));
    let runs =
        (targets.first_ending_after(contig, end) - targets.first_ending_after(contig, start) + 1) as u64;
    let units = counting.units_of_group[group].len() as u64;
    // The values, in lists that double their capacity and are copied, and the depths, for each row.
    3 * (bases + 24 * runs) + units * (3 * (bases + 24 * runs) + Depths::max_bytes(bases, runs))
}

/// Returns whether the operation is M, = or X.
#[inline]
fn is_aligned(op: u32) -> bool {
    consumes_query(op) && consumes_reference(op)
}

/// Returns whether a read is within NEAR_DISTANCE of a probe.
fn is_near(rules: &TargetRules, contig: u32, start: u32, end: u32) -> bool {
    let probes = &rules.probes;
    let next = probes.first_ending_after(contig, start.saturating_sub(rules.near));
    let near = probes.intervals().get(next).filter(|probe| probe.0 == contig);
    start < end && near.is_some_and(|probe| u64::from(probe.1) < u64::from(end) + u64::from(rules.near))
}

/// Returns the number of aligned bases of a record on probes.
fn on_probes(rules: &TargetRules, contig: u32, start: u32, record: RecordRef<'_>) -> u64 {
    let (mut at, mut bases) = (start, 0);
    for (op, n) in record.cigar().ops() {
        let end = if consumes_reference(op) { at.saturating_add(n) } else { at };
        if is_aligned(op) {
            let next = rules.probes.first_ending_after(contig, at);
            let probes = rules.probes.intervals()[next..].iter();
            for &(_, from, to) in probes.take_while(|probe| probe.0 == contig && probe.1 < end) {
                bases += u64::from(to.min(end) - from.max(at));
            }
        }
        at = end;
    }
    bases
}

/// Processes the bases of a record up to the clip, and adds them to `found`.
fn count_bases(
    rules: &TargetRules,
    record: RecordRef<'_>,
    place: Option<(u32, u32)>,
    end: u32,
    clip: Clip,
    found: &mut FoundTargets,
) {
    let quals = record.qual();
    // Picard does not expect records without qualities; their qualities are taken as 0.
    let quals = if quals.first() == Some(&0xff) { &[][..] } else { quals };
    let (contig, start) = place.unwrap_or((u32::MAX, 0));
    let (mut at, mut offset) = (start, 0_u64);
    for (op, n) in record.cigar().ops() {
        let (on_read, on_reference) = (consumes_query(op), consumes_reference(op));
        let length = if on_read { u64::from(n) } else { 0 };
        let left = clip.kept.map(|kept| kept.saturating_sub(offset)).filter(|&left| left <= length);
        let n = match left {
            None => n,
            Some(left) if on_read && on_reference => left as u32,
            Some(_) => 0,
        };
        let from = (offset as usize).min(quals.len());
        let of_bases = match quals.get(from..from + n as usize) {
            Some(quals) => Quals::Each(quals),
            None => Quals::Same(0),
        };
        let aligned = |quals| Aligned { contig, start: at, length: n, quals };
        match op {
            op if is_aligned(op) => found.add_aligned(rules, aligned(of_bases)),
            DELETION if rules.include_indels => {
                found.add_aligned(rules, aligned(Quals::Same(quals.get(from).copied().unwrap_or(0))));
            }
            INSERTION if rules.include_indels => {
                found.add_insertion(rules, aligned(of_bases), (start, end));
            }
            _ => {}
        }
        if left.is_some() {
            return;
        }
        offset += length;
        at = if on_reference { at.saturating_add(n) } else { at };
    }
}

impl FoundTargets {
    /// Adds aligned or deleted bases.
    fn add_aligned(&mut self, rules: &TargetRules, aligned: Aligned<'_>) {
        let Aligned { contig, start, length, quals } = aligned;
        let (end, targets) = (start.saturating_add(length), &rules.targets);
        let min_counted_qual = rules.counted_bases().min_qual;
        let high = quals.count_at_least(rules.min_qual, length);
        let mut on_target = 0;
        let mut number = targets.first_ending_after(contig, start);
        while let Some(&(_, first, last)) =
            targets.intervals().get(number).filter(|it| it.0 == contig && it.1 < end)
        {
            let (from, to) = (first.max(start), last.min(end));
            let is_counted = match quals {
                Quals::Each(_) => true,
                // Bases that cannot count are not stored, because a CIGAR can claim any number of
                // them.
                Quals::Same(qual) => {
                    is_called(as_java(qual)) || is_good(as_java(qual), min_counted_qual)
                }
            };
            if is_counted {
                let before = self.values.len();
                quals.push_values((from - start) as usize, (to - start) as usize, &mut self.values);
                let values = &self.values[before..];
                on_target += values.iter().filter(|&&value| value >= rules.min_qual).count() as u64;
                let is_covered = values.iter().any(|&value| is_good(value, min_counted_qual));
                if is_covered && self.covered.last() != Some(&(number as u32)) {
                    self.covered.push(number as u32);
                }
                self.runs.push((targets.base_offset(number) + from - first, to - from));
            } else {
                on_target += quals.count_at_least(rules.min_qual, to - from);
            }
            number += 1;
        }
        self.count_found_bases(length, high, on_target);
    }

    /// Adds inserted bases. They are on target if the base after them is on a target that the read
    /// overlaps.
    fn add_insertion(&mut self, rules: &TargetRules, inserted: Aligned<'_>, (start, end): (u32, u32)) {
        let Aligned { contig, start: at, length, quals } = inserted;
        let high = quals.count_at_least(rules.min_qual, length);
        let next = rules.targets.first_ending_after(contig, at);
        let target = rules.targets.intervals().get(next).filter(|it| it.0 == contig && it.1 <= at);
        let is_on_target = target.is_some_and(|it| it.1 < end && start < it.2) && start < end;
        self.count_found_bases(length, high, if is_on_target { high } else { 0 });
    }

    /// Counts `length` bases, of which `high` have the minimum quality; `on_target` of these are on
    /// target.
    fn count_found_bases(&mut self, length: u32, high: u64, on_target: u64) {
        self.counts.low_quals += u64::from(length) - high;
        self.counts.off_target += high - on_target;
        self.counts.on_target += on_target;
    }
}
