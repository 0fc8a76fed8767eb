//! The header of a BAM file: its text, then the binary dictionary of reference sequences (SAM
//! specification, section 4.2).
//!
//! The length of a header is known only once all of it has been read, and its bytes arrive in
//! blocks. So a reader asks a [`HeaderOutline`] after each block whether the header is complete,
//! and then parses it.

use readmill_record::header::ReferenceSequence;
use readmill_record::{Error, Header, Ledger, Result};

pub const MAGIC: &[u8; 4] = b"BAM\x01";

/// Finds the parts of a header while its bytes arrive. No byte is examined twice.
///
/// ```
/// use readmill_format::bam::header::{self, HeaderOutline};
/// use readmill_record::{Header, Ledger};
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n")?;
/// let mut bytes = Vec::new();
/// header::write_header(&header, &mut bytes)?;
///
/// let mut outline = HeaderOutline::default();
/// assert!(!outline.is_complete(&bytes[..20])?, "more bytes are needed");
/// assert!(outline.is_complete(&bytes)?);
/// let (parsed, length) = outline.parse_header(&bytes, &Ledger::unlimited())?;
/// assert_eq!((parsed, length), (header, bytes.len()));
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Default)]
pub struct HeaderOutline {
    text: Option<usize>,
    n_ref: Option<usize>,
    entries_found: usize,
    at: usize,
}

fn read_i32(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn checked_length(n: i32, of: &str) -> Result<usize> {
    usize::try_from(n).map_err(|_| Error::input(format!("the {of} in the BAM header is negative")))
}

const BEFORE_TEXT: usize = 8;

impl HeaderOutline {
    /// Continues in `bytes`, which must hold the whole stream so far. Returns whether the header is
    /// complete.
    ///
    /// # Errors
    /// Fails if a length is negative.
    pub fn is_complete(&mut self, bytes: &[u8]) -> Result<bool> {
        let text = match self.text {
            Some(text) => text,
            None => {
                let Some(n) = read_i32(bytes, MAGIC.len()) else { return Ok(false) };
                self.at = BEFORE_TEXT + checked_length(n, "text length")?;
                *self.text.insert(self.at - BEFORE_TEXT)
            }
        };
        let n_ref = match self.n_ref {
            Some(n_ref) => n_ref,
            None => {
                let Some(n) = read_i32(bytes, self.at) else { return Ok(false) };
                self.at = BEFORE_TEXT + text + 4;
                *self.n_ref.insert(checked_length(n, "number of reference sequences")?)
            }
        };
        while self.entries_found < n_ref {
            let Some(n) = read_i32(bytes, self.at) else { return Ok(false) };
            let next = self.at + 4 + checked_length(n, "name length")? + 4;
            if bytes.len() < next {
                return Ok(false);
            }
            (self.at, self.entries_found) = (next, self.entries_found + 1);
        }
        Ok(true)
    }

    /// Returns the length of the header in bytes if it is complete in `bytes`, as in
    /// [`Self::is_complete`].
    ///
    /// # Errors
    /// Fails if a length is negative.
    pub fn header_length(&mut self, bytes: &[u8]) -> Result<Option<usize>> {
        Ok(self.is_complete(bytes)?.then_some(self.at))
    }

    /// Parses the header, which must be complete in `bytes`. Returns it with its length in bytes.
    /// The memory for the header is charged to `ledger` first.
    ///
    /// # Errors
    /// Fails if the header is damaged, or there is too little memory for it.
    pub fn parse_header(&self, bytes: &[u8], ledger: &Ledger) -> Result<(Header, usize)> {
        let (text, dictionary) = self.split_parts(bytes)?;
        let header = Header::parse_and_mend(text, ledger)?.with_dictionary(dictionary)?;
        Ok((header, self.at))
    }

    /// Parses the header like [`HeaderOutline::parse_header`], but keeps lines that are not valid
    /// SAM, and takes the reference sequences only from the dictionary. Used by commands that only
    /// show, compare or replace a header.
    ///
    /// # Errors
    /// Fails if the dictionary is damaged, or there is too little memory for the header.
    pub fn parse_header_as_is(&self, bytes: &[u8], ledger: &Ledger) -> Result<(Header, usize)> {
        let (text, dictionary) = self.split_parts(bytes)?;
        Ok((Header::from_bam_unchecked(text, dictionary, ledger)?, self.at))
    }

    fn split_parts<'a>(&self, bytes: &'a [u8]) -> Result<(&'a [u8], BinaryDictionary<'a>)> {
        let cut = || Error::bug("a BAM header was parsed before it was complete");
        let (text, n_ref) = self.text.zip(self.n_ref).ok_or_else(cut)?;
        let (text, dictionary) = bytes
            .get(BEFORE_TEXT..self.at)
            .and_then(|rest| rest.split_at_checked(text))
            .and_then(|(text, rest)| Some((text, rest.get(4..)?)))
            .ok_or_else(cut)?;
        let dictionary = BinaryDictionary { rest: dictionary, left: n_ref };
        dictionary
            .clone()
            .try_for_each(|(_, bases)| checked_length(bases as i32, "reference length").map(drop))?;
        Ok((text, dictionary))
    }
}

/// Parses the header at the start of `bytes`. Returns it with its length in bytes; `None` if
/// `bytes` ends before the header does. The memory is not charged to a ledger.
///
/// # Errors
/// Fails if the header is damaged.
pub fn parse_header(bytes: &[u8]) -> Result<Option<(Header, usize)>> {
    let mut outline = HeaderOutline::default();
    let complete = outline.is_complete(bytes)?;
    complete.then(|| outline.parse_header(bytes, &Ledger::unlimited())).transpose()
}

/// The entries of the binary dictionary: the name, without its final NUL, and the length in bases.
#[derive(Clone)]
struct BinaryDictionary<'a> {
    rest: &'a [u8],
    left: usize,
}

impl<'a> Iterator for BinaryDictionary<'a> {
    type Item = (&'a [u8], u32);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let n = usize::try_from(read_i32(self.rest, 0)?).ok()?;
        let (name, rest) = self.rest.get(4..)?.split_at_checked(n)?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some((name.strip_suffix(b"\0").unwrap_or(name), u32::from_le_bytes(*length)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for BinaryDictionary<'_> {}

/// Returns the size of the header in BAM, in bytes.
pub fn header_bytes(header: &Header) -> u64 {
    let dictionary = header.references().iter().map(|contig| contig.name.len() as u64 + 9);
    (MAGIC.len() + 8) as u64 + header.text_bytes() + dictionary.sum::<u64>()
}

/// Appends the header as BAM stores it.
///
/// # Errors
/// Fails if the text takes more than 2 GiB, which BAM cannot hold.
pub fn write_header(header: &Header, out: &mut Vec<u8>) -> Result<()> {
    let text = header.to_text();
    let Ok(length) = i32::try_from(text.len()) else {
        return Err(Error::input("the header takes more than 2 GiB, which BAM cannot store"));
    };
    out.reserve(self::header_bytes(header) as usize);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&text);
    out.extend_from_slice(&(header.references().len() as u32).to_le_bytes());
    for ReferenceSequence { name, length } in header.references() {
        out.extend_from_slice(&(name.len() as u32 + 1).to_le_bytes());
        out.extend_from_slice(name);
        out.push(0);
        out.extend_from_slice(&length.to_le_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_a_part_of_it_is_not_enough() {
        let header = Header::parse(b"@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:1000\n@CO\thi\n").unwrap();
        let mut bytes = Vec::new();
        write_header(&header, &mut bytes).unwrap();
        let mut outline = HeaderOutline::default();
        for cut in 0..bytes.len() {
            assert!(!outline.is_complete(&bytes[..cut]).unwrap(), "cut at {cut}");
            assert!(!HeaderOutline::default().is_complete(&bytes[..cut]).unwrap(), "cut at {cut}");
        }
        let length = bytes.len();
        assert_eq!(super::header_bytes(&header), length as u64);
        bytes.extend_from_slice(b"rest");
        assert!(outline.is_complete(&bytes).unwrap());
        assert_eq!(outline.parse_header(&bytes, &Ledger::unlimited()).unwrap(), (header, length));
    }

    #[test]
    fn lengths_below_zero_are_refused() {
        let is_complete = |bytes: &[u8]| HeaderOutline::default().is_complete(bytes);
        assert!(is_complete(b"BAM\x01\xff\xff\xff\xff").is_err());
        assert!(is_complete(b"BAM\x01\0\0\0\0\xff\xff\xff\xff").is_err());
    }
}
