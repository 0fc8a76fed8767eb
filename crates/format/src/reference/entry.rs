//! The place of a contig in the text of a FASTA.

/// A contig's line of the .fai.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FaiEntry {
    pub name: Vec<u8>,
    /// Its length in bases.
    pub length: u32,
    /// Offset of its first base in the text.
    pub offset: u64,
    /// Bases of a full line.
    pub bases: u64,
    /// Bytes of a full line with its end.
    pub width: u64,
}

impl FaiEntry {
    /// The offset of a base (0-based) in the text.
    pub fn place(&self, base: u32) -> u64 {
        let base = u64::from(base);
        self.offset + base / self.bases * self.width + base % self.bases
    }
}

/// The maximum number of bytes of a line end, including spaces before it.
pub(super) const MAX_LINE_END: u64 = 16;
