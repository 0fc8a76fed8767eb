//! The claimer: what each ticket does.

use std::sync::{Arc, Mutex};

use readmill_engine::Ticket;
use readmill_record::{Arena, Error, Result};

use super::state::{Ingest, Shared, lock};
use super::ticket::Claimed;
use crate::pipeline::feed::Intake;
use crate::pipeline::sort_context::{LONG_READS, READS, large_bytes};

/// Says what each ticket does.
pub struct Claimer<'a> {
    ingest: &'a Ingest<'a>,
    shared: &'a Mutex<Shared>,
    /// Where records go now.
    pub arena: Arc<Arena>,
    /// Room in use by reads at which they become a run.
    enough: u64,
    /// The last ticket that took from an input.
    last_piece: Option<Ticket>,
    /// Turns with each ticket: every other one is offered to the run that goes to disk first.
    alternate: bool,
    /// Whether all inputs have been read.
    pub ended: bool,
    stopped: bool,
}

impl<'a> Claimer<'a> {
    pub fn new(ingest: &'a Ingest<'a>, arena: Arc<Arena>, shared: &'a Mutex<Shared>) -> Self {
        let enough = ingest.waiting.enough();
        let (last_piece, alternate, ended, stopped) = Default::default();
        Claimer { ingest, shared, arena, enough, last_piece, alternate, ended, stopped }
    }

    /// What the next ticket does; nothing when the pass is to end.
    pub fn claim(&mut self, ticket: Ticket, intake: &mut Intake) -> Result<Option<Claimed>> {
        self.alternate = !self.alternate;
        let waiting = self.ingest.waiting;
        let mut shared = lock(self.shared);
        let at_rest = shared.turnover.is_at_rest();
        self.stopped |= at_rest && (shared.too_many_runs || shared.ends > waiting.room / 4);
        let no_more = self.ended || self.stopped;
        if no_more || self.alternate {
            if let Some(task) = self.next_task(&mut shared) {
                return Ok(Some(task));
            }
            if no_more {
                return Ok((!at_rest).then_some(Claimed::Idle));
            }
        }
        if at_rest && shared.reads >= self.enough {
            return Ok(Some(self.turn_over(&mut shared)));
        }
        drop(shared); // reading may take its time

        let Some(next) = intake.claim()? else {
            self.ended = true;
            return Ok(Some(Claimed::Idle));
        };
        if let Some(room) = waiting.ledger.try_charge(READS, waiting.bound_of(&next)) {
            self.ingest.report.advance(next.read_bytes());
            self.last_piece = Some(ticket);
            return Ok(Some(Claimed::Piece(next, room, self.arena()?)));
        }
        intake.inputs.put_back(next);
        // Once all pieces before this one are committed, they have given back what they did not need.
        let in_flight = waiting.crew.in_flight as u64;
        let settled = self.last_piece.is_none_or(|last| last + in_flight <= ticket);
        let mut shared = lock(self.shared);
        if let Some(task) = self.next_task(&mut shared) {
            return Ok(Some(task));
        }
        if !(at_rest && settled) {
            return Ok(Some(Claimed::Idle));
        }
        if shared.reads > 0 {
            return Ok(Some(self.turn_over(&mut shared)));
        }
        self.stopped = true;
        Ok(None)
    }

    /// The arena of now; a new one after a turnover.
    fn arena(&mut self) -> Result<Arc<Arena>> {
        if self.arena.capacity() == 0 {
            let room = self.ingest.waiting.room;
            let arena = Arena::new(room as usize)
                .map_err(|e| Error::io(format!("{} MiB of memory are not to be had", room >> 20), &e))?;
            self.arena = Arc::new(arena);
        }
        Ok(Arc::clone(&self.arena))
    }

    /// The next task of the turnover, if it can be done now. Where reads are long, each of its tickets takes what such a one
    /// takes beyond a ticket's share; where that is not free, those under way have to end first.
    fn next_task(&self, shared: &mut Shared) -> Option<Claimed> {
        let (bytes, mut charge) =
            (large_bytes(shared.largest), self.ingest.waiting.ledger.empty(LONG_READS));
        if !charge.try_grow(bytes) {
            if shared.large_under_way > 0 {
                return None;
            }
            charge.resize(bytes);
        }
        let task = shared.turnover.next_task()?;
        shared.large_under_way += u64::from(bytes > 0);
        Some(Claimed::Turnover(task, charge))
    }

    fn turn_over(&mut self, shared: &mut Shared) -> Claimed {
        let full = std::mem::replace(&mut self.arena, Arc::new(Arena::empty()));
        Claimed::Turnover(shared.turnover.begin(full), self.ingest.waiting.ledger.empty(LONG_READS))
    }
}
