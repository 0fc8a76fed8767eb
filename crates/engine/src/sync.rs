//! Where the concurrent files take their locks and threads from.
//!
//! `tests/engine/model.rs` compiles the very same files against a simulated scheduler by putting another module in this one's place.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use std::thread;
