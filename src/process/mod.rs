//! This process: its allocator, memory limit, resource use, open files and standard streams, its
//! messages on standard error, its end with another process, and pauses for tests.

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
