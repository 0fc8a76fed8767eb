//! Integration tests.

mod recalibration;
