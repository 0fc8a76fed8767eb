//! Tests that use the crate from outside.
#![allow(clippy::duplicate_mod)] // the script runs twice: with real threads, and under a simulated scheduler

mod model;
mod pass;
