//! Trims batches of reads, and removes templates that fail the filters.

use std::ops::Range;

use readmill_record::{Error, Read, ReadBatch, Result};

use crate::adapter::{self, AdapterStart};
use crate::correction::for_each_correction;
use crate::counts::TrimReadCounts;
use crate::filter::{FilterVerdict, judge_read};
use crate::options::TrimOptions;
use crate::overlap::{Overlap, OverlapSearch};
use crate::poly;
use crate::shifts::Shifts;
use crate::tally::TrimTally;
use crate::windows;

/// Trims the reads of one lane.
///
/// Each worker thread creates one per batch. It owns only scratch buffers, so the result depends
/// only on the reads and the options.
///
/// ```
/// use readmill_record::{Read, ReadBatch};
/// use readmill_trim::{TrimOptions, TrimTally, Trimmer};
///
/// let adapters = Some([Some(b"AGATCGGAAGAGC".to_vec()), None]);
/// let options = TrimOptions { adapters, ..TrimOptions::default() };
///
/// let mut batch = ReadBatch::new(1, 0);
/// let bases = b"GATTACACCTGAAGCTTGGCATAGATCGGAAG";
/// batch.push_read(Read { name: b"r1", comment: b"", bases, qualities: Some(&[b'I'; 32]) });
///
/// let mut tally = TrimTally::default();
/// Trimmer::new(&options, false).trim_batch(&mut batch, &mut tally, |error, _, _| error)?;
/// assert_eq!(batch.read(0).bases, b"GATTACACCTGAAGCTTGGCAT");
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct Trimmer<'a> {
    options: &'a TrimOptions,
    cuts_poly_g: bool,
    overlaps: OverlapSearch,
    shifts: Shifts,
}

/// The part of a read that is kept so far. `front` is the number of bases that the first step
/// removed from the 5' end.
struct KeptPart {
    range: Range<usize>,
    front: usize,
    is_corrected: bool,
}

impl KeptPart {
    fn len(&self) -> usize {
        self.range.len()
    }

    fn shorten_to(&mut self, length: usize) {
        self.range.end = self.range.end.min(self.range.start + length);
    }

    fn kept_slices<'a>(&self, read: Read<'a>) -> (&'a [u8], &'a [u8]) {
        let qualities = read.qualities.unwrap_or_default();
        (&read.bases[self.range.clone()], &qualities[self.range.clone()])
    }
}

impl<'a> Trimmer<'a> {
    /// Creates a trimmer. `cuts_poly_g` tells whether to cut poly-G tails in this lane: the caller
    /// resolves [`TrimOptions::poly_g`], because only the caller knows the lane's first read.
    pub fn new(options: &'a TrimOptions, cuts_poly_g: bool) -> Self {
        Trimmer { options, cuts_poly_g, overlaps: OverlapSearch::default(), shifts: Shifts::default() }
    }

    /// Trims all reads of a batch, and removes the templates that fail a filter.
    ///
    /// Reads that pass are shortened in place. `tally` counts all reads, including the removed
    /// ones.
    ///
    /// # Errors
    /// Fails for the first read without qualities. `blame` receives the error, the batch and the
    /// index of the read, and adds the read name and the file.
    pub fn trim_batch(
        &mut self,
        reads: &mut ReadBatch,
        tally: &mut TrimTally,
        blame: impl Fn(Error, &ReadBatch, usize) -> Error,
    ) -> Result<()> {
        if let Some(at) = (0..reads.len()).find(|&at| reads.read(at).qualities.is_none()) {
            let error =
                Error::input("the read has no qualities, but trimming needs them").hint("omit --trim");
            return Err(blame(error, reads, at));
        }
        let segments = reads.segments().max(1);
        let stay: Vec<bool> = (0..reads.len() / segments)
            .map(|template| {
                let at = template * segments;
                match segments {
                    1 => self.trim_single(reads, at, tally),
                    _ => self.trim_pair(reads, at, tally),
                }
            })
            .map(|verdict| verdict == FilterVerdict::Passed)
            .collect();
        reads.retain_templates(|template| stay[template]);
        Ok(())
    }

    fn trim_single(&mut self, reads: &mut ReadBatch, at: usize, tally: &mut TrimTally) -> FilterVerdict {
        let segment = reads.segment_of(at);
        let before = self.count_before(reads, at, segment, tally);
        let left = self.cut_ends_and_windows(reads, at, segment).map(|mut left| {
            self.cut_poly_g(reads, at, &mut left);
            self.cut_by_sequence(reads, at, segment, &mut left, tally);
            self.cut_end(reads, at, segment, &mut left, tally);
            left
        });
        let verdict = self.judge_kept_part(reads, at, left.as_ref());
        tally.count_verdict(verdict, 1);
        if let Some(left) = left.filter(|_| verdict == FilterVerdict::Passed) {
            keep_part(reads, at, segment, left, before, tally);
        }
        verdict
    }

    fn trim_pair(&mut self, reads: &mut ReadBatch, at: usize, tally: &mut TrimTally) -> FilterVerdict {
        let before = [0, 1].map(|segment| self.count_before(reads, at + segment, segment, tally));
        let mut left = [0, 1].map(|segment| self.cut_ends_and_windows(reads, at + segment, segment));
        if let [Some(first), Some(last)] = &mut left {
            self.cut_poly_g(reads, at, first);
            self.cut_poly_g(reads, at + 1, last);
            self.cut_by_overlap(reads, at, [first, last], tally);
            self.cut_end(reads, at, 0, first, tally);
            self.cut_end(reads, at + 1, 1, last, tally);
        }
        let [one, other] =
            [0, 1].map(|segment| self.judge_kept_part(reads, at + segment, left[segment].as_ref()));
        let verdict = one.max(other);
        tally.count_verdict(verdict, 2);
        if verdict == FilterVerdict::Passed {
            for (segment, (left, before)) in left.into_iter().zip(before).enumerate() {
                left.into_iter()
                    .for_each(|left| keep_part(reads, at + segment, segment, left, before, tally));
            }
        }
        verdict
    }

    fn count_before(
        &self,
        reads: &ReadBatch,
        at: usize,
        segment: usize,
        tally: &mut TrimTally,
    ) -> TrimReadCounts {
        let read = reads.read(at);
        let counts = TrimReadCounts::of_read(read.bases, read.qualities.unwrap_or_default());
        tally.before[segment] += counts;
        counts
    }

    fn cut_ends_and_windows(&self, reads: &ReadBatch, at: usize, segment: usize) -> Option<KeptPart> {
        let read = reads.read(at);
        let (ends, windows) = (self.options.ends[segment], &self.options.windows);
        let range =
            windows::find_kept_range(read.bases, read.qualities.unwrap_or_default(), ends, windows)?;
        Some(KeptPart { front: range.start, range, is_corrected: false })
    }

    fn cut_poly_g(&self, reads: &ReadBatch, at: usize, left: &mut KeptPart) {
        if self.cuts_poly_g {
            let length = poly::length_without_poly_g(
                left.kept_slices(reads.read(at)).0,
                self.options.min_poly_g_bases,
            );
            left.shorten_to(length);
        }
    }

    fn cut_by_overlap(
        &mut self,
        reads: &mut ReadBatch,
        at: usize,
        [first, last]: [&mut KeptPart; 2],
        tally: &mut TrimTally,
    ) {
        let both = [first.kept_slices(reads.read(at)), last.kept_slices(reads.read(at + 1))];
        let overlap = self.overlaps.find_overlap(both[0].0, both[1].0, &self.options.overlap);
        tally.count_insert_size(overlap, first.len() + last.len(), first.front + last.front);
        if let Some(overlap) = overlap.filter(|it| self.options.correction && it.mismatches > 0) {
            apply_corrections(reads, at, [&mut *first, &mut *last], overlap, tally);
        }
        if self.options.adapters.is_none() {
            return;
        }
        if let Some(overlap) = overlap.filter(|overlap| overlap.offset < 0) {
            let lengths = [overlap.length + last.front, overlap.length + first.front];
            for (left, length) in [first, last].into_iter().zip(lengths) {
                tally.adapters[0] += 1;
                tally.adapters[1] += left.len().saturating_sub(length) as u64;
                left.shorten_to(length);
            }
        } else {
            self.cut_by_sequence(reads, at, 0, first, tally);
            self.cut_by_sequence(reads, at + 1, 1, last, tally);
        }
    }

    fn cut_by_sequence(
        &mut self,
        reads: &ReadBatch,
        at: usize,
        segment: usize,
        left: &mut KeptPart,
        tally: &mut TrimTally,
    ) {
        let adapters = self.options.adapters.as_ref();
        let Some(adapter) = adapters.and_then(|both| both[segment].as_ref()) else { return };
        match adapter::find_adapter(left.kept_slices(reads.read(at)).0, adapter, &mut self.shifts) {
            Some(AdapterStart::Inside(start)) => {
                tally.count_adapter(left.len() - start);
                left.shorten_to(start);
            }
            Some(AdapterStart::Before(lacking)) => {
                // fastp counts all bases of the adapter except those that the read lacks.
                tally.count_adapter(adapter.len() - lacking);
                left.shorten_to(0);
            }
            None => {}
        }
    }

    /// Cuts a poly-X tail, then cuts the read to its maximum length.
    fn cut_end(
        &self,
        reads: &ReadBatch,
        at: usize,
        segment: usize,
        left: &mut KeptPart,
        tally: &mut TrimTally,
    ) {
        if let Some(min_bases) = self.options.min_poly_x_bases
            && let Some(tail) = poly::find_poly_x_tail(left.kept_slices(reads.read(at)).0, min_bases)
        {
            tally.count_tail(tail);
            left.shorten_to(left.len() - tail.length);
        }
        let longest = self.options.ends[segment].max_length;
        if longest > 0 {
            left.shorten_to(longest);
        }
    }

    fn judge_kept_part(&self, reads: &ReadBatch, at: usize, left: Option<&KeptPart>) -> FilterVerdict {
        let Some(left) = left else { return FilterVerdict::TooShort };
        let (bases, qualities) = left.kept_slices(reads.read(at));
        judge_read(bases, qualities, self.options)
    }
}

/// Applies the corrections of one pair to the batch, and counts them.
fn apply_corrections(
    reads: &mut ReadBatch,
    at: usize,
    mut left: [&mut KeptPart; 2],
    overlap: Overlap,
    tally: &mut TrimTally,
) {
    let both = [0, 1].map(|segment| left[segment].kept_slices(reads.read(at + segment)));
    let mut all = Vec::new();
    for_each_correction(both, overlap, |one| all.push(one));
    for one in &all {
        let segment = usize::from(one.is_last);
        let left = &mut left[segment];
        left.is_corrected = true;
        reads.set_base(at + segment, left.range.start + one.at, one.base, one.quality);
    }
    tally.corrected[0] += left.iter().filter(|left| left.is_corrected).count() as u64;
    tally.corrected[1] += all.len() as u64;
}

/// Trims a read of the batch to the part that is kept, and adds it to the counts after trimming.
/// `before` holds its counts before trimming, which are reused if nothing was cut or corrected.
fn keep_part(
    reads: &mut ReadBatch,
    at: usize,
    segment: usize,
    left: KeptPart,
    before: TrimReadCounts,
    tally: &mut TrimTally,
) {
    let is_whole = left.len() as u64 == before.bases && !left.is_corrected;
    tally.after[segment] += if is_whole {
        before
    } else {
        let (bases, qualities) = left.kept_slices(reads.read(at));
        TrimReadCounts::of_read(bases, qualities)
    };
    reads.trim_read(at, left.range);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "GATTACACCTGAAGCTTGGCATCCTAGGTTACGCAAGTC";
    const REVERSE: &str = "GACTTGCGTAACCTAGGATGCCAAGCTTCAGGTGTAATC";

    fn trimmed(reads: &[&str], segments: usize, options: &TrimOptions) -> (Vec<String>, TrimTally) {
        let mut batch = ReadBatch::new(segments, 0);
        for (at, bases) in reads.iter().enumerate() {
            let name = format!("r{}", at / segments);
            let qualities = vec![b'I'; bases.len()];
            let (name, bases, comment) = (name.as_bytes(), bases.as_bytes(), &b""[..]);
            batch.push_read(Read { name, comment, bases, qualities: Some(&qualities) });
        }
        let mut tally = TrimTally::default();
        Trimmer::new(options, false).trim_batch(&mut batch, &mut tally, |error, _, _| error).unwrap();
        let text = |bases: &[u8]| String::from_utf8_lossy(bases).into_owned();
        (batch.iter().map(|read| text(read.bases)).collect(), tally)
    }

    #[test]
    fn single_reads_among_pairs_are_cut_like_their_mates() {
        let mut options = TrimOptions::default();
        options.ends[1].front = 5;
        let mut batch = ReadBatch::new(2, 0);
        batch.allow_singles(0);
        for is_last in [false, true] {
            let (bases, qualities) = (TEMPLATE.as_bytes(), vec![b'I'; TEMPLATE.len()]);
            let read = Read { name: b"r", comment: b"", bases, qualities: Some(&qualities) };
            batch.push_single(read, is_last);
        }
        let (mut singles, mut tally) = (batch.take_singles().unwrap(), TrimTally::default());
        Trimmer::new(&options, false).trim_batch(&mut singles.reads, &mut tally, |e, _, _| e).unwrap();
        let lengths: Vec<usize> = singles.reads.iter().map(|read| read.bases.len()).collect();
        assert_eq!(lengths, [TEMPLATE.len(), TEMPLATE.len() - 5]);
        assert_eq!([0, 1].map(|segment| tally.after[segment].bases), [39, 34]);
    }

    #[test]
    fn pairs_lose_what_is_behind_their_template() {
        let (first, last) = (format!("{TEMPLATE}AGATCGG"), format!("{REVERSE}AGATCG"));
        let (left, tally) = trimmed(&[&first, &last], 2, &TrimOptions::default());
        assert_eq!(left, [TEMPLATE, REVERSE]);
        assert_eq!(tally.adapters, [2, 13]);
        assert_eq!(tally.inserts[39], 1);
        assert_eq!((tally.before[0].bases, tally.after[1].bases, tally.dropped_reads()), (46, 39, 0));
    }

    #[test]
    fn a_pair_goes_if_either_read_fails() {
        let (left, tally) =
            trimmed(&[TEMPLATE, "ACGTACGT", TEMPLATE, REVERSE], 2, &TrimOptions::default());
        assert_eq!(left, [TEMPLATE, REVERSE]);
        assert_eq!(tally.reads_with_verdict(FilterVerdict::TooShort), 2);
        assert_eq!((tally.before[0].reads, tally.after[0].reads, tally.dropped_reads()), (2, 1, 2));
    }

    #[test]
    fn single_reads_lose_the_adapter_that_is_named() {
        let adapters = Some([Some(b"AGATCGGAAGAGC".to_vec()), None]);
        let options = TrimOptions { adapters, ..TrimOptions::default() };
        let read = format!("{TEMPLATE}AGATCGGAAG");
        let (left, tally) = trimmed(&[&read, "GATCGGAAGAGC", TEMPLATE], 1, &options);
        assert_eq!(left, [TEMPLATE, TEMPLATE], "and a dimer goes as a whole");
        assert_eq!((tally.adapters, tally.reads_with_verdict(FilterVerdict::TooShort)), ([2, 22], 1));
        assert!(!tally.has_pairs());
    }

    #[test]
    fn reads_without_qualities_are_refused() {
        let mut batch = ReadBatch::new(1, 0);
        batch.push_read(Read { name: b"r", comment: b"", bases: b"ACGT", qualities: None });
        let options = TrimOptions::default();
        let error = Trimmer::new(&options, false)
            .trim_batch(&mut batch, &mut TrimTally::default(), |error, reads, at| {
                error.qname(reads.read(at).name)
            })
            .unwrap_err();
        assert!(error.to_string().contains("no qualities"), "{error}");
    }
}
