//! The header of a BAM file: its text, then the binary dictionary of reference sequences.

use readmill_record::header::Reference;
use readmill_record::{Error, Header, Result};

/// The first bytes of every BAM stream.
pub const MAGIC: &[u8; 4] = b"BAM\x01";

/// Reads little-endian numbers and byte strings off the front of a slice; nothing when it is short.
struct Front<'a>(&'a [u8]);

impl<'a> Front<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }

    fn number(&mut self) -> Option<i32> {
        let bytes = self.take(4)?.first_chunk::<4>()?;
        Some(i32::from_le_bytes(*bytes))
    }
}

/// Parses the header at the start of `bytes`: the header, and how many bytes it took. Nothing when
/// `bytes` ends before the header does.
pub fn parse(bytes: &[u8]) -> Result<Option<(Header, usize)>> {
    let mut front = Front(bytes);
    let Some(parts) = split(&mut front)? else { return Ok(None) };
    let (text, dictionary) = parts;
    let header = Header::parse(text)?.with_dictionary(dictionary)?;
    Ok(Some((header, bytes.len() - front.0.len())))
}

fn length(n: i32, of: &str) -> Result<usize> {
    usize::try_from(n).map_err(|_| Error::input(format!("the BAM header's {of} is negative")))
}

type Parts<'a> = (&'a [u8], Vec<Reference>);

fn split<'a>(front: &mut Front<'a>) -> Result<Option<Parts<'a>>> {
    let Some(_) = front.take(MAGIC.len()) else { return Ok(None) };
    let Some(l_text) = front.number() else { return Ok(None) };
    let Some(text) = front.take(length(l_text, "text length")?) else { return Ok(None) };
    let Some(n_ref) = front.number() else { return Ok(None) };
    let mut dictionary = Vec::new();
    for _ in 0..length(n_ref, "number of reference sequences")? {
        let Some(l_name) = front.number() else { return Ok(None) };
        let Some(name) = front.take(length(l_name, "name length")?) else { return Ok(None) };
        let Some(l_ref) = front.number() else { return Ok(None) };
        let name = name.strip_suffix(b"\0").unwrap_or(name).to_vec();
        let length = length(l_ref, "reference length")? as u32;
        dictionary.push(Reference { name, length });
    }
    Ok(Some((text, dictionary)))
}

/// Appends the header in its binary form.
pub fn write(header: &Header, out: &mut Vec<u8>) {
    let text = header.to_text();
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(&text);
    out.extend_from_slice(&(header.references().len() as u32).to_le_bytes());
    for Reference { name, length } in header.references() {
        out.extend_from_slice(&(name.len() as u32 + 1).to_le_bytes());
        out.extend_from_slice(name);
        out.push(0);
        out.extend_from_slice(&length.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_a_part_of_it_is_not_enough() {
        let header = Header::parse(b"@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:1000\n@CO\thi\n").unwrap();
        let mut bytes = Vec::new();
        write(&header, &mut bytes);
        for cut in 0..bytes.len() {
            assert_eq!(parse(&bytes[..cut]).unwrap(), None, "cut at {cut}");
        }
        let length = bytes.len();
        bytes.extend_from_slice(b"rest");
        assert_eq!(parse(&bytes).unwrap(), Some((header, length)));
    }

    #[test]
    fn lengths_below_zero_are_refused() {
        assert!(parse(b"BAM\x01\xff\xff\xff\xff").is_err());
        assert!(parse(b"BAM\x01\0\0\0\0\xff\xff\xff\xff").is_err());
    }
}
