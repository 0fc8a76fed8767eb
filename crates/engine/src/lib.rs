//! How threads and memory are used. This crate knows nothing else: not what a ticket holds, nor where it comes from.
//!
//! A *pass* takes inputs one after the other, works on many of them at once and hands over the results in the order in which
//! the inputs came. Each input has a [`Ticket`], its number, and goes through five phases:
//!
//! ```text
//! claim  ──►  open  ──►  link  ──►  work  ──►  commit
//! serial     parallel    serial    parallel    serial
//! ```
//!
//! The three serial phases run in ticket order, one thread at a time in each, and do not hold each other up: one thread may
//! claim while a second links and a third commits. `link` is where a ticket learns what only its predecessors know.
//!
//! # What bounds concurrency
//! [`Crew::threads`] is a strict total that includes the calling thread, and [`Crew::in_flight`] is the number of tickets
//! that have been claimed and not yet committed. One thread takes the same path through the code as eight do. Memory is
//! bounded by whoever claims: it asks for the memory of an input before it takes it, and a [`Pool`] hands the buffers of
//! finished tickets to new ones.
//!
//! # How it stops
//! A pass ends when `claim` says that nothing is left and the last ticket has been committed. There is no other stop signal,
//! no time limit and no watchdog: the oldest ticket in flight never waits for a later one, so it can always go on.
//!
//! # How errors travel
//! A ticket that fails, in whatever phase, closes the pass behind it: later tickets are abandoned, earlier ones are carried
//! through to their commit. If one of those fails too, it closes the pass earlier still. So the error that [`run`] returns is
//! that of the first ticket to fail *in ticket order*, and everything before it has been committed, however the threads were
//! timed. A panic stops all threads as soon as they finish what they have in hand and then goes on in the caller.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod board;
mod pass;
mod phases;
mod pool;
mod progress;
mod sync;

pub use pass::{Crew, Pass, Ticket, run};
pub use pool::Pool;
pub use progress::Progress;
