//! An open FASTA file, and a window for each thread: its recently used pages, as base codes.

use std::path::PathBuf;
use std::sync::Arc;

use readmill_record::{Charge, Error, Ledger, Result, bases};

use super::bytes::{FastaLayout, FastaReader};
use super::entry::FaiEntry;

/// Number of bases in a page. A page is small, because reads in random order each need a new one,
/// but large enough for a pair of reads in coordinate order.
const PAGE_BASES: u32 = 1 << 12;

const PAGES: usize = 128;

/// Maximum memory of a window in bytes, if at most a page of bases is requested at a time: its
/// pages, one page as text, and a BGZF block, compressed (in a buffer that may be twice as large)
/// and inflated.
pub const WINDOW_BYTES: usize = PAGES * PAGE_BASES as usize + (64 << 10) + (256 << 10);

/// The code of each byte of a FASTA: 0 A, 1 C, 2 G, 3 T (upper or lower case), 4 anything else.
/// IUPAC codes count as N.
pub(super) static CODES: [u8; 256] = {
    let mut codes = [4; 256];
    let mut i = 0;
    while i < 4 {
        codes[b"ACGT"[i] as usize] = i as u8;
        codes[b"acgt"[i] as usize] = i as u8;
        i += 1;
    }
    codes
};

pub(super) static LETTERS: [u8; 256] = {
    let mut letters = [0; 256];
    let mut i = 0;
    while i < 256 {
        letters[i] = (i as u8).to_ascii_uppercase();
        i += 1;
    }
    letters
};

/// The code of each byte of a FASTA in BAM's alphabet (`.` is N); 0 for a byte outside the
/// alphabet.
pub(super) static SEQ_CODES: [u8; 256] = {
    let mut codes = [0; 256];
    let mut i = 1;
    while i < 16 {
        codes[bases::LETTERS[i] as usize] = i as u8;
        codes[bases::LETTERS[i].to_ascii_lowercase() as usize] = i as u8;
        i += 1;
    }
    codes[b'.' as usize] = 15;
    codes
};

pub(super) const SAME_REFERENCE_HINT: &str = "give the FASTA file that the reads were aligned to";

pub(super) struct OpenFasta {
    pub(super) path: PathBuf,
    pub(super) layout: FastaLayout,
    pub(super) sequences: Vec<FaiEntry>,
    pub(super) notes: Vec<String>,
    pub(super) charge: Charge,
}

impl OpenFasta {
    pub(super) fn ledger(&self) -> &Ledger {
        self.charge.ledger()
    }
}

const NO_PAGE: u64 = u64::MAX;

/// One thread's reader of a [`super::Reference`].
///
/// For reads in coordinate order, the bases are nearly always in a page in memory, which costs one
/// comparison. In random order, most reads load 4 KiB from the file, and inflate a block if the
/// file is compressed.
pub struct ReferenceWindow {
    shared: Arc<OpenFasta>,
    alphabet: &'static [u8; 256],
    reader: FastaReader,
    pages: Box<[u8]>,
    keys: [u64; PAGES],
    text: Vec<u8>,
    joined: Vec<u8>,
}

impl ReferenceWindow {
    pub(super) fn new(shared: Arc<OpenFasta>, alphabet: &'static [u8; 256]) -> Self {
        ReferenceWindow {
            shared,
            alphabet,
            reader: FastaReader::default(),
            pages: vec![0; PAGES * PAGE_BASES as usize].into(),
            keys: [NO_PAGE; PAGES],
            text: Vec::new(),
            joined: Vec::new(),
        }
    }

    /// Returns the bases `start..end` (0-based, half-open) of a contig of the FASTA, one byte per
    /// base, in the alphabet of the window: by default 0 A, 1 C, 2 G, 3 T, 4 anything else.
    ///
    /// # Errors
    /// Fails if the file cannot be read. As in GATK, it also fails if `end` is beyond the end of
    /// the contig.
    #[inline]
    pub fn codes(&mut self, contig: u32, start: u32, end: u32) -> Result<&[u8]> {
        let page = start / PAGE_BASES;
        let slot = page_slot(contig, page);
        let in_page =
            start < end && (end - 1) / PAGE_BASES == page && self.keys[slot] == page_key(contig, page);
        if in_page && end <= self.shared.sequences[contig as usize].length {
            let (from, to) = ((start % PAGE_BASES) as usize, ((end - 1) % PAGE_BASES) as usize + 1);
            return Ok(&self.pages[slot * PAGE_BASES as usize..][..PAGE_BASES as usize][from..to]);
        }
        self.fetch_bases(contig, start, end)
    }

    fn fetch_bases(&mut self, contig: u32, start: u32, end: u32) -> Result<&[u8]> {
        let length = self.shared.sequences.get(contig as usize).map_or(0, |it| it.length);
        if end > length {
            return Err(self.beyond_end_error(contig, end));
        }
        if start >= end {
            return Ok(&[]);
        }
        let (first, last) = (start / PAGE_BASES, (end - 1) / PAGE_BASES);
        if first == last {
            let page = self.load_page(contig, first)?;
            return Ok(&self.pages[page..][(start % PAGE_BASES) as usize..][..(end - start) as usize]);
        }
        self.joined.clear();
        self.joined.shrink_to(16 * PAGE_BASES as usize); // long requests are rare
        for number in first..=last {
            let page = self.load_page(contig, number)?;
            let (from, to) =
                (start.max(number * PAGE_BASES), end.min((number + 1).saturating_mul(PAGE_BASES)));
            let piece =
                &self.pages[page..][(from - number * PAGE_BASES) as usize..][..(to - from) as usize];
            self.joined.extend_from_slice(piece);
        }
        Ok(&self.joined)
    }

    fn load_page(&mut self, contig: u32, number: u32) -> Result<usize> {
        let slot = page_slot(contig, number);
        let at = slot * PAGE_BASES as usize;
        if self.keys[slot] == page_key(contig, number) {
            return Ok(at);
        }
        self.keys[slot] = NO_PAGE;
        let sequence = &self.shared.sequences[contig as usize];
        let first = number * PAGE_BASES;
        let bases = PAGE_BASES.min(sequence.length - first) as usize;
        let place = sequence.base_offset(first);
        self.text.resize((sequence.base_offset(first + bases as u32 - 1) + 1 - place) as usize, 0);
        let n = self.reader.read_text(&self.shared.layout, place, &mut self.text)?;
        if n < self.text.len() {
            let what = "the reference became shorter while it was read";
            return Err(Error::input(what).file(self.shared.layout.path()));
        }
        let (line, width) = (sequence.line_bases as usize, sequence.line_bytes as usize);
        let alphabet = self.alphabet;
        let (mut text, mut into) = (&self.text[..], &mut self.pages[at..at + bases]);
        let mut left = line - first as usize % line; // bases of the first line from here on
        loop {
            let n = left.min(into.len());
            let (now, rest) = into.split_at_mut(n);
            now.iter_mut().zip(text).for_each(|(code, &byte)| *code = alphabet[byte as usize]);
            if rest.is_empty() {
                break;
            }
            text = &text[left + width - line..];
            (into, left) = (rest, line);
        }
        self.keys[slot] = page_key(contig, number);
        Ok(at)
    }

    fn beyond_end_error(&self, contig: u32, end: u32) -> Error {
        let Some(sequence) = self.shared.sequences.get(contig as usize) else {
            return Error::bug("a contig was requested that the reference does not have");
        };
        let name = String::from_utf8_lossy(&sequence.name);
        let what = format!(
            "base {end} of contig {name} is needed, but the contig has only {} bases",
            sequence.length
        );
        Error::input(what).file(&self.shared.path).hint(SAME_REFERENCE_HINT)
    }
}

/// Returns the slot of a page. Adjacent pages never share a slot, and contigs are spread over the
/// slots.
#[inline]
fn page_slot(contig: u32, page: u32) -> usize {
    (page as usize).wrapping_add(contig as usize * 37) % PAGES
}

#[inline]
fn page_key(contig: u32, page: u32) -> u64 {
    u64::from(contig) << 32 | u64::from(page)
}
