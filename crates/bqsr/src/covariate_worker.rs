//! Counts bases and errors as GATK 4.6.2's BaseRecalibrator does.
//!
//! All threads share a [`RecalReference`]. Each thread has its own [`CovariateWorker`], which
//! caches the reference bases and the known sites around the current read. The result does not
//! depend on the order of reads, but sorted reads are faster, because they usually find their
//! region in the cache.

use std::sync::Arc;

use readmill_format::intervals::Intervals;
use readmill_format::reference::{Matched, Reference, ReferenceWindow};
use readmill_format::sites::{KnownSites, SiteCursor};
use readmill_record::cigar::consumes_query;
use readmill_record::{Error, RecordRef, Result, tag};

use super::alignment::{CountedAlignment, DELETION, INSERTION, WellFormed};
use super::counters::{Cells, Counters, Finding, SKIPPED};
use super::covariates::{self, Cycles, NO_BASE, ReadGroups};
use super::report::Arguments;
use super::suspects::SiteEvents;

#[derive(Clone)]
pub struct RecalReference {
    pub groups: ReadGroups,
    pub well_formed: WellFormed,
    pub reference: Reference,
    /// Maps the contigs of the reads to the contigs of the reference.
    pub contigs: Matched,
    /// Known variants. A mismatch at one of them is not a sequencing error, so it is not counted.
    pub sites: KnownSites,
    /// Count only reads that overlap these intervals. `None` counts all reads.
    pub intervals: Option<Intervals>,
}

#[derive(Clone, Debug)]
pub struct CountOptions {
    pub arguments: Arguments,
    /// Do not count bases whose quality (Phred) is lower.
    pub preserve_less_than: u8,
    /// Use the qualities in OQ if a read has this field.
    pub use_original: bool,
    /// Quality (Phred) for all bases of reads without qualities. `None` skips such reads.
    pub default_quality: Option<u8>,
    /// Also count insertions and deletions (GATK `--compute-indel-bqsr-tables`).
    pub indels: bool,
}

impl Default for CountOptions {
    fn default() -> Self {
        let (use_original, default_quality, indels) = Default::default();
        let arguments = Arguments::default();
        CountOptions { arguments, preserve_less_than: 6, use_original, default_quality, indels }
    }
}

/// Counts the reads of one thread, with its own counters, buffers and cursors.
///
/// The same worker serves two passes: [`CovariateWorker::observe_read`] counts, and if there are no
/// known sites, [`CovariateWorker::note_mismatches`] first finds probable variants.
pub struct CovariateWorker {
    reference: Arc<RecalReference>,
    counting: Arc<CountOptions>,
    window: ReferenceWindow,
    cursor: SiteCursor,
    pub counters: Counters,
    /// ID and number of the last read's group. Consecutive reads often share a group.
    group: (Vec<u8>, usize),
    read: CountedRead,
}

/// Memory of a worker in bytes, excluding its counters.
pub const WORKER_BYTES: usize =
    readmill_format::reference::WINDOW_BYTES + readmill_format::sites::MAX_CURSOR_BYTES + (64 << 10);

/// The counted part of the current read. Vectors have one element per counted base unless stated
/// otherwise.
#[derive(Default)]
struct CountedRead {
    alignment: CountedAlignment,
    /// Codes of all bases of SEQ, including bases that are not counted.
    codes: Vec<u8>,
    qualities: Vec<u8>,
    contexts: Vec<u16>,
    /// Whether each base matches, mismatches or is skipped.
    findings: Vec<Finding>,
    /// Whether an insertion (first) or a deletion (second) is counted at each base, or the base is
    /// skipped.
    gaps: [Vec<Finding>; 2],
}

impl RecalReference {
    pub fn new_worker(self: &Arc<Self>, counting: &Arc<CountOptions>) -> CovariateWorker {
        let arguments = &counting.arguments;
        let (mismatches, indels) = (arguments.mismatches_context_size, arguments.indels_context_size);
        CovariateWorker {
            reference: Arc::clone(self),
            counting: Arc::clone(counting),
            window: self.reference.code_window(),
            cursor: self.sites.cursor(),
            counters: Counters::new(self.groups.names().len(), [mismatches, indels, indels]),
            group: (Vec::new(), usize::MAX),
            read: CountedRead::default(),
        }
    }

    /// Returns whether a read is counted (GATK 4.6.2, the read filters of BaseRecalibrator).
    ///
    /// The read must be mapped with a known, nonzero mapping quality, primary or supplementary, not
    /// a duplicate, not QC-failed, well formed, and inside the intervals.
    fn is_counted(&self, record: RecordRef<'_>, duplicate: bool, counting: &CountOptions) -> bool {
        let flags = record.flags();
        let left_out = flags.is_unmapped() || flags.is_secondary() || flags.is_qc_fail() || duplicate;
        let placed = record.ref_id() >= 0 && record.pos() >= 0;
        let mapq = record.mapq();
        let judged = !left_out && placed && mapq != 0 && mapq != 255;
        let has_qualities = covariates::has_qualities(record) || counting.default_quality.is_some();
        judged && has_qualities && self.well_formed.has_sound_alignment(record) && self.is_inside(record)
    }

    fn is_inside(&self, record: RecordRef<'_>) -> bool {
        let Some(intervals) = &self.intervals else { return true };
        let end = record.end().min(u32::MAX.into()) as u32;
        intervals.overlaps(record.ref_id() as u32, record.pos() as u32, end)
    }
}

impl CovariateWorker {
    /// Counts the bases of a read, unless the read is filtered out. `duplicate` tells whether the
    /// read is marked as a duplicate.
    pub fn observe_read(&mut self, record: RecordRef<'_>, duplicate: bool) -> Result<()> {
        let Some(group) = self.compare_read(record, duplicate)? else { return Ok(()) };
        let CovariateWorker { counting, counters, read, .. } = self;
        let bases = read.alignment.len();
        let cycles = Cycles::of_read(record, bases);
        let reverse = record.flags().is_reverse();
        counters.count_read(group, bases, |[mismatches, gaps @ ..]| {
            read.count_mismatches(mismatches, reverse, cycles, &counting.arguments);
            match counting.indels {
                true => read.count_gaps(gaps, record, cycles, &counting.arguments),
                false => Ok(()),
            }
        })
    }

    /// Adds the position of a read and its mismatches to `seen`. Mismatches are added only if the
    /// read is not filtered out.
    pub fn note_mismatches(
        &mut self,
        record: RecordRef<'_>,
        duplicate: bool,
        seen: &mut SiteEvents,
    ) -> Result<()> {
        if record.ref_id() >= 0 {
            seen.note_read_start(record.ref_id() as u32, record.pos().into());
        }
        if self.compare_read(record, duplicate)?.is_some() {
            self.read.add_mismatches(record.ref_id() as u32, seen);
        }
        Ok(())
    }

    /// Compares a read with the reference. Returns the number of its read group, or `None` if the
    /// read is filtered out.
    fn compare_read(&mut self, record: RecordRef<'_>, duplicate: bool) -> Result<Option<usize>> {
        let (reference, counting) = (Arc::clone(&self.reference), Arc::clone(&self.counting));
        reference.groups.require_any()?;
        let Some(id) = record.read_group() else { return Ok(None) };
        if !reference.is_counted(record, duplicate, &counting) {
            return Ok(None);
        }
        let group = self.group_number(id)?;
        let read = &mut self.read;
        if !read.take_record(record, &counting)? {
            return Ok(None);
        }
        let bases = read.alignment.len();
        let max_cycles = counting.arguments.maximum_cycle_value as usize;
        if bases > max_cycles {
            return Err(too_many_cycles_error(bases, max_cycles));
        }
        let Some((contig, length)) = reference.contigs.locate_contig(record.ref_id())? else {
            return Ok(None);
        };
        read.mark_mismatches(contig, length, &mut self.window)?;
        read.mark_skipped_bases(record.ref_id() as u32, counting.preserve_less_than, &mut self.cursor)?;
        Ok(Some(group))
    }

    fn group_number(&mut self, id: &[u8]) -> Result<usize> {
        if self.group.0 != id || self.group.1 == usize::MAX {
            let number = self.reference.groups.number_of_id(id).ok_or_else(|| {
                let id = String::from_utf8_lossy(id);
                Error::input(format!("the read group {id} is not in the header"))
                    .hint("add an @RG line for it, or put all reads into one read group: readmill prep --read-group 'ID:… SM:… PL:ILLUMINA'")
            })?;
            self.group = (id.to_vec(), number);
        }
        Ok(self.group.1)
    }
}

pub fn too_many_cycles_error(bases: usize, max_cycles: usize) -> Error {
    Error::input(format!("the read has {bases} cycles, but the maximum is {max_cycles}"))
        .hint("raise --maximum-cycle-value when you make the table")
}

impl CountedRead {
    /// Loads the counted part of a record. Returns `false` if no base is counted.
    fn take_record(&mut self, record: RecordRef<'_>, counting: &CountOptions) -> Result<bool> {
        if !self.alignment.take_record(record) {
            return Ok(false);
        }
        covariates::write_base_qualities(
            record,
            counting.use_original,
            counting.default_quality,
            &mut self.qualities,
        )?;
        covariates::write_base_codes(record, &mut self.codes);
        Ok(true)
    }

    fn counted_range(&self) -> std::ops::Range<usize> {
        self.alignment.first_base..self.alignment.end_base
    }

    /// Marks mismatches. Bases that are aligned beyond the end of the contig are skipped.
    fn mark_mismatches(&mut self, contig: u32, length: u32, window: &mut ReferenceWindow) -> Result<()> {
        let CountedRead { alignment, codes, findings, .. } = self;
        let codes = &codes[alignment.first_base..alignment.end_base];
        findings.clear();
        findings.resize(codes.len(), 0);
        let inside = |position: i64| position.clamp(0, length.into()) as u32;
        let (mut at, mut place) = (0, alignment.pos);
        for &(op, len) in &alignment.ops {
            let (bases, behind) = (len as usize, place + i64::from(len));
            match op {
                INSERTION => at += bases,
                DELETION => place = behind,
                _ if consumes_query(op) => {
                    let there = window.codes(contig, inside(place), inside(behind))?;
                    let (known, beyond) = findings[at..at + bases].split_at_mut(there.len());
                    let known = known.iter_mut().zip(codes[at..].iter().zip(there));
                    known.for_each(|(finding, (a, b))| *finding = Finding::from(a != b));
                    beyond.fill(SKIPPED);
                    (at, place) = (at + bases, behind);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Marks the bases that are not counted: bases with low quality, bases other than A, C, G and
    /// T, and bases at known sites.
    fn mark_skipped_bases(&mut self, contig: u32, preserve: u8, cursor: &mut SiteCursor) -> Result<()> {
        let kept = self.counted_range();
        let (codes, qualities) = (&self.codes[kept.clone()], &self.qualities[kept]);
        let bases = self.findings.iter_mut().zip(codes.iter().zip(qualities));
        bases.for_each(|(finding, (&code, &quality))| {
            let skipped = code == NO_BASE || quality < preserve;
            *finding = if skipped { SKIPPED } else { *finding };
        });
        let CountedRead { alignment, findings, .. } = self;
        let end = alignment.end().min(u32::MAX.into()) as u32;
        let pos = alignment.pos as u32;
        cursor.for_each_overlap(contig, pos, end, |start, end| {
            skip_site(alignment, findings, start, end - 1)
        })
    }

    fn count_mismatches(
        &mut self,
        cells: &mut Cells,
        reverse: bool,
        cycles: Cycles,
        arguments: &Arguments,
    ) {
        let kept = self.counted_range();
        let (codes, qualities) = (&self.codes[kept.clone()], &self.qualities[kept]);
        let (size, low) = (arguments.mismatches_context_size, arguments.low_quality_tail);
        covariates::write_contexts(codes, qualities, reverse, size, low, &mut self.contexts);
        cells.reserve_cycles(2 * codes.len() + 2);
        cells.count_bases(qualities, &self.contexts, &self.findings, cycles.each_cycle());
    }

    /// Counts each insertion and deletion at the base that is sequenced directly before it.
    fn count_gaps(
        &mut self,
        cells: &mut [Cells],
        record: RecordRef<'_>,
        cycles: Cycles,
        arguments: &Arguments,
    ) -> Result<()> {
        let reverse = record.flags().is_reverse();
        self.mark_gaps(reverse);
        let kept = self.counted_range();
        let (codes, own) = (&self.codes[kept.clone()], &self.qualities[kept.clone()]);
        let (size, low) = (arguments.indels_context_size, arguments.low_quality_tail);
        covariates::write_contexts(codes, own, reverse, size, low, &mut self.contexts);
        for (event, cells) in cells.iter_mut().enumerate() {
            let qualities = covariates::read_gap_qualities(record, [tag::BI, tag::BD][event])?;
            let bases = codes.len();
            let cycles = (0..bases).map(|i| {
                let near_end = i < GAP_CUSHION_BASES || i + GAP_CUSHION_BASES + 1 > bases;
                if near_end { 0 } else { cycles.at(i) }
            });
            cells.reserve_cycles(2 * bases + 2);
            cells.count_bases(&qualities[kept.clone()], &self.contexts, &self.gaps[event], cycles);
        }
        Ok(())
    }

    /// Marks the base that is sequenced directly before each insertion and deletion, unless it is
    /// skipped.
    fn mark_gaps(&mut self, reverse: bool) {
        for gaps in &mut self.gaps {
            gaps.clear();
            gaps.extend(self.findings.iter().map(|&it| if it == SKIPPED { SKIPPED } else { 0 }));
        }
        let (mut at, [insertions, deletions]) = (0, &mut self.gaps);
        let note = |gaps: &mut Vec<Finding>, index: Option<usize>| {
            if let Some(gap) = index.and_then(|index| gaps.get_mut(index)) {
                *gap = if *gap == SKIPPED { SKIPPED } else { 1 };
            }
        };
        for &(op, len) in &self.alignment.ops {
            let before = usize::checked_sub(at, 1);
            match op {
                INSERTION => {
                    at += len as usize;
                    note(insertions, if reverse { Some(at) } else { before });
                }
                DELETION => note(deletions, if reverse { Some(at) } else { before }),
                _ if consumes_query(op) => at += len as usize,
                _ => {}
            }
        }
    }

    /// Adds the aligned parts of the read and its mismatches to `seen`.
    fn add_mismatches(&self, contig: u32, seen: &mut SiteEvents) {
        let (mut at, mut position) = (0, self.alignment.pos);
        for &(op, len) in &self.alignment.ops {
            match op {
                INSERTION => at += len as usize,
                DELETION => position += i64::from(len),
                _ if consumes_query(op) => {
                    seen.add_span(contig, position, position + i64::from(len));
                    let bases = at..at + len as usize;
                    let differing = bases.filter(|&i| self.findings[i] == 1);
                    differing.for_each(|i| seen.add_mismatch(contig, position + (i - at) as i64));
                    (at, position) = (at + len as usize, position + i64::from(len));
                }
                _ => {}
            }
        }
    }
}

/// Within this many bases of either end of a read, insertions and deletions are counted without a
/// cycle.
const GAP_CUSHION_BASES: usize = 4;

/// Skips the bases from reference position `first` to `last`, 0-based and inclusive.
///
/// If `first` is in a deletion, the base before the deletion is also skipped; if `last` is, the
/// base after it.
fn skip_site(alignment: &CountedAlignment, findings: &mut [Finding], first: u32, last: u32) {
    let from = match alignment.find_index(first.into()) {
        None => 0,
        Some((index, DELETION)) => index.saturating_sub(1),
        Some((index, _)) => index,
    };
    let to = alignment.find_index(last.into()).map_or(findings.len(), |(index, _)| index + 1);
    let to = to.min(findings.len());
    if from < to {
        findings[from..to].fill(SKIPPED);
    }
}
