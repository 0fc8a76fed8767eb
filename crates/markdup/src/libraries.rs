//! Numbers the read groups of a header and their libraries.

use std::collections::HashMap;

use readmill_record::header::UNKNOWN_LIBRARY;
use readmill_record::{Error, Header, Result};

const UNKNOWN: u16 = 0;

const NO_GROUP: u16 = u16::MAX;

/// The read groups of a header, numbered in header order, and their libraries, numbered by first
/// occurrence.
///
/// Number 0 is always the unknown library. Only reads of the same library are compared.
///
/// ```
/// use readmill_markdup::Libraries;
/// use readmill_record::Header;
///
/// let header = Header::parse(b"@RG\tID:a\tLB:lib1\n@RG\tID:b\tLB:lib1\n@RG\tID:c\n").unwrap();
/// let libraries = Libraries::new(&header).unwrap();
/// let library_of = |id: &[u8]| libraries.library(libraries.group(Some(id)));
/// assert_eq!(library_of(b"a"), library_of(b"b"));
/// assert_eq!(libraries.names()[usize::from(library_of(b"c"))], b"Unknown Library");
/// ```
#[derive(Debug)]
pub struct Libraries {
    groups: HashMap<Vec<u8>, u16>,
    library_of: Vec<u16>,
    names: Vec<Vec<u8>>,
    unknown_is_used: bool,
}

impl Libraries {
    /// Numbers the read groups of the output header.
    ///
    /// # Errors
    /// The header has more than 65,534 read groups.
    pub fn new(header: &Header) -> Result<Self> {
        let mut names = vec![UNKNOWN_LIBRARY.to_vec()];
        let (mut groups, mut library_of) = (HashMap::new(), Vec::new());
        let mut numbers: HashMap<Vec<u8>, u16> = HashMap::from([(names[0].clone(), UNKNOWN)]);
        let mut unknown_is_used = false;
        for line in header.lines_of_kind(b"RG") {
            let index = library_of.len() as u16;
            if index == NO_GROUP - 1 {
                return Err(Error::input("the header has more than 65,534 read groups"));
            }
            let library = match line.get(b"LB") {
                None => UNKNOWN,
                Some(name) => *numbers.entry(name.to_vec()).or_insert_with(|| {
                    names.push(name.to_vec());
                    names.len() as u16 - 1
                }),
            };
            unknown_is_used |= library == UNKNOWN;
            library_of.push(library);
            line.get(b"ID").and_then(|id| groups.insert(id.to_vec(), index));
        }
        Ok(Libraries { groups, library_of, names, unknown_is_used })
    }

    /// Returns the number of a read group. Records without a read group, and IDs that are not in
    /// the header, have separate numbers, for which [`is_known`](Libraries::is_known) is false.
    pub fn group(&self, id: Option<&[u8]>) -> u16 {
        let lacking = self.library_of.len() as u16;
        id.map_or(NO_GROUP, |id| self.groups.get(id).copied().unwrap_or(lacking))
    }

    pub fn group_ids(&self) -> Vec<Option<&[u8]>> {
        let mut ids = vec![None; self.library_of.len()];
        self.groups.iter().for_each(|(id, &number)| ids[usize::from(number)] = Some(&id[..]));
        ids
    }

    pub fn is_known(&self, group: u16) -> bool {
        usize::from(group) < self.library_of.len()
    }

    pub fn library(&self, group: u16) -> u16 {
        self.library_of.get(usize::from(group)).copied().unwrap_or(UNKNOWN)
    }

    /// Returns the read group number for the optical test. Like Picard, it treats a record without
    /// a read group as a member of the first group.
    pub fn optical_group(group: u16) -> u16 {
        if group == NO_GROUP { 0 } else { group }
    }

    pub fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    /// Returns whether the header has this library. Metrics then list it even if it has no reads.
    pub fn is_listed(&self, library: usize) -> bool {
        library != usize::from(UNKNOWN) || self.unknown_is_used
    }
}
