//! The queue of tasks of a merge, between the claimer and the link.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_engine::{Crew, Pool};
use readmill_filters::merge_alignment::{Arrangement, MergeRules};
use readmill_format::bgzf::Chunk;
use readmill_format::chain::Opened;
use readmill_input::{Claim, MAX_CLAIM, OpenOptions};
use readmill_record::{Batch, Error, Flags, Header, Result, UncheckedBatch};

use crate::aligning::Unaligned;
use crate::pipeline::open_input::is_any_cram;
use crate::plan::{self, End};

use super::header::{self, Program};

/// Bytes that a container of CRAM may take, with what comes of it.
const CONTAINER: u64 = 32 << 20;

/// A file that takes part in a merge.
pub struct MergeFile {
    /// Its records, aligned or not.
    pub records: Unaligned,
    /// Which end of each template they are of, if they do not say it.
    pub end: Option<End>,
}

impl MergeFile {
    /// The flags of a record of it.
    pub fn flags(&self, flags: Flags) -> Flags {
        let pair = Flags::PAIRED | Flags::FIRST | Flags::LAST;
        match self.end {
            None => flags,
            Some(End::First) => Flags(flags.0 & !pair | Flags::PAIRED | Flags::FIRST),
            Some(End::Last) => Flags(flags.0 & !pair | Flags::PAIRED | Flags::LAST),
        }
    }

    /// The name of a template, by that of a record of it.
    pub fn name<'a>(&self, name: &'a [u8]) -> &'a [u8] {
        let suffix: &[u8] = match self.end {
            None => b"",
            Some(End::First) => b"/1",
            Some(End::Last) => b"/2",
        };
        name.strip_suffix(suffix).unwrap_or(name)
    }
}

/// Records of one file that are of a group of templates.
pub struct GroupPart {
    /// The records, and others.
    pub batch: Arc<UncheckedBatch>,
    /// Which of them.
    pub range: Range<usize>,
    /// The number of the first one in its file, 0-based.
    pub number: u64,
}

/// Templates and their alignments.
#[derive(Default)]
pub struct Group {
    /// The records of each file; those of the reads come first.
    pub parts: Vec<Vec<GroupPart>>,
    /// The arrangements of templates of which an end has several alignments, by the numbers of the templates.
    pub arranged: Vec<(usize, Arrangement)>,
    /// Templates so far.
    pub templates: usize,
    /// About how many bytes of records come of it so far.
    pub bytes: usize,
    /// The error that follows them.
    pub fault: Option<Error>,
}

/// A task of a merge.
pub enum MergeTask {
    /// Opens a piece of a file, or ends it.
    Open(usize, Option<Claim>),
    /// Writes the records of a group.
    Merge(Box<Group>),
    /// Passes records on.
    Records(Opened),
    /// Nothing: the next task depends on tickets in flight.
    Wait,
}

impl MergeTask {
    /// The records that it passes on, if that is its task.
    pub fn records(&self) -> Option<&Opened> {
        match self {
            MergeTask::Records(opened) => Some(opened),
            _ => None,
        }
    }
}

/// The result of a task.
pub enum MergeTaskResult {
    /// A piece of a file; `None` at its end.
    Opened(usize, Option<Opened>),
    /// Records.
    Merged(Opened),
    /// Nothing.
    Waited,
}

/// Tasks that can be claimed.
#[derive(Default)]
pub struct MergeQueue {
    /// Records that go on.
    pub records: VecDeque<Opened>,
    /// Groups to be written.
    pub ready: VecDeque<Box<Group>>,
    /// How far each file is read.
    pub files: Vec<FileState>,
    /// The file that the others wait for.
    pub wanted: Option<usize>,
    /// Whether an error ends the merge, so that no more is read.
    pub has_failed: bool,
    /// Tasks in flight.
    pub in_flight: usize,
}

/// How far a file is read.
#[derive(Clone, Copy, Default)]
pub struct FileState {
    /// Pieces in flight.
    pub opening: usize,
    /// Pieces whose records wait for those of other files.
    pub waiting: usize,
    /// Whether all of it is claimed.
    pub ended: bool,
}

/// Files that are merged.
pub struct Merging {
    /// The files, the reads first.
    pub files: Vec<MergeFile>,
    /// The rules.
    pub rules: Arc<MergeRules>,
    /// The header of the output.
    pub header: Header,
    /// Whether the reads claim to be sorted by name, byte by byte.
    pub are_sorted: bool,
    /// Buffers that go round.
    pub batches: Pool<Batch>,
    /// The same for pieces of files.
    pub chunks: Pool<Chunk>,
    ahead: usize,
    queue: Mutex<MergeQueue>,
}

/// How many pieces of a file are read before those of others are there.
fn ahead(crew: Crew) -> usize {
    crew.threads + 1
}

/// The memory of records that wait for those of other files.
pub fn memory(wanted: &plan::Merging, crew: Crew) -> u64 {
    let files = wanted.files().count() as u64;
    let paths: Vec<_> = wanted.files().cloned().collect();
    let piece = 3 * MAX_CLAIM as u64 + if is_any_cram(&paths) { CONTAINER } else { 0 };
    files * piece * (ahead(crew) as u64 + 1)
}

impl Merging {
    /// Opens all files.
    ///
    /// # Errors
    /// One cannot be read, or their headers do not fit together.
    pub fn open(
        wanted: &plan::Merging,
        reference: Option<&Path>,
        crew: Crew,
        rules: &OpenOptions,
    ) -> Result<Self> {
        let records =
            wanted.files().map(|path| Unaligned::open(path, rules)).collect::<Result<Vec<_>>>()?;
        let (header, program) = header::merged(wanted, &records, reference)?;
        let mut merge_rules = wanted.rules.clone();
        merge_rules.program = match program {
            Program::Named(id) if wanted.names_program => Some(id),
            _ => None,
        };
        let are_sorted = header::is_lexicographic(records[0].header());
        let ends = std::iter::once(None).chain(wanted.aligned.iter().map(|file| file.end));
        let files: Vec<_> =
            records.into_iter().zip(ends).map(|(records, end)| MergeFile { records, end }).collect();
        let queue =
            MergeQueue { files: vec![FileState::default(); files.len()], ..MergeQueue::default() };
        Ok(Merging {
            files,
            rules: Arc::new(merge_rules),
            header,
            are_sorted,
            batches: Pool::new(crew.in_flight),
            chunks: Pool::new(crew.in_flight),
            ahead: ahead(crew),
            queue: Mutex::new(queue),
        })
    }

    /// The files of reads and of alignments.
    pub fn files(&self) -> impl Iterator<Item = &Unaligned> {
        self.files.iter().map(|file| &file.records)
    }

    /// Returns the next task; `None` when all records have been passed on.
    pub fn next(&self) -> Result<Option<MergeTask>> {
        let mut queue = self.queue();
        if let Some(opened) = queue.records.pop_front() {
            return Ok(Some(MergeTask::Records(opened)));
        }
        let task = match queue.ready.pop_front() {
            Some(group) => Some(MergeTask::Merge(group)),
            None => self.next_piece(&mut queue)?,
        };
        Ok(match task {
            Some(task) => {
                queue.in_flight += 1;
                Some(task)
            }
            None => (queue.in_flight > 0).then_some(MergeTask::Wait),
        })
    }

    /// The task that reads the file which has least ahead.
    fn next_piece(&self, queue: &mut MergeQueue) -> Result<Option<MergeTask>> {
        if queue.has_failed {
            return Ok(None);
        }
        let ahead = |state: &FileState| state.opening + state.waiting;
        let wanted = queue.wanted.filter(|&file| queue.files[file].opening == 0);
        let may = |(at, state): &(usize, &FileState)| {
            !state.ended && (ahead(state) < self.ahead || wanted == Some(*at))
        };
        let of_files = queue.files.iter().enumerate().filter(may);
        let Some((file, _)) = of_files.min_by_key(|(_, state)| ahead(state)) else { return Ok(None) };
        let claim = self.files[file].records.claim(self.chunks.take().unwrap_or_default())?;
        let state = &mut queue.files[file];
        state.ended = claim.is_none();
        state.opening += 1;
        Ok(Some(MergeTask::Open(file, claim)))
    }

    /// Locks the queue.
    pub fn queue(&self) -> MutexGuard<'_, MergeQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of all files that have been read so far, as they lie there.
    pub fn bytes_read(&self) -> u64 {
        self.files.iter().map(|file| file.records.progress().0).sum()
    }

    /// Bytes of all files, if all of them have a size.
    pub fn size(&self) -> Option<u64> {
        self.files.iter().map(|file| file.records.progress().1).sum()
    }

    /// The name of the first read.
    pub fn first_name(&self) -> Option<Vec<u8>> {
        self.files.first()?.records.first_name()
    }
}
