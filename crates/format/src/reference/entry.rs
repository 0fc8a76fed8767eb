//! The position of a contig in the text of a FASTA.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FaiEntry {
    pub name: Vec<u8>,
    pub length: u32,
    pub offset: u64,
    pub line_bases: u64,
    /// Length of a full line in bytes, including its line end.
    pub line_bytes: u64,
}

impl FaiEntry {
    /// Returns the text offset of a base (0-based).
    pub fn base_offset(&self, base: u32) -> u64 {
        let base = u64::from(base);
        self.offset + base / self.line_bases * self.line_bytes + base % self.line_bases
    }
}

/// Maximum length of a line end in bytes, including blanks before it.
pub(super) const MAX_LINE_END: u64 = 16;
