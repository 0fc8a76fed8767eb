//! A block of text with its lines counted, and a store of used buffers.

use std::sync::{Mutex, PoisonError};

use readmill_record::Error;

/// Distance at which the count of lines is stored; finding a line scans at most this many bytes.
const STRIDE: usize = 16 << 10;

/// A block of text.
pub(crate) struct TextBlock {
    bytes: Vec<u8>,
    /// Number of bytes that are text; the rest is unused.
    len: usize,
    /// Lines that end before the end of each stride.
    marks: Vec<u32>,
    /// The fault after the text; `None` if the text goes on or ends.
    fault: Option<Error>,
}

impl TextBlock {
    /// Counts the lines of the first `len` bytes of `bytes`; `fault` is the fault after them, if any.
    pub fn new(bytes: Vec<u8>, len: usize, fault: Option<Error>) -> Self {
        let mut lines = 0;
        let count = |stride: &[u8]| {
            lines += memchr::memchr_iter(b'\n', stride).count() as u32;
            lines
        };
        let marks = bytes[..len].chunks(STRIDE).map(count).collect();
        TextBlock { bytes, len, marks, fault }
    }

    /// The text.
    pub fn text(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// The fault after the text; `None` if the text goes on or ends.
    pub fn fault(&self) -> Option<&Error> {
        self.fault.as_ref()
    }

    /// Number of lines that end in it.
    pub fn lines(&self) -> u64 {
        self.marks.last().map_or(0, |&lines| lines.into())
    }

    /// The end of line `number`, counted from 1: the position after its newline.
    pub fn end_of_line(&self, number: u64) -> Option<usize> {
        let stride = self.marks.partition_point(|&lines| u64::from(lines) < number);
        let before = stride.checked_sub(1).map_or(0, |previous| self.marks[previous]);
        let text = self.text().chunks(STRIDE).nth(stride)?;
        let rank = (number - u64::from(before)).checked_sub(1)? as usize;
        memchr::memchr_iter(b'\n', text).nth(rank).map(|at| stride * STRIDE + at + 1)
    }

    /// The buffer of the text.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Buffers to be used again.
#[derive(Default)]
pub(crate) struct Shelf(Mutex<Vec<Vec<u8>>>);

impl Shelf {
    /// A buffer with any content.
    pub fn take(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Puts a buffer back.
    pub fn put(&self, buffer: Vec<u8>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_their_number() {
        let text: Vec<u8> =
            (0..100_000u64).map(|i| if i * i % 101 == 4 { b'\n' } else { b'A' }).collect();
        let ends: Vec<usize> = memchr::memchr_iter(b'\n', &text).map(|at| at + 1).collect();
        let block = TextBlock::new(text.clone(), text.len() - 3000, None);
        let inside = ends.iter().filter(|&&end| end <= text.len() - 3000);
        assert_eq!(block.lines(), inside.clone().count() as u64);
        for (number, &end) in inside.enumerate() {
            assert_eq!(block.end_of_line(number as u64 + 1), Some(end));
        }
        assert_eq!(block.end_of_line(block.lines() + 1), None);
        assert_eq!(TextBlock::new(Vec::new(), 0, None).lines(), 0);
    }
}
