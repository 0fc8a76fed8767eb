//! Where a cohort of templates ends.

use std::ops::Range;

use readmill_record::ReadBatch;

/// Cuts a stream of batches into cohorts, as `bwa mem -K` does: a cohort ends with the first template after which it
/// holds an even number of reads and at least so many bases (bwa 0.7.17, `bseq_read`).
#[derive(Clone, Debug)]
pub struct Cohorts {
    limit: u64,
    bases: u64,
    reads: u64,
}

impl Cohorts {
    /// Cohorts of `limit` bases.
    pub fn new(limit: u64) -> Self {
        Cohorts { limit, bases: 0, reads: 0 }
    }

    /// The templates of the next batch that belong to the present cohort, from number `from` of the batch on, and
    /// whether they end it. Call it again with the end of the range until the batch is used up; a range may be all
    /// that is left of a batch, and [`ReadBatch::slice`] makes a batch of one that is not.
    pub fn take(&mut self, reads: &ReadBatch, from: usize) -> (Range<usize>, bool) {
        let segments = reads.segments().max(1);
        for template in from..reads.templates() {
            let spans = &reads.spans()[template * segments..][..segments];
            self.bases += spans.iter().map(|span| u64::from(span.len)).sum::<u64>();
            self.reads += segments as u64;
            if self.bases >= self.limit && self.reads.is_multiple_of(2) {
                self.end();
                return (from..template + 1, true);
            }
        }
        (from..reads.templates(), false)
    }

    /// Ends the present cohort here, as the end of the input does.
    pub fn end(&mut self) {
        (self.bases, self.reads) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_record::Read;

    fn batch(segments: usize, lengths: &[usize]) -> ReadBatch {
        let mut reads = ReadBatch::new(segments, 0);
        for &length in lengths {
            let bases = vec![b'A'; length];
            reads.push(Read { name: b"r", comment: b"", bases: &bases, qualities: None });
        }
        reads
    }

    #[test]
    fn a_cohort_ends_with_the_first_pair_that_fills_it() {
        let reads = batch(2, &[50, 49, 1, 0, 60, 60, 1, 1]);
        let mut cohorts = Cohorts::new(100);
        assert_eq!(cohorts.take(&reads, 0), (0..2, true));
        assert_eq!(cohorts.take(&reads, 2), (2..3, true));
        assert_eq!(cohorts.take(&reads, 3), (3..4, false));
        assert_eq!(cohorts.take(&batch(2, &[50, 48]), 0), (0..1, true));
    }

    #[test]
    fn a_cohort_of_single_reads_is_even() {
        let reads = batch(1, &[100, 1, 100]);
        let mut cohorts = Cohorts::new(100);
        assert_eq!(cohorts.take(&reads, 0), (0..2, true));
        assert_eq!(cohorts.take(&reads, 2), (2..3, false));
    }
}
