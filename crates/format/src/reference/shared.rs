//! What all readers of a reference share.

use std::path::PathBuf;

use super::bytes::Layout;
use super::index::Sequence;

/// An open FASTA file.
pub struct Shared {
    pub path: PathBuf,
    pub layout: Layout,
    pub sequences: Vec<Sequence>,
    pub notes: Vec<String>,
}
