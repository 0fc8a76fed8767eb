//! The setup of an input's decoders, which is known before its containers are decoded.

use readmill_record::{Charge, Header, Prepaid, Result, make_room};

use crate::Version;
use crate::bases::References;

/// The state that all decoders of an input share.
#[derive(Debug)]
pub struct Setup {
    /// Version of the file.
    pub version: Version,
    /// The source of the bases.
    pub references: References,
    /// The prefix of names that are not stored: the name of the file, as in htslib.
    pub prefix: Vec<u8>,
    /// Names of the read groups, in the order of the header.
    pub(super) groups: Vec<Vec<u8>>,
    /// The charge for the read groups.
    _charge: Charge,
}

impl Setup {
    /// The setup for a file with this header.
    ///
    /// # Errors
    /// The memory for the names is not free.
    pub fn new(
        version: Version,
        header: &Header,
        references: References,
        prefix: &[u8],
    ) -> Result<Self> {
        let mut prepaid = Prepaid::new(references.ledger().empty("read groups"));
        let mut groups = Vec::new();
        for line in header.lines_of(b"RG") {
            let id = line.get(b"ID").unwrap_or_default();
            make_room(&mut groups, 1, prepaid.charge())?;
            prepaid.block(id.len())?;
            groups.push(id.to_vec());
        }
        let (prefix, _charge) = (prefix.to_vec(), prepaid.into_charge());
        Ok(Setup { version, references, prefix, groups, _charge })
    }

    /// The most bytes that a record takes for its RG field and for a name that is not stored.
    pub fn most_implied_bytes(&self) -> usize {
        let group = self.groups.iter().map(Vec::len).max().map_or(0, |n| n + 4);
        group + self.prefix.len() + 22
    }
}
