//! The positions of contigs in the text of a FASTA: its .fai index, read from a file or built in
//! memory.

use std::io::ErrorKind::InvalidData;
use std::io::{self, Read};
use std::path::Path;

use noodles_fasta::fai;
use noodles_fasta::fai::Record;
use readmill_record::{Charge, Error, Ledger, Prepaid, Result, make_room};

use super::bytes::{FastaLayout, FastaReader, LEDGER_NAME, REINDEX_HINT, append_suffix};
use super::entry::{FaiEntry, MAX_LINE_END};
use super::scan::{FastaScanner, MAX_DEFINITION_BYTES};
use crate::text::{self, LineReader, TextInput};

/// Largest offset in a file. With this limit, the offset of no base of a contig exceeds 64 bits.
const MAX_OFFSET: u64 = i64::MAX as u64;

pub(super) struct FaiEntries {
    pub list: Vec<FaiEntry>,
    pub charge: Charge,
}

impl FaiEntries {
    fn collect_entries(
        ledger: &Ledger,
        file: &Path,
        mut next: impl FnMut() -> Result<Option<FaiEntry>>,
    ) -> Result<FaiEntries> {
        let (mut list, mut prepaid) = (Vec::new(), Prepaid::new(ledger.empty_charge(LEDGER_NAME)));
        let mut missing = 0; // bytes of the entries that do not fit, for the message
        while let Some(sequence) = next()? {
            let bytes = sequence.name.len();
            let fits = missing == 0
                && make_room(&mut list, 1, prepaid.charge_mut()).and(prepaid.pay_block(bytes)).is_ok();
            match fits {
                true => list.push(sequence),
                false => missing += (size_of::<FaiEntry>() + 16 + bytes) as u64,
            }
        }
        match missing {
            0 => Ok(FaiEntries { list, charge: prepaid.into_charge() }),
            _ => Err(ledger.shortage_error(LEDGER_NAME, missing).file(file)),
        }
    }

    /// Keeps only the first contig of each name, as samtools does. Adds a note to `notes` if some
    /// were ignored.
    ///
    /// # Errors
    /// Fails if the memory for sorting the names is not available.
    fn remove_repeated(&mut self, notes: &mut Vec<String>, ledger: &Ledger) -> Result<()> {
        let bytes = self.list.len() * (size_of::<u32>() + size_of::<bool>());
        let _charge = ledger.charge(LEDGER_NAME, bytes as u64)?;
        let mut order: Vec<u32> = (0..self.list.len() as u32).collect();
        let name = |number: u32| &self.list[number as usize].name;
        order.sort_unstable_by(|&a, &b| name(a).cmp(name(b)).then(a.cmp(&b)));
        let mut is_repeated = vec![false; order.len()];
        let mut repeated = 0;
        for pair in order.windows(2) {
            if name(pair[0]) == name(pair[1]) {
                is_repeated[pair[1] as usize] = true;
                repeated += 1;
            }
        }
        let Some(first) = is_repeated.iter().position(|&is| is) else { return Ok(()) };
        let shown = String::from_utf8_lossy(&self.list[first].name).into_owned();
        notes.push(format!(
            "{repeated} contigs of the reference have the same name as an earlier one ({shown}); only the first of each name is used"
        ));
        let mut flags = is_repeated.into_iter();
        self.list.retain(|_| !flags.next().unwrap_or(false));
        Ok(())
    }
}

/// Returns the contigs of the FASTA at `path`: from its index if this matches, otherwise by reading
/// the file once.
pub(super) fn read_or_make_entries(
    path: &Path,
    index: Option<Box<dyn Read + Send>>,
    layout: &FastaLayout,
    notes: &mut Vec<String>,
    ledger: &Ledger,
) -> Result<FaiEntries> {
    let fai = append_suffix(path, ".fai");
    let mut why = "does not exist".to_string();
    if let Some(index) = index {
        let sequences = read_fai(&fai, index, ledger)?;
        match find_mismatch(&sequences.list, layout, &fai)? {
            None => return Ok(sequences),
            Some(name) => why = format!("does not match the reference at contig {name}"),
        }
    }
    notes.push(format!(
        "{} {why}; the index was built in memory; to save time in later runs, use readmill faidx {}",
        fai.display(),
        path.display()
    ));
    make_entries(path, layout, notes, ledger)
}

/// Reads an index line by line, so that a damaged file uses little memory.
fn read_fai(file: &Path, index: Box<dyn Read + Send>, ledger: &Ledger) -> Result<FaiEntries> {
    let mut lines = LineReader::new(file, TextInput::from_plain(index, ledger));
    FaiEntries::collect_entries(ledger, file, || {
        if !lines.advance_line()? {
            return Ok(None);
        }
        let one = fai::io::Reader::new(lines.line()).read_index();
        let wrong = |e: io::Error| format!("this is not a .fai index ({e})");
        let one = one.and_then(|one| Vec::from(one).pop().ok_or_else(|| InvalidData.into()));
        let one = one.map_err(|e| Error::input(wrong(e)).file(file).hint(REINDEX_HINT))?;
        entry_of_record(&one, file).map(Some)
    })
}

fn entry_of_record(record: &Record, file: &Path) -> Result<FaiEntry> {
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
                line_bases: bases,
                line_bytes: width,
            })
        }
        _ => {
            let what = format!("contig {} has an invalid length, offset or line length", record.name());
            Err(Error::input(what).file(file).hint(REINDEX_HINT))
        }
    }
}

/// Returns the name of the first contig whose entry does not match the text. Its name must be
/// directly before its first base, and a line must end after its last base.
fn find_mismatch(sequences: &[FaiEntry], layout: &FastaLayout, fai: &Path) -> Result<Option<String>> {
    let mut reader = FastaReader::default();
    for it in sequences.iter().filter(|it| it.length > 0) {
        let last = it.base_offset(it.length - 1);
        let name = String::from_utf8_lossy(&it.name);
        let mut end = [b'\n'; 2];
        let got =
            if last < layout.max_text_bytes() { reader.read_text(layout, last, &mut end)? } else { 0 };
        if got == 0 {
            let what =
                format!("the reference ends before the end of contig {name} in {}", fai.display());
            return Err(Error::input(what)
                .file(layout.path())
                .hint("the reference is truncated (download or create it again), or the index belongs to another file (delete the index)"));
        }
        let ends = !end[0].is_ascii_whitespace() && (got == 1 || end[1].is_ascii_whitespace());
        if !ends || !is_named(it, layout, &mut reader)? {
            return Ok(Some(name.into_owned()));
        }
    }
    Ok(None)
}

/// Number of bytes before a contig's first base that are searched for its name. If the name line is
/// longer, the entry is accepted.
const MAX_LOOK_BACK_BYTES: u64 = 2048;

fn is_named(sequence: &FaiEntry, layout: &FastaLayout, reader: &mut FastaReader) -> Result<bool> {
    let from = sequence.offset.saturating_sub(MAX_LOOK_BACK_BYTES);
    let mut before = vec![0; (sequence.offset - from) as usize];
    reader.read_text(layout, from, &mut before)?;
    let Some(text) = before.strip_suffix(b"\n") else { return Ok(false) };
    let line = match memchr::memrchr(b'\n', text) {
        Some(at) => &text[at + 1..],
        None if from == 0 => text,
        None => return Ok(true),
    };
    let words = line.strip_prefix(b">").map(<[u8]>::trim_ascii_start);
    let named = words.and_then(|words| words.strip_prefix(&sequence.name[..]));
    Ok(named.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace)))
}

pub(super) fn make_entries(
    path: &Path,
    layout: &FastaLayout,
    notes: &mut Vec<String>,
    ledger: &Ledger,
) -> Result<FaiEntries> {
    let (text, inflating) =
        text::inflating_reader(layout.whole_file()).map_err(|e| text::read_error(&e, path))?;
    // A name is in memory three times: in its line, on its own, and as the name of the previous
    // contig.
    let _reading =
        ledger.charge(LEDGER_NAME, (inflating + READ_SIZE + 3 * MAX_DEFINITION_BYTES) as u64)?;
    let mut scanner = FastaScanner::new(path, text, READ_SIZE);
    let mut entries = FaiEntries::collect_entries(ledger, path, || scanner.next_contig())?;
    entries.remove_repeated(notes, ledger)?;
    Ok(entries)
}

const READ_SIZE: usize = 256 << 10;
