//! Confidence in the reference: how sure it is that a sample has no variant at a position.
//!
//! | part | purpose | entry point |
//! |---|---|---|
//! | region | positions of a region, in order | [`ReferenceConfidence`], [`RegionConfidence`] |
//! | pileup | bases of reads at a position | [`ConfidenceRead`] |
//! | substitutions | likelihoods of another base | |
//! | indels | likelihoods of an insertion or deletion | |
//! | plausible | positions of a read where no indel is plausible | |

mod indels;
mod pileup;
mod plausible;
mod region;
mod substitutions;

pub use pileup::{ConfidenceRead, DeletionAtEnd};
pub use region::{ConfidenceAt, ReferenceConfidence, RegionConfidence};
