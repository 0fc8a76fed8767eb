//! Codecs of others that read to an end.

use std::io::Read;

use readmill_record::Result;

use crate::cram::num::damaged;

/// What bzip2 takes for its largest blocks.
pub(super) const BZIP2: usize = 4 << 20;

/// Appends what `reader` gives; more than `size` bytes are an error.
pub fn read_all(reader: impl Read, size: usize, out: &mut Vec<u8>) -> Result<()> {
    let limit = size as u64 + 1;
    out.reserve_exact(size);
    reader
        .take(limit)
        .read_to_end(out)
        .map_err(|e| damaged(format!("a block is not readable ({e})")))?;
    Ok(())
}
