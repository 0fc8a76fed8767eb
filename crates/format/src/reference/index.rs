//! Where the contigs lie in the text of a FASTA: its .fai index, read or made in memory.

use std::io::ErrorKind::InvalidData;
use std::io::{BufRead, BufReader};
use std::path::Path;

use noodles_fasta::fai::Record;
use noodles_fasta::{fai, io::Indexer};
use readmill_record::{Error, Result};

use super::bytes::{Layout, REINDEX, Reader, beside};
use crate::text;

/// A contig as its line of the .fai has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sequence {
    pub name: Vec<u8>,
    /// Bases.
    pub length: u32,
    /// Where its first base lies in the text.
    pub offset: u64,
    /// Bases of a full line.
    pub bases: u64,
    /// Bytes of a full line with its end.
    pub width: u64,
}

/// Bytes that the end of a line, spaces before it included, may have.
const MAX_LINE_END: u64 = 16;

impl Sequence {
    /// Where a base (0-based) lies in the text.
    pub fn place(&self, base: u32) -> u64 {
        let base = u64::from(base);
        self.offset + base / self.bases * self.width + base % self.bases
    }
}

/// The contigs of the FASTA at `path`.
pub(super) fn sequences(
    path: &Path,
    index: Option<Box<dyn BufRead>>,
    layout: &Layout,
    notes: &mut Vec<String>,
) -> Result<Vec<Sequence>> {
    let fai = beside(path, ".fai");
    let mut why = "is not there".to_string();
    if let Some(index) = index {
        let records = fai::io::Reader::new(index).read_index().map_err(|e| {
            Error::input(format!("this is not a .fai index ({e})")).file(&fai).hint(REINDEX)
        })?;
        let sequences = of_records(Vec::from(records), &fai)?;
        match misfit(&sequences, layout, &fai)? {
            None => return Ok(sequences),
            Some(name) => why = format!("does not fit the reference at contig {name}"),
        }
    }
    notes.push(format!("{} {why}: made in memory; samtools faidx saves this time", fai.display()));
    make(path, layout)
}

fn of_records(records: Vec<Record>, file: &Path) -> Result<Vec<Sequence>> {
    let sequences = records.into_iter().map(|record| {
        let name = record.name().to_vec();
        let (bases, width) = (record.line_base_count().get(), record.line_width().get());
        let length = u32::try_from(record.length()).ok().filter(|&n| n <= i32::MAX as u32);
        match length {
            Some(length) if width >= bases && width - bases <= MAX_LINE_END => {
                Ok(Sequence { name, length, offset: record.position(), bases, width })
            }
            _ => {
                let name = String::from_utf8_lossy(&name);
                let what = format!("contig {name} has a length or lines that cannot be");
                Err(Error::input(what).file(file).hint(REINDEX))
            }
        }
    });
    sequences.collect()
}

/// The first contig of which the text says something else: its name must stand right before its first base, and
/// a line must end behind its last one.
fn misfit(sequences: &[Sequence], layout: &Layout, fai: &Path) -> Result<Option<String>> {
    let mut reader = Reader::default();
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

/// Bytes before a contig's first base in which its name is looked for. A line that is longer is believed.
const LOOK_BACK: u64 = 2048;

fn is_named(sequence: &Sequence, layout: &Layout, reader: &mut Reader) -> Result<bool> {
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

/// Reads the file once.
fn make(path: &Path, layout: &Layout) -> Result<Vec<Sequence>> {
    let text = text::inflated(layout.whole()).map_err(|e| text::reading(&e, path))?;
    let mut lines = BufReader::with_capacity(256 << 10, text);
    let start = lines.fill_buf().map_err(|e| text::reading(&e, path))?;
    if !start.starts_with(b">") {
        return Err(Error::input("this is not a FASTA file, which begins with >").file(path));
    }
    let mut indexer = Indexer::new(lines);
    let mut records: Vec<Record> = Vec::new();
    loop {
        match indexer.index_record() {
            Ok(Some(record)) => records.push(record),
            Ok(None) => break,
            Err(error) => {
                let source = std::error::Error::source(&error);
                let source = source.and_then(|it| it.downcast_ref::<std::io::Error>());
                // What is wrong with a name comes as such an error, too.
                let reading = |e: &&std::io::Error| layout.is_compressed() || e.kind() != InvalidData;
                if let Some(error) = source.filter(reading) {
                    return Err(text::reading(error, path));
                }
                let after = records.last().map_or("the start".into(), |it| it.name().to_string());
                let what = format!("the contig after {after} cannot be indexed ({error})");
                return Err(Error::input(what)
                    .file(path)
                    .hint("all its lines but the last must be equally long: samtools faidx, or picard NormalizeFasta"));
            }
        }
    }
    of_records(records, path)
}
