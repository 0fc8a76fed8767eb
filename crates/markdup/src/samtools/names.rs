//! Read names as numbers, used to copy marks to other records with the same name.

pub(super) const OTHER: u64 = 1 << 63;

/// Returns the entry of a record: a 128-bit hash of its name, and its ordinal. Reads that give
/// marks sort before the records that get them.
pub fn make_name_entry(name: &[u8], ordinal: u64, is_other: bool) -> [u64; 3] {
    let hash = xxhash_rust::xxh3::xxh3_128(name);
    [(hash >> 64) as u64, hash as u64, ordinal | if is_other { OTHER } else { 0 }]
}
