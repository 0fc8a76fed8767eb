//! The files of cases of recalibration, and the short form of reports in them, as the tests read them.

#[allow(dead_code)] // the tests use more of it
#[path = "../../../../tests/program/bqsr/cases.rs"]
mod cases;

pub use cases::{ARGUMENTS, BqsrCase, BqsrRun, FORMS, read};
