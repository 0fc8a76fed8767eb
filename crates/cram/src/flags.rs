//! CRAM's own flags: of a record (CF) and of its mate (MF).

/// Qualities are stored as an array.
pub const QUALITIES: i32 = 1;
/// The data of the mate are stored.
pub const DETACHED: i32 = 2;
/// The mate follows in the slice.
pub const DOWNSTREAM: i32 = 4;
/// There are no bases.
pub const NO_BASES: i32 = 8;
/// TLEN is stored although the mate is in the slice. (An extension of htslib.)
pub const WITH_TLEN: i32 = 16;

/// The mate is on the reverse strand.
pub const MATE_REVERSE: i32 = 1;
/// The mate is unmapped.
pub const MATE_UNMAPPED: i32 = 2;
