//! The committer: what tickets leave behind, in their order.

use std::sync::Mutex;

use readmill_record::Result;
use readmill_steps::sort::SpilledRun;

use super::ticket::{Done, Left};
use super::{Ingest, Shared, lock};
use crate::pass::held::Held;
use crate::pass::{duplicates, turnover};

/// Takes what tickets leave behind, in their order.
pub struct Committer<'a> {
    pub ingest: &'a Ingest<'a>,
    pub held: &'a mut Held,
    pub shared: &'a Mutex<Shared>,
    /// Room of the records that the link held back at the last ticket.
    pub had: u64,
    /// The run that goes to disk, and the room it took in memory.
    pub writing: Option<(SpilledRun, u64)>,
}

impl Committer<'_> {
    pub fn commit(&mut self, done: Done) -> Result<()> {
        match done {
            Done::Stretch(left) => self.stretch(left),
            Done::Turnover(done) => self.turnover(done),
            Done::Idle => Ok(()),
        }
    }

    fn stretch(&mut self, left: Left) -> Result<()> {
        let Committer { ingest, held, .. } = self;
        held.run.push(&left.entries);
        held.ends.push(&left.ends);
        if ingest.must_be_grouped && held.ends.grouping.is_scattered() {
            return Err(duplicates::not_grouped());
        }
        // What the ticket took, and what its link holds back more than the one before.
        let needs = left.reads + left.ends.bytes() + left.room.held_back;
        ingest.waiting.budget.settle(left.room.reserved + self.had, needs);
        self.had = left.room.held_back;
        held.bytes += left.reads;
        held.any_placed |= left.placed;
        ingest.buffers.entries.put(left.entries);
        let mut shared = lock(self.shared);
        (shared.reads, shared.ends) = (held.bytes, held.ends.bytes());
        Ok(())
    }

    fn turnover(&mut self, done: turnover::Done) -> Result<()> {
        let Committer { ingest, held, shared, writing, .. } = self;
        let waiting = ingest.waiting;
        match (done, writing.as_mut()) {
            (turnover::Done::Turn, _) => {
                let run = SpilledRun::new(waiting.spill.begin(held.spilled)?, waiting.framing);
                *writing = Some((run, std::mem::take(&mut held.bytes)));
                lock(shared).turnover.turned(held.run.take())?;
            }
            (turnover::Done::Sorted(list), _) => lock(shared).turnover.sorted(list),
            (turnover::Done::Frames(mut frames), Some((run, _))) => {
                run.append(&waiting.spill, &mut frames)?;
                ingest.buffers.frames.put(frames);
            }
            (turnover::Done::Frames(_), None) => {}
            (turnover::Done::Close, _) => {
                if let Some((run, bytes)) = writing.take() {
                    let run = run.complete();
                    waiting.budget.settle(bytes, run.index_bytes());
                    held.push(run);
                }
                let mut shared = lock(shared);
                shared.too_many_runs = held.has_too_many_runs(waiting);
                shared.reads = held.bytes;
                shared.turnover.closed();
            }
        }
        Ok(())
    }
}
