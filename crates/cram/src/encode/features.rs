//! Encodes the differences of a mapped read from the reference: its features. At the same time it
//! computes the MD and NM that the decoder will make from them.

use readmill_record::{RecordRef, Result};

use super::series::{Columns, cannot_hold, substitution};
use crate::bases::Bases;
use crate::scheme::Series;

/// MD and NM as the decoder computes them. A record's own fields are left out if they are equal.
#[derive(Default)]
pub struct Made {
    pub md: Vec<u8>,
    pub nm: u32,
    /// Whether every decoder computes the same: not if the read reaches beyond its contig.
    pub sure: bool,
    matched: u32,
}

impl Made {
    fn number(&mut self) {
        let (mut digits, mut at, mut n) = ([b'0'; 10], 10, self.matched);
        loop {
            at -= 1;
            digits[at] += (n % 10) as u8;
            n /= 10;
            if n == 0 {
                break;
            }
        }
        self.md.extend_from_slice(&digits[at..]);
        self.matched = 0;
    }

    fn mismatch(&mut self, base: u8) {
        self.number();
        self.md.push(base);
        self.nm += 1;
    }
}

pub struct Features<'a> {
    pub columns: &'a mut Columns,
    pub bases: Option<&'a mut Bases>,
    pub made: &'a mut Made,
    pub seq: &'a [u8],
    /// Position of the previous feature in the read (1-based).
    before: i32,
    count: i32,
}

impl<'a> Features<'a> {
    pub fn new(
        columns: &'a mut Columns,
        bases: Option<&'a mut Bases>,
        made: &'a mut Made,
        seq: &'a [u8],
    ) -> Self {
        made.md.clear();
        (made.nm, made.matched, made.sure) = (0, 0, true);
        Features { columns, bases, made, seq, before: 0, count: 0 }
    }

    #[inline]
    fn feature(&mut self, code: u8, at: usize) {
        let pos = at as i32 + 1;
        self.columns.of(Series::Fc).byte(code);
        self.columns.of(Series::Fp).number(pos - self.before);
        self.before = pos;
        self.count += 1;
    }

    /// Encodes the whole read along its CIGAR. Returns the end of its alignment on the reference
    /// (0-based, exclusive).
    pub fn write(mut self, record: RecordRef<'_>) -> Result<i64> {
        let (contig, mut at, mut next) = (record.ref_id(), i64::from(record.pos()), 0usize);
        for (op, n) in record.cigar().ops().filter(|&(_, n)| n > 0) {
            let length = n as usize;
            match op {
                0 | 7 | 8 => {
                    self.aligned(contig, at, next, length)?;
                    at += i64::from(n);
                    next += length;
                }
                1 | 4 => {
                    self.unaligned(op == 1, next, length);
                    next += length;
                }
                2 => {
                    self.feature(b'D', next);
                    self.columns.of(Series::Dl).number(n as i32);
                    self.deleted(contig, at, i64::from(n))?;
                    at += i64::from(n);
                }
                3 => {
                    self.feature(b'N', next);
                    self.columns.of(Series::Rs).number(n as i32);
                    at += i64::from(n);
                }
                5 => {
                    self.feature(b'H', next);
                    self.columns.of(Series::Hc).number(n as i32);
                }
                6 => {
                    self.feature(b'P', next);
                    self.columns.of(Series::Pd).number(n as i32);
                }
                _ => return Err(cannot_hold("this operator of CIGAR", record)),
            }
        }
        self.made.number();
        self.columns.of(Series::Fn).number(self.count);
        Ok(at)
    }

    /// Compares `n` aligned bases of the read, from `next` on, with the reference from `at` on
    /// (0-based). Stores those that differ.
    fn aligned(&mut self, contig: i32, at: i64, next: usize, n: usize) -> Result<()> {
        if self.seq.is_empty() || n == 0 {
            return Ok(());
        }
        let seq = &self.seq[next..next + n];
        let Some(bases) = self.bases.as_mut() else {
            self.feature(b'b', next);
            self.columns.stopped(Series::Bb, seq);
            return Ok(());
        };
        let length = bases.references().length(contig);
        let known = (length - at).clamp(0, n as i64) as usize;
        let reference: &[u8] =
            if known > 0 { bases.get(contig, at as u32, at as u32 + known as u32)? } else { &[] };
        let mut from = 0;
        // Eight bases at a time, because nearly all are equal.
        while from < known {
            if let (Some(a), Some(b)) =
                (seq[from..known].first_chunk::<8>(), reference[from..].first_chunk::<8>())
                && a == b
                && memchr::memchr(b'N', a).is_none()
            {
                from += 8;
                self.made.matched += 8;
                continue;
            }
            let to = (from + 8).min(known);
            for i in from..to {
                let (read, base) = (seq[i], reference[i]);
                if read == base && base != b'N' {
                    self.made.matched += 1;
                    continue;
                }
                self.made.mismatch(base);
                if read == base {
                    continue; // an N in both: not stored, but counted as a mismatch
                }
                let pos = (next + i) as i32 + 1;
                let code = substitution(base, read);
                self.columns.of(Series::Fc).byte(if code.is_some() { b'X' } else { b'b' });
                self.columns.of(Series::Fp).number(pos - self.before);
                self.before = pos;
                self.count += 1;
                match code {
                    Some(code) => self.columns.of(Series::Bs).byte(code),
                    None => self.columns.stopped(Series::Bb, &[read]),
                }
            }
            from = to;
        }
        if known < n {
            self.made.sure = false;
            self.feature(b'b', next + known);
            self.columns.stopped(Series::Bb, &seq[known..]);
        }
        Ok(())
    }

    fn unaligned(&mut self, inserted: bool, next: usize, n: usize) {
        let (code, series) = if inserted { (b'I', Series::In) } else { (b'S', Series::Sc) };
        self.feature(code, next);
        match self.seq.get(next..next + n) {
            Some(seq) => self.columns.stopped(series, seq),
            None => self.columns.repeated(series, b'N', n),
        }
        if inserted {
            self.made.nm += n as u32;
        }
    }

    fn deleted(&mut self, contig: i32, at: i64, n: i64) -> Result<()> {
        let Some(bases) = self.bases.as_mut() else { return Ok(()) };
        if at + n > bases.references().length(contig) {
            self.made.sure = false;
            return Ok(());
        }
        self.made.number();
        self.made.md.push(b'^');
        self.made.nm += n as u32;
        let deleted = bases.get(contig, at as u32, (at + n) as u32)?;
        self.made.md.extend_from_slice(deleted);
        Ok(())
    }
}
