//! Merges alignments into unaligned reads, with the rules of Picard MergeBamAlignment 3.4.0. The
//! reads keep their own fields, and get positions, CIGARs and the aligner's fields.
//!
//! ```text
//! unaligned reads ------------------------------------------------------> Merger --> records
//! alignments --> TemplateHits --> to_candidates --> arrange_hits ------->  ^
//!                which ones       comparable        rows with the          |
//!                take part                          primary one          MergeRules
//! ```
//!
//! 1. [`TemplateHits`] selects the alignments of a template that take part. If read 1 or read 2 has
//!    several, [`arrange_hits`] pairs them in rows and chooses the primary row. Templates are
//!    arranged in input order, because random numbers break ties, as in Picard.
//! 2. [`Merger`] writes the records of a template, on any thread: it transfers the alignments,
//!    clips them, and sets the mate fields.

mod candidates;
mod choice;
mod clip;
mod draft;
mod merger;
mod named;
mod ops;
mod rules;

pub use candidates::{AlignmentHit, TemplateHits, to_candidates};
pub use choice::{Arrangement, Candidate, PrimaryChoice, TieBreaker, arrange_hits};
pub use merger::Merger;
pub use rules::{ContaminantAlignments, MergeRules, OverlapClip, PairOrientation};
