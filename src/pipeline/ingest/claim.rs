//! The claimer of ingest: decides what each ticket does, and reserves memory for it.

use std::sync::{Arc, Mutex};

use readmill_engine::Ticket;
use readmill_record::{Arena, Error, Result};

use super::state::{Ingest, IngestState, lock_state};
use super::ticket::{ClaimedTicket, Flushing, Reading, TicketRoom};
use crate::pipeline::feed::FeedInput;
use crate::pipeline::sort_context::{LONG_READS, READS, long_read_bytes};

/// Decides whether each ticket reads a chunk, performs a flush task, or is idle. Called serially,
/// in ticket order.
pub struct Claimer<'a> {
    ingest: &'a Ingest<'a>,
    shared: &'a Mutex<IngestState>,
    /// The arena for records. Empty from the start of a flush until the next chunk is claimed.
    pub arena: Arc<Arena>,
    last_piece: Option<Ticket>,
    is_flush_turn: bool,
    pub has_ended: bool,
    has_stopped: bool,
}

impl<'a> Claimer<'a> {
    pub fn new(ingest: &'a Ingest<'a>, arena: Arc<Arena>, shared: &'a Mutex<IngestState>) -> Self {
        let (last_piece, alternate, ended, stopped) = Default::default();
        Claimer {
            ingest,
            shared,
            arena,
            last_piece,
            is_flush_turn: alternate,
            has_ended: ended,
            has_stopped: stopped,
        }
    }

    /// Returns the work for the next ticket. `None` ends the pass: either all inputs have ended and
    /// nothing remains to be flushed, or no flush could free the memory for the next chunk.
    pub fn claim_ticket(
        &mut self,
        ticket: Ticket,
        input: &mut FeedInput,
    ) -> Result<Option<ClaimedTicket>> {
        self.is_flush_turn = !self.is_flush_turn;
        let context = self.ingest.context;
        let mut shared = lock_state(self.shared);
        let is_idle = shared.flush.is_idle();
        self.has_stopped |= is_idle && (shared.too_many_runs || shared.end_bytes > context.room / 4);
        let no_more = self.has_ended || self.has_stopped;
        if no_more || self.is_flush_turn {
            if let Some(task) = self.next_flush_task(&mut shared) {
                return Ok(Some(task));
            }
            if no_more {
                return Ok((!is_idle).then_some(ClaimedTicket::Idle));
            }
        }
        let large = long_read_bytes(shared.largest_record_bytes);
        if is_idle && shared.arena_bytes >= context.flush_threshold(large) {
            return Ok(Some(self.start_flush(&mut shared)));
        }
        // Chunks must leave free the memory that flushing long reads needs, unless there is nothing
        // to flush.
        let nothing_waits = is_idle && shared.arena_bytes == 0 && self.all_committed(ticket);
        let kept = if nothing_waits { 0 } else { large };
        drop(shared); // reading may block

        let next = match input.claim_task() {
            Ok(Some(next)) => next,
            Ok(None) => {
                self.has_ended = true;
                return Ok(Some(ClaimedTicket::Idle));
            }
            Err(error) if error.is_shortage() => return self.make_room(ticket, is_idle),
            Err(error) => return Err(error),
        };
        let (max_bytes, expected) =
            (context.room_for_task(&next), next.max_record_bytes() + next.extra_open_bytes());
        let is_free = max_bytes == 0 || context.ledger.free() >= max_bytes.saturating_add(kept);
        let reserved = is_free.then(|| context.ledger.try_reserve(READS, max_bytes, expected)).flatten();
        if let Some(reserved) = reserved {
            self.ingest.console.advance(next.read_bytes());
            self.last_piece = Some(ticket);
            let room = TicketRoom { reserved, held_back: 0 };
            return Ok(Some(ClaimedTicket::Read(Reading {
                task: next,
                room,
                arena: self.current_arena()?,
            })));
        }
        input.inputs.put_back_task(next);
        self.make_room(ticket, is_idle)
    }

    /// Returns whether all chunks claimed so far are committed when `ticket` is claimed. Chunks
    /// that are committed have released the memory that they reserved but did not need.
    fn all_committed(&self, ticket: Ticket) -> bool {
        let in_flight = self.ingest.context.crew.in_flight as u64;
        self.last_piece.is_none_or(|last| last + in_flight <= ticket)
    }

    /// Returns a ticket that frees memory for the next chunk: a flush task, or an idle ticket while
    /// other tickets release memory. `None` ends the pass, because no flush would help. `is_idle`
    /// means that no flush was in progress when memory ran short.
    fn make_room(&mut self, ticket: Ticket, is_idle: bool) -> Result<Option<ClaimedTicket>> {
        let mut shared = lock_state(self.shared);
        if let Some(task) = self.next_flush_task(&mut shared) {
            return Ok(Some(task));
        }
        if !(is_idle && self.all_committed(ticket)) {
            return Ok(Some(ClaimedTicket::Idle));
        }
        if shared.arena_bytes > 0 {
            return Ok(Some(self.start_flush(&mut shared)));
        }
        self.has_stopped = true;
        Ok(None)
    }

    fn current_arena(&mut self) -> Result<Arc<Arena>> {
        if self.arena.capacity() == 0 {
            let room = self.ingest.context.room;
            let arena = Arena::new(room as usize).map_err(|e| {
                Error::io(format!("{} MiB of memory cannot be allocated", room >> 20), &e)
            })?;
            self.arena = Arc::new(arena);
        }
        Ok(Arc::clone(&self.arena))
    }

    /// Returns the next flush task, or `None` if none is available now. With long reads, each flush
    /// ticket needs memory in addition to its share; if it is not free, tickets in flight must
    /// finish first.
    fn next_flush_task(&self, shared: &mut IngestState) -> Option<ClaimedTicket> {
        let (bytes, mut large) = (
            long_read_bytes(shared.largest_record_bytes),
            self.ingest.context.ledger.empty_charge(LONG_READS),
        );
        if !large.try_grow(bytes) {
            if shared.large_flushes_in_flight > 0 {
                return None;
            }
            large.resize(bytes);
        }
        let task = shared.flush.next_task()?;
        shared.large_flushes_in_flight += u64::from(bytes > 0);
        Some(ClaimedTicket::Flush(Flushing { task, large }))
    }

    fn start_flush(&mut self, shared: &mut IngestState) -> ClaimedTicket {
        let full = std::mem::replace(&mut self.arena, Arc::new(Arena::empty()));
        let large = self.ingest.context.ledger.empty_charge(LONG_READS);
        ClaimedTicket::Flush(Flushing { task: shared.flush.begin_flush(full), large })
    }
}
