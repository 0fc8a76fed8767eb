//! Command lines of every command, and small inputs for them. The gate on bytes runs them with two revisions, and the
//! fuzzer of the command line with damaged inputs.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod inputs;
pub mod lines;
