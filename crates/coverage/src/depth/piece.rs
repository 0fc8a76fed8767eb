//! The contribution of a batch of sorted reads to the depths and to the table of `samtools coverage`.
//! Any thread can compute it.

use std::sync::Arc;

use readmill_record::{Batch, Error, RecordRef, Result, Span};

use crate::changes::DepthChanges;
use crate::depth::gate::SKIP_READ;
use crate::depth::rules::DepthRules;
use crate::mates::{AlignedBlock, DepthChange};

/// The contribution of one batch, made by [`DepthPieceMaker`] and added by
/// [`DepthMerge::add_piece`](crate::depth::DepthMerge::add_piece).
#[derive(Debug, Default)]
pub struct DepthPiece {
    pub(crate) parts: Vec<ContigPart>,
    pub(crate) tallies: Vec<(u32, ContigTally)>,
}

#[derive(Debug)]
pub(crate) struct ContigPart {
    pub(crate) contig: u32,
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// Depth changes, in order. Instead of a position, each has its distance from the previous
    /// change (the first: from the first read).
    pub(crate) events: Vec<DepthChange>,
    /// Positions from the first to the last base of any read, as sorted intervals that do not overlap.
    /// `samtools depth` lists these positions even if their depth is 0, for example in deletions.
    pub(crate) spans: Vec<AlignedBlock>,
    /// Start and end of each read. Empty unless [`DepthRules::is_pileup`] is set.
    pub(crate) reads: Vec<AlignedBlock>,
    /// Sums of base qualities by position. Empty unless [`DepthRules::sums_by_position`] is set.
    pub(crate) qualities: Vec<PositionQuality>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionQuality {
    pub(crate) position: u32,
    pub(crate) bases: u32,
    pub(crate) sum: u64,
}

/// Sums over the reads of a contig, for its line in `samtools coverage`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContigTally {
    pub(crate) reads: u64,
    pub(crate) counted: u64,
    pub(crate) mapq: u64,
    pub(crate) qualities: u64,
    pub(crate) bases: u64,
    /// At least one counted read is aligned to this contig. Contigs without such reads are listed
    /// last.
    pub(crate) is_reached: bool,
    pub(crate) lacks_qualities: bool,
}

impl ContigTally {
    pub(crate) fn add(&mut self, more: &ContigTally) {
        self.reads += more.reads;
        self.counted += more.counted;
        self.mapq += more.mapq;
        self.qualities += more.qualities;
        self.bases += more.bases;
        self.is_reached |= more.is_reached;
        self.lacks_qualities |= more.lacks_qualities;
    }
}

impl DepthPiece {
    pub fn heap_bytes(&self) -> u64 {
        self.parts.iter().map(ContigPart::heap_bytes).sum::<u64>()
            + (self.tallies.capacity() * size_of::<(u32, ContigTally)>()) as u64
    }

    /// Returns contig and 0-based start of the last counted read, or `None` without counted reads.
    /// The program reads next from the file for which this comes first.
    pub fn last_place(&self) -> Option<(u32, u32)> {
        self.parts.last().map(|part| (part.contig, part.last))
    }
}

impl ContigPart {
    pub(crate) fn heap_bytes(&self) -> u64 {
        (self.events.capacity() * size_of::<DepthChange>()
            + (self.spans.capacity() + self.reads.capacity()) * size_of::<AlignedBlock>()
            + self.qualities.capacity() * size_of::<PositionQuality>()
            + size_of::<ContigPart>()) as u64
    }
}

/// Creates pieces. Each thread has its own maker, which reuses its buffers.
pub struct DepthPieceMaker {
    rules: Arc<DepthRules>,
    lengths: Arc<[u32]>,
    changes: DepthChanges,
    qualities: Vec<PositionQuality>,
}

impl DepthPieceMaker {
    pub fn new(rules: &Arc<DepthRules>, lengths: &Arc<[u32]>) -> Self {
        let (rules, lengths) = (Arc::clone(rules), Arc::clone(lengths));
        DepthPieceMaker { rules, lengths, changes: DepthChanges::default(), qualities: Vec::new() }
    }

    /// Creates the piece of a batch. `clips` is the result of
    /// [`Gate::pass_batch`](crate::depth::Gate::pass_batch) for the batch, or empty without a gate.
    ///
    /// # Errors
    /// The reads are not sorted by coordinate, or a CIGAR has the operator B.
    pub fn make_piece(&mut self, batch: &Batch, clips: &[u32]) -> Result<DepthPiece> {
        let mut piece = DepthPiece::default();
        let bytes = batch.record_bytes();
        let mut open: Option<ContigPart> = None;
        for (n, &span) in batch.spans.iter().enumerate() {
            let record = batch.record(span);
            let Ok(contig) = u32::try_from(record.ref_id()) else { continue };
            let keeps = self.rules.keeps_read(record);
            if self.rules.sums_by_contig {
                let tally = piece.tally_mut(contig);
                tally.reads += 1;
                if !keeps {
                    continue;
                }
                tally.counted += 1;
                tally.mapq += u64::from(record.mapq());
                if record.flags().is_unmapped() {
                    continue;
                }
            } else if !keeps {
                continue;
            }
            let Ok(start) = u32::try_from(record.pos()) else { continue };
            let part = match &mut open {
                Some(part) if part.contig == contig => part,
                other => {
                    if let Some(before) = other.take() {
                        if contig < before.contig {
                            return Err(unsorted_read_error(batch, span));
                        }
                        piece.parts.push(self.close_part(before));
                    }
                    self.changes.start_batch(start, u32::MAX, bytes);
                    other.insert(ContigPart::start_at(contig, start))
                }
            };
            if start < part.last {
                return Err(unsorted_read_error(batch, span));
            }
            part.last = start;
            let clip = clips.get(n).copied().unwrap_or(0);
            let counted = if self.rules.sums_by_contig {
                if clip == SKIP_READ {
                    Ok(())
                } else {
                    self.count_coverage(record, part, piece.tally_mut(contig))
                }
            } else {
                self.count_depth(record, clip, part)
            };
            counted.map_err(|error| error.record(span.stamp.ordinal()).qname(record.qname()))?;
        }
        piece.parts.extend(open.map(|part| self.close_part(part)));
        Ok(piece)
    }

    fn close_part(&mut self, mut part: ContigPart) -> ContigPart {
        part.events = self.changes.take_sorted();
        self.qualities.sort_unstable_by_key(|quality| quality.position);
        part.qualities = sum_by_position(self.qualities.drain(..));
        part
    }

    #[inline]
    fn count_depth(&mut self, record: RecordRef<'_>, clip: u32, part: &mut ContigPart) -> Result<()> {
        let DepthRules { min_base_quality, count_deletions: deletions, is_pileup: of_pileup, .. } =
            *self.rules;
        let start = part.last;
        let is_unmapped = record.flags().is_unmapped();
        // An unmapped read with a position is one base long.
        let limit = if is_unmapped { start + 1 } else { u32::MAX };
        let (mut at, mut in_read, qualities) = (start, 0, record.qual());
        for (op, n) in record.cigar().ops() {
            match op {
                op if ALIGNED_OPERATORS >> op & 1 != 0 => {
                    let end = at.saturating_add(n);
                    let (from, to) = (at.max(clip), end.min(limit));
                    if from < to {
                        let first = in_read + (from - at) as usize;
                        self.add_bases(
                            from,
                            to,
                            min_base_quality,
                            qualities.get(first..).unwrap_or_default(),
                        );
                    }
                    at = end;
                    in_read += n as usize;
                }
                DELETION | SKIP => {
                    let end = at.saturating_add(n);
                    let (from, to) = (at.max(clip), end.min(limit));
                    let counts = || {
                        let quality = qualities.get(in_read).copied();
                        quality.is_none_or(|quality| u32::from(quality) >= min_base_quality)
                    };
                    if (op == DELETION || of_pileup) && deletions && from < to && counts() {
                        self.changes.add((from, 1));
                        self.changes.add((to, -1));
                    }
                    at = end;
                }
                INSERTION | SOFT_CLIP => in_read += n as usize,
                HARD_CLIP | PADDING => {}
                _ => {
                    return Err(Error::input(
                        "the CIGAR has the operator B (back), for which depth cannot be computed",
                    )
                    .hint("remove such reads"));
                }
            }
        }
        if of_pileup {
            part.reads.push((start, at));
            if at > start {
                part.add_span(start, at);
            }
            return Ok(());
        }
        let end = if is_unmapped { start + 1 } else { at.max(start + 1) };
        part.add_span(start, end);
        Ok(())
    }

    #[inline]
    fn count_coverage(
        &mut self,
        record: RecordRef<'_>,
        part: &mut ContigPart,
        tally: &mut ContigTally,
    ) -> Result<()> {
        let DepthRules { min_base_quality, window, sums_by_position: by_position, .. } = *self.rules;
        let length = self.lengths.get(part.contig as usize).copied().unwrap_or(0);
        let (min_start, max_end) = match window {
            Some(window) if window.contig == part.contig => (window.start, window.end),
            Some(_) => (0, 0),
            None => (0, length),
        };
        let start = part.last;
        let (mut at, mut in_read, qualities) = (start, 0, record.qual());
        for (op, n) in record.cigar().ops() {
            match op {
                op if ALIGNED_OPERATORS >> op & 1 != 0 => {
                    let end = at.saturating_add(n);
                    let (from, to) = (at.max(min_start), end.min(max_end));
                    if from < to {
                        let first = in_read + (from - at) as usize;
                        let all = qualities.get(first..).unwrap_or_default();
                        let own = &all[..all.len().min((to - from) as usize)];
                        tally.lacks_qualities |= own.len() < (to - from) as usize;
                        let counts = |quality: &&u8| u32::from(**quality) >= min_base_quality;
                        if min_base_quality == 0 {
                            tally.bases += own.len() as u64;
                            tally.qualities += sum_qualities(own);
                        } else {
                            tally.bases += own.iter().filter(counts).count() as u64;
                            tally.qualities +=
                                own.iter().filter(counts).map(|&q| u64::from(q)).sum::<u64>();
                        }
                        if by_position {
                            let each = (from..to).zip(own).filter(|(_, quality)| counts(quality));
                            self.qualities.extend(each.map(|(position, &quality)| PositionQuality {
                                position,
                                bases: 1,
                                sum: quality.into(),
                            }));
                        }
                        self.add_bases(from, to, min_base_quality, own);
                    }
                    at = end;
                    in_read += n as usize;
                }
                DELETION | SKIP => at = at.saturating_add(n),
                INSERTION | SOFT_CLIP => in_read += n as usize,
                _ => {}
            }
        }
        if at > start {
            tally.is_reached = true;
            part.add_span(start, at);
        }
        Ok(())
    }

    /// Counts the bases in `from..to` whose quality is at least `min_quality`. Bases without a quality
    /// (after the end of `qualities`) count.
    #[inline]
    fn add_bases(&mut self, from: u32, to: u32, min_quality: u32, qualities: &[u8]) {
        if min_quality == 0 {
            self.changes.add((from, 1));
            self.changes.add((to, -1));
            return;
        }
        let own = &qualities[..qualities.len().min((to - from) as usize)];
        let counts = |quality: u8| u32::from(quality) >= min_quality;
        let mut counted = false;
        for (position, &quality) in (from..to).zip(own) {
            if counts(quality) != counted {
                counted = !counted;
                self.changes.add((position, if counted { 1 } else { -1 }));
            }
        }
        let end = from + own.len() as u32;
        match (counted, end < to) {
            (true, true) | (false, false) => {}
            (true, false) => self.changes.add((to, -1)),
            (false, true) => self.changes.add((end, 1)),
        }
        if end < to {
            self.changes.add((to, -1));
        }
    }
}

const ALIGNED_OPERATORS: u32 = 0b1_1000_0001;
const INSERTION: u32 = 1;
const DELETION: u32 = 2;
const SKIP: u32 = 3;
const SOFT_CLIP: u32 = 4;
const HARD_CLIP: u32 = 5;
const PADDING: u32 = 6;

fn sum_qualities(qualities: &[u8]) -> u64 {
    // The sum of 128 qualities fits into 16 bits, and the compiler adds many 16-bit numbers at once.
    let sums = qualities.chunks(128).map(|some| some.iter().fold(0u16, |sum, &q| sum + u16::from(q)));
    sums.map(u64::from).sum()
}

pub(crate) fn sum_by_position(qualities: impl Iterator<Item = PositionQuality>) -> Vec<PositionQuality> {
    let mut all: Vec<PositionQuality> = Vec::new();
    for quality in qualities {
        match all.last_mut() {
            Some(last) if last.position == quality.position => {
                last.bases += quality.bases;
                last.sum += quality.sum;
            }
            _ => all.push(quality),
        }
    }
    all
}

impl DepthPiece {
    fn tally_mut(&mut self, contig: u32) -> &mut ContigTally {
        let last = self.tallies.len();
        match self.tallies.last() {
            Some((before, _)) if *before == contig => &mut self.tallies[last - 1].1,
            _ => {
                self.tallies.push((contig, ContigTally::default()));
                &mut self.tallies[last].1
            }
        }
    }
}

impl ContigPart {
    fn start_at(contig: u32, start: u32) -> Self {
        let (events, spans, reads, qualities) = Default::default();
        ContigPart { contig, first: start, last: start, events, spans, reads, qualities }
    }

    /// Adds an interval that does not start before the previous one. Overlapping intervals are joined.
    fn add_span(&mut self, start: u32, end: u32) {
        match self.spans.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => self.spans.push((start, end)),
        }
    }
}

fn unsorted_read_error(batch: &Batch, span: Span) -> Error {
    unsorted_error().record(span.stamp.ordinal()).qname(batch.record(span).qname())
}

pub(crate) fn unsorted_error() -> Error {
    Error::input("the read is before the previous one, but depths need reads sorted by coordinate")
        .hint("sort the file first: readmill sort IN -o OUT.bam")
}
