//! The interface of aligners to the rest of the program, and where a cohort of templates ends.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use readmill_record::{Error, ReadBatch, Result};

/// Where records go, one a call: which read of the batch it is of, 0-based, and its bytes, `block_size` included.
pub type Sink<'a> = dyn FnMut(usize, &[u8]) -> Result<()> + 'a;

/// A reference sequence that an index holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contig {
    /// SN of its `@SQ` line.
    pub name: String,
    /// LN, in bases.
    pub length: u64,
    /// Whether it is an alternate locus, which does not compete with the primary assembly (`AH:*` in its `@SQ` line).
    pub alternate: bool,
}

/// An aligner with its index in memory, shared by all threads. Without the index it aligns nothing.
pub trait Kernel: Send + Sync {
    /// The name of the program in `@PG`.
    fn name(&self) -> &str;

    /// The aligner's own command for aligning, for `@PG`.
    fn command(&self) -> &str;

    /// The version, for `@PG`.
    fn version(&self) -> String;

    /// The reference sequences, in the order of the records' indexes.
    fn contigs(&self) -> &[Contig];

    /// Warnings about the files of the index.
    fn warnings(&self) -> &[String] {
        &[]
    }

    /// How many bases make a cohort of this many segments a template; `None` where templates do not depend on each
    /// other.
    fn cohort_bases(&self, segments: usize) -> Option<u64>;

    /// How many bases of reads are numbered together, if single reads stand among pairs: as cohorts are cut, whether or
    /// not insert sizes are inferred.
    fn numbered_bases(&self) -> Option<u64> {
        self.cohort_bases(2)
    }

    /// How many reads it likes to be given at once; others are slower, not different.
    fn batch_reads(&self) -> usize;

    /// Bytes that the index takes, threads aside.
    fn index_bytes(&self) -> u64;

    /// Bytes that a thread's aligner takes, and keeps, while reads are no longer than `bases`.
    fn scratch_bytes(&self, bases: usize) -> u64;

    /// Bytes that it takes besides while it looks at a read of so many bases, or writes its records. Reads that are longer
    /// than any that is aligned take none.
    fn long_read_bytes(&self, bases: usize) -> u64;

    /// A bound of what [`Seeded::bytes`] says for these reads, as a rule: it was measured, not proven.
    fn seeded_bytes(&self, reads: &ReadBatch) -> u64;

    /// An aligner for one thread.
    fn aligner(self: Arc<Self>) -> Result<Box<dyn Aligner>>;

    /// Insert sizes of a cohort, from all its batches in the order of the input.
    fn infer(&self, cohort: &[&Seeded]) -> Result<Model>;
}

/// The error of aligning without an index.
#[cfg(any(feature = "bwa", feature = "minibwa"))]
pub(crate) fn no_index() -> Error {
    Error::bug("reads are to be aligned, and the index was not loaded")
}

/// The aligner of one thread.
pub trait Aligner: Send {
    /// Finds candidate positions of each read.
    fn seed(&mut self, reads: &ReadBatch) -> Result<Seeded>;

    /// Writes the records of `reads` in their order, the first segment of a template before the last, those of a read in
    /// the order that the aligner has them in. `group` is the ID of the `@RG` line they belong to.
    fn emit(
        &mut self,
        reads: &ReadBatch,
        seeded: Seeded,
        model: &Model,
        group: Option<&[u8]>,
        sink: &mut Sink<'_>,
    ) -> Result<()>;
}

/// Candidates of the reads of one batch, between the two parts of aligning.
pub struct Seeded {
    bytes: u64,
    inner: Box<dyn Any + Send + Sync>,
}

impl Seeded {
    /// Wraps what a kernel found.
    pub fn new(inner: impl Any + Send + Sync, bytes: u64) -> Self {
        Seeded { bytes, inner: Box::new(inner) }
    }

    /// Bytes it holds on the heap.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The kernel's own data.
    pub fn get<T: Any>(&self) -> Result<&T> {
        self.inner.downcast_ref().ok_or_else(mixed)
    }

    /// Takes out what the kernel put in.
    pub fn take<T: Any>(self) -> Result<T> {
        self.inner.downcast().map(|inner| *inner).map_err(|_| mixed())
    }
}

/// The insert-size model of a cohort, from all its templates.
pub struct Model(Box<dyn Any + Send + Sync>);

impl Model {
    /// Wraps what a kernel learned.
    pub fn new(inner: impl Any + Send + Sync) -> Self {
        Model(Box::new(inner))
    }

    /// The kernel's own data.
    pub fn get<T: Any>(&self) -> Result<&T> {
        self.0.downcast_ref().ok_or_else(mixed)
    }
}

fn mixed() -> Error {
    Error::bug("one kernel was given what another made")
}

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

    /// Takes one read of the next template, or its last one, where single reads stand among pairs. Returns whether the
    /// cohort ends behind it, which may be between mates (bwa 0.7.17, `bseq_read`, which does not look at mates).
    pub fn take_read(&mut self, bases: u64) -> bool {
        self.bases += bases;
        self.reads += 1;
        let ends = self.bases >= self.limit && self.reads.is_multiple_of(2);
        if ends {
            self.end();
        }
        ends
    }

    /// Ends the present cohort here, as the end of the input does.
    pub fn end(&mut self) {
        (self.bases, self.reads) = (0, 0);
    }
}

/// Writes the options that are given over the defaults of C code.
#[cfg(any(feature = "bwa", feature = "minibwa"))]
pub(crate) mod given {
    /// Writes a value, if it is given.
    pub(crate) fn set<T>(to: &mut T, value: Option<T>) {
        if let Some(value) = value {
            *to = value;
        }
    }

    /// Writes two values, if they are given.
    pub(crate) fn set_both<T>(to: (&mut T, &mut T), values: Option<(T, T)>) {
        if let Some((first, second)) = values {
            (*to.0, *to.1) = (first, second);
        }
    }

    /// Returns all flags that are asked for.
    pub(crate) fn flags<const N: usize>(flags: [(bool, u32); N]) -> u32 {
        flags.into_iter().filter(|(asked, _)| *asked).fold(0, |all, (_, flag)| all | flag)
    }
}

#[cfg(test)]
mod tests {
    use readmill_record::Read;

    use super::*;

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
