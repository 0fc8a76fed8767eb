//! The interface of aligners to the rest of the program.

use std::any::Any;
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

/// An aligner with its index in memory, shared by all threads.
pub trait Kernel: Send + Sync {
    /// The name of the program in `@PG`.
    fn name(&self) -> &str;

    /// The aligner's own command for aligning, for `@PG`.
    fn command(&self) -> &str;

    /// The version, for `@PG`.
    fn version(&self) -> String;

    /// The reference sequences, in the order of the records' indexes.
    fn contigs(&self) -> &[Contig];

    /// How many bases make a cohort of this many segments a template; `None` where templates do not depend on each
    /// other.
    fn cohort_bases(&self, segments: usize) -> Option<u64>;

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
