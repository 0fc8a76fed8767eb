//! One thread's work on a task.

use std::sync::Arc;

use readmill_align::Aligner;
use readmill_format::chain::Opened;
use readmill_input::{Claim, Opener};
use readmill_record::{Batch, RecordRef, Result, edit, tag};

use super::lanes::Lanes;
use super::queue::{AlignResult, AlignTask, ReadyBatch};

/// A thread's aligner.
pub struct AlignWorker {
    lanes: Arc<Lanes>,
    aligner: Box<dyn Aligner>,
    /// Opens pieces of the file of that lane.
    opener: Option<(usize, Opener)>,
}

impl AlignWorker {
    /// Creates a worker for the calling thread.
    pub fn new(lanes: &Arc<Lanes>) -> Result<Self> {
        let aligner = Arc::clone(&lanes.kernel).aligner()?;
        Ok(AlignWorker { lanes: Arc::clone(lanes), aligner, opener: None })
    }

    /// Carries out a task; records are written in the memory of `spare`.
    pub fn perform(&mut self, task: AlignTask, spare: impl FnOnce() -> Batch) -> Result<AlignResult> {
        match task {
            AlignTask::Take { lane, batch } => {
                let mut reads = self.lanes.buffers.take().unwrap_or_default();
                let taken = self.lanes.lanes[lane].claims()?.take(batch, &mut reads);
                let whole = taken.is_whole() && !reads.is_empty();
                let prepared = whole.then(|| self.lanes.prepare(lane, &mut reads));
                Ok(AlignResult::Taken(lane, taken, reads, prepared))
            }
            AlignTask::Open(lane, claim) => self.open(lane, claim),
            AlignTask::Convert(raw) => {
                let mut reads = self.lanes.buffers.take().unwrap_or_default();
                self.lanes.lanes[raw.lane].unaligned()?.reads(&raw, &mut reads)?;
                let found_in = self.lanes.prepare(raw.lane, &mut reads)?;
                Arc::into_inner(raw.batch).into_iter().for_each(|batch| self.lanes.batches.put(batch));
                Ok(AlignResult::Converted(reads, found_in, raw.last))
            }
            AlignTask::Seed(slot, reads) => {
                let seeded = self.aligner.seed(&reads)?;
                self.give_back(self.lanes.long_read_bytes(&reads));
                Ok(AlignResult::Seeded(slot, reads, seeded))
            }
            AlignTask::Emit(piece) => self.emit(piece, spare()).map(AlignResult::Emitted),
            AlignTask::Records(opened) => Ok(AlignResult::Emitted(opened)),
            AlignTask::Wait => Ok(AlignResult::Waited),
        }
    }

    /// Releases the memory of long reads.
    fn give_back(&self, long: u64) {
        if long > 0 {
            self.lanes.queue().long -= long;
        }
    }

    fn open(&mut self, lane: usize, claim: Option<Claim>) -> Result<AlignResult> {
        let Some(claim) = claim else { return Ok(AlignResult::Opened(lane, None)) };
        let unaligned = self.lanes.lanes[lane].unaligned()?;
        let opener = match &mut self.opener {
            Some((of, opener)) if *of == lane => opener,
            other => &mut other.insert((lane, unaligned.opener())).1,
        };
        let mut opened = Opened::reuse(self.lanes.batches.take().unwrap_or_default());
        let spare = unaligned.open_piece(opener, claim, &mut opened)?;
        self.lanes.chunks.put(spare);
        Ok(AlignResult::Opened(lane, Some(opened)))
    }

    fn emit(&mut self, piece: ReadyBatch, spare: Batch) -> Result<Opened> {
        let ReadyBatch { lane, mut reads, seeded, model, .. } = piece;
        let mut opened = Opened::reuse(spare);
        let group = self.lanes.lanes[lane].group.as_deref();
        self.aligner.emit(&reads, seeded, &model, group, &mut |read, record| {
            let (bytes, fields, flags) = (opened.bytes_mut(), reads.fields(read), reads.flags(read));
            let start = bytes.len();
            bytes.extend_from_slice(record);
            if flags != 0 {
                edit::set_flags(&mut bytes[start..], RecordRef::new(record).flags().0 | flags);
            }
            if !fields.is_empty() {
                bytes.extend_from_slice(fields);
                edit::close(bytes, start);
            }
            if let Some(adapter) = reads.adapter(read) {
                edit::append_integer(bytes, start, tag::XT, adapter);
            }
            opened.push(start);
            Ok(())
        })?;
        self.give_back(self.lanes.long_read_bytes(&reads));
        reads.reset(1, 0);
        self.lanes.buffers.put(reads);
        Ok(opened)
    }
}
