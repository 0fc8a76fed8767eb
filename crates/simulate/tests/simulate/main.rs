//! Integration tests of the crate.

mod common;
mod faults;
mod outputs;
mod records;
mod shares;
