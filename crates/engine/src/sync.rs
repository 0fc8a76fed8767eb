//! The locks and threads of the concurrent files.
//!
//! `tests/engine/model.rs` compiles the very same files against a simulated scheduler, with another module in this
//! one's place.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use std::thread;
