//! What all readers of a reference share.

use std::path::PathBuf;

use readmill_record::{Charge, Ledger};

use super::bytes::Layout;
use super::index::FaiEntry;

/// What to do where files are of different references.
pub const SAME_REFERENCE: &str = "give the FASTA file to which the reads were aligned";

/// An open FASTA file.
pub struct OpenFasta {
    pub path: PathBuf,
    pub layout: Layout,
    pub sequences: Vec<FaiEntry>,
    pub notes: Vec<String>,
    /// Of the sequences.
    pub charge: Charge,
}

impl OpenFasta {
    /// What its memory is charged to.
    pub fn ledger(&self) -> &Ledger {
        self.charge.ledger()
    }
}
