//! The only read of the input: pieces in, reads into the arena; when that is nearly full, a fresh one is begun
//! and the old one goes to disk, or sorted reads into the output, in the same pass ([`super::flush`]).
//!
//! Room is reserved when a piece is claimed, in claim order, for the most it can need; what it turns out not to
//! need is given back when it is committed. A run is a contiguous range of pieces. A piece that finds no
//! room waits for the tickets before it to give back what they did not need, or for a run to be written; it is
//! the claimer alone who waits, by claiming tickets that do nothing, of which there are never more than
//! may be in flight.
//!
//! | phase | file |
//! |---|---|
//! | what all phases share | [`state`] |
//! | what a ticket is | [`ticket`] |
//! | what each ticket does | [`claim`] |
//! | what it leaves behind | [`commit`] |

mod claim;
mod commit;
mod state;
mod ticket;

use std::sync::{Arc, Mutex};

use readmill_engine::Pass;
use readmill_markdup as markdup;
use readmill_markdup::{DuplicateEnds, EndsPart};
use readmill_record::{Arena, Batch, Error, Header, Result};
use readmill_sort::{Partition, run};

use super::batch_pipeline::Doer;
use super::feed::{Feed, Reader, Stretch};
use super::flush;
use super::presorted::Leaver;
use super::sort_buffer::Held;
use crate::outputs::{Sink, Writer};
use claim::Claimer;
use commit::Committer;
use state::Shared;
pub use state::{Buffers, Ingest};
use ticket::{Claimed, Done, Left, Open, Ready, Room, TurnoverDone};

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All inputs have ended.
    Ended,
    /// Runs, ends or the next piece need room that writing a run does not make.
    NoRoom,
}

/// A thread's scratch.
pub struct Worker<'a> {
    reader: Reader,
    doer: Doer<'a>,
    ends: Option<markdup::Scratch>,
    turnover: flush::Scratch,
    /// What is needed to encode for the output, once it is.
    leaver: Option<Leaver<'a>>,
}

impl<'a> Ingest<'a> {
    /// Reads until the inputs end, or until something has to be done before reading on. Reads that come sorted may go into
    /// the output, which is a sink and the header for it.
    pub fn fill(&self, feed: &mut Feed, held: &mut Held, output: (&mut Sink, &Header)) -> Result<Stop> {
        let keyer = self.waiting.sort.keyer();
        let shared = Mutex::new(Shared::new(self.waiting, held));
        let arena = std::mem::replace(&mut held.arena, Arc::new(Arena::empty()));
        let mut claimer = Claimer::new(self, arena, &shared);
        let mut cutter = std::mem::take(&mut held.prefix.cutter);
        let mut committer = Committer::new(self, held, &shared, output);
        let Feed { intake, link } = feed;
        let link = |_, open| {
            Ok(match open {
                Open::Piece(piece, mut reserved, arena) => {
                    // What was held back before comes with it, and is still there.
                    reserved.resize(reserved.bytes() + self.waiting.bound(link.waiting_bytes()));
                    let stretch = self.readers.link(link, piece)?;
                    stretch.first_name().into_iter().for_each(|name| keyer.set_anchor(name));
                    let held_back = self.waiting.bound(link.waiting_bytes());
                    Ready::Stretch(stretch, Room { reserved, held_back }, arena)
                }
                Open::Turnover(opened, large) => Ready::Turnover(opened.link(&mut cutter), large),
                Open::Idle => Ready::Idle,
            })
        };
        let workers = readmill_engine::run(
            self.waiting.crew,
            &Filling(self),
            |ticket| claimer.claim(ticket, intake),
            link,
            |_, done| committer.commit(done),
        )?;
        let (arena, ended) = (claimer.arena, claimer.ended);
        for Worker { doer, leaver, .. } in workers {
            doer.finish(&mut held.counts);
            leaver.into_iter().for_each(|leaver| leaver.doer.finish(&mut held.counts));
        }
        (held.arena, held.prefix.cutter) = (arena, cutter);
        self.writer.map_or(Ok(()), Writer::write_behind)?;
        Ok(if ended { Stop::Ended } else { Stop::NoRoom })
    }

    /// Checks records, applies the steps, and copies what is left into the arena.
    fn take(
        &self,
        worker: &mut Worker<'a>,
        stretch: Stretch,
        room: Room,
        arena: &Arena,
    ) -> Result<Left> {
        let Worker { reader, doer, ends: scratch, .. } = worker;
        reader.check(stretch, |mut batch| {
            let mut ends = EndsPart::default();
            if let Some(scratch) = scratch {
                scratch.judge(&batch, &mut ends);
            }
            doer.apply(&mut batch)?; // nothing goes elsewhere yet
            if let (Some(noted), Some(scratch)) = (self.ends, scratch) {
                noted.accept(scratch, &batch, &mut ends)?;
            }
            let mut entries = self.buffers.entries.take().unwrap_or_default();
            entries.clear();
            self.waiting.sort.accept(arena, &batch, &mut entries)?;
            let reads = batch.record_bytes() + (run::OVERHEAD * batch.len()) as u64;
            let largest = batch.largest_record();
            let placed = batch.records().any(|(_, record)| record.ref_id() >= 0);
            let tagged = self.is_tagged(&batch);
            self.readers.reuse(batch);
            Ok(Left { entries, ends, reads, largest, placed, tagged, room })
        })
    }
}

impl<'a> Ingest<'a> {
    /// Whether any read has the optional field that reads are sorted by; nothing without reads or such a field.
    fn is_tagged(&self, batch: &Batch) -> Option<bool> {
        let tag = self.waiting.sort.keyer().field().filter(|_| !batch.is_empty())?;
        Some(batch.records().any(|(_, record)| record.field(tag).is_some()))
    }

    /// What a task of the turnover leaves.
    fn turn_over(&self, worker: &mut Worker<'a>, linked: flush::Linked) -> Result<TurnoverDone> {
        let Worker { turnover, leaver, .. } = worker;
        let sort = &self.waiting.sort;
        let mut pack = |records: &Partition| {
            turnover.pack(records, sort, self.buffers.frames.take().unwrap_or_default())
        };
        Ok(match (linked, self.writer) {
            (flush::Linked::Turn, _) => TurnoverDone::Turn,
            (flush::Linked::Sorted(list), _) => TurnoverDone::Sorted(list),
            (flush::Linked::Records(range), _) => TurnoverDone::Frames(pack(&range.into())?),
            (flush::Linked::Partitions(partitions), Some(writer)) => {
                let leaver = leaver.get_or_insert_with(|| Leaver::new(&self.leaving, writer));
                let encoded = leaver.encode(&partitions, sort, writer)?;
                TurnoverDone::Encoded(encoded)
            }
            (flush::Linked::Partitions(_), None) => {
                return Err(Error::bug("reads are to leave, and nobody can write them"));
            }
            (flush::Linked::Close(rest), _) => TurnoverDone::Close(rest.as_ref().map(pack).transpose()?),
        })
    }
}

struct Filling<'r, 'a>(&'r Ingest<'a>);

impl<'a> Pass for Filling<'_, 'a> {
    type Input = Claimed;
    type Opened = Open;
    type Linked = Ready;
    type Output = Done;
    type Worker = Worker<'a>;
    type Error = Error;

    fn worker(&self) -> Worker<'a> {
        let Ingest { readers, doing, ends, waiting, .. } = self.0;
        Worker {
            reader: readers.reader(),
            doer: doing.doer(),
            ends: ends.map(DuplicateEnds::scratch),
            turnover: flush::Scratch::new(waiting.framing),
            leaver: None,
        }
    }

    fn open(&self, worker: &mut Worker<'a>, claimed: Claimed) -> Result<Open> {
        Ok(match claimed {
            Claimed::Piece(next, reserved, arena) => {
                Open::Piece(worker.reader.open(next)?, reserved, arena)
            }
            Claimed::Turnover(task, large) => {
                Open::Turnover(worker.turnover.open(task, &self.0.waiting.sort)?, large)
            }
            Claimed::Idle => Open::Idle,
        })
    }

    fn work(&self, worker: &mut Worker<'a>, ready: Ready) -> Result<Done> {
        Ok(match ready {
            Ready::Stretch(stretch, room, arena) => {
                Done::Stretch(Box::new(self.0.take(worker, stretch, room, &arena)?))
            }
            Ready::Turnover(linked, large) => Done::Turnover(self.0.turn_over(worker, linked)?, large),
            Ready::Idle => Done::Idle,
        })
    }
}
