//! The files of a merge, its tasks and their results, and the queue between the claimer, which
//! takes tasks, and the link, which adds them.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_engine::{Crew, Pool};
use readmill_filters::merge_alignment::{Arrangement, MergeRules};
use readmill_format::bgzf::Chunk;
use readmill_format::chain::OpenedChunk;
use readmill_input::{Claim, MAX_CLAIM_BYTES, OpenOptions};
use readmill_record::{Batch, Error, Flags, Header, Result, UncheckedBatch};

use crate::aligning::Unaligned;
use crate::pipeline::open_input::is_any_cram;
use crate::plan::{self, TemplateEnd};

use super::header::{self, AlignerProgram};

const CONTAINER_BYTES: u64 = 32 << 20;

pub struct MergeFile {
    pub records: Unaligned,
    /// The read number (read 1 or read 2) of all records of the file; `None` if the flags contain
    /// it. Picard's READ1_ALIGNED_BAM and READ2_ALIGNED_BAM are such files.
    pub end: Option<TemplateEnd>,
}

impl MergeFile {
    /// Returns the flags of a record of the file, including the read number given for the whole
    /// file.
    pub fn record_flags(&self, flags: Flags) -> Flags {
        let pair = Flags::PAIRED | Flags::FIRST | Flags::LAST;
        match self.end {
            None => flags,
            Some(TemplateEnd::First) => Flags(flags.0 & !pair | Flags::PAIRED | Flags::FIRST),
            Some(TemplateEnd::Last) => Flags(flags.0 & !pair | Flags::PAIRED | Flags::LAST),
        }
    }

    /// Returns the template name of a record. If the file contains only read 1 or only read 2, its
    /// names may end in `/1` or `/2`.
    pub fn template_name<'a>(&self, name: &'a [u8]) -> &'a [u8] {
        let suffix: &[u8] = match self.end {
            None => b"",
            Some(TemplateEnd::First) => b"/1",
            Some(TemplateEnd::Last) => b"/2",
        };
        name.strip_suffix(suffix).unwrap_or(name)
    }
}

pub struct MergeGroupPart {
    /// The batch that contains the records. Adjacent groups may share it.
    pub batch: Arc<UncheckedBatch>,
    pub range: Range<usize>,
    pub number: u64,
}

/// Consecutive templates with all their alignments. A group becomes one batch of output records.
#[derive(Default)]
pub struct MergeGroup {
    /// The records of these templates in each file, starting with the unaligned reads.
    pub parts: Vec<Vec<MergeGroupPart>>,
    /// For templates with several alignments of a read: the index of the template in the group, and
    /// the choice of primary alignments.
    pub arranged: Vec<(usize, Arrangement)>,
    pub templates: usize,
    pub bytes: usize,
    pub fault: Option<Error>,
}

pub enum MergeTask {
    /// Opens a chunk of the file with this index. `None` ends the file.
    Open(usize, Option<Claim>),
    Merge(Box<MergeGroup>),
    Records(OpenedChunk),
    Wait,
}

impl MergeTask {
    /// Returns the records that this task passes on; `None` for any other task.
    pub fn records(&self) -> Option<&OpenedChunk> {
        match self {
            MergeTask::Records(opened) => Some(opened),
            _ => None,
        }
    }
}

pub enum MergeTaskResult {
    Opened(usize, Option<OpenedChunk>),
    Merged(OpenedChunk),
    Waited,
}

/// The queue of tasks that can be claimed, and how far each file has been read. Protected by a lock
/// of [`Merging`].
#[derive(Default)]
pub struct MergeQueue {
    pub records: VecDeque<OpenedChunk>,
    pub ready: VecDeque<Box<MergeGroup>>,
    pub files: Vec<MergeFileState>,
    /// The file for which all others wait. One more chunk of it may be read than the limit allows.
    pub wanted: Option<usize>,
    pub has_failed: bool,
    pub in_flight: usize,
}

#[derive(Clone, Copy, Default)]
pub struct MergeFileState {
    /// Number of the file's chunks in flight. `waiting` counts linked chunks whose records wait for
    /// those of other files.
    pub opening: usize,
    pub waiting: usize,
    pub ended: bool,
}

pub struct Merging {
    pub files: Vec<MergeFile>,
    pub rules: Arc<MergeRules>,
    pub header: Header,
    /// Whether the header declares that the reads are sorted by name, byte by byte. Then a wrong
    /// order in an alignment file is detected early.
    pub are_sorted: bool,
    pub batches: Pool<Batch>,
    pub chunks: Pool<Chunk>,
    ahead: usize,
    queue: Mutex<MergeQueue>,
}

/// Returns how many chunks of a file may be read before those of other files are available.
fn max_chunks_ahead(crew: Crew) -> usize {
    crew.threads + 1
}

/// Returns the memory of records that wait for those of other files, in bytes.
pub fn waiting_memory_bytes(wanted: &plan::Merging, crew: Crew) -> u64 {
    let files = wanted.all_files().count() as u64;
    let paths: Vec<_> = wanted.all_files().cloned().collect();
    let piece = 3 * MAX_CLAIM_BYTES as u64 + if is_any_cram(&paths) { CONTAINER_BYTES } else { 0 };
    files * piece * (max_chunks_ahead(crew) as u64 + 1)
}

impl Merging {
    /// Opens all files, and merges their headers.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or if the headers do not fit together.
    pub fn open(
        wanted: &plan::Merging,
        reference: Option<&Path>,
        crew: Crew,
        rules: &OpenOptions,
    ) -> Result<Self> {
        let records =
            wanted.all_files().map(|path| Unaligned::open(path, rules)).collect::<Result<Vec<_>>>()?;
        let (header, program) = header::merge_headers(wanted, &records, reference)?;
        let mut merge_rules = wanted.rules.clone();
        merge_rules.program = match program {
            AlignerProgram::Named(id) if wanted.names_program => Some(id),
            _ => None,
        };
        let are_sorted = header::is_lexicographic(records[0].header());
        let ends = std::iter::once(None).chain(wanted.aligned.iter().map(|file| file.end));
        let files: Vec<_> =
            records.into_iter().zip(ends).map(|(records, end)| MergeFile { records, end }).collect();
        let queue =
            MergeQueue { files: vec![MergeFileState::default(); files.len()], ..MergeQueue::default() };
        Ok(Merging {
            files,
            rules: Arc::new(merge_rules),
            header,
            are_sorted,
            batches: Pool::new(crew.in_flight),
            chunks: Pool::new(crew.in_flight),
            ahead: max_chunks_ahead(crew),
            queue: Mutex::new(queue),
        })
    }

    pub fn files(&self) -> impl Iterator<Item = &Unaligned> {
        self.files.iter().map(|file| &file.records)
    }

    /// Returns the next task, or `None` when all records have been passed on. Called by the claimer
    /// of the run. The task closest to the output has priority.
    pub fn next_task(&self) -> Result<Option<MergeTask>> {
        let mut queue = self.lock_queue();
        if let Some(opened) = queue.records.pop_front() {
            return Ok(Some(MergeTask::Records(opened)));
        }
        let task = match queue.ready.pop_front() {
            Some(group) => Some(MergeTask::Merge(group)),
            None => self.next_chunk_task(&mut queue)?,
        };
        Ok(match task {
            Some(task) => {
                queue.in_flight += 1;
                Some(task)
            }
            None => (queue.in_flight > 0).then_some(MergeTask::Wait),
        })
    }

    /// Returns the task that reads the file with the fewest chunks ahead; `None` if all files have
    /// been read far enough.
    fn next_chunk_task(&self, queue: &mut MergeQueue) -> Result<Option<MergeTask>> {
        if queue.has_failed {
            return Ok(None);
        }
        let ahead = |state: &MergeFileState| state.opening + state.waiting;
        let wanted = queue.wanted.filter(|&file| queue.files[file].opening == 0);
        let may = |(at, state): &(usize, &MergeFileState)| {
            !state.ended && (ahead(state) < self.ahead || wanted == Some(*at))
        };
        let of_files = queue.files.iter().enumerate().filter(may);
        let Some((file, _)) = of_files.min_by_key(|(_, state)| ahead(state)) else { return Ok(None) };
        let claim = self.files[file].records.claim_chunk(self.chunks.take().unwrap_or_default())?;
        let state = &mut queue.files[file];
        state.ended = claim.is_none();
        state.opening += 1;
        Ok(Some(MergeTask::Open(file, claim)))
    }

    pub fn lock_queue(&self) -> MutexGuard<'_, MergeQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn bytes_read(&self) -> u64 {
        self.files.iter().map(|file| file.records.progress().0).sum()
    }

    pub fn size(&self) -> Option<u64> {
        self.files.iter().map(|file| file.records.progress().1).sum()
    }

    pub fn first_name(&self) -> Option<Vec<u8>> {
        self.files.first()?.records.first_name()
    }
}
