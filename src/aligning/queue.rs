//! The queue of aligner tasks, between the claimer and the link.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use readmill_align::{Model, Seeded};
use readmill_fastq::TakenBatch;
use readmill_filters::adapter::FoundIn;
use readmill_format::chain::Opened;
use readmill_input::Claim;
use readmill_record::{Error, ReadBatch, Result, UncheckedBatch};
use readmill_trim::TrimTally;

/// Records of a file that are to become reads.
pub struct RawRecords {
    /// The lane they are of.
    pub lane: usize,
    /// The records, and others.
    pub batch: Arc<UncheckedBatch>,
    /// Which of them.
    pub range: Range<usize>,
    /// The number of the first one in its file, 0-based.
    pub number: u64,
    /// The error that follows them instead of more records.
    pub fault: Option<Error>,
    /// Whether they are the last of their file.
    pub last: bool,
}

/// A task of the aligner.
pub enum AlignTask {
    /// Takes a batch from the files of a lane.
    Take {
        /// The lane, 0-based.
        lane: usize,
        /// The number of the batch in it.
        batch: u64,
    },
    /// Opens a piece of the file of a lane, or ends it.
    Open(usize, Option<Claim>),
    /// Makes reads of records.
    Convert(RawRecords),
    /// Finds candidates for a batch that has its place in a cohort.
    Seed(BatchSlot, ReadBatch),
    /// Writes the records of a batch whose cohort is complete.
    Emit(ReadyBatch),
    /// Passes records on.
    Records(Opened),
    /// Nothing: the next task depends on tickets in flight.
    Wait,
}

impl AlignTask {
    /// The records that it passes on, if that is its task.
    pub fn records(&self) -> Option<&Opened> {
        match self {
            AlignTask::Records(opened) => Some(opened),
            _ => None,
        }
    }
}

/// The result of a task.
pub enum AlignTaskResult {
    /// A batch, and, if it looks as it should and could be made ready, what was found.
    Taken(usize, TakenBatch, ReadBatch, Option<Result<Prepared>>),
    /// A piece of the file of a lane; `None` at its end.
    Opened(usize, Option<Opened>),
    /// Reads of a lane, what was found when they were made ready, and whether they are the last of their file.
    Converted(usize, ReadBatch, Prepared, bool),
    /// Candidates.
    Seeded(BatchSlot, ReadBatch, BatchSeeds),
    /// Records.
    Emitted(Opened),
    /// Nothing.
    Waited,
}

/// Findings in a batch, when it is made ready.
#[derive(Default)]
pub struct Prepared {
    /// Where adapters are that are marked.
    pub found_in: FoundIn,
    /// What was trimmed, if anything is to be.
    pub trimmed: Option<Box<TrimTally>>,
    /// The same of single reads that stand among pairs.
    pub singles: Option<Box<Prepared>>,
}

/// Candidates of the reads of a batch.
pub struct BatchSeeds {
    /// Those of all reads, or of pairs among which single reads stand; `None` if there are no pairs.
    pub reads: Option<Seeded>,
    /// Those of single reads among pairs, if there are any.
    pub singles: Option<Seeded>,
}

impl BatchSeeds {
    /// Bytes that they hold.
    pub fn bytes(&self) -> u64 {
        self.reads.iter().chain(&self.singles).map(Seeded::bytes).sum()
    }
}

impl Prepared {
    /// Templates that were dropped, of which each has so many reads.
    pub fn dropped(&self, segments: usize) -> u64 {
        let of_singles = self.singles.as_ref().map_or(0, |singles| singles.dropped(1));
        let own = self.trimmed.as_ref().map_or(0, |trimmed| trimmed.dropped() / segments.max(1) as u64);
        own + of_singles
    }
}

/// The place of a batch in a cohort.
#[derive(Clone, Copy, Debug)]
pub struct BatchSlot {
    /// Number of the cohort.
    pub cohort: u64,
    /// Number of the batch in it.
    pub batch: usize,
}

/// A batch of a complete cohort.
pub struct ReadyBatch {
    /// The lane it came from.
    pub lane: usize,
    /// Its reads.
    pub reads: ReadBatch,
    /// Their candidates.
    pub seeded: BatchSeeds,
    /// The insert size model of the cohort.
    pub model: Arc<Model>,
}

/// Tasks that can be claimed.
#[derive(Default)]
pub struct AlignQueue {
    /// Records that go on.
    pub records: VecDeque<Opened>,
    /// Batches to be emitted.
    pub ready: VecDeque<ReadyBatch>,
    /// Records that are to become reads.
    pub raw: VecDeque<RawRecords>,
    /// Batches without candidates.
    pub bare: VecDeque<(BatchSlot, ReadBatch)>,
    /// The lane that is being taken from.
    pub lane: usize,
    /// The next batch of it.
    pub batch: u64,
    /// Tasks in flight that lead to other tasks.
    pub in_flight: usize,
    /// Tasks in flight that read.
    pub taking: usize,
    /// Bytes that long reads in flight take, while candidates are found or records are written.
    pub long: u64,
}
