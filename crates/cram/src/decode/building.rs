//! Builds a read: its CIGAR, bases, MD and NM, operator by operator.

use readmill_record::Result;

use super::parts::Wanted;
use super::slice_reference::SliceReference;
use crate::num::damaged;
use crate::scheme::{BASES, Substitutions};

pub(super) const MATCH: u32 = 0;
pub(super) const INSERTION: u32 = 1;
pub(super) const DELETION: u32 = 2;
pub(super) const SKIP: u32 = 3;
pub(super) const SOFT_CLIP: u32 = 4;
pub(super) const HARD_CLIP: u32 = 5;
pub(super) const PAD: u32 = 6;

/// The parts of a read under construction.
pub(super) struct Building<'a> {
    pub contig: i32,
    /// Length of the contig.
    pub length: i64,
    pub seq: &'a mut Vec<u8>,
    pub cigar: &'a mut Vec<u32>,
    pub md: &'a mut Vec<u8>,
    /// Bases of the current feature.
    pub stored: &'a mut Vec<u8>,
    pub wanted: Wanted,
    /// The current operator.
    pub op: u32,
    pub op_length: i64,
    /// Bases that match since the last entry of MD; negative if MD cannot be made any more.
    pub matched: i64,
    pub nm: i64,
    /// Next base of the reference (0-based).
    pub at: i64,
    /// Next base of the read (0-based).
    pub next: usize,
    /// Whether bases are stored.
    pub has_bases: bool,
}

/// Appends a number as text.
fn put_number(out: &mut Vec<u8>, mut n: u64) {
    let (mut digits, mut at) = ([b'0'; 20], 20);
    loop {
        at -= 1;
        digits[at] += (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Bases of the reference that are requested at once: those of a page.
const PAGE: i64 = 1 << 12;

/// Splits `n` bases from `at` on by pages: the start of each piece after `at`, and its length.
fn pieces(at: i64, n: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let offset = next;
        let in_page = (PAGE - (at + offset as i64).rem_euclid(PAGE)) as usize;
        next = n.min(offset + in_page);
        (offset < n).then_some((offset, next - offset))
    })
}

impl Building<'_> {
    /// Continues with operator `op` over `n` bases.
    pub fn operate(&mut self, op: u32, n: i64) {
        if self.op != op {
            self.close();
            self.op = op;
        }
        self.op_length += n;
    }

    /// Ends the current operator.
    pub fn close(&mut self) {
        if self.op_length > 0 {
            self.cigar.push((self.op_length as u32) << 4 | self.op);
            self.op_length = 0;
        }
    }

    /// Adds a base of the reference to MD that the read does not have.
    pub fn md_mismatch(&mut self, base: u8) {
        if self.wanted.md {
            put_number(self.md, self.matched.max(0) as u64);
            self.md.push(base);
            self.matched = 0;
        }
    }

    pub fn md_flush(&mut self) {
        if self.wanted.md && self.matched >= 0 {
            put_number(self.md, self.matched as u64);
        }
    }

    /// Adds `n` bases equal to those of the reference.
    pub fn matches(&mut self, source: &mut SliceReference<'_>, n: usize, is_last: bool) -> Result<()> {
        if source.exists(self.contig) {
            self.copy(source, n, is_last)?;
        }
        self.operate(MATCH, n as i64);
        self.at += n as i64;
        self.next += n;
        Ok(())
    }

    pub fn copy(&mut self, source: &mut SliceReference<'_>, n: usize, is_last: bool) -> Result<()> {
        let end = self.next + n;
        if self.at + n as i64 > self.length {
            // Beyond the end of the contig all bases are N.
            let left = (self.length - self.at).clamp(0, n as i64);
            if self.has_bases {
                for (offset, n) in pieces(self.at, left as usize) {
                    let known = source.get(self.contig, self.at + offset as i64, n as i64)?;
                    self.seq[self.next + offset..][..n].copy_from_slice(known);
                }
                let to = if left > 0 || is_last { end } else { self.seq.len() };
                self.seq[self.next + left as usize..to].fill(b'N');
            }
            if self.matched >= 0 {
                self.matched += n as i64;
            }
            return Ok(());
        }
        for (offset, n) in pieces(self.at, n) {
            let known = source.get(self.contig, self.at + offset as i64, n as i64)?;
            if self.has_bases {
                self.seq[self.next + offset..][..n].copy_from_slice(known);
            }
            if !(self.wanted.md || self.wanted.nm) {
                continue;
            }
            let mut from = 0;
            // An N of the reference is a mismatch, whatever the read has.
            for at in memchr::memchr_iter(b'N', known) {
                self.matched += (at - from) as i64;
                if self.wanted.md {
                    put_number(self.md, self.matched.max(0) as u64);
                    self.md.push(b'N');
                    self.matched = 0;
                }
                self.nm += 1;
                from = at + 1;
            }
            self.matched += (n - from) as i64;
        }
        Ok(())
    }

    /// A base that stands for one of the reference, by its number.
    pub fn substitute(
        &mut self,
        source: &mut SliceReference<'_>,
        matrix: &Substitutions,
        code: u8,
    ) -> Result<()> {
        let code = usize::from(code);
        if code > 3 {
            return Err(damaged("there is no such substitution"));
        }
        let known = source.exists(self.contig) && self.at < self.length;
        let reference = if known && self.at < source.end(self.contig) {
            source.get(self.contig, self.at, 1)?[0]
        } else {
            b'N'
        };
        let row = BASES.iter().position(|&base| base == reference).unwrap_or(4);
        if let Some(base) = self.seq.get_mut(self.next) {
            *base = matrix[row][code];
        }
        if known {
            self.md_mismatch(reference);
        } else if self.wanted.md || self.wanted.nm {
            self.md_flush();
            self.matched = -1;
            self.nm -= 1;
        }
        self.nm += 1;
        self.operate(MATCH, 1);
        self.at += 1;
        self.next += 1;
        Ok(())
    }

    /// `n` bases of the read that are stored as they are, in place of the reference's.
    pub fn replaced(&mut self, source: &mut SliceReference<'_>, n: usize) -> Result<()> {
        if self.wanted.md || self.wanted.nm {
            self.md_flush();
            let known = n.min((self.length - self.at).max(0) as usize);
            for i in 0..known {
                if self.wanted.md {
                    if i > 0 {
                        put_number(self.md, 0);
                    }
                    let base = source.get(self.contig, self.at + i as i64, 1)?[0];
                    self.md.push(base);
                }
            }
            self.nm += known as i64;
            self.matched = if n == 1 && known == 0 { -1 } else { 0 };
        }
        self.operate(MATCH, n as i64);
        self.at += n as i64;
        self.next += n;
        Ok(())
    }

    pub fn delete(&mut self, source: &mut SliceReference<'_>, n: i64) -> Result<()> {
        if self.wanted.md || self.wanted.nm {
            if self.at + n > source.end(self.contig) {
                return Err(damaged("a read reaches beyond what its slice covers"));
            }
            self.md_flush();
            if self.wanted.md {
                self.md.push(b'^');
                for (offset, n) in pieces(self.at, n as usize) {
                    let known = source.get(self.contig, self.at + offset as i64, n as i64)?;
                    self.md.extend_from_slice(known);
                }
                self.matched = 0;
            }
            self.nm += n;
        }
        self.operate(DELETION, n);
        self.at += n;
        Ok(())
    }
}
