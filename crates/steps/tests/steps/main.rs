//! All tests of the crate that use it from outside.

mod adapters;
mod blocks;
mod expression;
mod expression_beside_samtools;
mod filters_beside_samtools;
mod merge;
mod metrics;
mod orders;
mod recalibration;
mod stats;
mod stats_beside_samtools;
