//! Reads a FASTA from start to end and finds its contigs, by the rules of `samtools faidx` (htslib
//! 1.24):
//!
//! - A name is the first word after `>`. The rest of its line is a description.
//! - All lines of a contig have the same number of bases and the same line end; only the last line
//!   may be shorter.
//! - Blank lines may occur before the first contig and after each contig, as in human_g1k_v37.
//! - A contig without bases is ignored if another follows, and is an error at the end of the file.
//!
//! Blanks at the end of a line count as part of the line end. Blanks within a line are an error,
//! unlike in samtools, whose index would then give the wrong bases.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use readmill_record::{Error, Result};

use super::entry::{FaiEntry, MAX_LINE_END};
use crate::text;

pub(super) const MAX_DEFINITION_BYTES: usize = 1 << 20;

pub(super) struct FastaScanner<'a, R> {
    text: BufReader<R>,
    path: &'a Path,
    offset: u64,
    line: u64,
    previous: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
struct SequenceLine {
    bases: u64,
    width: u64,
    is_cut: bool,
}

impl<'a, R: Read> FastaScanner<'a, R> {
    pub fn new(path: &'a Path, text: R, buffer: usize) -> Self {
        let text = BufReader::with_capacity(buffer, text);
        FastaScanner { text, path, offset: 0, line: 1, previous: Vec::new() }
    }

    /// Returns the next contig that has bases; `None` at the end of the file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or its lines do not follow the rules of this module. The
    /// error contains the line number.
    pub fn next_contig(&mut self) -> Result<Option<FaiEntry>> {
        while self.skip_blank_lines()? {
            let name = self.read_name()?;
            let contig = self.read_sequence(name)?;
            if contig.line_bases > 0 {
                self.previous.clone_from(&contig.name);
                return Ok(Some(contig));
            }
            if self.peek_byte()?.is_none() {
                let what = format!("contig {} has no sequence", String::from_utf8_lossy(&contig.name));
                return Err(self
                    .file_error(what)
                    .hint("the file is truncated: download or create it again"));
            }
        }
        Ok(None)
    }

    fn skip_blank_lines(&mut self) -> Result<bool> {
        loop {
            match self.peek_byte()? {
                None if self.offset == 0 => return Err(self.not_fasta_error()),
                None => return Ok(false),
                Some(b'>') => return Ok(true),
                Some(byte) if byte.is_ascii_whitespace() => _ = self.read_line()?,
                Some(_) => return Err(self.misplaced_error()),
            }
        }
    }

    fn misplaced_error(&self) -> Error {
        if self.previous.is_empty() {
            return self.not_fasta_error();
        }
        let name = String::from_utf8_lossy(&self.previous);
        self.file_error(format!(
            "line {}: contig {name} continues after a shorter or blank line",
            self.line
        ))
        .hint(EQUAL_LINES_HINT)
    }

    fn not_fasta_error(&self) -> Error {
        self.file_error("this is not a FASTA file, because it does not begin with >".to_string())
    }

    fn file_error(&self, what: String) -> Error {
        Error::input(what).file(self.path)
    }

    fn read_name(&mut self) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        let limit = MAX_DEFINITION_BYTES as u64 + 1;
        let got = (&mut self.text).take(limit).read_until(b'\n', &mut line);
        self.offset += got.map_err(|e| text::read_error(&e, self.path))? as u64;
        if line.len() > MAX_DEFINITION_BYTES {
            return Err(self
                .file_error(format!("line {}: the name of a contig is longer than 1 MiB", self.line)));
        }
        let words = &mut line[1..].split(u8::is_ascii_whitespace);
        let name = words.find(|word| !word.is_empty()).unwrap_or_default().to_vec();
        if name.is_empty() {
            let what = format!("line {}: a contig has no name after >", self.line);
            return Err(self.file_error(what).hint("add a name, because reads and regions refer to it"));
        }
        self.line += 1;
        Ok(name)
    }

    fn read_sequence(&mut self, name: Vec<u8>) -> Result<FaiEntry> {
        let offset = self.offset;
        let (mut first, mut length) = (SequenceLine::default(), 0);
        while !matches!(self.peek_byte()?, None | Some(b'>')) {
            let line = self.read_line()?;
            if first.bases == 0 {
                first = line;
            } else if line.bases > first.bases || line.bases == first.bases && line.differs_in_end(first)
            {
                let name = String::from_utf8_lossy(&name);
                let what = format!(
                    "line {}: contig {name} has a line of {} bytes after lines of {}",
                    self.line - 1,
                    line.width,
                    first.width
                );
                return Err(self.file_error(what).hint(EQUAL_LINES_HINT));
            }
            length += line.bases;
            if line.bases < first.bases || line.bases == 0 {
                break;
            }
        }
        let length = u32::try_from(length).ok().filter(|&n| n <= i32::MAX as u32).ok_or_else(|| {
            let name = String::from_utf8_lossy(&name);
            self.file_error(format!("contig {name} has {length} bases; the maximum is 2147483647"))
        })?;
        Ok(FaiEntry { name, length, offset, line_bases: first.bases, line_bytes: first.width })
    }

    /// Reads a line of bases. A last line without a line end is treated as if it had one, as in
    /// samtools.
    fn read_line(&mut self) -> Result<SequenceLine> {
        let (mut line, mut blanks) = (SequenceLine::default(), 0);
        loop {
            let bytes = loop {
                match self.text.fill_buf() {
                    Ok(bytes) => break bytes,
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) => return Err(text::read_error(&e, self.path)),
                }
            };
            if bytes.is_empty() {
                line.is_cut = true;
                line.width += 1;
                break;
            }
            let end = memchr::memchr(b'\n', bytes);
            let part = &bytes[..end.unwrap_or(bytes.len())];
            let bases = part.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |at| at + 1);
            if bases > 0 && (blanks > 0 || part[..bases].iter().any(u8::is_ascii_whitespace)) {
                let what = format!("line {}: a sequence contains a blank", self.line);
                return Err(self
                    .file_error(what)
                    .hint("remove the blank, because each byte counts as a base"));
            }
            line.bases += bases as u64;
            blanks += part.len() - bases;
            let taken = part.len() + usize::from(end.is_some());
            line.width += taken as u64;
            self.offset += taken as u64;
            self.text.consume(taken);
            if end.is_some() {
                break;
            }
        }
        if line.width - line.bases > MAX_LINE_END {
            let what = format!("line {}: a sequence ends in {blanks} blanks", self.line);
            return Err(self.file_error(what).hint("remove the blanks"));
        }
        self.line += 1;
        Ok(line)
    }

    fn peek_byte(&mut self) -> Result<Option<u8>> {
        loop {
            match self.text.fill_buf() {
                Ok(bytes) => return Ok(bytes.first().copied()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(text::read_error(&e, self.path)),
            }
        }
    }
}

impl SequenceLine {
    fn differs_in_end(self, other: SequenceLine) -> bool {
        !self.is_cut && self.width != other.width
    }
}

const EQUAL_LINES_HINT: &str = "all lines of a contig except the last must have the same length: wrap the file again, for example with picard NormalizeFasta";
