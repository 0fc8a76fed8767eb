//! All tests of the crate that use it from outside.

mod common;
mod faults;
mod outputs;
mod records;
mod shares;
