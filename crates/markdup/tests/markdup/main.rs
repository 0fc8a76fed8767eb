//! Integration tests.

mod items;
mod metrics;
