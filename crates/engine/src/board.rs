//! The state of a pass: the phase of every ticket, and which job is next. It is plain data;
//! [`super::pass`] guards it with a lock.
//!
//! ```text
//! claimed ──► links (gate) ──► linked (queue) ──► commits (gate) ──► committed
//!             wait for order   any free thread    wait for order
//! ```
//!
//! *Limits.* `claimed - committed` never exceeds `in_flight`, and no queue holds more values than that.
//!
//! *End and errors.* One number handles both: `end`, the first ticket that will not be completed. It
//! starts at infinity and only decreases: to the ticket whose claim returned `None`, and to each ticket
//! that fails. No job starts at or after `end`, all earlier tickets continue, and the pass is over when
//! `committed` reaches `end`. The values of abandoned tickets stay here until the pass is over, so that
//! no destructor of the user's types runs under the lock.
//!
//! *The oldest ticket can always continue.* Its predecessors are committed, so it is next at each gate,
//! no other thread is in that phase, and it is first in the queue for work.

use std::any::Any;
use std::collections::VecDeque;

use super::phases::{Pass, Ticket};

pub(crate) type Payload = Box<dyn Any + Send>;

type PhaseResult<P, T> = Result<T, <P as Pass>::Error>;
type ClaimFn<'a, P> = dyn FnMut(Ticket) -> PhaseResult<P, Option<<P as Pass>::Input>> + Send + 'a;
type LinkFn<'a, P> =
    dyn FnMut(Ticket, <P as Pass>::Opened) -> PhaseResult<P, <P as Pass>::Linked> + Send + 'a;
type CommitFn<'a, P> = dyn FnMut(Ticket, <P as Pass>::Output) -> PhaseResult<P, ()> + Send + 'a;

/// A unit of work for one thread. Jobs of serial phases carry the closure of the phase, so only one
/// thread can be in that phase.
pub(crate) enum PassJob<'a, P: Pass> {
    Claim(Ticket, &'a mut ClaimFn<'a, P>),
    Open(Ticket, P::Input),
    Link(Ticket, &'a mut LinkFn<'a, P>, P::Opened),
    Work(Ticket, P::Linked),
    Commit(Ticket, &'a mut CommitFn<'a, P>, P::Output),
}

/// The result of a job. Serial phases also return their closure, which goes back to the board.
pub(crate) enum JobResult<'a, P: Pass> {
    Claim(Ticket, &'a mut ClaimFn<'a, P>, PhaseResult<P, Option<P::Input>>),
    Open(Ticket, PhaseResult<P, P::Opened>),
    Link(Ticket, &'a mut LinkFn<'a, P>, PhaseResult<P, P::Linked>),
    Work(Ticket, PhaseResult<P, P::Output>),
    Commit(Ticket, &'a mut CommitFn<'a, P>, PhaseResult<P, ()>),
}

impl<'a, P: Pass> PassJob<'a, P> {
    /// Runs the user's code for this job, without holding the lock.
    pub(crate) fn run_phase(self, pass: &P, worker: &mut P::Worker) -> JobResult<'a, P> {
        match self {
            PassJob::Claim(ticket, claim) => {
                let outcome = claim(ticket);
                JobResult::Claim(ticket, claim, outcome)
            }
            PassJob::Open(ticket, input) => JobResult::Open(ticket, pass.open(worker, input)),
            PassJob::Link(ticket, link, opened) => {
                let outcome = link(ticket, opened);
                JobResult::Link(ticket, link, outcome)
            }
            PassJob::Work(ticket, linked) => JobResult::Work(ticket, pass.work(worker, linked)),
            PassJob::Commit(ticket, commit, output) => {
                let outcome = commit(ticket, output);
                JobResult::Commit(ticket, commit, outcome)
            }
        }
    }
}

/// The entrance to a serial phase: values arrive in any order and enter one at a time, in ticket order.
struct PhaseGate<F, T> {
    /// The closure of the phase, or `None` while a thread runs it.
    turn: Option<F>,
    next: Ticket,
    /// The values from ticket `next` on; `None` for a ticket that has not arrived yet.
    ready: VecDeque<Option<T>>,
}

impl<F, T> PhaseGate<F, T> {
    fn new(turn: F) -> Self {
        PhaseGate { turn: Some(turn), next: 0, ready: VecDeque::new() }
    }

    fn store_arrival(&mut self, ticket: Ticket, value: T) {
        let place = (ticket - self.next) as usize; // less than in_flight
        if self.ready.len() <= place {
            self.ready.resize_with(place + 1, || None);
        }
        self.ready[place] = Some(value);
    }

    fn is_open(&self, end: Ticket) -> bool {
        self.next < end && self.turn.is_some() && matches!(self.ready.front(), Some(Some(_)))
    }

    fn enter_next(&mut self, end: Ticket) -> Option<(Ticket, F, T)> {
        if !self.is_open(end) {
            return None;
        }
        let (turn, value) = (self.turn.take()?, self.ready.pop_front()??);
        let ticket = self.next;
        self.next += 1;
        Some((ticket, turn, value))
    }
}

pub(crate) struct Board<'a, P: Pass> {
    in_flight: u64,
    claim: Option<&'a mut ClaimFn<'a, P>>,
    /// Number of tickets claimed, including one that is being claimed. This is also the number of the
    /// next ticket.
    claimed: Ticket,
    links: PhaseGate<&'a mut LinkFn<'a, P>, P::Opened>,
    /// Tickets ready for work. The oldest is first, because links end in ticket order.
    linked: VecDeque<(Ticket, P::Linked)>,
    commits: PhaseGate<&'a mut CommitFn<'a, P>, P::Output>,
    /// Number of tickets committed, excluding one that is being committed.
    committed: Ticket,
    end: Ticket,
    errors: Vec<(Ticket, P::Error)>,
    pub(crate) panics: Vec<Payload>,
    pub(crate) sleepers: usize,
}

impl<'a, P: Pass> Board<'a, P> {
    pub(crate) fn new(
        in_flight: usize,
        claim: &'a mut ClaimFn<'a, P>,
        link: &'a mut LinkFn<'a, P>,
        commit: &'a mut CommitFn<'a, P>,
    ) -> Self {
        Board {
            in_flight: in_flight.max(1) as u64,
            claim: Some(claim),
            claimed: 0,
            links: PhaseGate::new(link),
            linked: VecDeque::new(),
            commits: PhaseGate::new(commit),
            committed: 0,
            end: Ticket::MAX,
            errors: Vec::new(),
            panics: Vec::new(),
            sleepers: 0,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.committed >= self.end || !self.panics.is_empty()
    }

    pub(crate) fn has_job(&self) -> bool {
        self.links.is_open(self.end)
            || self.commits.is_open(self.end)
            || self.can_work()
            || self.can_claim()
    }

    /// Takes the job that a free thread should run next.
    ///
    /// Links are first because they are short and give work to other threads, then commits because they
    /// free memory. A thread that finishes a serial phase takes the next value for that phase before any
    /// other thread can, so it drains the gate. A new ticket is claimed only if no other job is
    /// available.
    pub(crate) fn take_job(&mut self) -> Option<PassJob<'a, P>> {
        if let Some((ticket, link, opened)) = self.links.enter_next(self.end) {
            return Some(PassJob::Link(ticket, link, opened));
        }
        if let Some((ticket, commit, output)) = self.commits.enter_next(self.end) {
            return Some(PassJob::Commit(ticket, commit, output));
        }
        if self.can_work() {
            return self.linked.pop_front().map(|(ticket, linked)| PassJob::Work(ticket, linked));
        }
        if self.can_claim() {
            let ticket = self.claimed;
            self.claimed += 1;
            return self.claim.take().map(|claim| PassJob::Claim(ticket, claim));
        }
        None
    }

    /// Records the result of a job. For a claimed input, returns the job that opens it, because the
    /// input is still in this thread's cache.
    pub(crate) fn record_result(&mut self, done: JobResult<'a, P>) -> Option<PassJob<'a, P>> {
        match done {
            JobResult::Claim(ticket, claim, outcome) => {
                self.claim = Some(claim);
                match outcome {
                    Ok(Some(input)) => return Some(PassJob::Open(ticket, input)),
                    Ok(None) => self.end = self.end.min(ticket),
                    Err(error) => self.record_error(ticket, error),
                }
            }
            JobResult::Open(ticket, Ok(opened)) => self.links.store_arrival(ticket, opened),
            JobResult::Link(ticket, link, outcome) => {
                self.links.turn = Some(link);
                match outcome {
                    Ok(linked) => self.linked.push_back((ticket, linked)),
                    Err(error) => self.record_error(ticket, error),
                }
            }
            JobResult::Work(ticket, Ok(output)) => self.commits.store_arrival(ticket, output),
            JobResult::Commit(ticket, commit, outcome) => {
                self.commits.turn = Some(commit);
                match outcome {
                    Ok(()) => self.committed += 1,
                    Err(error) => self.record_error(ticket, error),
                }
            }
            JobResult::Open(ticket, Err(error)) | JobResult::Work(ticket, Err(error)) => {
                self.record_error(ticket, error)
            }
        }
        None
    }

    /// Returns the outcome of the pass: the payload of a panic, the error of the first ticket that
    /// failed, or `Ok(None)`.
    pub(crate) fn into_result(self) -> Result<Option<P::Error>, Payload> {
        match self.panics.into_iter().next() {
            Some(payload) => Err(payload),
            None => {
                Ok(self.errors.into_iter().min_by_key(|(ticket, _)| *ticket).map(|(_, error)| error))
            }
        }
    }

    fn can_work(&self) -> bool {
        self.linked.front().is_some_and(|(ticket, _)| *ticket < self.end)
    }

    fn can_claim(&self) -> bool {
        self.claim.is_some() && self.claimed < self.end && self.claimed - self.committed < self.in_flight
    }

    /// Ends the pass at `ticket`. Errors of later tickets are kept as well, because dropping one here
    /// would run the user's code under the lock.
    fn record_error(&mut self, ticket: Ticket, error: P::Error) {
        self.end = self.end.min(ticket);
        self.errors.push((ticket, error));
    }
}
