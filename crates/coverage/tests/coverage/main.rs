//! Tests of the crate from outside.

mod model;
mod oracle;
mod support;
