//! Codecs of other libraries, which read to the end of their data.

use std::io::Read;

use readmill_record::Result;

use crate::num::damaged;

/// The most memory of bzip2.
pub(super) const BZIP2: usize = 4 << 20;

/// Appends the bytes of `reader`; more than `size` are an error.
pub fn read_all(reader: impl Read, size: usize, out: &mut Vec<u8>) -> Result<()> {
    let limit = size as u64 + 1;
    out.reserve_exact(size);
    reader
        .take(limit)
        .read_to_end(out)
        .map_err(|e| damaged(format!("a block is not readable ({e})")))?;
    Ok(())
}
