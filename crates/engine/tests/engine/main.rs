//! All tests of the crate that use it from outside.

mod model;
mod pass;
