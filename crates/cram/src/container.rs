//! Container headers, the end-of-file container, and the first container, which holds the SAM
//! header (CRAM specification 3.1, sections 6 and 7).

use readmill_record::{Header, Result};

use crate::block::{self, ContentType, CramBlock};
use crate::codec::{Codecs, Method};
use crate::num::{ByteCursor, damaged_cram, put_itf8, put_ltf8};
use crate::{MAGIC, Version};

/// The end-of-file container of CRAM 3. It ends every complete file; a file without it is
/// truncated.
pub const EOF: [u8; 38] = [
    0x0f, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0x0f, 0xe0, 0x45, 0x4f, 0x46, 0x00, 0x00, 0x00,
    0x00, 0x01, 0x00, 0x05, 0xbd, 0xd9, 0x4f, 0x00, 0x01, 0x00, 0x06, 0x06, 0x01, 0x00, 0x01, 0x00,
    0x01, 0x00, 0xee, 0x63, 0x01, 0x4b,
];

/// Number of bytes of [`EOF`] before its start position: a length, and the contig -1, which
/// programs encode in two different ways. [`has_valid_end`] does not compare them.
const EOF_HEAD: usize = 9;

const EOF_2_1: &[u8] = b"\xe0EOF\0\0\0\0\x01\0\0\x01\0\x06\x06\x01\0\x01\0\x01\0";

/// Returns whether a file with these first and last bytes ends with its end-of-file container.
/// Always true for CRAM 2.0, which has no such container, and for other formats.
pub fn has_valid_end(start: &[u8], end: &[u8]) -> bool {
    match start.strip_prefix(MAGIC) {
        Some([3, ..]) => end.ends_with(&EOF[EOF_HEAD..]),
        Some([2, 1, ..]) => end.ends_with(EOF_2_1),
        _ => true,
    }
}

const EOF_START: i32 = 4_542_278;

/// The header of a container (CRAM specification 3.1, section 7).
///
/// Besides [`Reader`](crate::Reader), jobs in stages parse it to split a file at container
/// boundaries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerHeader {
    pub length: usize,
    /// Index of the contig (0-based); -1 for reads without a contig, -2 for reads of several
    /// contigs.
    pub contig: i32,
    /// Position of the first base (1-based).
    pub start: i32,
    pub span: i32,
    pub records: usize,
    /// Number of records in earlier containers of the file.
    pub counter: i64,
    pub bases: i64,
    pub blocks: usize,
    /// Byte offset of each slice after this header.
    pub landmarks: Vec<i32>,
}

impl ContainerHeader {
    /// Parses a header from the start of `bytes`. Returns the header and its size in bytes.
    ///
    /// # Errors
    /// `bytes` ends inside the header, or its checksum is wrong (version 3).
    pub fn read(bytes: &[u8], version: Version) -> Result<(Self, usize)> {
        let mut cursor = ByteCursor(bytes);
        let length = cursor.read_u32()?.cast_signed();
        let length =
            usize::try_from(length).map_err(|_| damaged_cram("a container's length is negative"))?;
        let (contig, start, span) = (cursor.read_itf8()?, cursor.read_itf8()?, cursor.read_itf8()?);
        let records = cursor.read_count()?;
        let counter =
            if version.major >= 3 { cursor.read_ltf8()? } else { i64::from(cursor.read_itf8()?) };
        let bases = cursor.read_ltf8()?;
        let (blocks, landmarks) = (cursor.read_count()?, cursor.read_itf8_list()?);
        if version.major >= 3 {
            let covered = &bytes[..bytes.len() - cursor.0.len()];
            if cursor.read_u32()? != crc32fast::hash(covered) {
                return Err(damaged_cram("the header of a container does not match its checksum"));
            }
        }
        let taken = bytes.len() - cursor.0.len();
        Ok((Self { length, contig, start, span, records, counter, bases, blocks, landmarks }, taken))
    }

    /// Appends the header in the layout of version 3. The record counter takes the maximum width,
    /// so that [`Encoded::set_record_counters`](crate::Encoded::set_record_counters) can overwrite
    /// it. Returns the size of the header without its checksum, and the offset of the counter in
    /// the header.
    pub fn write(&self, out: &mut Vec<u8>) -> (usize, usize) {
        let at = out.len();
        out.extend_from_slice(&(self.length as u32).to_le_bytes());
        for n in [self.contig, self.start, self.span, self.records as i32] {
            put_itf8(out, n);
        }
        let counter = out.len() - at;
        out.extend_from_slice(&ltf8_of_nine_bytes(self.counter));
        put_ltf8(out, self.bases);
        put_itf8(out, self.blocks as i32);
        put_itf8(out, self.landmarks.len() as i32);
        self.landmarks.iter().for_each(|&landmark| put_itf8(out, landmark));
        let size = out.len() - at;
        let checksum = crc32fast::hash(&out[at..]);
        out.extend_from_slice(&checksum.to_le_bytes());
        (size, counter)
    }

    pub fn is_end(&self) -> bool {
        self.records == 0 && self.contig == -1 && self.start == EOF_START
    }
}

/// Encodes `n` as LTF8 in nine bytes, the maximum width, so that any other number can overwrite it.
pub fn ltf8_of_nine_bytes(n: i64) -> [u8; 9] {
    let mut bytes = [0xff; 9];
    bytes[1..].copy_from_slice(&n.to_be_bytes());
    bytes
}

/// Returns the start of a CRAM file: the file definition and the container with the text of
/// `header`.
///
/// # Errors
/// The text is 2 GiB or larger, which CRAM cannot store.
pub fn header_container(header: &Header, version: Version) -> Result<Vec<u8>> {
    let mut raw = vec![0; 4];
    for line in header.lines() {
        raw.extend_from_slice(line.text());
        raw.push(b'\n');
    }
    let length = block::to_block_length(raw.len() - 4, "the header")?;
    raw[..4].copy_from_slice(&length.to_le_bytes());
    let mut blocks = Vec::new();
    block::write_block(ContentType::FileHeader, 0, Method::Raw, raw.len(), &raw, &mut blocks);
    let container =
        ContainerHeader { length: blocks.len(), blocks: 1, landmarks: vec![0], ..Default::default() };
    let mut out = MAGIC.to_vec();
    out.extend([version.major, version.minor]);
    out.extend_from_slice(b"readmill\0\0\0\0\0\0\0\0\0\0\0\0");
    container.write(&mut out);
    out.extend_from_slice(&blocks);
    Ok(out)
}

/// Returns the text of the SAM header from the first block of a file.
///
/// # Errors
/// The block has another content type, or is damaged.
pub fn read_header_text(block: CramBlock<'_>, codecs: &mut Codecs) -> Result<Vec<u8>> {
    if block.content != ContentType::FileHeader {
        return Err(damaged_cram("the first container does not contain the header"));
    }
    let mut text = Vec::new();
    block.inflate(codecs, &mut text)?;
    let mut cursor = ByteCursor(&text);
    let length = cursor.read_u32()? as usize;
    cursor.take_bytes(length)?;
    text.drain(..4);
    text.truncate(length);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_container_is_told_and_the_header_comes_back() {
        let (eof, taken) = ContainerHeader::read(&EOF, Version::DEFAULT).unwrap();
        assert!(eof.is_end() && taken + eof.length == EOF.len());
        let header = Header::parse(b"@HD\tVN:1.6\n@SQ\tSN:c\tLN:10\n").unwrap();
        let bytes = header_container(&header, Version::DEFAULT).unwrap();
        let (container, taken) = ContainerHeader::read(&bytes[26..], Version::DEFAULT).unwrap();
        assert_eq!(container.length, bytes.len() - 26 - taken);
        let block = CramBlock::read(&mut ByteCursor(&bytes[26 + taken..]), Version::DEFAULT).unwrap();
        let text = read_header_text(block, &mut Codecs::default()).unwrap();
        assert_eq!(text, header.to_text());
    }
}
