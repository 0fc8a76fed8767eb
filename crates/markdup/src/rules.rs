//! What duplicates are judged by.

use super::barcodes::Barcodes;
use super::location::ReadNames;
use super::score::Strategy;
use super::umi::Umis;

/// What duplicates are judged by, and what is to be told of them. The default is Picard's.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// What makes a read good.
    pub strategy: Strategy,
    /// How read names tell where on the flow cell a read was seen.
    pub names: ReadNames,
    /// What tells optical duplicates from others; nothing where they are not looked for.
    pub optical: Option<Optical>,
    /// What tells templates of equal ends apart.
    pub coding: Option<Coding>,
    /// Whether to remember who belongs to which duplicate set of more than one.
    pub members: bool,
    /// Whether to number the molecules that UMIs tell.
    pub molecules: bool,
}

/// What makes duplicates optical.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optical {
    /// Most pixels between them, in x and in y.
    pub distance: i32,
    /// Larger sets are not looked at.
    pub most: u64,
    /// Whether single reads are looked at, too.
    pub single: bool,
    /// Whether others do not count as duplicates.
    pub alone: bool,
}

impl Default for Optical {
    /// Picard's.
    fn default() -> Self {
        Optical { distance: 100, most: 300_000, single: false, alone: false }
    }
}

/// What tells templates of equal ends apart.
#[derive(Clone, Debug)]
pub enum Coding {
    /// Barcodes, as Picard compares them.
    Barcodes(Barcodes),
    /// UMIs, of which several can be one molecule.
    Umis(Umis),
}
