//! All tests of the crate that use it from outside.

#[cfg(feature = "bwa")]
mod bwa;
mod common;
#[cfg(feature = "bwa")]
mod index;
#[cfg(feature = "minibwa")]
mod minibwa;
mod scene;
