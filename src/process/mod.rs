//! This process: its allocator, its memory limit, what it has used, its open files, its standard streams, its log on standard error, its
//! end with another process, and pauses for tests.

pub mod allocator;
pub mod console;
pub mod drawing;
pub mod end_with;
pub mod limit;
pub(crate) mod open_files;
pub mod pause;
pub(crate) mod samples;
pub mod streams;
pub(crate) mod used;
