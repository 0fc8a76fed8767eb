//! Marks where reads run into the adapter after their template: XT, as Picard MarkIlluminaAdapters does.
//!
//! A template that is shorter than its reads ends at the same base in both, and after it each read continues
//! with its adapter. [`Marker`] finds that base in single reads and in pairs, and writes it to
//! [`readmill_record::ReadBatch`]. Picard drops the adapters of its list that are rare among the first ones
//! found, which depends on the order of the input: [`Kept`] holds the remaining list, once [`Tally`] has seen
//! enough templates, in that order; marks that were made meanwhile are corrected.

mod marker;
mod prefix_scan;
mod pruning;
mod rules;
mod search;
mod sequences;

pub use marker::{FoundIn, Marker};
pub use pruning::{Kept, Tally};
pub use rules::{AdapterRules, Pruning, Stringency};
pub use sequences::AdapterPair;
