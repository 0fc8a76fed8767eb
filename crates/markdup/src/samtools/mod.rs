//! Duplicates by the rules of samtools markdup 1.24.
//!
//! A read says everything itself: where its mate aligns (RNEXT, PNEXT and the field MC), and what the mate scores (ms). So
//! mates are not joined, and each read is marked by itself.
//!
//! | step | file |
//! |---|---|
//! | what is compared of a read | [`key`] |
//! | keys packed to sort as numbers | `item` |
//! | the keys of a batch of reads | [`part`] |
//! | keys, in memory and on disk | [`store`] |
//! | which reads are duplicates | [`marks`] |
//! | optical duplicates, and the read that stays for each: what is found out, in which group, and where it is kept | [`detail`], [`group`], `detail_scan`, [`findings`] |
//! | the report | [`report`] |
//! | ties, which names decide; other records of a name | [`undecided`] |

pub mod detail;
mod detail_scan;
pub mod findings;
pub mod found;
pub mod group;
mod item;
pub mod key;
pub mod marks;
mod names;
pub mod part;
pub mod report;
pub mod store;
pub mod undecided;

pub use detail::{DuplicateDetails, OpticalReads, ReadCoords};
pub use marks::KeyedReads;
pub use part::SamtoolsPart;
pub use report::{ReadCounts, SamtoolsReport};
pub use store::SamtoolsItems;
pub use undecided::{NamedRead, Undecided};

use readmill_record::tag::Tag;

/// The most words of 64 bits that a record adds: the key of a pair, its 5′ end with its place, and the entry of its name.
pub const MOST_WORDS: usize = 4 + 3 + 3;

/// The bytes that a typical record adds: the key of a pair.
pub const USUAL_BYTES: u64 = 32;

/// How reads are compared by the rules of samtools.
#[derive(Clone, Debug, Default)]
pub struct SamtoolsRules {
    /// Which ends of a pair are compared.
    pub ends: PairEnds,
    /// Whether secondary, supplementary and unmapped records get the mark of the duplicate of their name, if that has SA or
    /// XA or an unmapped mate.
    pub other_records: bool,
    /// Whether reads that failed quality control take part; they lose against those that passed.
    pub failed_reads: bool,
    /// Whether only reads of one read group are compared.
    pub by_read_group: bool,
    /// The field of a barcode: only reads of one barcode are compared.
    pub barcode: Option<Tag>,
    /// What is found out about duplicates beyond 0x400.
    pub details: DuplicateDetails,
}

/// Which ends of a pair are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PairEnds {
    /// The outer ends of the template.
    #[default]
    Template,
    /// The 5′ ends of both reads.
    Sequence,
}
