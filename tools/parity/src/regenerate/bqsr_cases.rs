//! The case files of recalibration and their short form of reports. The tests' own parser
//! is included, so that both read the same.

#[allow(dead_code)] // the tests use more of it
#[path = "../../../../tests/program/bqsr/cases.rs"]
mod cases;

pub use cases::{ARGUMENTS, BqsrCase, BqsrRun, FORMS, read};
