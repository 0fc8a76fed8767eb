//! Where reads run into the adapter behind their template: XT, as Picard MarkIlluminaAdapters has it.
//!
//! A template that is shorter than its reads ends at the same base in both, and behind it each read goes on with its
//! adapter. [`Marker`] looks for that base in single reads and in pairs, and notes it in [`readmill_record::ReadBatch`]. Picard drops the adapters of
//! its list that are rare among the first ones found, which depends on the order of the input: [`Kept`] says what is left of the
//! list, once [`Tally`] has seen enough, in that order; what was marked meanwhile is made good.

mod front;
mod marker;
mod pruning;
mod rules;
mod search;
mod sequences;

pub use marker::{FoundIn, Marker};
pub use pruning::{Kept, Tally};
pub use rules::{AdapterRules, Pruning, Stringency};
pub use sequences::AdapterPair;
