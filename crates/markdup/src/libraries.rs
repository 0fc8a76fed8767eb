//! Read groups and their libraries.

use std::collections::HashMap;

use readmill_record::{Error, Header, Result};

/// The library of reads whose read group names none.
pub const UNKNOWN_LIBRARY: &[u8] = b"Unknown Library";

/// The number of [`UNKNOWN_LIBRARY`].
const UNKNOWN: u16 = 0;

/// The number of records without a read group.
const NO_GROUP: u16 = u16::MAX;

/// The read groups of a header, numbered in order, and their libraries, numbered by first mention.
#[derive(Debug)]
pub struct Libraries {
    groups: HashMap<Vec<u8>, u16>,
    library_of: Vec<u16>,
    names: Vec<Vec<u8>>,
    /// Whether a read group has the unknown library.
    unknown_is_used: bool,
}

impl Libraries {
    /// Numbers the read groups of a header, as it is after all steps.
    pub fn new(header: &Header) -> Result<Self> {
        let mut names = vec![UNKNOWN_LIBRARY.to_vec()];
        let (mut groups, mut library_of) = (HashMap::new(), Vec::new());
        let mut numbers: HashMap<Vec<u8>, u16> = HashMap::from([(names[0].clone(), UNKNOWN)]);
        let mut unknown_is_used = false;
        for line in header.lines_of(b"RG") {
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

    /// Returns the number of a read group; a missing one and one that the header lacks have numbers, too.
    pub fn group(&self, id: Option<&[u8]>) -> u16 {
        let lacking = self.library_of.len() as u16;
        id.map_or(NO_GROUP, |id| self.groups.get(id).copied().unwrap_or(lacking))
    }

    /// The IDs of the read groups by their numbers; `None` of one without an ID.
    pub fn group_ids(&self) -> Vec<Option<&[u8]>> {
        let mut ids = vec![None; self.library_of.len()];
        self.groups.iter().for_each(|(id, &number)| ids[usize::from(number)] = Some(&id[..]));
        ids
    }

    /// Whether a read group is one of the header's.
    pub fn is_known(&self, group: u16) -> bool {
        usize::from(group) < self.library_of.len()
    }

    /// The library of a read group.
    pub fn library(&self, group: u16) -> u16 {
        self.library_of.get(usize::from(group)).copied().unwrap_or(UNKNOWN)
    }

    /// The number by which the optical test compares read groups: Picard treats a record without a read group
    /// as one of the first group.
    pub fn optical(group: u16) -> u16 {
        if group == NO_GROUP { 0 } else { group }
    }

    /// Names of the libraries, by number.
    pub fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    /// Whether the header itself has this library.
    pub fn is_listed(&self, library: usize) -> bool {
        library != usize::from(UNKNOWN) || self.unknown_is_used
    }
}
