//! Finds where a slice of SAM text can start.

use std::fs::File;

use readmill_record::header::text::belongs_to_header;
use readmill_record::{Charge, Ledger, Result};

use super::file::{BORDERS, MAX_SEARCHED_BYTES, read_up_to};
use crate::shard::job::VirtualOffset;

const READ_BYTES: usize = 1 << 16;

pub fn find_first_alignment(file: &File, ledger: &Ledger) -> Result<u64> {
    let mut lines = LineScanner::new(file, 0, ledger);
    for number in 1.. {
        let at = lines.offset();
        match lines.next()? {
            Some(line) if belongs_to_header(line, number)? => {}
            _ => return Ok(at),
        }
    }
    Ok(lines.offset())
}

/// Finds the first line after `near` whose read name differs from that of the preceding line.
/// Returns `None` if the file ends first, or if a line is too long to search.
pub fn find_border(file: &File, near: u64, ledger: &Ledger) -> Result<Option<VirtualOffset>> {
    let mut lines = LineScanner::new(file, near, ledger);
    if lines.next()?.is_none() {
        return Ok(None); // the offset is in the last line
    }
    let name = |line: &[u8]| line.split(|&byte| byte == b'\t').next().unwrap_or_default().to_vec();
    let mut before = None;
    loop {
        let offset = lines.offset();
        let Some(line) = lines.next()? else { return Ok(None) };
        let name = name(line);
        if before.as_ref().is_some_and(|before| *before != name) {
            return Ok(Some(VirtualOffset { offset, within: 0 }));
        }
        before = Some(name);
    }
}

struct LineScanner<'a> {
    file: &'a File,
    /// File offset of `bytes[0]`.
    offset: u64,
    bytes: Vec<u8>,
    /// Length of the lines in `bytes` that have been returned.
    taken: usize,
    charge: Charge,
}

impl<'a> LineScanner<'a> {
    fn new(file: &'a File, offset: u64, ledger: &Ledger) -> Self {
        LineScanner { file, offset, bytes: Vec::new(), taken: 0, charge: ledger.empty_charge(BORDERS) }
    }

    fn offset(&self) -> u64 {
        self.offset + self.taken as u64
    }

    /// Returns the next line with its line feed. Returns `None` at the end of the file, for a line
    /// longer than `MAX_SEARCHED_BYTES`, and if a line does not fit into memory.
    fn next(&mut self) -> Result<Option<&[u8]>> {
        let mut searched = self.taken;
        loop {
            if let Some(end) = self.bytes[searched..].iter().position(|&byte| byte == b'\n') {
                let line = self.taken..searched + end + 1;
                self.taken = line.end;
                return Ok(Some(&self.bytes[line]));
            }
            self.bytes.drain(..self.taken);
            (self.offset, self.taken) = (self.offset + self.taken as u64, 0);
            searched = self.bytes.len();
            if searched + READ_BYTES > self.bytes.capacity() {
                if !self.charge.try_grow((searched + READ_BYTES) as u64) {
                    return Ok(None);
                }
                self.bytes.reserve_exact(searched + READ_BYTES);
            }
            self.bytes.resize(searched + READ_BYTES, 0);
            let at = self.offset + searched as u64;
            let read = read_up_to(self.file, &mut self.bytes[searched..], at)?;
            self.bytes.truncate(searched + read);
            if read == 0 || self.bytes.len() > MAX_SEARCHED_BYTES {
                return Ok(None);
            }
        }
    }
}
