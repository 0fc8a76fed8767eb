//! What a thread does for a task.

use std::sync::Arc;

use readmill_align::Aligner;
use readmill_format::chain::Opened;
use readmill_record::{Batch, Result, edit};

use super::lanes::Lanes;
use super::queue::{Done, Piece, Task};

/// A thread's aligner.
pub struct Worker {
    lanes: Arc<Lanes>,
    aligner: Box<dyn Aligner>,
}

impl Worker {
    /// For the thread that calls.
    pub fn new(lanes: &Arc<Lanes>) -> Result<Self> {
        let aligner = Arc::clone(&lanes.kernel).aligner()?;
        Ok(Worker { lanes: Arc::clone(lanes), aligner })
    }

    /// Does a task; records are written in the memory of `spare`.
    pub fn perform(&mut self, task: Task, spare: impl FnOnce() -> Batch) -> Result<Done> {
        match task {
            Task::Take { lane, batch } => {
                let mut reads = self.lanes.buffers.take().unwrap_or_default();
                let taken = self.lanes.lanes[lane].claims.take(batch, &mut reads);
                let whole = taken.is_whole() && !reads.is_empty();
                let seeded = whole.then(|| {
                    self.lanes.prepare(lane, &mut reads)?;
                    self.aligner.seed(&reads)
                });
                Ok(Done::Taken(lane, taken, reads, seeded))
            }
            Task::Seed(place, reads) => {
                let seeded = self.aligner.seed(&reads)?;
                Ok(Done::Seeded(place, reads, seeded))
            }
            Task::Emit(piece) => self.emit(piece, spare()).map(Done::Emitted),
            Task::Records(opened) => Ok(Done::Emitted(opened)),
            Task::Wait => Ok(Done::Waited),
        }
    }

    fn emit(&mut self, piece: Piece, spare: Batch) -> Result<Opened> {
        let Piece { lane, mut reads, seeded, model, .. } = piece;
        let mut opened = Opened::reuse(spare);
        let group = self.lanes.lanes[lane].group.as_deref();
        self.aligner.emit(&reads, seeded, &model, group, &mut |read, record| {
            let (bytes, fields) = (opened.bytes_mut(), reads.fields(read));
            let start = bytes.len();
            bytes.extend_from_slice(record);
            if !fields.is_empty() {
                bytes.extend_from_slice(fields);
                edit::close(bytes, start);
            }
            opened.push(start);
            Ok(())
        })?;
        reads.reset(1, 0);
        self.lanes.buffers.put(reads);
        Ok(opened)
    }
}
