//! Encodes the differences of a mapped read from the reference as features. It also computes the MD
//! and NM that a decoder will derive from them.

use readmill_record::{RecordRef, Result};

use super::series::{Columns, cannot_hold, substitution_code};
use crate::bases::Bases;
use crate::scheme::Series;

/// MD and NM as the decoder computes them. A record's own MD and NM are omitted if they are equal.
#[derive(Default)]
pub struct MdNm {
    pub md: Vec<u8>,
    pub nm: u32,
    /// Whether every decoder computes the same values. False if the read extends beyond its contig.
    pub is_sure: bool,
    matched: u32,
}

impl MdNm {
    fn add_md_number(&mut self) {
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

    fn add_mismatch(&mut self, base: u8) {
        self.add_md_number();
        self.md.push(base);
        self.nm += 1;
    }
}

pub struct Features<'a> {
    pub columns: &'a mut Columns,
    pub bases: Option<&'a mut Bases>,
    pub made: &'a mut MdNm,
    pub seq: &'a [u8],
    /// Position of the previous feature in the read (1-based).
    before: i32,
    count: i32,
}

impl<'a> Features<'a> {
    pub fn new(
        columns: &'a mut Columns,
        bases: Option<&'a mut Bases>,
        made: &'a mut MdNm,
        seq: &'a [u8],
    ) -> Self {
        made.md.clear();
        (made.nm, made.matched, made.is_sure) = (0, 0, true);
        Features { columns, bases, made, seq, before: 0, count: 0 }
    }

    #[inline]
    fn add_feature(&mut self, code: u8, at: usize) {
        let pos = at as i32 + 1;
        self.columns.series_mut(Series::Fc).add_byte(code);
        self.columns.series_mut(Series::Fp).add_number(pos - self.before);
        self.before = pos;
        self.count += 1;
    }

    /// Encodes the whole read along its CIGAR. Returns the end of its alignment on the reference
    /// (0-based, exclusive).
    pub fn encode_read(mut self, record: RecordRef<'_>) -> Result<i64> {
        let (contig, mut at, mut next) = (record.ref_id(), i64::from(record.pos()), 0usize);
        for (op, n) in record.cigar().ops().filter(|&(_, n)| n > 0) {
            let length = n as usize;
            match op {
                0 | 7 | 8 => {
                    self.encode_aligned(contig, at, next, length)?;
                    at += i64::from(n);
                    next += length;
                }
                1 | 4 => {
                    self.encode_unaligned(op == 1, next, length);
                    next += length;
                }
                2 => {
                    self.add_feature(b'D', next);
                    self.columns.series_mut(Series::Dl).add_number(n as i32);
                    self.encode_deletion(contig, at, i64::from(n))?;
                    at += i64::from(n);
                }
                3 => {
                    self.add_feature(b'N', next);
                    self.columns.series_mut(Series::Rs).add_number(n as i32);
                    at += i64::from(n);
                }
                5 => {
                    self.add_feature(b'H', next);
                    self.columns.series_mut(Series::Hc).add_number(n as i32);
                }
                6 => {
                    self.add_feature(b'P', next);
                    self.columns.series_mut(Series::Pd).add_number(n as i32);
                }
                _ => return Err(cannot_hold("this CIGAR operator", record)),
            }
        }
        self.made.add_md_number();
        self.columns.series_mut(Series::Fn).add_number(self.count);
        Ok(at)
    }

    /// Compares `n` aligned bases of the read, starting at `next`, with the reference, starting at
    /// `at` (both 0-based), and stores those that differ.
    fn encode_aligned(&mut self, contig: i32, at: i64, next: usize, n: usize) -> Result<()> {
        if self.seq.is_empty() || n == 0 {
            return Ok(());
        }
        let seq = &self.seq[next..next + n];
        let Some(bases) = self.bases.as_mut() else {
            self.add_feature(b'b', next);
            self.columns.add_stopped(Series::Bb, seq);
            return Ok(());
        };
        let length = bases.references().contig_length(contig);
        let known = (length - at).clamp(0, n as i64) as usize;
        let reference: &[u8] =
            if known > 0 { bases.read_bases(contig, at as u32, at as u32 + known as u32)? } else { &[] };
        let mut from = 0;
        // Compares eight bases at a time, because nearly all are equal.
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
                self.made.add_mismatch(base);
                if read == base {
                    continue; // an N in both: not stored, but counted as a mismatch
                }
                let pos = (next + i) as i32 + 1;
                let code = substitution_code(base, read);
                self.columns.series_mut(Series::Fc).add_byte(if code.is_some() { b'X' } else { b'b' });
                self.columns.series_mut(Series::Fp).add_number(pos - self.before);
                self.before = pos;
                self.count += 1;
                match code {
                    Some(code) => self.columns.series_mut(Series::Bs).add_byte(code),
                    None => self.columns.add_stopped(Series::Bb, &[read]),
                }
            }
            from = to;
        }
        if known < n {
            self.made.is_sure = false;
            self.add_feature(b'b', next + known);
            self.columns.add_stopped(Series::Bb, &seq[known..]);
        }
        Ok(())
    }

    fn encode_unaligned(&mut self, inserted: bool, next: usize, n: usize) {
        let (code, series) = if inserted { (b'I', Series::In) } else { (b'S', Series::Sc) };
        self.add_feature(code, next);
        match self.seq.get(next..next + n) {
            Some(seq) => self.columns.add_stopped(series, seq),
            None => self.columns.add_repeated(series, b'N', n),
        }
        if inserted {
            self.made.nm += n as u32;
        }
    }

    fn encode_deletion(&mut self, contig: i32, at: i64, n: i64) -> Result<()> {
        let Some(bases) = self.bases.as_mut() else { return Ok(()) };
        if at + n > bases.references().contig_length(contig) {
            self.made.is_sure = false;
            return Ok(());
        }
        self.made.add_md_number();
        self.made.md.push(b'^');
        self.made.nm += n as u32;
        let deleted = bases.read_bases(contig, at as u32, (at + n) as u32)?;
        self.made.md.extend_from_slice(deleted);
        Ok(())
    }
}
