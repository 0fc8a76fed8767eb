//! Command lines for all commands, and small inputs for them.
//!
//! `./dev bytes` runs them with two revisions and compares the outputs; `tools/cli-fuzz` runs them
//! on damaged inputs.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod inputs;
pub mod lines;
