//! A file that is read with the lock of the input held.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::fault::wrong;

/// Bytes that are read at a time.
const BUFFER: usize = 64 << 10;

/// A file and a buffer.
pub struct Source {
    file: File,
    buffer: Box<[u8]>,
    /// The part of the buffer that has not been taken.
    start: usize,
    end: usize,
    /// Where the file is read next.
    offset: u64,
    /// Starts again at the end.
    endless: bool,
    /// Why it could not be read; told by [`Source::check`], so that a character is no more than a byte.
    failed: Option<io::Error>,
}

impl Source {
    /// A file from its start; one that is endless starts again at its end.
    pub fn new(file: File, endless: bool) -> Self {
        Source {
            file,
            buffer: vec![0; BUFFER].into(),
            start: 0,
            end: 0,
            offset: 0,
            endless,
            failed: None,
        }
    }

    /// Reads more into the empty buffer; says whether there was more.
    #[cold]
    #[inline(never)]
    fn fill(&mut self) -> bool {
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

    /// Gives one character after the other until one is enough, or the file has no more.
    #[inline(always)]
    pub fn characters(&mut self, mut enough: impl FnMut(u8) -> bool) {
        loop {
            let here = &self.buffer[self.start..self.end];
            if let Some(at) = here.iter().position(|&byte| enough(byte)) {
                self.start += at + 1;
                return;
            }
            if !self.fill() {
                return;
            }
        }
    }

    /// Whether whole records were read, and any.
    pub fn check(&mut self, lines: usize, bytes: usize) -> io::Result<bool> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if !lines.is_multiple_of(4) || (lines == 0 && bytes > 0) {
            return Err(wrong("the file ends in the midst of a record"));
        }
        Ok(lines > 0)
    }

    /// Appends so many lines, character by character; says whether there were any.
    pub fn lines(&mut self, lines: usize, text: &mut Vec<u8>) -> io::Result<bool> {
        let (before, mut found) = (text.len(), 0);
        self.characters(|byte| {
            text.push(byte);
            found += usize::from(byte == b'\n');
            found == lines
        });
        self.check(found, text.len() - before)
    }

    /// Appends so many lines and the place behind each, looking for their ends with vector instructions.
    pub fn search_lines(
        &mut self,
        lines: usize,
        text: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> io::Result<bool> {
        let (before, mut found) = (text.len(), 0);
        while found < lines && (self.start < self.end || self.fill()) {
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
        self.check(found, text.len() - before)
    }

    /// Appends a block of the file, past the buffer; says whether there was one.
    pub fn block(&mut self, bytes: usize, text: &mut Vec<u8>) -> io::Result<bool> {
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
