//! Integration tests.

mod blocks;
mod merge;
mod orders;
mod ranges;
