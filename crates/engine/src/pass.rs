//! Runs a [`Pass`]: several threads carry tickets through its phases.
//!
//! *Limits.* There are `threads` threads, the caller included, and at most `in_flight` tickets. All
//! bookkeeping is in one [`Board`] behind one mutex. A thread holds the mutex for the few instructions
//! between two jobs, and never while it runs the user's code. Each serial phase (claim, link, commit) is
//! a closure that a thread takes from the board and puts back, so there are no further locks and no lock
//! order.
//!
//! *End.* A thread stops when the board reports that the pass is over: all tickets before its end are
//! committed, or a thread has panicked. The thread that ends the pass wakes all sleeping threads.
//!
//! *No wakeup is lost.* The board changes only in the critical section in which the next job is chosen.
//! A thread that leaves this section with a job wakes a sleeping thread if another job is available, and
//! that thread does the same.
//!
//! *Errors.* A failed ticket moves the end of the pass back to itself (see [`Board`]). A panic is caught
//! on its thread, stored on the board, and resumed in the caller once every thread has left.
#![allow(clippy::disallowed_methods, reason = "the one place that starts threads")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;

use super::board::{Board, JobResult, PassJob, Payload};
pub use super::phases::{Pass, Ticket};
use super::sync::{Condvar, Mutex, MutexGuard, thread};

/// Stack size of a spawned thread. It is set explicitly, so that the division of memory does not depend
/// on the environment or the platform.
const WORKER_STACK_BYTES: usize = 2 << 20;

/// Limits on concurrency. Zero in either field counts as one.
#[derive(Clone, Copy, Debug)]
pub struct Crew {
    /// Total number of threads, including the caller.
    pub threads: usize,
    /// Maximum number of tickets that are claimed and not yet committed.
    pub in_flight: usize,
}

/// Carries every ticket through claim, open, link, work and commit, and returns the workers.
///
/// `claim` takes the next input, or returns `None` at the end; it is not called again after `None` or an
/// error. `claim`, `link` and `commit` each run for one ticket at a time, in ticket order. None of them
/// may wait for a later phase of any ticket: the waiting thread may be the only one.
///
/// One worker is returned for each thread that ran, in no particular order. There are fewer than
/// `threads` if the system refused to start more.
///
/// ```
/// use readmill_engine::{Crew, Pass, run_pass};
///
/// /// Squares numbers.
/// struct Square;
///
/// impl Pass for Square {
///     type Input = u64;
///     type Opened = u64;
///     type Linked = u64;
///     type Output = u64;
///     type Worker = ();
///     type Error = ();
///
///     fn make_worker(&self) {}
///     fn open(&self, (): &mut (), number: u64) -> Result<u64, ()> {
///         Ok(number * number)
///     }
///     fn work(&self, (): &mut (), sum: u64) -> Result<u64, ()> {
///         Ok(sum)
///     }
/// }
///
/// let (mut sum, mut sums) = (0, Vec::new());
/// let crew = Crew { threads: 2, in_flight: 4 };
/// let claim = |ticket| Ok((ticket < 4).then_some(ticket));
/// let link = |_, square| {
///     sum += square; // serial, in ticket order
///     Ok(sum)
/// };
/// let commit = |_, sum| {
///     sums.push(sum);
///     Ok(())
/// };
/// run_pass(crew, &Square, claim, link, commit)?;
/// assert_eq!(sums, [0, 1, 5, 14]);
/// # Ok::<(), ()>(())
/// ```
///
/// # Errors
/// Returns the error of the first ticket, in ticket order, that fails in any phase. A failed claim
/// counts as a failure of the ticket that it would have created. All earlier tickets have been
/// committed; this ticket and later ones never will be.
///
/// # Panics
/// Resumes the first panic of the user's code, once all threads have finished their current jobs.
pub fn run_pass<P: Pass>(
    crew: Crew,
    pass: &P,
    mut claim: impl FnMut(Ticket) -> Result<Option<P::Input>, P::Error> + Send,
    mut link: impl FnMut(Ticket, P::Opened) -> Result<P::Linked, P::Error> + Send,
    mut commit: impl FnMut(Ticket, P::Output) -> Result<(), P::Error> + Send,
) -> Result<Vec<P::Worker>, P::Error> {
    let runner = Runner {
        board: Mutex::new(Board::new(crew.in_flight, &mut claim, &mut link, &mut commit)),
        wakeup: Condvar::new(),
    };
    let workers = thread::scope(|scope| {
        let mut handles = Vec::new();
        for number in 1..crew.threads {
            let builder =
                thread::Builder::new().name(format!("worker-{number}")).stack_size(WORKER_STACK_BYTES);
            match builder.spawn_scoped(scope, || runner.run_jobs(pass)) {
                Ok(handle) => handles.push(handle),
                Err(_) => break, // the threads that did start, at least the caller, can do all the work
            }
        }
        let mut workers = Vec::from_iter(runner.run_jobs(pass));
        for handle in handles {
            workers.extend(handle.join().unwrap_or_else(|payload| resume_unwind(payload)));
        }
        workers
    });
    let board = runner.board.into_inner().unwrap_or_else(PoisonError::into_inner);
    match board.into_result() {
        Ok(None) => Ok(workers),
        Ok(Some(error)) => Err(error),
        Err(payload) => resume_unwind(payload),
    }
}

struct Runner<'a, P: Pass> {
    board: Mutex<Board<'a, P>>,
    wakeup: Condvar,
}

impl<'a, P: Pass> Runner<'a, P> {
    /// Runs jobs on this thread until the pass is over. Returns the worker of the thread, or `None` if
    /// the user's code panicked.
    fn run_jobs(&self, pass: &P) -> Option<P::Worker> {
        // A panic drops the worker through which it unwinds, and a closure that was not put back is
        // never called again.
        let work = AssertUnwindSafe(|| {
            let mut worker = pass.make_worker();
            let mut job = self.next_job();
            while let Some(current) = job {
                let done = current.run_phase(pass, &mut worker);
                job = self.complete_job(done);
            }
            worker
        });
        catch_unwind(work).map_err(|payload| self.record_panic(payload)).ok()
    }

    /// Records the result of a job and takes the next one. Returns `None` when the pass is over.
    fn complete_job(&self, done: JobResult<'a, P>) -> Option<PassJob<'a, P>> {
        let mut board = self.lock_board();
        match board.record_result(done) {
            Some(job) => self.leave_board_with_job(job, board),
            None => self.wait_for_job(board),
        }
    }

    fn next_job(&self) -> Option<PassJob<'a, P>> {
        self.wait_for_job(self.lock_board())
    }

    fn wait_for_job(&self, mut board: MutexGuard<'_, Board<'a, P>>) -> Option<PassJob<'a, P>> {
        loop {
            if board.is_over() {
                if board.sleepers > 0 {
                    self.wakeup.notify_all();
                }
                return None;
            }
            if let Some(job) = board.take_job() {
                return self.leave_board_with_job(job, board);
            }
            board.sleepers += 1;
            board = self.wakeup.wait(board).unwrap_or_else(PoisonError::into_inner);
            board.sleepers -= 1;
        }
    }

    /// Releases the board, wakes another thread if there is a job for it, and returns `job`. Sleepers
    /// are counted, because notifying costs a system call even if no thread sleeps.
    fn leave_board_with_job(
        &self,
        job: PassJob<'a, P>,
        board: MutexGuard<'_, Board<'a, P>>,
    ) -> Option<PassJob<'a, P>> {
        let wake = board.sleepers > 0 && board.has_job();
        drop(board);
        if wake {
            self.wakeup.notify_one();
        }
        Some(job)
    }

    fn record_panic(&self, payload: Payload) {
        self.lock_board().panics.push(payload);
        self.wakeup.notify_all();
    }

    /// Locks the board. The user's code never runs under this lock, so its panics do not poison it.
    fn lock_board(&self) -> MutexGuard<'_, Board<'a, P>> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
