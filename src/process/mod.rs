//! This process: its allocator, its memory limit, its log on standard error, and pauses for tests.

pub mod allocator;
pub mod console;
pub mod limit;
pub mod pause;
