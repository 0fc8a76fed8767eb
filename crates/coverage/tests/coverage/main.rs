//! Tests of the crate from outside.

mod depth;
mod model;
mod oracle;
mod support;
