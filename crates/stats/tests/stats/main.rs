//! Tests of the public interface of the crate.

mod stats;
mod stats_beside_samtools;
