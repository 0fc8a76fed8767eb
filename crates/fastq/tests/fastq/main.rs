//! Integration tests of the crate.

mod common;
mod fuzz;
mod index_reads;
mod malformed;
mod model;
mod pipes;
mod restart;
