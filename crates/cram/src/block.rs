//! Blocks: the separately compressed parts of a container (CRAM specification 3.1, section 8).

use readmill_record::{Error, Result};

use crate::Version;
use crate::codec::{self, Codecs, Method};
use crate::num::{ByteCursor, damaged_cram, put_itf8};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentType {
    FileHeader,
    CompressionHeader,
    SliceHeader,
    /// Values of one or more data series, byte-aligned.
    External,
    Core,
}

#[derive(Clone, Copy)]
pub struct CramBlock<'a> {
    pub content: ContentType,
    /// Content id. Encodings refer to external blocks by this id.
    pub id: i32,
    pub raw_size: usize,
    method: Method,
    data: &'a [u8],
}

impl<'a> CramBlock<'a> {
    pub fn read(cursor: &mut ByteCursor<'a>, version: Version) -> Result<Self> {
        let all = cursor.0;
        let block = Self::read_header(cursor)?;
        if version.major >= 3 {
            let covered = &all[..all.len() - cursor.0.len()];
            let stored = cursor.read_u32()?;
            if crc32fast::hash(covered) != stored {
                return Err(damaged_cram("a block does not match its checksum"));
            }
        }
        Ok(block)
    }

    /// Reads the header of the next block and skips its data, without verifying the checksum.
    pub fn skip(cursor: &mut ByteCursor<'a>, version: Version) -> Result<Self> {
        let block = Self::read_header(cursor)?;
        if version.major >= 3 {
            cursor.read_u32()?;
        }
        Ok(block)
    }

    /// Returns the size in bytes of the block that starts at `bytes`, including its header and
    /// checksum. `bytes` may end before the block does.
    pub fn stored_size(bytes: &[u8], version: Version) -> Result<usize> {
        let mut cursor = ByteCursor(bytes);
        cursor.take_bytes(2)?; // method and content
        cursor.read_itf8()?;
        let (size, _raw) = (cursor.read_count()?, cursor.read_count()?);
        let checksum = if version.major >= 3 { 4 } else { 0 };
        Ok((bytes.len() - cursor.0.len()).saturating_add(size).saturating_add(checksum))
    }

    fn read_header(cursor: &mut ByteCursor<'a>) -> Result<Self> {
        let method = Method::from_byte(cursor.read_byte()?)?;
        let content = match cursor.read_byte()? {
            0 => ContentType::FileHeader,
            1 => ContentType::CompressionHeader,
            2 => ContentType::SliceHeader,
            4 => ContentType::External,
            5 => ContentType::Core,
            other => return Err(damaged_cram(format!("the block content type {other} is unknown"))),
        };
        let id = cursor.read_itf8()?;
        let (size, raw_size) = (cursor.read_count()?, cursor.read_count()?);
        let data = cursor.take_bytes(size)?;
        if method == Method::Raw && size != raw_size {
            return Err(damaged_cram("the sizes of an uncompressed block differ"));
        }
        Ok(CramBlock { content, id, raw_size, method, data })
    }

    pub fn scratch_bytes(&self) -> usize {
        codec::scratch_bytes(self.method, self.data, self.raw_size)
    }

    /// Replaces the content of `out` with the uncompressed block. The capacity of `out` grows to
    /// exactly the block's size, which has been charged.
    pub fn inflate(&self, codecs: &mut Codecs, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        if out.capacity() < self.raw_size {
            *out = Vec::new();
            out.reserve_exact(self.raw_size);
        }
        codecs.inflate(self.method, self.data, self.raw_size, out)?;
        if out.len() != self.raw_size {
            return Err(damaged_cram("a block does not have its stated size"));
        }
        Ok(())
    }
}

/// Converts a length to the 32-bit integer of a block or container header.
///
/// # Errors
/// The length is close to 2 GiB or more, so that length and header no longer fit in 32 bits. `what`
/// names the data in the message.
pub fn to_block_length(length: usize, what: &str) -> Result<i32> {
    i32::try_from(length).ok().filter(|&length| length < i32::MAX - (1 << 16)).ok_or_else(|| {
        Error::input(format!("{what} takes more than 2 GiB, which CRAM cannot store"))
            .hint("write BAM: -O bam")
    })
}

/// Appends a block in the layout of CRAM 3. The caller has checked its size with
/// [`to_block_length`].
pub fn write_block(
    content: ContentType,
    id: i32,
    method: Method,
    raw_size: usize,
    data: &[u8],
    out: &mut Vec<u8>,
) {
    let start = out.len();
    let kind = match content {
        ContentType::FileHeader => 0,
        ContentType::CompressionHeader => 1,
        ContentType::SliceHeader => 2,
        ContentType::External => 4,
        ContentType::Core => 5,
    };
    out.extend([method as u8, kind]);
    put_itf8(out, id);
    put_itf8(out, data.len() as i32);
    put_itf8(out, raw_size as i32);
    out.extend_from_slice(data);
    let checksum = crc32fast::hash(&out[start..]);
    out.extend_from_slice(&checksum.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression test: lengths were once truncated to 32 bits.
    #[test]
    fn what_a_block_cannot_hold_is_refused() {
        assert_eq!(to_block_length(1 << 20, "it").unwrap(), 1 << 20);
        for length in [i32::MAX as usize, 1 << 31, 1 << 32, (1 << 32) + 5] {
            let error = to_block_length(length, "it").unwrap_err();
            assert!(error.to_string().contains("it takes more than 2 GiB"), "{error}");
        }
    }
}
