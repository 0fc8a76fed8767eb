//! The atomics and locks that `ring.rs` uses.
//!
//! `tests/fastq/model.rs` compiles `ring.rs` with a replacement for this module, in which every
//! operation goes through a simulated scheduler.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
pub(crate) use std::sync::{Mutex, MutexGuard};

pub(crate) use std::hint::spin_loop;
pub(crate) use std::thread::yield_now;
