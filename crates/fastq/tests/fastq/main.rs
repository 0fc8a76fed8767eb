//! All tests of the crate that use it from outside.

mod common;
mod fuzz;
mod malformed;
mod model;
mod pipes;
