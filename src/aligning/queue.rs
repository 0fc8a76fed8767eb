//! The aligner's tasks and their results, and the queue between the claimer, which takes tasks, and
//! the link, which adds them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use readmill_align::{InsertModel, Seeded};
use readmill_fastq::TakenBatch;
use readmill_filters::adapter::FoundIn;
use readmill_format::chain::OpenedChunk;
use readmill_input::Claim;
use readmill_record::{Error, ReadBatch, Result, UncheckedBatch};
use readmill_trim::TrimTally;

pub struct RawRecords {
    pub lane: usize,
    /// The batch that contains the records. Several parts share it, so its memory is reused after
    /// the last part.
    pub batch: Arc<UncheckedBatch>,
    pub range: Range<usize>,
    /// 0-based number of the first record in its file.
    pub number: u64,
    /// The error that stopped reading the file after these records.
    pub fault: Option<Error>,
    pub last: bool,
}

/// An aligner task. See the table in the documentation of the module `aligning`.
pub enum AlignTask {
    /// Takes a batch from the FASTQ files of a lane.
    Take {
        lane: usize,
        /// 0-based number of the batch in the lane. Each batch has its own ticket.
        batch: u64,
    },
    /// Opens a chunk of the lane's record file. `None` ends the file.
    Open(usize, Option<Claim>),
    Convert(RawRecords),
    /// Finds candidate positions for a batch that has been assigned to a cohort.
    Seed(BatchSlot, ReadBatch),
    /// Writes the records of a batch whose cohort is complete.
    Emit(ReadyBatch),
    Records(OpenedChunk),
    Wait,
}

impl AlignTask {
    pub fn records(&self) -> Option<&OpenedChunk> {
        match self {
            AlignTask::Records(opened) => Some(opened),
            _ => None,
        }
    }
}

pub enum AlignTaskResult {
    /// The lane, how the batch was taken, its reads, and the findings from preparing it. `None` if
    /// the batch seemed irregular and was not prepared.
    Taken(usize, TakenBatch, ReadBatch, Option<Result<BatchFindings>>),
    Opened(usize, Option<OpenedChunk>),
    /// The lane, its reads, the findings from preparing them, and whether they are the last reads
    /// of the file.
    Converted(usize, ReadBatch, BatchFindings, bool),
    Seeded(BatchSlot, ReadBatch, BatchSeeds),
    Emitted(OpenedChunk),
    Waited,
}

/// The findings from preparing a batch. The link adds them to the totals of the lane, in input
/// order.
#[derive(Default)]
pub struct BatchFindings {
    /// Reads in which adapters were marked, while the list of adapters may still become shorter.
    pub found_in: FoundIn,
    pub trimmed: Option<Box<TrimTally>>,
    pub singles: Option<Box<BatchFindings>>,
}

pub struct BatchSeeds {
    pub reads: Option<Seeded>,
    pub singles: Option<Seeded>,
}

impl BatchSeeds {
    pub fn bytes(&self) -> u64 {
        self.reads.iter().chain(&self.singles).map(Seeded::bytes).sum()
    }
}

impl BatchFindings {
    /// Returns the number of templates that trimming dropped. `segments` is the number of reads per
    /// template.
    pub fn dropped_templates(&self, segments: usize) -> u64 {
        let of_singles = self.singles.as_ref().map_or(0, |singles| singles.dropped_templates(1));
        let own =
            self.trimmed.as_ref().map_or(0, |trimmed| trimmed.dropped_reads() / segments.max(1) as u64);
        own + of_singles
    }
}

/// The position of a batch: the number of its cohort in the run, and the index of the batch in the
/// cohort.
#[derive(Clone, Copy, Debug)]
pub struct BatchSlot {
    pub cohort: u64,
    pub batch: usize,
}

pub struct ReadyBatch {
    pub lane: usize,
    pub reads: ReadBatch,
    pub seeded: BatchSeeds,
    pub model: Arc<InsertModel>,
}

/// The queue of tasks that can be claimed, and counts of tasks in flight. Protected by a lock of
/// [`Lanes`](super::Lanes).
#[derive(Default)]
pub struct AlignQueue {
    pub records: VecDeque<OpenedChunk>,
    pub ready: VecDeque<ReadyBatch>,
    pub raw: VecDeque<RawRecords>,
    /// Batches that have been assigned to a cohort, but have no candidates yet.
    pub unseeded: VecDeque<(BatchSlot, ReadBatch)>,
    /// Index of the lane from which tasks are taken. `batch` is the number of its next batch.
    pub lane: usize,
    pub batch: u64,
    /// Number of tasks in flight that lead to other tasks. The run ends when there are none and no
    /// task can be claimed.
    pub in_flight: usize,
    pub reads_in_flight: usize,
    /// Bytes reserved for long reads in flight, while candidates are searched for or records are
    /// written.
    pub long_read_bytes: u64,
}
