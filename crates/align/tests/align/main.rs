//! Integration tests of the crate, in one binary to save linking time.

#[cfg(feature = "bwa")]
mod bwa;
mod common;
#[cfg(any(feature = "bwa", feature = "minibwa"))]
mod damage;
#[cfg(feature = "bwa")]
mod index;
#[cfg(feature = "minibwa")]
mod minibwa;
mod scene;
