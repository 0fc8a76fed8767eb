//! The rules by which duplicates are found.

use super::barcodes::Barcodes;
use super::location::ReadNames;
use super::score::Strategy;
use super::umi::Umis;

/// The rules by which duplicates are found, and the results to store. The default is Picard's.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// How reads are scored.
    pub strategy: Strategy,
    /// The format of read names, which gives locations on the flow cell.
    pub names: ReadNames,
    /// How optical duplicates are found; `None` if they are not searched.
    pub optical: Option<Optical>,
    /// The code that keeps templates of equal ends apart; `None` without barcodes and UMIs.
    pub coding: Option<Coding>,
    /// Whether to store the members of each duplicate set of more than one.
    pub members: bool,
    /// Whether to number the molecules that UMIs identify.
    pub molecules: bool,
}

/// The rules for optical duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optical {
    /// Most pixels between them, in x and in y.
    pub distance: i32,
    /// Larger sets are not searched.
    pub most: u64,
    /// Whether sets of single reads are searched, too.
    pub single: bool,
    /// Whether only optical duplicates count as duplicates.
    pub alone: bool,
}

impl Default for Optical {
    /// Picard's.
    fn default() -> Self {
        Optical { distance: 100, most: 300_000, single: false, alone: false }
    }
}

/// The code that keeps templates of equal ends apart.
#[derive(Clone, Debug)]
pub enum Coding {
    /// Barcodes, as Picard compares them.
    Barcodes(Barcodes),
    /// UMIs, of which several can be one molecule.
    Umis(Umis),
}
