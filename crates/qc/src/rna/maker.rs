//! Makes pieces: counts the bases of reads by their function in genes, the strands of reads, and
//! the depths of exons.

use std::sync::Arc;

use readmill_record::cigar::{OPERATORS, consumes_query, consumes_reference};
use readmill_record::{Batch, Charge, Flags, OrderedTally, PieceMaker, RecordRef, Result};

use super::counting::{RnaCounting, RnaJoin};
use super::genes::Gene;
use super::options::StrandSpecificity;
use super::piece::{RnaCounts, RnaPiece, RnaUnit};
use crate::depth::depths::{CountedBases, DepthCounter, Depths, MAX_READS};
use crate::depth::open_pages::OpenPages;
use crate::depth::reads::{NOISE, Reads};
use crate::depth::runs::DepthRuns;
use crate::depth::{ORDERED_MEMORY, USUAL_PIECE_BYTES};
use crate::levels::GroupFinder;
use crate::read::{Orientation, pair_orientation};
use crate::unsorted::unsorted_error;

/// Maximum number of bytes of base values in a part, plus [`AT_ONCE`].
const MAX_VALUES: usize = 1 << 22;

/// Maximum number of bases of a block that are processed at a time. A CIGAR of a few bytes can
/// claim 268 million aligned bases without any base in the record.
const AT_ONCE: u32 = 1 << 16;

/// A read is charged before it is processed if it spans more reference bases than this and more
/// than its own length.
const FAR: u64 = AT_ONCE as u64;

/// The value of each base. It is above noise, because bases of any quality count.
const VALUE: u8 = NOISE + 1;
const EACH: CountedBases = CountedBases { min_qual: VALUE, cap: u32::MAX };

/// The functions of a base in a gene, in the order of Picard's precedence. If transcripts disagree,
/// the largest applies.
const INTRON: u8 = 1;
const UNTRANSLATED: u8 = 2;
const CODING: u8 = 3;

/// Turns batches of sorted reads into pieces, on one thread. Its memory is reused for the next
/// batch.
pub(crate) struct RnaMaker {
    counting: Arc<RnaCounting>,
    counter: DepthCounter,
    group: GroupFinder,
    found: FoundBases,
}

/// The contribution of one record to each of its rows. The memory is reused.
#[derive(Default)]
struct FoundBases {
    counts: RnaCounts,
    genes: Vec<u32>,
    functions: Vec<u8>,
    /// Runs of bases in exons, as the number of the first position and the length.
    runs: Vec<(u32, u32)>,
    values: Vec<u8>,
}

/// The reads of a row whose depths are not counted yet.
#[derive(Default)]
struct GatheredBases {
    unit: RnaUnit,
    reads: Reads,
}

impl RnaMaker {
    pub fn new(counting: Arc<RnaCounting>) -> Self {
        let (counter, group, found) = Default::default();
        RnaMaker { counting, counter, group, found }
    }
}

impl OrderedTally for RnaCounting {
    const MEMORY: &'static str = ORDERED_MEMORY;
    type Piece = RnaPiece;
    type Maker = RnaMaker;

    fn new_maker(self: &Arc<Self>) -> RnaMaker {
        RnaMaker::new(Arc::clone(self))
    }

    fn usual_piece_bytes(&self) -> u64 {
        USUAL_PIECE_BYTES
    }

    fn piece_bytes(piece: &RnaPiece) -> u64 {
        piece.heap_bytes()
    }

    fn max_bytes_to_add(&self, piece: &RnaPiece) -> u64 {
        let depths = piece.units.iter().flat_map(|unit| &unit.depths);
        let bytes = |pages: usize| OpenPages::bytes_of(pages) + 2 * DepthRuns::CHUNK_BYTES;
        self.heap_bytes() + depths.map(|it| bytes(it.pages.len())).sum::<u64>()
    }

    /// Includes the depths so far.
    fn heap_bytes(&self) -> u64 {
        self.lock_join().heap_bytes()
    }

    fn restart(&self) -> Result<()> {
        *self.lock_join() = RnaJoin::new(self.units);
        Ok(())
    }

    fn add(&self, piece: RnaPiece) -> Result<()> {
        self.lock_join().add_piece(piece, self.genes.exon_union())
    }
}

impl PieceMaker for RnaMaker {
    type Piece = RnaPiece;

    /// `charge` pays for the depths of reads that span more than `FAR` reference bases and more
    /// than their own length.
    fn make(&mut self, batch: &Batch, charge: &mut Charge) -> Result<RnaPiece> {
        let counting = Arc::clone(&self.counting);
        let mut piece = RnaPiece::default();
        let mut units: Vec<GatheredBases> =
            (0..counting.units).map(|_| GatheredBases::default()).collect();
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
            charge.grow(far_bytes(&counting, record, group))?;
            let found = &mut self.found;
            found.clear();
            found.count_record(&counting, record);
            for &unit in &counting.units_of_group[group] {
                let unit = &mut units[unit];
                unit.unit.counts.add(&found.counts);
                let mut first = None;
                for &(run, length) in &found.runs {
                    for at in (0..length).step_by(AT_ONCE as usize) {
                        let (start, bases) = (run + at, (length - at).min(AT_ONCE));
                        let first = *first.get_or_insert(start);
                        unit.reads.push_block(start, &found.values[..bases as usize]);
                        if unit.reads.values().len() >= MAX_VALUES {
                            unit.reads.push_read(0, first, start + bases, 0);
                            flush_reads(&mut self.counter, unit);
                        }
                    }
                }
                let is_open = unit.reads.has_open_blocks();
                if let Some((first, (last, length))) = first.zip(found.runs.last()).filter(|_| is_open) {
                    unit.reads.push_read(0, first, last + length, 0);
                }
                if unit.reads.list.len() >= MAX_READS {
                    flush_reads(&mut self.counter, unit);
                }
            }
        }
        piece.units.extend(units.into_iter().map(|mut unit| {
            flush_reads(&mut self.counter, &mut unit);
            unit.unit
        }));
        Ok(piece)
    }
}

/// Returns the maximum memory in bytes that the bases of a read in exons may take. 0 unless the
/// read spans more than `FAR` reference bases and more than its own length. `group` is the group of
/// the read.
fn far_bytes(counting: &RnaCounting, record: RecordRef<'_>, group: usize) -> u64 {
    let place = u32::try_from(record.ref_id()).ok().zip(u32::try_from(record.pos()).ok());
    let Some((contig, start)) = place else { return 0 };
    let span = record.cigar().reference_length().clamp(0, u32::MAX.into()) as u64;
    if span <= FAR.max(record.l_seq() as u64) {
        return 0;
    }
    let (end, exons) = (start.saturating_add(span as u32), counting.genes.exon_union());
    let bases = u64::from(exons.base_number(contig, end) - exons.base_number(contig, start));
    let runs =
        (exons.first_ending_after(contig, end) - exons.first_ending_after(contig, start) + 1) as u64;
    let units = counting.units_of_group[group].len() as u64;
    // Runs and genes, in lists that double their capacity and are copied, and depths for each row.
    48 * runs + units * (72 * runs + Depths::max_bytes(bases, runs))
}

/// Counts the depths of the gathered reads, and adds them to the piece.
fn flush_reads(counter: &mut DepthCounter, unit: &mut GatheredBases) {
    let reads = std::mem::take(&mut unit.reads);
    if !reads.list.is_empty() {
        unit.unit.depths.push(counter.count_each(&reads, EACH));
    }
}

impl FoundBases {
    fn clear(&mut self) {
        self.counts = RnaCounts::default();
        self.runs.clear();
        self.values.shrink_to(1 << 16);
        self.functions.shrink_to(1 << 16);
    }

    /// Finds the contribution of a record, applying the filters in Picard's order.
    fn count_record(&mut self, counting: &RnaCounting, record: RecordRef<'_>) {
        let flags = record.flags();
        self.counts.records = 1;
        if flags.is_qc_fail() || flags.is_secondary() {
            return;
        }
        self.counts.bases = record.l_seq() as u64;
        if flags.is_unmapped() {
            return;
        }
        let contig = u32::try_from(record.ref_id()).unwrap_or(u32::MAX);
        if counting.ignored.contains(&contig) {
            self.counts.ignored_reads = 1;
            return;
        }
        if is_ribosomal(counting, contig, record) {
            let aligned = record.cigar().ops().filter(|&(op, _)| is_aligned(op));
            self.counts.aligned = aligned.map(|(_, n)| u64::from(n)).sum();
            self.counts.ribosomal = self.counts.aligned;
            return;
        }
        let start = record.pos().max(0).cast_unsigned();
        let end = record.end().clamp(0, u32::MAX.into()) as u32;
        let mut genes = std::mem::take(&mut self.genes);
        counting.genes.find_overlapping(contig, start, end, &mut genes);
        let mut at = start;
        for (op, n) in record.cigar().ops() {
            if is_aligned(op) {
                self.count_functions(counting, &genes, contig, (at, n));
                if !genes.is_empty() {
                    self.add_block(counting, contig, at, n);
                }
            }
            at = if consumes_reference(op) { at.saturating_add(n) } else { at };
        }
        if let [gene] = genes[..]
            && flags.is_primary()
            && self.counts.by_function[usize::from(UNTRANSLATED)..].iter().any(|&bases| bases > 0)
        {
            self.count_strand(counting.strand, &counting.genes.genes()[gene as usize], record);
        }
        self.genes = genes;
    }

    /// Counts the bases of a block by their function in `genes`. Processes at most [`AT_ONCE`]
    /// bases at a time.
    fn count_functions(
        &mut self,
        counting: &RnaCounting,
        genes: &[u32],
        contig: u32,
        (start, length): (u32, u32),
    ) {
        self.counts.aligned += u64::from(length);
        if length <= AT_ONCE {
            return self.count_piece(counting, genes, start, length);
        }
        let mut near = Vec::new();
        for at in (0..length).step_by(AT_ONCE as usize) {
            let (from, bases) = (start.saturating_add(at), (length - at).min(AT_ONCE));
            counting.genes.find_overlapping(contig, from, from.saturating_add(bases), &mut near);
            near.retain(|gene| genes.binary_search(gene).is_ok());
            self.count_piece(counting, &near, from, bases);
        }
    }

    fn count_piece(&mut self, counting: &RnaCounting, genes: &[u32], start: u32, length: u32) {
        let end = start.saturating_add(length);
        self.functions.clear();
        self.functions.resize(length as usize, 0);
        for &gene in genes {
            for (_, transcript) in counting.genes.transcripts(&counting.genes.genes()[gene as usize]) {
                let (first, last) = transcript.transcribed;
                let (first, last) = (first.max(start), last.min(end));
                let mut raise = |from: u32, to: u32, function: u8| {
                    let (from, to) = (from.max(first), to.min(last));
                    if from < to {
                        let functions =
                            &mut self.functions[(from - start) as usize..(to - start) as usize];
                        functions.iter_mut().for_each(|it| *it = function.max(*it));
                    }
                };
                raise(first, last, INTRON);
                let exons = counting.genes.exons(transcript);
                let near = &exons[exons.partition_point(|exon| exon.1 <= start)..];
                for &(from, to) in near.iter().take_while(|exon| exon.0 < end) {
                    raise(from, to, UNTRANSLATED);
                    raise(from.max(transcript.coding.0), to.min(transcript.coding.1), CODING);
                }
            }
        }
        for &function in &self.functions {
            self.counts.by_function[usize::from(function)] += 1;
        }
    }

    /// Adds a block of aligned bases to the depths of exons.
    fn add_block(&mut self, counting: &RnaCounting, contig: u32, start: u32, length: u32) {
        // As in Picard, the last base of a block does not count for the depth.
        let end = start.saturating_add(length).saturating_sub(1);
        let exons = counting.genes.exon_union();
        let mut number = exons.first_ending_after(contig, start);
        while let Some(&(_, first, last)) =
            exons.intervals().get(number).filter(|it| it.0 == contig && it.1 < end)
        {
            let (from, to) = (first.max(start), last.min(end));
            if from < to {
                self.runs.push((exons.base_offset(number) + from - first, to - from));
                let length = self.values.len().max((to - from).min(AT_ONCE) as usize);
                self.values.resize(length, VALUE);
            }
            number += 1;
        }
    }

    /// Counts a read by its strand. Called for reads that overlap an exon of a single gene.
    fn count_strand(&mut self, strand: StrandSpecificity, gene: &Gene, record: RecordRef<'_>) {
        let (flags, counts) = (record.flags(), &mut self.counts);
        let is_first = !flags.is_paired() || flags.is_first();
        let agrees = flags.is_reverse() == gene.is_reverse;
        let is_expected = match strand {
            StrandSpecificity::None => None,
            StrandSpecificity::FirstReadTranscriptionStrand => Some(is_first),
            StrandSpecificity::SecondReadTranscriptionStrand => Some(!is_first),
        };
        match is_expected {
            None => {}
            Some(expected) if expected == agrees => counts.correct_strand = 1,
            Some(_) => counts.incorrect_strand = 1,
        }
        if !is_first {
            return;
        }
        let (start, end) = (i64::from(record.pos()), record.end());
        let template = if !flags.is_paired() {
            Some((start, end))
        } else if flags.is_mate_unmapped() || pair_orientation(record) != Some(Orientation::Fr) {
            None
        } else {
            let mate = i64::from(record.next_pos());
            let length = mate_length(record).unwrap_or(record.l_seq() as i64);
            Some((start.min(mate), end.max(mate + length)))
        };
        let is_inside =
            |(from, to): (i64, i64)| i64::from(gene.start) <= from && to <= i64::from(gene.end);
        match template {
            Some(template) if is_inside(template) && agrees => counts.r1_transcript_strand = 1,
            Some(template) if is_inside(template) => counts.r2_transcript_strand = 1,
            _ => counts.unexplained = 1,
        }
    }
}

/// Returns whether the operation is M, = or X.
#[inline]
fn is_aligned(op: u32) -> bool {
    consumes_query(op) && consumes_reference(op)
}

/// Returns whether a fragment is ribosomal: one interval contains at least the fraction
/// RRNA_FRAGMENT_PERCENTAGE of it.
fn is_ribosomal(counting: &RnaCounting, contig: u32, record: RecordRef<'_>) -> bool {
    let flags = record.flags();
    let (start, end) = (i64::from(record.pos()), record.end());
    let (start, end) = if !flags.is_paired() {
        (start, end)
    } else if flags.0 & Flags::MATE_UNMAPPED != 0 || record.ref_id() != record.next_ref_id() {
        return false;
    } else {
        let start = start.min(record.next_pos().into());
        (start, start + i64::from(record.tlen().unsigned_abs()))
    };
    if start >= end {
        return false;
    }
    let mut max_overlap = 0;
    if let Some(ribosomal) = &counting.ribosomal {
        let first = ribosomal.first_ending_after(contig, start.clamp(0, u32::MAX.into()) as u32);
        for &(_, from, to) in ribosomal.intervals()[first..]
            .iter()
            .take_while(|it| it.0 == contig && i64::from(it.1) < end)
        {
            max_overlap = max_overlap.max(end.min(to.into()) - start.max(from.into()));
        }
    }
    max_overlap as f64 / (end - start) as f64 >= counting.ribosomal_share
}

/// Returns the number of reference bases that the mate spans, from the CIGAR in MC. `None` if MC is
/// missing or malformed.
fn mate_length(record: RecordRef<'_>) -> Option<i64> {
    let field = record.field(*b"MC").filter(|field| field.kind == b'Z')?;
    let (mut length, mut rest) = (0, field.value);
    while !rest.is_empty() {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (count, behind) = rest.split_at(digits);
        let (op, behind) = behind.split_first()?;
        let op = OPERATORS.iter().position(|it| it == op)? as u32;
        let count = std::str::from_utf8(count).ok()?.parse::<u32>().ok()?;
        length += if consumes_reference(op) { i64::from(count) } else { 0 };
        rest = behind;
    }
    (!field.value.is_empty()).then_some(length)
}
