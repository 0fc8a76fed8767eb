//! The one runner: a crew of threads carries tickets through a [`Pass`].
//!
//! *What bounds it.* The crew is `threads` strong, caller included, and at most `in_flight` tickets are under way. All
//! bookkeeping is on one [`Board`] behind one mutex; a thread holds it for the few instructions between two jobs and never
//! while it runs the user's code. What must not run twice at once (claim, link, commit) is a closure that a thread takes from
//! the board and puts back, so there are no further locks and no order in which to take them.
//!
//! *How it stops.* A thread leaves when the board says that the pass is over: everything before its end is committed, or
//! somebody panicked. The thread that brings this about wakes all who sleep.
//!
//! *No wakeup is lost.* Every change of the board happens in the same critical section as the choice of the next job. A thread
//! that leaves it with a job while there is another one for the taking wakes one sleeper, who does the same in turn.
//!
//! *How errors travel.* A failed ticket moves the end of the pass back to itself, see [`Board`]. A panic is caught on its
//! thread, put on the board and resumed on the caller once every thread has left.
#![allow(clippy::disallowed_methods, reason = "the one place that starts threads")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;

use super::board::{Board, Done, Job, Payload};
pub use super::phases::{Pass, Ticket};
use super::sync::{Condvar, Mutex, MutexGuard, thread};

/// Stack of a spawned thread. Explicit, so that neither the environment nor the platform changes the memory division.
const STACK_BYTES: usize = 2 << 20;

/// How much may happen at once. A zero in either place counts as one.
#[derive(Clone, Copy, Debug)]
pub struct Crew {
    /// Threads in all; the caller is one of them.
    pub threads: usize,
    /// Tickets claimed and not yet committed.
    pub in_flight: usize,
}

/// Carries every ticket through claim, open, link, work and commit, and returns the workers.
///
/// `claim` takes the next input, or `None` when nothing is left; it is not called again after `None` or an error. `claim`,
/// `link` and `commit` each run for one ticket at a time, in ticket order. None of them may wait for what only a later phase
/// of some ticket brings about: the thread that waits may be the only one.
///
/// There is one worker for each thread that ran, in no particular order, and fewer of them than `threads` if the system
/// refused to start more.
///
/// # Errors
/// The error of the first ticket, in ticket order, that fails in any phase; a failed claim counts as the ticket it would have
/// been. All tickets before it have been committed by then, and neither it nor any later one has been or will be.
///
/// # Panics
/// Resumes the first panic of the user's code, once all threads have put down what they had in hand.
pub fn run<P: Pass>(
    crew: Crew,
    pass: &P,
    mut claim: impl FnMut(Ticket) -> Result<Option<P::Input>, P::Error> + Send,
    mut link: impl FnMut(Ticket, P::Opened) -> Result<P::Linked, P::Error> + Send,
    mut commit: impl FnMut(Ticket, P::Output) -> Result<(), P::Error> + Send,
) -> Result<Vec<P::Worker>, P::Error> {
    let shop = Shop {
        board: Mutex::new(Board::new(crew.in_flight, &mut claim, &mut link, &mut commit)),
        news: Condvar::new(),
    };
    let workers = thread::scope(|scope| {
        let mut mates = Vec::new();
        for number in 1..crew.threads {
            let mate = thread::Builder::new().name(format!("worker-{number}")).stack_size(STACK_BYTES);
            match mate.spawn_scoped(scope, || shop.serve(pass)) {
                Ok(handle) => mates.push(handle),
                Err(_) => break, // whoever did start, and the caller at the least, can do all of it
            }
        }
        let mut workers = Vec::from_iter(shop.serve(pass));
        for mate in mates {
            workers.extend(mate.join().unwrap_or_else(|payload| resume_unwind(payload)));
        }
        workers
    });
    let board = shop.board.into_inner().unwrap_or_else(PoisonError::into_inner);
    match board.verdict() {
        Ok(None) => Ok(workers),
        Ok(Some(error)) => Err(error),
        Err(payload) => resume_unwind(payload),
    }
}

/// What the threads of a crew share.
struct Shop<'a, P: Pass> {
    board: Mutex<Board<'a, P>>,
    /// There may be a job, or the pass may be over.
    news: Condvar,
}

impl<'a, P: Pass> Shop<'a, P> {
    /// One thread's part in the pass; no worker is left of a panic.
    fn serve(&self, pass: &P) -> Option<P::Worker> {
        // The worker that a panic went through is dropped, and nobody looks at a closure that did not come back to the board.
        let shift = AssertUnwindSafe(|| {
            let mut worker = pass.worker();
            let mut job = self.next_job();
            while let Some(todo) = job {
                let done = todo.perform(pass, &mut worker);
                job = self.exchange(done);
            }
            worker
        });
        catch_unwind(shift).map_err(|payload| self.stop(payload)).ok()
    }

    /// Puts the result of a job on the board and takes the next job; `None` when the pass is over.
    fn exchange(&self, done: Done<'a, P>) -> Option<Job<'a, P>> {
        let mut board = self.lock();
        match board.settle(done) {
            Some(job) => self.leave_with(job, board),
            None => self.choose(board),
        }
    }

    fn next_job(&self) -> Option<Job<'a, P>> {
        self.choose(self.lock())
    }

    /// Sleeps until there is a job or the pass is over.
    fn choose(&self, mut board: MutexGuard<'_, Board<'a, P>>) -> Option<Job<'a, P>> {
        loop {
            if board.is_over() {
                if board.sleepers > 0 {
                    self.news.notify_all();
                }
                return None;
            }
            if let Some(job) = board.take_job() {
                return self.leave_with(job, board);
            }
            board.sleepers += 1;
            board = self.news.wait(board).unwrap_or_else(PoisonError::into_inner);
            board.sleepers -= 1;
        }
    }

    /// Passes the word on if there is more to do than this thread is about to. Sleepers are counted because telling nobody
    /// costs a system call all the same.
    fn leave_with(&self, job: Job<'a, P>, board: MutexGuard<'_, Board<'a, P>>) -> Option<Job<'a, P>> {
        let call = board.sleepers > 0 && board.has_job();
        drop(board);
        if call {
            self.news.notify_one();
        }
        Some(job)
    }

    fn stop(&self, payload: Payload) {
        self.lock().panics.push(payload);
        self.news.notify_all();
    }

    /// The user's code never runs under this lock, so its panics do not poison it.
    fn lock(&self) -> MutexGuard<'_, Board<'a, P>> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
