//! Tests of the public interface of the crate.

mod adapters;
mod expression;
mod expression_beside_samtools;
mod filters_beside_samtools;
