//! What is known of an input before its containers are decoded.

use readmill_record::Header;

use crate::cram::Version;
use crate::cram::bases::References;

/// What all decoders of an input share.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Version of the file.
    pub version: Version,
    /// Where bases come from.
    pub references: References,
    /// What names begin with that are not stored: the name of the file, as htslib has it.
    pub prefix: Vec<u8>,
    /// Names of the read groups, in the order of the header.
    pub(super) groups: Vec<Vec<u8>>,
}

impl Setup {
    /// What is needed to decode a file with this header.
    pub fn new(version: Version, header: &Header, references: References, prefix: &[u8]) -> Self {
        let groups = header.lines_of(b"RG").map(|line| line.get(b"ID").unwrap_or_default().to_vec());
        Setup { version, references, prefix: prefix.to_vec(), groups: groups.collect() }
    }

    /// Most bytes that a record's RG field takes, and a name that is not stored.
    pub fn most_beside(&self) -> usize {
        let group = self.groups.iter().map(Vec::len).max().map_or(0, |n| n + 4);
        group + self.prefix.len() + 22
    }
}
