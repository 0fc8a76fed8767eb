//! QualityScoreDistribution: a histogram of base qualities, of QUAL and of OQ.

use readmill_format::metrics::HistogramColumn;
use readmill_format::report::ReportContents;
use readmill_record::Result;
use serde::{Deserialize, Serialize};

use crate::counts::add_each;
use crate::options::QcOptions;
use crate::read::N;
use crate::room::CountingRoom;
use crate::{MetricSetup, PicardProgram, PreparedRead, ReadContext, ReadMetric, RunEnd};

/// Number of qualities that have rows. SAM has no larger qualities.
const QUALITY_ROWS: usize = 128;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Qualities {
    quals: ByQuality,
    original: ByQuality,
}

/// A histogram of qualities that is fast to fill.
///
/// Qualities of neighbouring bases are often equal, and adding to the same counter again and again
/// would wait for the previous addition. So the recent qualities are counted as pairs of
/// neighbours, in four independent lists of counters. This halves the number of additions. `flush_pairs`
/// adds the pairs to the final counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ByQuality {
    counts: Vec<u64>,
    #[serde(skip)]
    pairs: Vec<u16>,
    /// Upper bound on the number of pairs in each list since the last flush.
    #[serde(skip)]
    waiting: usize,
}

/// Bits of a quality in a pair. Larger qualities are counted one by one.
const BITS: u32 = 6;

/// Number of counters in a list, and number of lists.
const PAIRS: usize = 1 << (2 * BITS);
const LISTS: usize = 4;

/// Maximum number of pairs in a list before a flush, because its counters have 16 bits. All lists
/// together take 32 KiB.
const MAX_WAITING: usize = u16::MAX as usize;

/// Masks for the bits of the first and of the second quality in each of four pairs.
const LOWER: u64 = 0x003f_003f_003f_003f;
const UPPER: u64 = 0x3f00_3f00_3f00_3f00;

/// Mask for the bits that are set in a quality too large for a pair, for eight qualities at a time.
const LARGE: u64 = 0xc0c0_c0c0_c0c0_c0c0;

impl Default for ByQuality {
    fn default() -> Self {
        ByQuality { counts: vec![0; 256], pairs: Vec::new(), waiting: 0 }
    }
}

impl ByQuality {
    /// Counts the qualities of a read. `offset` is subtracted from each: 0 for QUAL, 33 for the
    /// text of OQ. If `bases` is not empty, qualities of N are not counted.
    #[inline]
    fn count_quals(
        &mut self,
        quals: &[u8],
        offset: u8,
        bases: &[u8],
        room: &CountingRoom,
    ) -> Result<()> {
        room.lengthen_list(&mut self.pairs, LISTS * PAIRS, LISTS * PAIRS)?;
        self.add_all(quals, offset);
        for (&qual, _) in quals.iter().zip(bases).filter(|(_, base)| **base == N) {
            let count = &mut self.counts[usize::from(qual.wrapping_sub(offset))];
            *count = count.wrapping_sub(1);
        }
        Ok(())
    }

    #[inline]
    fn add_all(&mut self, quals: &[u8], offset: u8) {
        let (eights, rest) = quals.as_chunks::<{ 2 * LISTS }>();
        for eights in eights.chunks(MAX_WAITING) {
            if self.waiting + eights.len() > MAX_WAITING {
                self.flush_pairs();
            }
            self.waiting += eights.len();
            self.add_eights(eights, offset);
        }
        rest.iter().for_each(|&qual| self.add_one(qual, offset));
    }

    /// Adds 1 to the count of a quality. Counts wrap, because the qualities of N are subtracted
    /// while they may still be in uncounted pairs, so a count can be temporarily below 0.
    #[inline]
    fn add_one(&mut self, qual: u8, offset: u8) {
        let count = &mut self.counts[usize::from(qual.wrapping_sub(offset))];
        *count = count.wrapping_add(1);
    }

    /// Counts the qualities as pairs. The caller has made sure that no counter can overflow.
    #[inline]
    fn add_eights(&mut self, eights: &[[u8; 2 * LISTS]], offset: u8) {
        for quals in eights {
            let lists = self.pairs.as_chunks_mut::<PAIRS>().0.first_chunk_mut::<LISTS>();
            let Some(lists) = lists else { return };
            let all = u64::from_le_bytes(*quals).wrapping_sub(u64::from_ne_bytes([offset; 8]));
            if all & LARGE > 0 {
                quals.iter().for_each(|&qual| self.add_one(qual, offset));
                continue;
            }
            // Each pair of bytes becomes an index of twelve bits.
            let all = (all & LOWER) | (all & UPPER) >> (8 - BITS);
            for (list, pairs) in lists.iter_mut().enumerate() {
                pairs[(all >> (16 * list)) as usize % PAIRS] += 1;
            }
        }
    }

    /// Returns each byte value that occurs in `bytes` with its count, and resets all counts.
    /// Programs of depths use it on whole lists of qualities.
    pub fn count_all(&mut self, bytes: &[u8]) -> impl Iterator<Item = (u8, u64)> {
        self.pairs.resize(LISTS * PAIRS, 0);
        self.add_all(bytes, 0);
        self.flush_pairs();
        let counts = self.counts.iter_mut().map(std::mem::take);
        (0..=u8::MAX).zip(counts).filter(|(_, count)| *count > 0)
    }

    /// Adds the pairs of the recent reads to the final counts.
    fn flush_pairs(&mut self) {
        if std::mem::take(&mut self.waiting) == 0 {
            return;
        }
        let mut firsts = [0_u32; 1 << BITS];
        for list in self.pairs.as_chunks_mut::<PAIRS>().0 {
            for (second, pairs) in list.as_chunks_mut::<{ 1 << BITS }>().0.iter_mut().enumerate() {
                let mut sum = 0;
                for (first, count) in firsts.iter_mut().zip(pairs) {
                    let count = u32::from(std::mem::take(count));
                    *first += count;
                    sum += count;
                }
                self.counts[second] = self.counts[second].wrapping_add(u64::from(sum));
            }
        }
        for (count, first) in self.counts.iter_mut().zip(firsts) {
            *count = count.wrapping_add(u64::from(first));
        }
    }

    fn to_column(&self, label: &str) -> HistogramColumn {
        let bins = self.counts[..QUALITY_ROWS].iter().enumerate().filter(|(_, count)| **count > 0);
        let bins = bins.map(|(qual, &count)| (qual as i64, count as f64)).collect();
        HistogramColumn { label: label.as_bytes().to_vec(), bins }
    }
}

pub(crate) struct QualityScoreDistribution(QcOptions);

impl ReadMetric for QualityScoreDistribution {
    const PROGRAM: PicardProgram =
        PicardProgram { name: "QualityScoreDistribution", endings: &[".quality_distribution_metrics"] };
    type Counts = Qualities;

    fn start_run(setup: &MetricSetup<'_>) -> Result<Self> {
        Ok(QualityScoreDistribution(setup.options().clone()))
    }

    fn count_read(
        &self,
        counts: &mut Qualities,
        read: &PreparedRead<'_>,
        context: &mut ReadContext<'_>,
    ) -> Result<()> {
        if self.0.leaves_out(read) {
            return Ok(());
        }
        let bases = if read.has_n && !self.0.include_no_calls { read.bases } else { &[] };
        counts.quals.count_quals(read.quals, 0, bases, context.room)?;
        if let Some(original) = read.fields.original_quals {
            // Picard reads OQ only up to the length of QUAL.
            let original = &original[..original.len().min(read.quals.len())];
            counts.original.count_quals(original, 33, bases, context.room)?;
        }
        Ok(())
    }

    fn flush_sums(&self, counts: &mut Qualities) {
        counts.quals.flush_pairs();
        counts.original.flush_pairs();
    }

    fn merge_counts(&self, into: &mut Qualities, from: Qualities) {
        add_each(&mut into.quals.counts, &from.quals.counts);
        add_each(&mut into.original.counts, &from.original.counts);
    }

    fn make_reports(&self, total: Qualities, end: &RunEnd<'_>) -> Result<Vec<ReportContents>> {
        let columns = vec![total.quals.to_column("COUNT_OF_Q"), total.original.to_column("COUNT_OF_OQ")];
        Ok(end.make_files(&Self::PROGRAM, |[file]| {
            file.set_histograms("java.lang.Byte", "QUALITY", columns)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(quals: &[u8], offset: u8, no_calls: bool) -> Vec<(i64, f64)> {
        let (mut counts, room) = (ByQuality::default(), crate::room::counting_room(1 << 20));
        let bases: Vec<u8> = (0..quals.len()).map(|i| if i % 5 == 0 { N } else { 1 }).collect();
        let bases = if no_calls { &[][..] } else { &bases };
        counts.count_quals(quals, offset, bases, &room).unwrap();
        counts.count_quals(&quals[..5], offset, bases, &room).unwrap();
        counts.flush_pairs();
        counts.to_column("").bins
    }

    #[test]
    fn qualities_of_n_are_not_counted_while_their_pairs_wait() {
        let quals = [2, 30, 30, 30, 37, 2, 37, 37, 63, 64, 93, 93, 93, 93, 93, 93];
        let all = [(2, 3.0), (30, 6.0), (37, 4.0), (63, 1.0), (64, 1.0), (93, 6.0)];
        let called = [(30, 6.0), (37, 4.0), (63, 1.0), (64, 1.0), (93, 4.0)];
        let original = quals.map(|qual| qual + 33);
        assert_eq!(counts(&quals, 0, true), all);
        assert_eq!(counts(&quals, 0, false), called);
        assert_eq!(counts(&original, 33, false), called);
    }

    #[test]
    fn more_equal_pairs_than_a_list_can_count_are_flushed() {
        let (mut counts, room) = (ByQuality::default(), crate::room::counting_room(1 << 20));
        for length in [8, 8 * MAX_WAITING, 8 * MAX_WAITING + 9, 3 * 8 * MAX_WAITING, 100] {
            counts.count_quals(&vec![37; length], 0, &[], &room).unwrap();
        }
        counts.flush_pairs();
        counts.flush_pairs();
        let all = 8 + 5 * 8 * MAX_WAITING + 9 + 100;
        assert_eq!(counts.to_column("").bins, [(37, all as f64)]);
    }
}
