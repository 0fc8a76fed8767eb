//! The locks and threads that the concurrent modules use.
//!
//! `tests/engine/model.rs` compiles these modules against a simulated scheduler, with its own `sync`
//! module in place of this one.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use std::thread;
