//! All tests of the crate that use it from outside.
#![allow(clippy::duplicate_mod)] // the script runs twice: with real threads, and under a simulated scheduler

mod model;
mod pass;
