//! Tests of the crate from outside.

mod items;
mod metrics;
