//! The part of a reference that all its readers share.

use std::path::PathBuf;

use readmill_record::{Charge, Ledger};

use super::bytes::Layout;
use super::index::FaiEntry;

/// The remedy if files belong to different references.
pub const SAME_REFERENCE: &str = "give the FASTA file to which the reads were aligned";

/// An open FASTA file.
pub struct OpenFasta {
    pub path: PathBuf,
    pub layout: Layout,
    pub sequences: Vec<FaiEntry>,
    pub notes: Vec<String>,
    /// The charge for the sequences.
    pub charge: Charge,
}

impl OpenFasta {
    /// The ledger that pays for it.
    pub fn ledger(&self) -> &Ledger {
        self.charge.ledger()
    }
}
