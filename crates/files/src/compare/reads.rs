//! Level L3: compares reads and duplicate sets in any order, by sums of 128-bit hashes.

use std::collections::HashMap;

use readmill_record::header::UNKNOWN_LIBRARY;
use readmill_record::{Flags, Header, RecordRef};
use xxhash_rust::xxh3::Xxh3Default;

use super::line::SamLine;

/// Indexes of the columns that identify a read, except FLAG: QNAME, RNAME, POS, CIGAR, SEQ, QUAL.
const READ: [usize; 6] = [0, 2, 3, 5, 9, 10];

pub struct ReadBalance {
    libraries: [HashMap<Vec<u8>, Vec<u8>>; 2],
    reads: Balance,
    duplicates: Balance,
}

impl ReadBalance {
    pub fn new(headers: &[Header; 2]) -> Self {
        let libraries = headers.each_ref().map(libraries_of_groups);
        ReadBalance { libraries, reads: Balance::default(), duplicates: Balance::default() }
    }

    /// Returns whether each read group has the same library in both files. If not, records with
    /// equal text may belong to different duplicate sets.
    pub fn same_libraries(&self) -> bool {
        self.libraries[0] == self.libraries[1]
    }

    pub fn add_record(&mut self, file: usize, record: RecordRef<'_>, line: &SamLine<'_>) {
        let flag = (record.flags().0 & !Flags::DUPLICATE).to_le_bytes();
        let columns = READ.iter().map(|&i| line.columns[i]);
        self.reads.add_item(file, hash_parts(columns.chain([&flag[..]])));
        self.add_duplicate(file, record, line.columns[2]);
    }

    /// Adds a record on reference sequence `rname` if it is flagged as a duplicate.
    ///
    /// Counts only mapped primary records. The two files may keep different reads of the same
    /// duplicate set, in which case the flags of their secondary records may differ.
    pub fn add_duplicate(&mut self, file: usize, record: RecordRef<'_>, rname: &[u8]) {
        let flags = record.flags();
        if !flags.is_duplicate() || flags.is_unmapped() || !flags.is_primary() {
            return;
        }
        let named = record.read_group().and_then(|id| self.libraries[file].get(id));
        let library = named.map_or(UNKNOWN_LIBRARY, Vec::as_slice);
        let (end, strand) = (record.five_prime().to_le_bytes(), [u8::from(flags.is_reverse())]);
        self.duplicates.add_item(file, hash_parts([library, rname, &end, &strand]));
    }

    /// Returns whether every read occurs equally often in both files.
    pub fn same_reads(&self) -> bool {
        self.reads.is_even()
    }

    /// Returns whether the same number of records is flagged as duplicates at each 5′ end.
    pub fn same_duplicates(&self) -> bool {
        self.duplicates.is_even()
    }
}

fn libraries_of_groups(header: &Header) -> HashMap<Vec<u8>, Vec<u8>> {
    let of = |line: &readmill_record::header::HeaderLine| {
        Some((line.get(b"ID")?.to_vec(), line.get(b"LB").unwrap_or(UNKNOWN_LIBRARY).to_vec()))
    };
    header.lines_of_kind(b"RG").filter_map(of).collect()
}

/// Returns the hash of `parts`, which must not contain tabs. The sums of hashes of two different
/// multisets of 10^9 strings are equal with a probability of about 10^-38.
pub fn hash_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u128 {
    let mut hasher = Xxh3Default::new();
    for part in parts {
        hasher.update(part);
        hasher.update(b"\t");
    }
    hasher.digest128()
}

/// The difference of two multisets: hashes of items of file 0 are added, those of file 1 are
/// subtracted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Balance(u128);

impl Balance {
    pub fn add_item(&mut self, file: usize, digest: u128) {
        self.0 = if file == 0 { self.0.wrapping_add(digest) } else { self.0.wrapping_sub(digest) };
    }

    /// Returns whether both multisets are equal, disregarding hash collisions.
    pub fn is_even(self) -> bool {
        self.0 == 0
    }
}
