//! Puts alignments onto the records of reads that were not aligned, by the rules of Picard MergeBamAlignment 3.4.0: a template
//! keeps its fields, and gets positions, CIGARs and the aligner's fields.
//!
//! 1. [`candidates`] says which alignments of a template count; where an end has several, [`arrange`] puts them into rows,
//!    and chooses the primary one.
//! 2. [`Merger`] writes the records of a template: alignments are carried over, clipped, and mates get the fields about each other.

mod candidates;
mod choice;
mod clip;
mod draft;
mod merger;
mod named;
mod ops;
mod rules;

pub use candidates::{Candidates, Hit, candidates};
pub use choice::{Arrangement, Candidate, PrimaryChoice, TieBreaker, arrange};
pub use merger::Merger;
pub use rules::{ContaminantAlignments, MergeRules, Orientation, OverlapClip};
