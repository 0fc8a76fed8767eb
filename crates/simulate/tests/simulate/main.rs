//! Tests that use the crate from outside.

mod common;
mod faults;
mod outputs;
mod records;
mod shares;
