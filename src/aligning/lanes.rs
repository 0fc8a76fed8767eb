//! The FASTQ files of a run, and what is claimed from them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_align::Kernel;
use readmill_engine::Pool;
use readmill_fastq::{Claims, Input, Layout, Options, template_name};
use readmill_record::{Error, Reads, Result};

use super::carrying;
use super::queue::{Queue, Task};
use crate::plan;

/// The reads of one sequencing unit.
pub struct Lane {
    /// Its files.
    pub claims: Arc<Claims>,
    /// The ID of its read group.
    pub group: Option<Vec<u8>>,
    files: Vec<PathBuf>,
}

/// All lanes, one after the other, and the aligner of their reads.
pub struct Lanes {
    /// The aligner.
    pub kernel: Arc<dyn Kernel>,
    /// The lanes.
    pub lanes: Vec<Lane>,
    /// What reads carry on to their records.
    carrying: plan::Carrying,
    /// Bytes that reads and candidates of a cohort may take.
    pub most_bytes: u64,
    /// Buffers that go round.
    pub buffers: Pool<Reads>,
    queue: Mutex<Queue>,
}

impl Lane {
    /// Adds to an error of read `at` of a batch what it is called, and where it stands.
    fn blame(&self, error: Error, reads: &Reads, at: usize) -> Error {
        let segments = reads.segments().max(1);
        let (template, segment) = (reads.first() + (at / segments) as u64, at % segments);
        let (file, record) = match &self.files[..] {
            [one] => (one, template * segments as u64 + segment as u64),
            files => (&files[segment.min(files.len() - 1)], template),
        };
        error.qname(template_name(reads.read(at).name)).record(record).file(file)
    }
}

impl Lanes {
    /// Opens the files of all lanes.
    pub fn open(
        wanted: &plan::Aligning,
        kernel: Arc<dyn Kernel>,
        in_flight: usize,
        most_bytes: u64,
        allow_missing_eof: bool,
    ) -> Result<Self> {
        let options = Options { in_flight, allow_missing_eof, ..Options::default() };
        let open = |lane: &plan::Lane| {
            let input = |path: &PathBuf| Input::Path(path.clone());
            let layout = match &lane.files[..] {
                [one, two, ..] => Layout::Paired(input(one), input(two)),
                [one] if lane.interleaved => Layout::Interleaved(input(one)),
                [one] => Layout::Single(input(one)),
                [] => return Err(Error::bug("a lane without files")),
            };
            let claims = Arc::new(Claims::open(layout, options)?);
            Ok(Lane { claims, group: lane.group_id().map(<[u8]>::to_vec), files: lane.files.clone() })
        };
        let lanes = wanted.lanes.iter().map(open).collect::<Result<_>>()?;
        let (buffers, queue) = (Pool::new(2 * in_flight), Mutex::default());
        let carrying = wanted.carrying.clone();
        Ok(Lanes { kernel, lanes, carrying, most_bytes, buffers, queue })
    }

    /// Makes reads of a lane ready: barcodes are cut off, and the fields noted that go on to records.
    pub fn prepare(&self, lane: usize, reads: &mut Reads) -> Result<()> {
        let lane = &self.lanes[lane];
        let blame = |error: Error, reads: &Reads, at| lane.blame(error, reads, at);
        carrying::apply(&self.carrying, lane.group.is_some(), reads, blame)
    }

    /// What is to be done next; nothing when all records have gone on.
    pub fn next(&self) -> Option<Task> {
        let mut queue = self.queue();
        if let Some(opened) = queue.records.pop_front() {
            return Some(Task::Records(opened));
        }
        let task = match (queue.ready.pop_front(), queue.again.pop_front()) {
            (Some(piece), again) => {
                again.into_iter().for_each(|again| queue.again.push_front(again));
                Some(Task::Emit(piece))
            }
            (None, Some((place, reads))) => Some(Task::Seed(place, reads)),
            (None, None) => self.take(&mut queue),
        };
        match task {
            Some(task) => {
                queue.in_flight += 1;
                Some(task)
            }
            None => (queue.in_flight > 0).then_some(Task::Wait),
        }
    }

    /// The next batch of a lane that has not ended.
    fn take(&self, queue: &mut Queue) -> Option<Task> {
        while self.lanes.get(queue.lane)?.claims.ended() {
            (queue.lane, queue.batch) = (queue.lane + 1, 0);
        }
        let (lane, batch) = (queue.lane, queue.batch);
        queue.batch += 1;
        Some(Task::Take { lane, batch })
    }

    /// What waits.
    pub fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of all files that have been read so far, as they lie there.
    pub fn bytes_read(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.claims.progress().0).sum()
    }

    /// Bytes of all files, if all of them have a size.
    pub fn size(&self) -> Option<u64> {
        self.lanes.iter().map(|lane| lane.claims.progress().1).sum()
    }

    /// The name of the first read, for what names tell of the instrument.
    pub fn first_name(&self) -> Option<Vec<u8>> {
        let mut reads = Reads::default();
        self.lanes.first()?.claims.take(0, &mut reads);
        reads.iter().next().map(|read| read.name.to_vec())
    }
}
