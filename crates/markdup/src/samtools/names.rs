//! Names of records as numbers, for records that get the mark of another of their name.

/// Marks the entries of records that get the marks of others of their name.
pub(super) const OTHER: u64 = 1 << 63;

/// The entry of a record: a hash of its name (128 bits), and its number. Reads that give their marks come before records
/// that get them.
pub fn name_entry(name: &[u8], ordinal: u64, is_other: bool) -> [u64; 3] {
    let hash = xxhash_rust::xxh3::xxh3_128(name);
    [(hash >> 64) as u64, hash as u64, ordinal | if is_other { OTHER } else { 0 }]
}
