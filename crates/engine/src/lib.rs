//! Runs work on several threads and delivers the results in input order. This crate does not know what
//! the work is.
//!
//! A *pass* takes inputs one after the other, works on many of them at the same time, and delivers the
//! results in input order. Each input has a [`Ticket`], its number, and goes through five phases:
//!
//! ```text
//! claim  ──►  open  ──►  link  ──►  work  ──►  commit
//! serial     parallel    serial    parallel    serial
//! ```
//!
//! The three serial phases run in ticket order, with one thread at a time in each. They do not block
//! each other: one thread may claim while a second links and a third commits. In `link`, a ticket gets
//! the state that only its predecessors know, such as the number of records before it.
//!
//! # Limits on concurrency
//! [`Crew::threads`] is a strict total that includes the calling thread. [`Crew::in_flight`] is the
//! maximum number of tickets that are claimed but not yet committed. One thread runs the same code as
//! eight. Memory is limited by `claim`: it asks for the memory of an input before it takes the input,
//! and a [`Pool`] reuses the buffers of finished tickets.
//!
//! # How a pass ends
//! A pass ends when `claim` returns `None` and the last ticket has been committed. There is no other
//! stop signal, no time limit and no watchdog: the oldest ticket in flight never waits for a later one,
//! so it can always continue.
//!
//! # Errors and panics
//! If a ticket fails in any phase, later tickets are abandoned, and earlier ones continue to their
//! commit. If one of these fails too, the pass ends there instead. So [`run_pass`] returns the
//! error of the first ticket that fails *in ticket order*, and all tickets before it have been
//! committed, whatever the timing of the threads. After a panic, each thread finishes its current
//! job and stops; the panic then resumes in the caller.
//!
//! # Example
//! Words are changed on two threads and arrive in their order:
//!
//! ```
//! use readmill_engine::{Crew, map_ordered};
//!
//! let (mut words, mut out) = (["sort", "mark", "count"].into_iter(), Vec::new());
//! let crew = Crew { threads: 2, in_flight: 4 };
//! map_ordered(
//!     crew,
//!     || Ok(words.next()),                  // claim: serial, in order
//!     || (),                                // the scratch memory of each thread
//!     |(), word| Ok(word.to_uppercase()),   // any thread
//!     |word| Ok::<(), ()>(out.push(word)),  // commit: serial, in order
//! )?;
//! assert_eq!(out, ["SORT", "MARK", "COUNT"]);
//! # Ok::<(), ()>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod board;
mod map_ordered;
mod pass;
mod phases;
mod pool;
mod progress;
mod sync;

pub use map_ordered::map_ordered;
pub use pass::{Crew, Pass, Ticket, run_pass};
pub use pool::Pool;
pub use progress::Progress;
