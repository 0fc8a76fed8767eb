//! Integration tests of the crate.

mod depth;
mod model;
mod oracle;
mod support;
