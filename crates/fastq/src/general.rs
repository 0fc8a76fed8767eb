//! Parses records of any number of lines sequentially, and describes faults.
//!
//! The grammar is that of kseq (klib), which bwa and minimap2 use:
//!
//! 1. `@` or `>`, the name, and the rest of the line as a comment;
//! 2. bases on any number of lines, until a line starts with `+`, `@` or `>`;
//! 3. after a line with `+`, qualities on at least one line, and on as many as are needed for
//!    one quality per base.
//!
//! Blank lines between records are skipped. kseq silently drops what it cannot parse; here it is an
//! error, as is a record that starts with `@` and has no qualities.

use std::path::Path;
use std::sync::Arc;

use readmill_record::{Error, ReadSpan, Result};

use crate::line::{
    describe_name_fault, is_graphic, split_name_and_comment, strip_read_number, template_name,
};
use crate::text::{FastqText, TextBlock, TextPosition};

const TRUNCATED: &str = "the file is truncated: download or create it again";

/// Maximum text of a batch in bytes: spans have 32-bit offsets.
pub(crate) const MAX_BATCH_TEXT: usize = u32::MAX as usize - 1;

pub(crate) struct RecordParser<'a> {
    text: &'a FastqText,
    block: Option<Arc<TextBlock>>,
    at: TextPosition,
    /// Number of records before the current one, including those that another parser has read.
    records: u64,
    max: usize,
    /// Length of the current record's name for error messages, once it is known.
    name: Option<usize>,
    numbering: Option<u8>,
}

impl<'a> RecordParser<'a> {
    /// Creates a parser that starts at position `at`, which is the start of record `records`
    /// (0-based) of the file. A record may have up to `max_bytes` bytes.
    pub fn new(text: &'a FastqText, at: TextPosition, records: u64, max_bytes: usize) -> Self {
        RecordParser { text, block: None, at, records, max: max_bytes, name: None, numbering: None }
    }

    /// Sets the separator `numbering`, which is removed from the ends of names together with the
    /// read number after it.
    pub fn with_numbering(self, numbering: Option<u8>) -> Self {
        RecordParser { numbering, ..self }
    }

    pub fn file(&self) -> &Path {
        self.text.name()
    }

    pub fn position(&self) -> TextPosition {
        self.at
    }

    /// Adds file and record to an error. The record is the last one read, or the one `before`
    /// records earlier.
    pub fn at_record(&self, error: Error, before: u64) -> Error {
        error.file(self.text.name()).record(self.records - 1 - before)
    }

    /// Reads the next record and appends its parts to `out`. `None` at the end of the file.
    ///
    /// # Errors
    ///
    /// A fault in the record, with file, record and name.
    pub fn read_record(&mut self, out: &mut Vec<u8>) -> Result<Option<ReadSpan>> {
        let start = out.len();
        self.name = None;
        let result = self.read_parts(out);
        let name = self.name.unwrap_or_else(|| split_name_and_comment(&out[start..]).0);
        let span = result.map_err(|error| {
            error.file(self.text.name()).record(self.records).qname(&out[start..start + name])
        })?;
        self.records += u64::from(span.is_some());
        Ok(span)
    }

    pub fn missing_mate_error(&self, span: &ReadSpan, out: &[u8], other: &FastqText) -> Error {
        let name = &out[span.name as usize..][..span.name_len as usize];
        let what = match std::ptr::eq(self.text, other) {
            true => "the read has no mate: it is the last read of the file".to_owned(),
            false => format!("the read has no mate: {} has fewer reads", other.name().display()),
        };
        self.at_record(Error::input(what), 0)
            .qname(name)
            .hint("check that the files are complete and from the same run")
    }

    fn read_parts(&mut self, out: &mut Vec<u8>) -> Result<Option<ReadSpan>> {
        if self.at == TextPosition::default() {
            self.skip_byte_order_mark()?;
        }
        let Some(marker) = self.read_marker(out)? else { return Ok(None) };
        let start = out.len();
        self.append_line(out, start)?;
        let (name_len, comment) = split_name_and_comment(&out[start..]);
        self.name = Some(name_len);
        if let Some(fault) = describe_name_fault(&out[start..start + name_len]) {
            return Err(Error::input(fault));
        }
        let name_len = strip_read_number(&out[start..start + name_len], self.numbering).len();
        let bases = out.len();
        while self.peek_byte()?.is_some_and(|b| !matches!(b, b'@' | b'>' | b'+')) {
            self.append_line(out, start)?;
        }
        let mut span = ReadSpan {
            name: start as u32,
            name_len: name_len as u32,
            comment: (start + comment) as u32,
            comment_len: (bases - start - comment) as u32,
            bases: bases as u32,
            len: (out.len() - bases) as u32,
            qualities: ReadSpan::NONE,
        };
        if !is_graphic(&out[bases..]) {
            return Err(Error::input("the sequence has characters that are not bases")
                .hint("the file is damaged, or not FASTQ"));
        }
        match self.peek_byte()? {
            Some(b'+') => span.qualities = self.read_qualities(out, start, bases)?,
            Some(_) if marker == b'@' => {
                return Err(Error::input("the read has no qualities: no line starts with +")
                    .hint("a FASTQ record consists of @name, bases, + and qualities"));
            }
            None if marker == b'@' => {
                return Err(Error::input("the file ends inside the record").hint(TRUNCATED));
            }
            _ => {}
        }
        Ok(Some(span))
    }

    /// Skips blank lines, then consumes and returns the character that starts a record. `None` at
    /// the end of the file.
    fn read_marker(&mut self, out: &mut Vec<u8>) -> Result<Option<u8>> {
        loop {
            let start = out.len();
            match self.peek_byte()? {
                None => return Ok(None),
                Some(marker @ (b'@' | b'>')) => {
                    self.at.offset += 1;
                    return Ok(Some(marker));
                }
                Some(_) => self.append_line(out, start)?,
            }
            if out.len() > start {
                let error = no_record_start_error(&out[start..]);
                out.truncate(start);
                return Err(error);
            }
        }
    }

    /// Reads the line with `+` and appends the qualities of the `bases` bases. The record begins at
    /// `start` in `out`. Returns the offset of the qualities.
    fn read_qualities(&mut self, out: &mut Vec<u8>, start: usize, bases: usize) -> Result<u32> {
        let from = out.len();
        self.append_line(out, start)?;
        out.truncate(from);
        let len = from - bases;
        loop {
            if self.peek_byte()?.is_none() {
                break;
            }
            self.append_line(out, start)?;
            if out.len() - from >= len {
                break;
            }
        }
        let found = out.len() - from;
        if found < len {
            return Err(Error::input("the file ends inside the record").hint(TRUNCATED));
        }
        if found > len {
            return Err(Error::input(format!("there are {len} bases and {found} qualities"))
                .hint("the file is damaged: download or create it again"));
        }
        if !is_graphic(&out[from..]) {
            return Err(Error::input("the qualities have characters that are not qualities")
                .hint("the file is damaged, or not FASTQ"));
        }
        Ok(from as u32)
    }

    /// Returns the next byte without consuming it; `None` at the end of the file. Releases the
    /// blocks before the current one.
    fn peek_byte(&mut self) -> Result<Option<u8>> {
        loop {
            let Some(block) = &self.block else {
                self.block = self.text.load_block(self.at.block)?;
                if self.block.is_none() {
                    return Ok(None);
                }
                continue;
            };
            if let Some(&byte) = block.text().get(self.at.offset) {
                return Ok(Some(byte));
            }
            if let Some(fault) = block.fault() {
                return Err(fault.clone());
            }
            let Some(next) = self.text.load_block(self.at.block + 1)? else { return Ok(None) };
            self.block = Some(next);
            self.at = TextPosition { block: self.at.block + 1, offset: 0, ..self.at };
            self.text.release_below(self.at.block);
        }
    }

    /// Appends the rest of the line to `out`, without its line end. The record begins at `start` in
    /// `out`, so that its length can be checked.
    fn append_line(&mut self, out: &mut Vec<u8>, start: usize) -> Result<()> {
        let begun = out.len();
        let mut ended = false;
        while !ended && self.peek_byte()?.is_some() {
            let Some(block) = &self.block else { break };
            let rest = &block.text()[self.at.offset..];
            let newline = memchr::memchr(b'\n', rest);
            let piece = &rest[..newline.unwrap_or(rest.len())];
            if out.len() + piece.len() > MAX_BATCH_TEXT.min(start + self.max) {
                let what = format!("the record has more than {} bytes, the maximum", self.max);
                return Err(Error::input(what)
                    .hint("the file is damaged, or its reads are too long for the aligner"));
            }
            out.extend_from_slice(piece);
            self.at.offset += piece.len() + usize::from(newline.is_some());
            ended = newline.is_some();
        }
        self.at.lines += u64::from(ended);
        if out.len() > begun && out.last() == Some(&b'\r') {
            out.pop();
        }
        Ok(())
    }

    fn skip_byte_order_mark(&mut self) -> Result<()> {
        for (place, byte) in b"\xef\xbb\xbf".iter().enumerate() {
            if self.peek_byte()? != Some(*byte) {
                return if place == 0 {
                    Ok(())
                } else {
                    Err(no_record_start_error(&b"\xef\xbb"[..place]))
                };
            }
            self.at.offset += 1;
        }
        Ok(())
    }
}

fn no_record_start_error(line: &[u8]) -> Error {
    let shown = String::from_utf8_lossy(&line[..line.len().min(20)]).into_owned();
    Error::input(format!("a record starts with {shown:?} where @ is expected"))
        .hint("the previous record may have more or fewer than four lines, or the file is not FASTQ")
}

pub(crate) fn different_names_error(one: &[u8], other: &[u8], other_file: &str) -> Error {
    let shown = |name: &[u8]| String::from_utf8_lossy(template_name(name)).into_owned();
    Error::input(format!("the mate{other_file} is named {}", shown(other))).qname(one).hint(
        "mates must have the same name and the same position in both files; sort or repair the files",
    )
}
