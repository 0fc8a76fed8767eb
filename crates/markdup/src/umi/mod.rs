//! Unique molecular identifiers (UMIs), which say which templates of one position come from one molecule.
//!
//! | step | file |
//! |---|---|
//! | a UMI as one number | [`code`] |
//! | the UMI of a read, from a field, its name or its bases | [`source`] |
//! | UMIs that are few edits from one, without comparing all with all | [`neighbours`] |
//! | which UMIs of one position are one molecule | [`mod@cluster`] |
//! | one code for both strands of a duplex molecule | [`duplex`] |
//! | UMIs in the code of items | [`item_code`] |

pub mod cluster;
pub mod code;
pub mod duplex;
pub mod item_code;
pub mod neighbours;
pub mod source;
#[cfg(test)]
mod testing;

pub use cluster::{Method, UmiCount, cluster};
pub use code::Umi;
pub use duplex::Strand;
pub use item_code::Umis;
pub use source::UmiSource;
