//! Tests of the crate from outside.

mod blocks;
mod merge;
mod orders;
mod ranges;
