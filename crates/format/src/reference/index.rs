//! The positions of contigs in the text of a FASTA: its .fai index, read or made in memory.

use std::io::ErrorKind::InvalidData;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use noodles_fasta::fai::Record;
use noodles_fasta::{fai, io::Indexer};
use readmill_record::{Charge, Error, Ledger, Prepaid, Result, make_room};

use super::bytes::{FastaReader, Layout, NAME, REINDEX, with_suffix};
use crate::text::{self, LineReader, TextInput};

/// A contig's line of the .fai.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FaiEntry {
    pub name: Vec<u8>,
    /// Bases.
    pub length: u32,
    /// Offset of its first base in the text.
    pub offset: u64,
    /// Bases of a full line.
    pub bases: u64,
    /// Bytes of a full line with its end.
    pub width: u64,
}

/// The most bytes of a line end, including spaces before it.
const MAX_LINE_END: u64 = 16;

/// The largest offset that a file can have; so no base of a contig has one beyond 64 bits.
const MAX_OFFSET: u64 = i64::MAX as u64;

impl FaiEntry {
    /// The offset of a base (0-based) in the text.
    pub fn place(&self, base: u32) -> u64 {
        let base = u64::from(base);
        self.offset + base / self.bases * self.width + base % self.bases
    }
}

/// Contigs in the order of the file.
pub(super) struct FaiEntries {
    pub list: Vec<FaiEntry>,
    pub charge: Charge,
}

impl FaiEntries {
    /// Collects the contigs of `next` until it returns `None`. Errors name `file`.
    fn read(
        ledger: &Ledger,
        file: &Path,
        mut next: impl FnMut() -> Result<Option<Record>>,
    ) -> Result<FaiEntries> {
        let (mut list, mut prepaid) = (Vec::new(), Prepaid::new(ledger.empty(NAME)));
        let mut missing = 0; // bytes of those that do not fit, counted for the message
        while let Some(record) = next()? {
            let sequence = of_record(&record, file)?;
            let bytes = sequence.name.len();
            let fits = missing == 0
                && make_room(&mut list, 1, prepaid.charge()).and(prepaid.block(bytes)).is_ok();
            match fits {
                true => list.push(sequence),
                false => missing += (size_of::<FaiEntry>() + 16 + bytes) as u64,
            }
        }
        match missing {
            0 => Ok(FaiEntries { list, charge: prepaid.into_charge() }),
            _ => Err(ledger.shortage(NAME, missing).file(file)),
        }
    }
}

/// The contigs of the FASTA at `path`.
pub(super) fn sequences(
    path: &Path,
    index: Option<Box<dyn Read + Send>>,
    layout: &Layout,
    notes: &mut Vec<String>,
    ledger: &Ledger,
) -> Result<FaiEntries> {
    let fai = with_suffix(path, ".fai");
    let mut why = "is not there".to_string();
    if let Some(index) = index {
        let sequences = read(&fai, index, ledger)?;
        match misfit(&sequences.list, layout, &fai)? {
            None => return Ok(sequences),
            Some(name) => why = format!("does not fit the reference at contig {name}"),
        }
    }
    notes.push(format!("{} {why}: made in memory; samtools faidx saves this time", fai.display()));
    make(path, layout, ledger)
}

/// Reads an index line by line.
fn read(file: &Path, index: Box<dyn Read + Send>, ledger: &Ledger) -> Result<FaiEntries> {
    let mut lines = LineReader::new(file, TextInput::plain(index, ledger));
    FaiEntries::read(ledger, file, || {
        if !lines.advance()? {
            return Ok(None);
        }
        let one = fai::io::Reader::new(lines.line()).read_index();
        let wrong = |e: io::Error| format!("this is not a .fai index ({e})");
        let one = one.and_then(|one| Vec::from(one).pop().ok_or_else(|| InvalidData.into()));
        one.map(Some).map_err(|e| Error::input(wrong(e)).file(file).hint(REINDEX))
    })
}

fn of_record(record: &Record, file: &Path) -> Result<FaiEntry> {
    let (bases, width) = (record.line_base_count().get(), record.line_width().get());
    let length = u32::try_from(record.length()).ok().filter(|&n| n <= i32::MAX as u32);
    match length {
        Some(length)
            if width >= bases && width - bases <= MAX_LINE_END && record.position() <= MAX_OFFSET =>
        {
            Ok(FaiEntry {
                name: record.name().to_vec(),
                length,
                offset: record.position(),
                bases,
                width,
            })
        }
        _ => {
            let what =
                format!("contig {} has a length, an offset or lines that cannot be", record.name());
            Err(Error::input(what).file(file).hint(REINDEX))
        }
    }
}

/// The first contig that does not match the text: its name must be right before its first base, and a line must end
/// after its last one.
fn misfit(sequences: &[FaiEntry], layout: &Layout, fai: &Path) -> Result<Option<String>> {
    let mut reader = FastaReader::default();
    for it in sequences.iter().filter(|it| it.length > 0) {
        let last = it.place(it.length - 1);
        let name = String::from_utf8_lossy(&it.name);
        let mut end = [b'\n'; 2];
        let got = if last < layout.size() { reader.read(layout, last, &mut end)? } else { 0 };
        if got == 0 {
            let what =
                format!("the reference ends before its contig {name} does, says {}", fai.display());
            return Err(Error::input(what)
                .file(layout.path())
                .hint("it is cut short (get it again), or the index is of another file (delete it)"));
        }
        let ends = !end[0].is_ascii_whitespace() && (got == 1 || end[1].is_ascii_whitespace());
        if !ends || !is_named(it, layout, &mut reader)? {
            return Ok(Some(name.into_owned()));
        }
    }
    Ok(None)
}

/// Bytes before a contig's first base in which its name is searched. A longer line is accepted.
const LOOK_BACK: u64 = 2048;

fn is_named(sequence: &FaiEntry, layout: &Layout, reader: &mut FastaReader) -> Result<bool> {
    let from = sequence.offset.saturating_sub(LOOK_BACK);
    let mut before = vec![0; (sequence.offset - from) as usize];
    reader.read(layout, from, &mut before)?;
    let Some(text) = before.strip_suffix(b"\n") else { return Ok(false) };
    let line = match memchr::memrchr(b'\n', text) {
        Some(at) => &text[at + 1..],
        None if from == 0 => text,
        None => return Ok(true),
    };
    let named = line.strip_prefix(b">").and_then(|line| line.strip_prefix(&sequence.name[..]));
    Ok(named.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace)))
}

/// The most bytes of the line with a contig's name.
const MAX_DEFINITION: usize = 1 << 20;

/// Reads the file once to make its index.
pub(super) fn make(path: &Path, layout: &Layout, ledger: &Ledger) -> Result<FaiEntries> {
    let (text, inflating) = text::inflated(layout.whole()).map_err(|e| text::reading(&e, path))?;
    // The line of a name is in memory three times: as read, as the name, and as the text after it.
    let _reading = ledger.charge(NAME, (inflating + READ_SIZE + 3 * MAX_DEFINITION) as u64)?;
    let inner = BufReader::with_capacity(READ_SIZE, text);
    let mut lines = Definitions { inner, begins: true, length: 0 };
    let start = lines.fill_buf().map_err(|e| text::reading(&e, path))?;
    if !start.starts_with(b">") {
        return Err(Error::input("this is not a FASTA file, which begins with >").file(path));
    }
    let (mut indexer, mut last) = (Indexer::new(lines), None);
    FaiEntries::read(ledger, path, || match indexer.index_record() {
        Ok(record) => {
            last = record.as_ref().map(|it| it.name().to_string());
            Ok(record)
        }
        Err(error) => {
            let source = std::error::Error::source(&error);
            let source = source.and_then(|it| it.downcast_ref::<io::Error>());
            // An error in a name has this kind, too.
            let reading = |e: &&io::Error| layout.is_compressed() || e.kind() != InvalidData;
            if let Some(error) = source.filter(reading) {
                return Err(text::reading(error, path));
            }
            let after = last.as_deref().unwrap_or("the start");
            let what = format!("the contig after {after} cannot be indexed ({error})");
            Err(Error::input(what).file(path).hint(
                "all its lines but the last must be equally long: samtools faidx, or picard NormalizeFasta",
            ))
        }
    })
}

/// Bytes asked of the file at a time.
const READ_SIZE: usize = 256 << 10;

/// A reader of FASTA that refuses name lines too long to be read at once.
struct Definitions<R> {
    inner: BufReader<R>,
    /// Whether a line begins here.
    begins: bool,
    /// Bytes of the name line so far; 0 in a line of bases.
    length: usize,
}

impl<R: Read> Read for Definitions<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(into)?;
        self.consume(n);
        Ok(n)
    }
}

impl<R: Read> BufRead for Definitions<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.length > MAX_DEFINITION {
            let what = "the line with the name of a contig is longer than 1 MiB";
            return Err(io::Error::other(Error::input(what)));
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        if let [first, .., last] | [first @ last] = self.inner.buffer()[..n] {
            if self.length > 0 || self.begins && first == b'>' {
                self.length += n;
            }
            self.begins = last == b'\n';
            if self.begins {
                self.length = 0;
            }
        }
        self.inner.consume(n);
    }
}
