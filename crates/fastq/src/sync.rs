//! The atomics and locks of `ring.rs`.
//!
//! `tests/fastq/model.rs` compiles the very same file against a simulated scheduler, with another module in this
//! one's place.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
pub(crate) use std::sync::{Mutex, MutexGuard};

pub(crate) use std::hint::spin_loop;
pub(crate) use std::thread::yield_now;
