//! The location of a read on the flow cell, parsed from its name.
//!
//! | names | example | tile, x, y |
//! |---|---|---|
//! | Illumina since 1.8, Element, Singular, with or without more fields | `A00887:518:HGCKJDRX2:2:2268:10691:21731:TAAGTC` | 2268, 10691, 21731 |
//! | Illumina before, with or without more fields | `HWI-ST550_0201:3:1101:1626:2216#ACAGTG/1` | 1101, 1626, 2216 |
//! | MGI DNBSEQ | `E100003218L1C034R0294035623` | column 34 and row 29, spot 4035623 |
//!
//! [`ReadNames::Full`] parses all of these; Picard's own rules parse the first two, without more
//! fields. Names of Ultima, Oxford Nanopore, PacBio and sequence archives have no comparable
//! location. Names of Ion Torrent have none either: they contain wells of a chip.

mod full;
mod names;

pub use names::ReadNames;

/// The location of a read on the flow cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Tile number, -32768 to 1,015,807, or -1 if unknown.
    pub tile: i32,
    /// In the unit of the read name (Illumina: a tenth of a pixel), -32768 to 4,161,535.
    pub x: i32,
    pub y: i32,
}

impl Location {
    /// No location. With Picard's rules, a tile of 65535 wraps to -1 and therefore also counts as
    /// unknown.
    pub const NONE: Location = Location { tile: -1, x: -1, y: -1 };
}

fn count_colons(qname: &[u8]) -> usize {
    qname.iter().filter(|&&byte| byte == b':').count()
}

fn split_last(qname: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = qname.iter().rposition(|&byte| byte == b':')?;
    Some((&qname[..colon], &qname[colon + 1..]))
}
