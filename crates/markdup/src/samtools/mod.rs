//! Duplicate marking by the rules of samtools markdup 1.24.
//!
//! Each read contains everything that is compared: the position of its mate (RNEXT, PNEXT and the
//! field MC) and the mate's score (ms). So mates are not joined, and each read is marked
//! independently. Names are not stored, because ties are rare; they are read again from the reads
//! that need them.
//!
//! | step | module |
//! |---|---|
//! | the key of a read | [`key`] |
//! | keys packed to sort as numbers | `item` |
//! | the keys of a batch of reads | [`part`] |
//! | keys of the whole input, in memory and on disk | [`store`] |
//! | the scan that marks duplicates | [`marks`] |
//! | optical duplicates and originals: options, groups, decisions, storage | [`detail`], [`group`], `detail_scan`, [`findings`], [`found`] |
//! | ties, which names decide; other records with the same name | [`undecided`] |
//! | the report | [`report`] |

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

/// Maximum number of 64-bit words that a record adds: a pair key, a located 5′ end, and a name.
pub const MAX_WORDS_PER_RECORD: usize = 4 + 3 + 3;

pub const TYPICAL_BYTES_PER_RECORD: u64 = 32;

#[derive(Clone, Debug, Default)]
pub struct SamtoolsRules {
    pub ends: PairEnds,
    /// Mark secondary, supplementary and unmapped records if their name has a duplicate with SA, XA
    /// or an unmapped mate (`-S`).
    pub other_records: bool,
    /// Compare reads that failed quality control. They lose against reads that passed.
    pub failed_reads: bool,
    pub by_read_group: bool,
    pub barcode: Option<Tag>,
    pub details: DuplicateDetails,
}

/// Which ends of a pair are compared (`-m`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PairEnds {
    /// The outer ends of the template.
    #[default]
    Template,
    /// The 5′ ends of both reads.
    Sequence,
}
