//! The interface between aligners and the rest of the program, and the rule that cuts a stream of
//! reads into cohorts.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use readmill_record::{Error, ReadBatch, Result};

/// The callback for records, called once per record. Its arguments are the index of the read in its
/// batch (0-based), and the bytes of the record, including `block_size`.
pub type Sink<'a> = dyn FnMut(usize, &[u8]) -> Result<()> + 'a;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexContig {
    pub name: String,
    pub length: u64,
    /// Whether it is an alternate locus (`AH:*` in its `@SQ` line). Such loci do not compete with
    /// the primary assembly.
    pub alternate: bool,
}

/// An aligner with its index in memory, shared by all threads.
///
/// The alignment passes call the `*_bytes` methods to charge memory before it is allocated,
/// [`Kernel::new_aligner`] once per thread, and [`Kernel::infer_insert_sizes`] when all batches of
/// a cohort have been seeded. A kernel that was created without an index still knows its contigs
/// and cohorts, but any attempt to align is an error.
///
/// ```
/// use std::sync::Arc;
/// use readmill_align::{Kernel, NoAligner};
/// use readmill_record::{Read, ReadBatch, RecordRef};
///
/// let mut batch = ReadBatch::new(1, 0);
/// batch.push_read(Read { name: b"r1", comment: b"", bases: b"ACGT", qualities: Some(b"IIII") });
///
/// let kernel = Arc::new(NoAligner::default());
/// let mut aligner = Arc::clone(&kernel).new_aligner()?;
/// let seeded = aligner.seed_reads(&batch)?;
/// let model = kernel.infer_insert_sizes(&[&seeded])?;
///
/// let mut flags = Vec::new();
/// aligner.emit_records(&batch, seeded, &model, None, &mut |_, record| {
///     flags.push(RecordRef::new(record).flags().0);
///     Ok(())
/// })?;
/// assert_eq!(flags, [4], "one record, and it is unmapped");
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub trait Kernel: Send + Sync {
    /// Returns the name of the program (PN) for `@PG`.
    fn program_name(&self) -> &str;

    /// Returns the aligner's own subcommand for the command line in `@PG`, such as `mem` for
    /// `bwa mem`.
    fn subcommand_name(&self) -> &str;

    fn program_version(&self) -> String;

    /// Returns the reference sequences, in the order of the reference ids of records.
    fn contigs(&self) -> &[IndexContig];

    /// Returns warnings about the index files, which the command line prints when the kernel is
    /// loaded.
    fn warnings(&self) -> &[String] {
        &[]
    }

    /// Returns the number of bases that fill a cohort of templates with `segments` reads each.
    /// `None` if templates are independent, because the insert size is given or reads are not
    /// paired.
    fn cohort_bases(&self, segments: usize) -> Option<u64>;

    /// Returns the number of bases in a cohort of an interleaved file that also has single reads.
    /// bwa numbers such reads cohort by cohort, even if it does not infer insert sizes.
    fn interleaved_cohort_bases(&self) -> Option<u64> {
        self.cohort_bases(2)
    }

    /// Returns the preferred number of reads in a batch. Other sizes give the same records, but
    /// more slowly.
    fn batch_reads(&self) -> usize;

    /// Returns the memory of the loaded index in bytes, excluding the threads' buffers.
    fn index_bytes(&self) -> u64;

    /// Returns the memory in bytes that one thread's aligner allocates and keeps, as long as no
    /// read is longer than `bases`.
    fn scratch_bytes(&self, bases: usize) -> u64;

    /// Returns the additional memory in bytes that a thread needs while it aligns a read of `bases`
    /// bases; 0 for reads that are too long to be aligned.
    fn long_read_bytes(&self, bases: usize) -> u64;

    /// Returns an estimate of [`Seeded::bytes`] for these reads, to charge memory before they are
    /// seeded. It was measured on real reads and is not a proven upper bound.
    fn seeded_bytes(&self, reads: &ReadBatch) -> u64;

    fn new_aligner(self: Arc<Self>) -> Result<Box<dyn Aligner>>;

    /// Estimates the insert sizes of a cohort from all its batches, which must be given in input
    /// order.
    fn infer_insert_sizes(&self, cohort: &[&Seeded]) -> Result<InsertModel>;
}

#[cfg(any(feature = "bwa", feature = "minibwa"))]
pub(crate) fn no_index_error() -> Error {
    Error::bug("the index was not loaded before alignment")
}

/// The aligner of one thread. It owns the thread's buffers and does not borrow from the batches.
///
/// A batch seeded by one thread may be emitted by another: its [`Seeded`] value holds everything
/// known about it.
pub trait Aligner: Send {
    /// Finds the candidate positions of each read, without choosing between them.
    fn seed_reads(&mut self, reads: &ReadBatch) -> Result<Seeded>;

    /// Chooses between the candidates and passes each record to `sink`.
    ///
    /// Reads keep their order, so read 1 of a template precedes read 2. Several records of one read
    /// keep the aligner's order. `group` is the ID of the `@RG` line, which all records get.
    fn emit_records(
        &mut self,
        reads: &ReadBatch,
        seeded: Seeded,
        model: &InsertModel,
        group: Option<&[u8]>,
        sink: &mut Sink<'_>,
    ) -> Result<()>;
}

/// The candidates of the reads of one batch, between [`Aligner::seed_reads`] and
/// [`Aligner::emit_records`].
///
/// Its content is private to the kernel that created it. The rest of the program only sees its
/// size, to charge the memory.
pub struct Seeded {
    bytes: u64,
    inner: Box<dyn Any + Send + Sync>,
}

impl Seeded {
    pub fn new(inner: impl Any + Send + Sync, bytes: u64) -> Self {
        Seeded { bytes, inner: Box::new(inner) }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the kernel's own data, or an error if a different kernel created it.
    pub fn get<T: Any>(&self) -> Result<&T> {
        self.inner.downcast_ref().ok_or_else(wrong_kernel_error)
    }

    /// Takes the kernel's own data out, or returns an error if a different kernel created it.
    pub fn take<T: Any>(self) -> Result<T> {
        self.inner.downcast().map(|inner| *inner).map_err(|_| wrong_kernel_error())
    }
}

/// The insert sizes of one cohort, in the kernel's own representation.
pub struct InsertModel(Box<dyn Any + Send + Sync>);

impl InsertModel {
    pub fn new(inner: impl Any + Send + Sync) -> Self {
        InsertModel(Box::new(inner))
    }

    pub fn get<T: Any>(&self) -> Result<&T> {
        self.0.downcast_ref().ok_or_else(wrong_kernel_error)
    }
}

fn wrong_kernel_error() -> Error {
    Error::bug("a kernel was given the data of another kernel")
}

/// Cuts a stream of reads into cohorts, exactly where `bwa mem -K` does.
///
/// A cohort ends with the first template after which it has an even number of reads and at least
/// `limit` bases (bwa 0.7.17, `bseq_read`). So the same reads give the same records, regardless of
/// batches and threads.
///
/// ```
/// use readmill_align::Cohorts;
///
/// let mut cohorts = Cohorts::new(250);
/// assert!(!cohorts.take_read(150));
/// assert!(cohorts.take_read(150), "300 bases, and two reads");
/// assert!(!cohorts.take_read(400), "a single read does not end a cohort");
/// ```
#[derive(Clone, Debug)]
pub struct Cohorts {
    limit: u64,
    bases: u64,
    reads: u64,
}

impl Cohorts {
    pub fn new(limit: u64) -> Self {
        Cohorts { limit, bases: 0, reads: 0 }
    }

    /// Returns the range of templates of the batch, starting at `from`, that belong to the current
    /// cohort, and whether they end it.
    ///
    /// Call it again with the end of the returned range until the batch is used up.
    /// [`ReadBatch::copy_templates`] creates a batch from such a range.
    pub fn take_templates(&mut self, reads: &ReadBatch, from: usize) -> (Range<usize>, bool) {
        let segments = reads.segments().max(1);
        for template in from..reads.template_count() {
            let spans = &reads.spans()[template * segments..][..segments];
            self.bases += spans.iter().map(|span| u64::from(span.len)).sum::<u64>();
            self.reads += segments as u64;
            if self.bases >= self.limit && self.reads.is_multiple_of(2) {
                self.end_cohort();
                return (from..template + 1, true);
            }
        }
        (from..reads.template_count(), false)
    }

    /// Adds one read of the next template, for an interleaved file that also has single reads.
    /// Returns whether the cohort ends after this read. That can be between two mates, because bwa
    /// does not compare names here (0.7.17, `bseq_read`).
    pub fn take_read(&mut self, bases: u64) -> bool {
        self.bases += bases;
        self.reads += 1;
        let ends = self.bases >= self.limit && self.reads.is_multiple_of(2);
        if ends {
            self.end_cohort();
        }
        ends
    }

    /// Starts a new cohort; also called at the end of the input.
    pub fn end_cohort(&mut self) {
        (self.bases, self.reads) = (0, 0);
    }
}

/// Helpers that overwrite defaults of the C code with the user's options.
#[cfg(any(feature = "bwa", feature = "minibwa"))]
pub(crate) mod given {
    pub(crate) fn set_if_given<T>(to: &mut T, value: Option<T>) {
        if let Some(value) = value {
            *to = value;
        }
    }

    pub(crate) fn set_both_if_given<T>(to: (&mut T, &mut T), values: Option<(T, T)>) {
        if let Some((first, second)) = values {
            (*to.0, *to.1) = (first, second);
        }
    }

    pub(crate) fn union_of_flags<const N: usize>(flags: [(bool, u32); N]) -> u32 {
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
            reads.push_read(Read { name: b"r", comment: b"", bases: &bases, qualities: None });
        }
        reads
    }

    #[test]
    fn a_cohort_ends_with_the_first_pair_that_fills_it() {
        let reads = batch(2, &[50, 49, 1, 0, 60, 60, 1, 1]);
        let mut cohorts = Cohorts::new(100);
        assert_eq!(cohorts.take_templates(&reads, 0), (0..2, true));
        assert_eq!(cohorts.take_templates(&reads, 2), (2..3, true));
        assert_eq!(cohorts.take_templates(&reads, 3), (3..4, false));
        assert_eq!(cohorts.take_templates(&batch(2, &[50, 48]), 0), (0..1, true));
    }

    #[test]
    fn a_cohort_of_single_reads_is_even() {
        let reads = batch(1, &[100, 1, 100]);
        let mut cohorts = Cohorts::new(100);
        assert_eq!(cohorts.take_templates(&reads, 0), (0..2, true));
        assert_eq!(cohorts.take_templates(&reads, 2), (2..3, false));
    }
}
