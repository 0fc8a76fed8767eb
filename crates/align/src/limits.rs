//! Which reads can be aligned.

use readmill_record::{Error, ReadBatch, Result};

/// Longest read name that BAM stores, in bytes.
const LONGEST_NAME: usize = 254;

/// Longest read that is aligned, in bases: no alignment with a positive score has more operators in its CIGAR than a record can hold.
pub(crate) const LONGEST_READ: u32 = 200_000;

/// Refuses reads over which C code would end the process, or that no record can hold.
pub(crate) fn check(reads: &ReadBatch) -> Result<()> {
    for (at, read) in reads.iter().enumerate() {
        let what = if read.name.len() > LONGEST_NAME {
            "its name is longer than 254 bytes, which is all that BAM stores"
        } else if read.name.contains(&0) {
            "its name has a NUL"
        } else if reads.spans()[at].len > LONGEST_READ {
            "it is longer than 200,000 bases, which is more than can be aligned here"
        } else {
            continue;
        };
        let ordinal = reads.first() + (at / reads.segments().max(1)) as u64;
        let shown = &read.name[..read.name.len().min(LONGEST_NAME)];
        return Err(Error::input(what).record(ordinal).qname(shown));
    }
    Ok(())
}
