//! FASTQ files that are read while the lock of the input is held, and padding.
//!
//! A padded file (Langmead et al. 2018) has spaces after every N-th record, so that the record ends
//! at the end of a block. The same block of two files then has the mates of the same pairs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use readmill_record::{ReadBatch, ReadSpan};

const BUFFER_BYTES: usize = 64 << 10;

pub struct FastqSource {
    file: File,
    buffer: Box<[u8]>,
    /// The part of the buffer that was not taken yet.
    start: usize,
    end: usize,
    offset: u64,
    endless: bool,
    /// The error of a failed read. [`FastqSource::check_records`] returns it, so that
    /// [`FastqSource::take_characters`] need not handle errors.
    failed: Option<io::Error>,
}

impl FastqSource {
    /// Reads a file from its start. An endless file starts again at its end.
    pub fn new(file: File, endless: bool) -> Self {
        FastqSource {
            file,
            buffer: vec![0; BUFFER_BYTES].into(),
            start: 0,
            end: 0,
            offset: 0,
            endless,
            failed: None,
        }
    }

    /// Refills the empty buffer. Returns false at the end of the file or after an error.
    #[cold]
    #[inline(never)]
    fn fill_buffer(&mut self) -> bool {
        let mut read = self.file.read_at(&mut self.buffer, self.offset);
        if self.endless && matches!(read, Ok(0)) {
            self.offset = 0;
            read = self.file.read_at(&mut self.buffer, 0);
        }
        let read = read.unwrap_or_else(|error| {
            self.failed = Some(error);
            0
        });
        (self.start, self.end) = (0, read);
        self.offset += read as u64;
        read > 0
    }

    /// Passes one character after the other to `enough`, until it returns true or the file ends.
    #[inline(always)]
    pub fn take_characters(&mut self, mut enough: impl FnMut(u8) -> bool) {
        loop {
            let here = &self.buffer[self.start..self.end];
            if let Some(at) = here.iter().position(|&byte| enough(byte)) {
                self.start += at + 1;
                return;
            }
            if !self.fill_buffer() {
                return;
            }
        }
    }

    /// Returns whether any record was read.
    ///
    /// # Errors
    ///
    /// If reading failed before, or if the file ended within a record.
    pub fn check_records(&mut self, lines: usize, bytes: usize) -> io::Result<bool> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if !lines.is_multiple_of(4) || (lines == 0 && bytes > 0) {
            return Err(malformed("the file ends in the midst of a record"));
        }
        Ok(lines > 0)
    }

    /// Appends lines to `text`, character by character. Returns whether there were any.
    pub fn append_lines(&mut self, lines: usize, text: &mut Vec<u8>) -> io::Result<bool> {
        let (before, mut found) = (text.len(), 0);
        self.take_characters(|byte| {
            text.push(byte);
            found += usize::from(byte == b'\n');
            found == lines
        });
        self.check_records(found, text.len() - before)
    }

    /// Appends lines to `text` and the position after each to `ends`. It finds them with vector
    /// instructions.
    pub fn search_lines(
        &mut self,
        lines: usize,
        text: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> io::Result<bool> {
        let (before, mut found) = (text.len(), 0);
        while found < lines && (self.start < self.end || self.fill_buffer()) {
            let (here, left) = (&self.buffer[self.start..self.end], lines - found);
            let old = ends.len();
            ends.extend(memchr::memchr_iter(b'\n', here).take(left).map(|at| text.len() + at + 1));
            let new = ends.len() - old;
            let taken = match ends.last() {
                Some(&end) if new == left => end - text.len(),
                _ => here.len(),
            };
            text.extend_from_slice(&here[..taken]);
            self.start += taken;
            found += new;
        }
        self.check_records(found, text.len() - before)
    }

    /// Appends a block of the file, past the buffer. Returns whether there was one.
    pub fn append_block(&mut self, bytes: usize, text: &mut Vec<u8>) -> io::Result<bool> {
        let before = text.len();
        text.resize(before + bytes, 0);
        let mut read = self.file.read_at(&mut text[before..], self.offset)?;
        if read == 0 && self.endless {
            self.offset = 0;
            read = self.file.read_at(&mut text[before..], 0)?;
        }
        text.truncate(before + read);
        self.offset += read as u64;
        Ok(read > 0)
    }
}

/// Returns the position after the next line end, from a position on.
type LineEndSearch = fn(&[u8], usize) -> Option<usize>;

/// Reads a record character by character and parses it meanwhile. Its lines are appended to `text`.
pub fn read_record(file: &mut FastqSource, text: &mut Vec<u8>) -> io::Result<Option<ReadSpan>> {
    let (start, mut ends, mut lines, mut odd) = (text.len(), [0; 4], 0, false);
    file.take_characters(|byte| {
        text.push(byte);
        if byte == b'\n' {
            ends[lines] = text.len();
            lines += 1;
        } else {
            odd |= lines == 1 && !byte.is_ascii_alphabetic();
        }
        lines == 4
    });
    if odd {
        return Err(malformed("not a base"));
    }
    if !file.check_records(lines, text.len() - start)? {
        return Ok(None);
    }
    record_span(text, start, ends).map(Some)
}

pub fn by_character(text: &[u8], from: usize) -> Option<usize> {
    let line = text.get(from..)?;
    let mut at = 0;
    while *line.get(at)? != b'\n' {
        at += 1;
    }
    Some(from + at + 1)
}

pub fn with_memchr(text: &[u8], from: usize) -> Option<usize> {
    memchr::memchr(b'\n', text.get(from..)?).map(|at| from + at + 1)
}

/// Parses the records of both files; those of the second begin at `second`. Spaces after a file's
/// records are padding.
pub fn parse_pairs(
    text: &[u8],
    second: usize,
    search: LineEndSearch,
    reads: &mut ReadBatch,
) -> io::Result<()> {
    let (one, two) = (text.get(..second).unwrap_or(text), text);
    let (mut first, mut mate) = (0, second);
    let ended = |text: &[u8], at: usize| text.get(at).is_none_or(|&byte| byte == b' ');
    while !ended(one, first) && !ended(two, mate) {
        for (text, at) in [(one, &mut first), (two, &mut mate)] {
            let mut ends = [*at; 4];
            for i in 0..4 {
                let from = if i == 0 { *at } else { ends[i - 1] };
                ends[i] = search(text, from).ok_or_else(|| malformed("a record has no end"))?;
            }
            reads.push_span(record_span(text, *at, ends)?);
            *at = ends[3];
        }
    }
    if ended(one, first) && ended(two, mate) {
        return Ok(());
    }
    Err(malformed("one file has more records than the other"))
}

/// Parses records whose line ends are known; those of the second file follow those of the first.
pub fn parse_between_ends(text: &[u8], ends: &[usize], reads: &mut ReadBatch) -> io::Result<()> {
    if !ends.len().is_multiple_of(8) {
        return Err(malformed("one file has more records than the other"));
    }
    let middle = ends.len() / 2;
    for line in (0..middle).step_by(4) {
        for line in [line, line + middle] {
            let start = if line == 0 { 0 } else { ends[line - 1] };
            reads.push_span(record_span(
                text,
                start,
                [ends[line], ends[line + 1], ends[line + 2], ends[line + 3]],
            )?);
        }
    }
    Ok(())
}

/// Returns the record at `start` whose lines end at `ends`. The name ends at the first white space.
fn record_span(text: &[u8], start: usize, ends: [usize; 4]) -> io::Result<ReadSpan> {
    let [name_end, bases_end, plus_end, end] = ends;
    let (len, qualities) = (bases_end - name_end - 1, end - plus_end - 1);
    if text[start] != b'@' || text[bases_end] != b'+' || len != qualities {
        return Err(malformed("not a FASTQ record of four lines"));
    }
    let line = &text[start + 1..name_end - 1];
    let name = line.iter().position(|byte| byte.is_ascii_whitespace()).unwrap_or(line.len());
    let comment = (name + 1).min(line.len());
    Ok(ReadSpan {
        name: start as u32 + 1,
        name_len: name as u32,
        comment: (start + 1 + comment) as u32,
        comment_len: (line.len() - comment) as u32,
        bases: name_end as u32,
        len: len as u32,
        qualities: plus_end as u32,
    })
}

/// Bytes of a padded block, as in the paper.
pub const BLOCK_BYTES: usize = 12_288;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Padding {
    pub records: usize,
}

impl Padding {
    /// Chooses the largest number of records that fits into a block of either file.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or has a record that is longer than a block.
    pub fn fit_to_files(files: [&Path; 2]) -> io::Result<Self> {
        let mut longest = 1;
        for file in files {
            for_each_record(file, |record| {
                longest = longest.max(record.len());
                Ok(())
            })?;
        }
        // Assumes that all records are as long as the longest, since reads of a run have nearly the
        // same length.
        match BLOCK_BYTES / longest {
            0 => Err(malformed("a record is longer than a block")),
            records => Ok(Padding { records }),
        }
    }

    /// Writes a padded copy of a file.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or written, or if the records of a block do not fit into it.
    pub fn write_padded(self, from: &Path, to: &Path) -> io::Result<()> {
        let mut out = BufWriter::new(File::create(to)?);
        let (mut block, mut records) = (Vec::with_capacity(BLOCK_BYTES), 0);
        let mut end = |block: &mut Vec<u8>| {
            if block.len() > BLOCK_BYTES {
                return Err(malformed("the records of a block do not fit into it"));
            }
            block.resize(BLOCK_BYTES, b' ');
            out.write_all(block)?;
            block.clear();
            Ok(())
        };
        for_each_record(from, |record| {
            block.extend_from_slice(record);
            records += 1;
            if records % self.records == 0 { end(&mut block) } else { Ok(()) }
        })?;
        if !block.is_empty() {
            end(&mut block)?;
        }
        out.flush()
    }
}

fn for_each_record(file: &Path, mut with: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let (mut lines, mut record, mut count) = (BufReader::new(File::open(file)?), Vec::new(), 0);
    while lines.read_until(b'\n', &mut record)? > 0 {
        count += 1;
        if count % 4 == 0 {
            with(&record)?;
            record.clear();
        }
    }
    Ok(())
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
