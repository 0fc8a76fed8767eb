//! Tests of the crate from outside.

mod common;
mod fuzz;
mod index_reads;
mod malformed;
mod model;
mod pipes;
mod restart;
