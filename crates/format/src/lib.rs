//! What a file is.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod bam;
pub mod bgzf;
pub mod chain;
pub mod sam;
pub mod source;
pub mod spill;
pub mod squeeze;
