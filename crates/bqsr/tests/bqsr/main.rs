//! Integration tests of the crate.

mod recalibration;
