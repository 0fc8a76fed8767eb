//! The SAM header, kept as its lines (SAM specification, section 1.3).
//!
//! Unknown lines, unknown tags and the order of lines are kept, because the program must pass on what it
//! does not understand. The header types of `noodles-sam` drop unknown line types and regroup the rest.
//!
//! ```text
//! text ──read──► mend (lines that samtools or htsjdk refuse) ──► Header: lines + dictionary of @SQ
//! Header, Header, … ──merge──► MergedHeader: one header, and for each input the new indexes and IDs
//! ```

mod change;
mod contigs;
mod line;
mod mend;
pub mod merge;
mod read_group;
pub mod text;

use std::fmt;
use std::sync::Arc;

use contigs::{Contigs, allocated_bytes};

use crate::error::{Error, Result};
use crate::ledger::{Charge, Ledger};
use line::HEADERS_USER;
use mend::{mend_conflicts, mend_line};

pub use contigs::ReferenceSequence;
pub use line::HeaderLine;
pub use mend::HeaderNotes;
pub use merge::{IdChange, IdRenames, MergedHeader, Renames};
pub use read_group::{GivenReadGroup, UNKNOWN_LIBRARY};

/// Number of spare lines in a copy, so that adding a @PG line does not double the list.
const SPARE_LINES: usize = 16;

/// A header: its lines, and the dictionary of reference sequences that the @SQ lines define.
///
/// Clones share both until one of them is changed, so passing a header on costs nothing even if it has a
/// million contigs. The memory is charged to the ledger that was given when the header was read.
///
/// ```
/// use readmill_record::Header;
///
/// let mut header = Header::parse(b"@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:248956422\n@RG\tID:lane1\tSM:s1\n")?;
/// assert_eq!(header.reference_id(b"chr1"), Some(0));
/// let group = header.lines_of_kind(b"RG").next().expect("one read group");
/// assert_eq!(group.get(b"SM"), Some(&b"s1"[..]));
/// header.set_order(b"coordinate", None, None);
/// header.add_program("readmill", "1.0", "readmill sort in.bam out.bam")?;
/// assert!(header.to_text().ends_with(b"@PG\tID:readmill\tPN:readmill\tVN:1.0\tCL:readmill sort in.bam out.bam\n"));
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Header {
    lines: Arc<HeaderLines>,
    contigs: Arc<Contigs>,
    notes: HeaderNotes,
}

#[derive(Default)]
struct HeaderLines {
    list: Vec<HeaderLine>,
    charge: Option<Charge>,
}

/// Memory in bytes that a read group takes in the tables that a run builds from the header: its library
/// by ID (for sort keys, expressions and duplicates) and its index. Charged together with the lines.
const GROUP_TABLE_BYTES: u64 = 160;

impl HeaderLines {
    fn heap_bytes(&self) -> u64 {
        let tables = |line: &HeaderLine| if line.kind() == b"RG" { GROUP_TABLE_BYTES } else { 0 };
        let lines: u64 =
            self.list.iter().map(|line| allocated_bytes(line.text().len()) + tables(line)).sum();
        lines + allocated_bytes(self.list.capacity() * size_of::<HeaderLine>())
    }

    fn update_charge(&mut self) {
        let bytes = self.heap_bytes();
        self.charge.iter_mut().for_each(|charge| charge.resize(bytes));
    }
}

impl Clone for HeaderLines {
    /// Charges the copy to the same ledger before it is made.
    fn clone(&self) -> Self {
        let mut charge = self.charge.as_ref().map(|charge| charge.ledger().empty_charge(HEADERS_USER));
        let bytes = self.heap_bytes()
            + allocated_bytes((SPARE_LINES + self.list.len()) * size_of::<HeaderLine>());
        charge.iter_mut().for_each(|charge| charge.resize(bytes));
        let mut list = Vec::with_capacity(self.list.len() + SPARE_LINES);
        list.clone_from(&self.list);
        let mut copy = HeaderLines { list, charge };
        copy.update_charge();
        copy
    }
}

impl PartialEq for Header {
    fn eq(&self, other: &Self) -> bool {
        self.lines.list == other.lines.list
    }
}

impl Eq for Header {}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.lines()).finish()
    }
}

/// Returns a line without its carriage return, truncated at the first NUL.
fn trim_line(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    &line[..memchr::memchr(0, line).unwrap_or(line.len())]
}

fn trim_padding(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    &text[..end]
}

/// Returns whether a name of the binary dictionary contains a byte that would end a line or a field of
/// text.
fn breaks_a_line(name: &[u8]) -> bool {
    name.iter().any(|byte| b"\0\t\n\r".contains(byte))
}

/// Splits header text into lines without changing them, and charges them to `ledger`.
///
/// # Errors
/// Fails if `is_line` returns false for a line, or if there is too little memory.
fn parse_lines(text: &[u8], is_line: impl Fn(&[u8]) -> bool, ledger: &Ledger) -> Result<HeaderLines> {
    let text = text.split(|&b| b == 0).next().unwrap_or_default(); // BAM text may be NUL-padded
    let n = memchr::memchr_iter(b'\n', text).count() + 1;
    let mut lines = HeaderLines { list: Vec::new(), charge: None };
    let each = 32 + size_of::<HeaderLine>() as u64;
    let charge = ledger.charge(HEADERS_USER, text.len() as u64 + n as u64 * each)?;
    lines.list.reserve_exact(n);
    for line in text.split(|&b| b == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        if !is_line(line) {
            let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
            return Err(Error::input(format!("not a header line: {shown:?}")));
        }
        // samtools cannot read a header that starts with a bare @CO; elsewhere it turns such a line into
        // an empty comment.
        lines.list.push(HeaderLine::new(if line == b"@CO" { b"@CO\t" } else { line }));
    }
    lines.charge = Some(charge);
    lines.update_charge();
    Ok(lines)
}

impl Header {
    /// Parses header text without a memory limit, for tests and for text that readmill itself has
    /// written.
    ///
    /// # Errors
    /// Fails if a line does not start with `@`, or the @SQ lines are damaged.
    pub fn parse(text: &[u8]) -> Result<Self> {
        Header::parse_within(text, &Ledger::unlimited())
    }

    /// Parses header text, and charges its lines and its dictionary to `ledger` before they are
    /// allocated.
    ///
    /// # Errors
    /// Fails if a line does not start with `@`, the @SQ lines are damaged, or there is too little
    /// memory.
    pub fn parse_within(text: &[u8], ledger: &Ledger) -> Result<Self> {
        let is_line = |line: &[u8]| line[0] == b'@' && line.len() >= 3;
        let mut header =
            Header { lines: Arc::new(parse_lines(text, is_line, ledger)?), ..Header::default() };
        header.build_contigs(ledger)?;
        Ok(header)
    }

    /// Creates the header of a BAM file without checks, for commands that show or replace it (`head`,
    /// `reheader`). Accepts any line, and a binary dictionary that differs from the @SQ lines.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    pub fn from_bam_unchecked<'a>(
        text: &[u8],
        dictionary: impl ExactSizeIterator<Item = (&'a [u8], u32)> + Clone,
        ledger: &Ledger,
    ) -> Result<Self> {
        let lines = Arc::new(parse_lines(text, |_| true, ledger)?);
        let names = dictionary.clone().map(|(name, _)| allocated_bytes(name.len())).sum();
        let mut charge =
            ledger.charge(HEADERS_USER, Contigs::max_heap_bytes(dictionary.len() as u64, names))?;
        let mut contigs = Contigs::from_dictionary(dictionary);
        charge.resize(contigs.heap_bytes());
        contigs.charge = Some(charge);
        Ok(Header { lines, contigs: Arc::new(contigs), ..Header::default() })
    }

    /// Reads the header of an input, and mends lines that samtools or htsjdk would refuse if their
    /// meaning is clear.
    ///
    /// Other programs can then read outputs with this header. [`Header::notes`] lists the changes. Lines
    /// and dictionary are charged to `ledger`.
    ///
    /// # Errors
    /// Fails if the meaning of a line is not clear, or there is too little memory.
    pub fn parse_and_mend(text: &[u8], ledger: &Ledger) -> Result<Self> {
        let text = trim_padding(text);
        let (mut notes, mut blank) = (HeaderNotes::default(), None);
        let n = memchr::memchr_iter(b'\n', text).count() + 1;
        let each = 32 + size_of::<HeaderLine>() as u64;
        let charge = ledger.charge(HEADERS_USER, text.len() as u64 + n as u64 * each)?;
        let mut list = Vec::new();
        list.reserve_exact(n);
        for (number, given) in (1..).zip(text.split(|&b| b == b'\n')) {
            let line = trim_line(given);
            if memchr::memchr(0, given).is_some() {
                notes.add_line_note(|| number, || "removed a NUL byte and the rest of the line".into());
            }
            if line.is_empty() {
                blank = blank.or(Some(number));
                continue;
            }
            if let Some(blank) = blank.take() {
                notes.add_line_note(|| blank, || "removed an empty line".into());
            }
            list.push(HeaderLine::new(mend_line(line, number, &mut notes)?));
        }
        let number = |at| {
            let lines = text.split(|&b| b == b'\n').enumerate();
            lines
                .filter(|(_, line)| !trim_line(line).is_empty())
                .nth(at)
                .map_or(0, |(before, _)| before + 1)
        };
        mend_conflicts(&mut list, &number, &mut notes, ledger)?;
        let mut lines = HeaderLines { list, charge: Some(charge) };
        lines.update_charge();
        let mut header = Header { lines: Arc::new(lines), notes, ..Header::default() };
        header.build_contigs(ledger)?;
        Ok(header)
    }

    /// Returns the notes on lines that were mended, and on lines that other programs will not accept.
    /// The command line prints them as warnings.
    pub fn notes(&self) -> &HeaderNotes {
        &self.notes
    }

    pub fn add_note(&mut self, what: &str) {
        self.notes.add_file_note(what);
    }

    fn build_contigs(&mut self, ledger: &Ledger) -> Result<()> {
        let lines = self.lines_of_kind(b"SQ").map(|line| line.text().len() as u64);
        let (n, bytes) = lines.fold((0, 0), |(n, bytes), line| (n + 1, bytes + line));
        let mut charge = ledger.charge(HEADERS_USER, Contigs::max_heap_bytes(n, bytes))?;
        let mut contigs = Contigs::from_lines(&self.lines.list)?;
        charge.resize(contigs.heap_bytes());
        contigs.charge = Some(charge);
        self.contigs = Arc::new(contigs);
        Ok(())
    }

    /// Returns a copy whose lines can be changed. The dictionary stays shared.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    pub fn try_clone(&self) -> Result<Self> {
        let charge = self.lines.charge.as_ref();
        drop(charge.map(|charge| charge.ledger().charge(HEADERS_USER, charge.bytes())).transpose()?);
        let (lines, contigs) = (Arc::new((*self.lines).clone()), Arc::clone(&self.contigs));
        Ok(Header { lines, contigs, notes: self.notes.clone() })
    }

    fn ledger(&self) -> Ledger {
        self.lines.charge.as_ref().map_or_else(Ledger::unlimited, |charge| charge.ledger().clone())
    }

    pub fn heap_bytes(&self) -> u64 {
        self.lines.heap_bytes() + self.contigs.heap_bytes()
    }

    /// Shares the memory of lines and dictionary with `other` if they are equal. Many inputs of one run
    /// often have the same header.
    pub fn share_memory_with(&mut self, other: &Header) {
        if self.lines.list == other.lines.list {
            self.lines = Arc::clone(&other.lines);
        }
        if self.contigs.list == other.contigs.list {
            self.contigs = Arc::clone(&other.contigs);
        }
    }

    pub fn text_bytes(&self) -> u64 {
        self.lines().iter().map(|line| line.text().len() as u64 + 1).sum()
    }

    /// Returns the header as text. Every line ends with a line feed.
    pub fn to_text(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.text_bytes() as usize);
        for line in self.lines() {
            out.extend_from_slice(line.text());
            out.push(b'\n');
        }
        out
    }

    pub fn lines(&self) -> &[HeaderLine] {
        &self.lines.list
    }

    /// Changes the lines and updates the charge. The dictionary is not updated.
    fn change_lines(&mut self, change: impl FnOnce(&mut Vec<HeaderLine>)) {
        let lines = Arc::make_mut(&mut self.lines);
        if lines.list.len() == lines.list.capacity() {
            lines.list.reserve_exact(SPARE_LINES);
        }
        change(&mut lines.list);
        lines.update_charge();
    }

    pub fn lines_of_kind(&self, kind: &[u8; 2]) -> impl Iterator<Item = &HeaderLine> {
        self.lines().iter().filter(move |line| line.kind() == kind)
    }

    /// Returns the dictionary of reference sequences. The `ref_id` of a record is an index into it.
    pub fn references(&self) -> &[ReferenceSequence] {
        &self.contigs.list
    }

    pub fn n_ref(&self) -> i32 {
        self.references().len() as i32
    }

    pub fn reference_id(&self, name: &[u8]) -> Option<i32> {
        self.contigs.id_of_name(name)
    }

    /// Returns the index of the reference sequence with this name, or of the one that has it as an
    /// alternative name (AN).
    pub fn reference_id_by_any_name(&self, name: &[u8]) -> Option<i32> {
        self.contigs.id_of_name(name).or_else(|| self.contigs.id_of_alias(name))
    }

    /// Adds the binary dictionary of a BAM file. If the text has no @SQ lines, they are created from it;
    /// otherwise both must agree.
    ///
    /// # Errors
    /// Fails if both differ, a name cannot be written in an @SQ line, or there is too little memory for
    /// the lines.
    pub fn with_dictionary<'a>(
        mut self,
        dictionary: impl ExactSizeIterator<Item = (&'a [u8], u32)> + Clone,
    ) -> Result<Self> {
        if self.references().is_empty() && dictionary.len() > 0 {
            let is_nameless = |name: &[u8]| breaks_a_line(name) || matches!(name, b"" | b"*" | b"=");
            let odd = dictionary.clone().find(|(name, length)| is_nameless(name) || *length == 0);
            if let Some((name, _)) = odd {
                let what = if is_nameless(name) {
                    "the BAM header has a reference sequence with a name that an @SQ line cannot have"
                } else {
                    "the BAM header has a reference sequence of 0 bases, but an @SQ line needs at least 1"
                };
                return Err(Error::input(format!("{what}: \"{}\"", name.escape_ascii()))
                    .hint("the file is damaged: download or create it again"));
            }
            let ledger = self.ledger();
            let each = |(name, _): (&[u8], u32)| {
                allocated_bytes(name.len() + 24) + size_of::<HeaderLine>() as u64
            };
            let bound = self.lines.heap_bytes() + dictionary.clone().map(each).sum::<u64>();
            drop(ledger.charge(HEADERS_USER, bound)?);
            self.change_lines(|lines| {
                lines.reserve_exact(dictionary.len());
                lines.extend(dictionary.clone().map(|(name, length)| {
                    HeaderLine::new(
                        [b"@SQ\tSN:", name, b"\tLN:", length.to_string().as_bytes()].concat(),
                    )
                }));
            });
            self.build_contigs(&ledger)?;
        }
        self.check_dictionary(dictionary)?;
        Ok(self)
    }
}

impl Header {
    fn check_dictionary<'a>(
        &self,
        dictionary: impl ExactSizeIterator<Item = (&'a [u8], u32)>,
    ) -> Result<()> {
        const DIFFER: &str = "the @SQ lines of the BAM header and the binary dictionary differ";
        let (lines, binary) = (self.references().len(), dictionary.len());
        let ours = self.references().iter().map(|contig| (&contig.name[..], contig.length));
        let other = ours.zip(dictionary).enumerate().find(|(_, (ours, theirs))| ours != theirs);
        let shown = |(name, length): (&[u8], u32)| {
            format!("{} of {length} bases", String::from_utf8_lossy(name))
        };
        let what = match other {
            Some((number, (ours, theirs))) => format!(
                "{DIFFER}: sequence {} is {} in the lines, and {} in the dictionary",
                number + 1,
                shown(ours),
                shown(theirs)
            ),
            None if lines != binary => {
                format!("{DIFFER}: {lines} sequences in the lines, and {binary} in the dictionary")
            }
            None => return Ok(()),
        };
        Err(Error::input(what).hint(
            "run readmill head FILE > header.sam, change the @SQ lines in header.sam to match the dictionary (reads refer to it), then run readmill reheader header.sam FILE > NEW",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Header {
        Header::parse(text.as_bytes()).unwrap()
    }

    fn text(header: &Header) -> String {
        String::from_utf8(header.to_text()).unwrap()
    }

    #[test]
    fn unknown_lines_and_tag_order_survive() {
        let given = "@CO\tfirst\n@HD\tzz:1\tVN:1.5\n@XY\tany:thing\n@SQ\tLN:9\tSN:c\txx:y\n@CO\ta\tb\n";
        assert_eq!(text(&header(given)), given);
    }

    #[test]
    fn a_comment_without_text_has_a_tab_as_samtools_writes_it() {
        assert_eq!(text(&header("@CO\n@HD\tVN:1.6\n@CO\t\n")), "@CO\t\n@HD\tVN:1.6\n@CO\t\n");
    }

    #[test]
    fn a_header_is_charged_before_it_is_made_and_no_more_than_it_takes_afterwards() {
        let contigs: String = (0..1000).map(|i| format!("@SQ\tSN:c{i}\tLN:{i}\tAN:d{i}\n")).collect();
        let ledger = Ledger::with_capacity(1 << 20);
        let header = Header::parse_within(contigs.as_bytes(), &ledger).unwrap();
        assert_eq!(ledger.used(), header.heap_bytes());
        assert!(header.heap_bytes() > 3 * contigs.len() as u64, "{}", header.heap_bytes());
        let shared = header.clone();
        assert_eq!(ledger.used(), header.heap_bytes());
        let mut changed = header.try_clone().unwrap();
        changed.add_program("p", "1", "x").unwrap();
        let all = header.heap_bytes() + changed.lines.heap_bytes();
        assert_eq!((ledger.used(), shared.lines().len(), changed.lines().len()), (all, 1000, 1001));
        drop((header, shared, changed));
        assert_eq!(ledger.used(), 0);
        let small = Ledger::with_capacity(100_000);
        let error = Header::parse_within(contigs.as_bytes(), &small).unwrap_err();
        assert!(error.what.starts_with("headers: needs 1 MiB") && small.used() == 0, "{error}");
    }

    #[test]
    fn contigs_are_found_by_their_names() {
        let h = header("@SQ\tSN:a\tLN:9\tAN:b,x,y\n@SQ\tSN:b\tLN:9\tAN:x\n");
        assert_eq!(
            [h.reference_id(b"a"), h.reference_id(b"b"), h.reference_id(b"x")],
            [Some(0), Some(1), None]
        );
        let by_any = [b"b", b"x", b"y", b"z"].map(|name| h.reference_id_by_any_name(name));
        assert_eq!(by_any, [Some(1), Some(0), Some(0), None]);
    }

    #[test]
    fn bad_dictionaries_are_refused() {
        for bad in
            ["@SQ\tLN:5\n", "@SQ\tSN:a\n", "@SQ\tSN:a\tLN:x\n", "@SQ\tSN:a\tLN:1\n@SQ\tSN:a\tLN:1\n"]
        {
            assert!(Header::parse(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(Header::parse(b"garbage\n").is_err());
        let given = header("@SQ\tSN:a\tLN:5\n");
        assert!(given.with_dictionary([].into_iter()).is_err());
    }

    #[test]
    fn a_sequence_of_the_binary_dictionary_that_no_line_can_hold_is_refused() {
        let named = |name: &[u8]| Header::default().with_dictionary([(name, 5)].into_iter());
        for name in [&b"a\0b"[..], b"a\tb", b"a\nb", b"a\r"] {
            let error = named(name).unwrap_err().to_string();
            assert!(error.contains("an @SQ line cannot have"), "{error}");
        }
        for name in [&b""[..], b"*", b"="] {
            assert!(named(name).is_err(), "{name:?}");
        }
        let without_bases = Header::default().with_dictionary([(&b"c"[..], 0)].into_iter());
        let error = without_bases.unwrap_err().to_string();
        assert!(error.contains("a reference sequence of 0 bases") && error.contains("\"c\""), "{error}");
        let odd = named(b"a \xff").unwrap();
        assert_eq!(odd.to_text(), b"@SQ\tSN:a \xff\tLN:5\n");
        assert_eq!(Header::parse(&odd.to_text()).unwrap(), odd);
    }
}
