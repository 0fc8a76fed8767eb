//! The case files of recalibration and their short report form. Includes the tests' own parser, so
//! that both interpret them identically.

#[allow(dead_code)] // the tests use more of it
#[path = "../../../../tests/program/bqsr/cases.rs"]
mod cases;

pub use cases::{ARGUMENTS, BqsrCase, BqsrRun, FORMS, read};
