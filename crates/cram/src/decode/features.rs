//! Decodes the features of a mapped read (its differences from the reference) into bases, CIGAR, MD
//! and NM.
//!
//! Invalid or unusual features are interpreted as in htslib (`cram_decode_seq`), so that both give
//! the same records.

use readmill_record::Result;

use super::parts::{FixedFields, PartsMemory, RecordReader, WantedTags};
use super::slice::SliceReference;
use crate::num::damaged_cram;
use crate::scheme::{BASES, NO_BASES, QUALITIES, Series, Substitutions};

/// Quality of a base without a stored quality, in a read that stores qualities for some bases. The
/// same as in htslib and htsjdk.
const NO_QUALITY: u8 = 30;

/// Returns the qualities of a read that stores only some of them. If `qual` is still empty, first
/// sets all `n` to [`NO_QUALITY`].
fn fill_qualities(qual: &mut Vec<u8>, n: usize) -> &mut [u8] {
    if qual.is_empty() {
        qual.resize(n, NO_QUALITY);
    }
    qual
}

fn put_byte(bytes: &mut [u8], at: usize, byte: u8) {
    if let Some(place) = bytes.get_mut(at) {
        *place = byte;
    }
}

fn feature_length(n: i32) -> Result<i64> {
    if n < 0 {
        return Err(damaged_cram("the length of a feature is negative"));
    }
    Ok(i64::from(n))
}

/// Decodes the features, mapping quality and base qualities of a mapped read. Appends MD and NM to
/// the tags if they are `wanted`.
pub fn decode_features(
    reader: &mut RecordReader<'_>,
    fixed: &mut FixedFields,
    wanted: WantedTags,
) -> Result<()> {
    // Bases and qualities that the record does not keep are only read.
    let has_bases = fixed.length > 0 && fixed.cram & NO_BASES == 0 && !reader.needs_only_places;
    let kept_bytes = if has_bases { 2 * fixed.length } else { 0 };
    reader.reserve_parts(kept_bytes)?;
    let other_bytes = reader.scratch.used_bytes() + kept_bytes;
    let (mut seq, mut qual) =
        (std::mem::take(&mut reader.scratch.seq), std::mem::take(&mut reader.scratch.qual));
    let (mut cigar, mut md) =
        (std::mem::take(&mut reader.scratch.cigar), std::mem::take(&mut reader.scratch.md));
    let mut stored = std::mem::take(&mut reader.scratch.stored);
    seq.clear();
    if has_bases {
        seq.resize(fixed.length, b'=');
    }
    qual.clear();
    md.clear();
    let mut building = ReadBuilder {
        contig: fixed.contig,
        length: reader.setup.references.contig_length(fixed.contig),
        seq: &mut seq,
        cigar: &mut cigar,
        md: &mut md,
        stored: &mut stored,
        wanted,
        op: MATCH,
        op_length: 0,
        matched: 0,
        nm: 0,
        at: fixed.pos - 1,
        next: 0,
        has_bases,
        other_bytes,
    };
    let read = decode_all_features(reader, fixed, &mut building, &mut qual);
    let (end, nm) = (building.at, building.nm);
    let scratch = &mut reader.scratch;
    (scratch.seq, scratch.cigar, scratch.md) = (seq, cigar, md);
    (scratch.qual, scratch.stored) = (qual, stored);
    read?;
    fixed.end = end.max(fixed.pos);
    if wanted.md {
        scratch.tags.extend_from_slice(b"MDZ");
        scratch.tags.extend_from_slice(&scratch.md);
        scratch.tags.push(0);
    }
    if wanted.nm {
        scratch.tags.extend_from_slice(b"NM");
        let nm = nm as u32;
        match nm {
            0..=0xff => scratch.tags.extend([b'C', nm as u8]),
            0x100..=0xffff => scratch.tags.extend([b'S', nm as u8, (nm >> 8) as u8]),
            _ => {
                scratch.tags.push(b'I');
                scratch.tags.extend_from_slice(&nm.to_le_bytes());
            }
        }
    }
    fixed.mapq = reader.series[Series::Mq as usize].read_number(reader.streams)? as u8;
    let qualities = &reader.series[Series::Qs as usize];
    if reader.blocks_skipped {
        return Ok(());
    }
    if fixed.cram & QUALITIES != 0 {
        reader.scratch.qual.clear();
        reader.reserve_parts(fixed.length)?;
        qualities.read_bytes(reader.streams, fixed.length, &mut reader.scratch.qual)?;
    } else if has_bases && reader.scratch.qual.is_empty() {
        reader.scratch.qual.resize(fixed.length, 255);
    }
    Ok(())
}

fn decode_all_features(
    reader: &mut RecordReader<'_>,
    fixed: &FixedFields,
    building: &mut ReadBuilder<'_>,
    qual: &mut Vec<u8>,
) -> Result<()> {
    let (count, mut before) = (reader.series[Series::Fn as usize].read_number(reader.streams)?, 0usize);
    for _ in 0..count {
        let code = reader.series[Series::Fc as usize].read_byte(reader.streams)?;
        let step = reader.series[Series::Fp as usize].read_number(reader.streams)?;
        let pos = usize::try_from(before as i64 + i64::from(step)).unwrap_or(0);
        let beyond = usize::from(matches!(code, b'N' | b'P' | b'H' | b'D'));
        if pos == 0 || fixed.length != 0 && pos > fixed.length + beyond {
            return Err(damaged_cram("a feature is outside its read"));
        }
        before = pos;
        if pos - 1 > building.next {
            let n = pos - 1 - building.next;
            if fixed.length == 0 {
                // Nothing else limits the reference bases that such a read may cover.
                reader.streams.count_constants(n / PAGE as usize)?;
            }
            building.add_matches(&mut reader.bases, n, false)?;
        }
        decode_feature(reader, fixed.length, code, pos - 1, building, qual)?;
    }
    if fixed.length > building.next {
        building.add_matches(&mut reader.bases, fixed.length - building.next, true)?;
    }
    reader.parts.reserve(building.used_bytes())?;
    building.flush_md();
    building.close_operator();
    Ok(())
}

/// Returns a function that charges `n` bases or qualities that are stored at base `pos` of a read of
/// `length` bases, which already takes `used` bytes.
fn reserve_stored<'a>(
    parts: &'a mut PartsMemory<'_>,
    used: usize,
    length: usize,
    pos: usize,
) -> impl FnOnce(usize) -> Result<()> + 'a {
    move |n| {
        if length > 0 && n > length.saturating_sub(pos) {
            return Err(damaged_cram("a feature is outside its read"));
        }
        parts.reserve(used + n)
    }
}

/// Decodes the feature `code` at base `pos` (0-based) of a read of `length` bases; 0 if the length is
/// unknown.
fn decode_feature(
    reader: &mut RecordReader<'_>,
    length: usize,
    code: u8,
    pos: usize,
    building: &mut ReadBuilder<'_>,
    qual: &mut Vec<u8>,
) -> Result<()> {
    let (series, streams, source) = (reader.series, &mut *reader.streams, &mut reader.bases);
    let parts = &mut reader.parts;
    parts.reserve(building.used_bytes())?;
    match code {
        b'X' => {
            let code = series[Series::Bs as usize].read_byte(streams)?;
            building.add_substitution(source, &reader.scheme.substitutions, code)?;
        }
        b'S' | b'I' | b'b' => {
            let stored = match code {
                b'S' => Series::Sc,
                b'I' => Series::In,
                _ => Series::Bb,
            };
            let reserve = reserve_stored(parts, building.used_bytes(), length, pos);
            building.stored.clear();
            let n = series[stored as usize].read_array(streams, reserve, building.stored)?;
            if building.has_bases {
                building.seq[pos..pos + n].copy_from_slice(building.stored);
            }
            match code {
                b'S' => {
                    building.close_operator();
                    building.op = SOFT_CLIP;
                    building.op_length = n as i64;
                    building.close_operator();
                    building.next += n;
                }
                b'I' => {
                    building.extend_operator(INSERTION, n as i64);
                    building.next += n;
                    building.nm += n as i64;
                }
                _ => building.add_stored_bases(source, n)?,
            }
        }
        b'i' => {
            let base = series[Series::Ba as usize].read_byte(streams)?;
            put_byte(building.seq, pos, base);
            building.extend_operator(INSERTION, 1);
            building.next += 1;
            building.nm += 1;
        }
        b'B' => {
            let base = series[Series::Ba as usize].read_byte(streams)?;
            put_byte(building.seq, pos, base);
            building.add_stored_bases(source, 1)?;
            let quality = series[Series::Qs as usize].read_byte(streams)?;
            put_byte(fill_qualities(qual, building.seq.len()), pos, quality);
        }
        b'Q' => {
            let quality = series[Series::Qs as usize].read_byte(streams)?;
            put_byte(fill_qualities(qual, building.seq.len()), pos, quality);
        }
        b'q' => {
            if building.op != MATCH {
                building.close_operator();
                building.op = MATCH;
            }
            let reserve = reserve_stored(parts, building.used_bytes(), length, pos);
            let mut some = Vec::new();
            series[Series::Qq as usize].read_array(streams, reserve, &mut some)?;
            let all = fill_qualities(qual, building.seq.len());
            some.into_iter().enumerate().for_each(|(i, quality)| put_byte(all, pos + i, quality));
        }
        b'D' => {
            let n = feature_length(series[Series::Dl as usize].read_number(streams)?)?;
            if building.wanted.md {
                parts.reserve(building.used_bytes() + n as usize)?;
            }
            building.add_deletion(source, n)?;
        }
        b'N' => {
            let n = feature_length(series[Series::Rs as usize].read_number(streams)?)?;
            building.extend_operator(SKIP, n);
            building.at += n;
        }
        b'P' => building
            .extend_operator(PAD, feature_length(series[Series::Pd as usize].read_number(streams)?)?),
        b'H' => building.extend_operator(
            HARD_CLIP,
            feature_length(series[Series::Hc as usize].read_number(streams)?)?,
        ),
        other => {
            return Err(damaged_cram(format!("the feature {:?} is unknown", char::from(other))));
        }
    }
    Ok(())
}

const MATCH: u32 = 0;
const INSERTION: u32 = 1;
const DELETION: u32 = 2;
const SKIP: u32 = 3;
const SOFT_CLIP: u32 = 4;
const HARD_CLIP: u32 = 5;
const PAD: u32 = 6;

struct ReadBuilder<'a> {
    pub contig: i32,
    pub length: i64,
    pub seq: &'a mut Vec<u8>,
    pub cigar: &'a mut Vec<u32>,
    pub md: &'a mut Vec<u8>,
    pub stored: &'a mut Vec<u8>,
    pub wanted: WantedTags,
    /// The current CIGAR operator. It is not appended yet, because the next feature may extend it.
    pub op: u32,
    pub op_length: i64,
    /// Number of matching bases since the last MD entry; negative once MD can no longer be
    /// computed.
    pub matched: i64,
    pub nm: i64,
    /// Next base of the reference (0-based).
    pub at: i64,
    /// Next base of the read (0-based).
    pub next: usize,
    /// Whether the record keeps its bases and qualities.
    pub has_bases: bool,
    /// Size in bytes of the parts of the record other than CIGAR and MD.
    pub other_bytes: usize,
}

fn append_number(out: &mut Vec<u8>, mut n: u64) {
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

const PAGE: i64 = 1 << 12;

/// Splits `n` bases starting at `at` at page boundaries. Returns the offset and length of each
/// part.
fn split_by_pages(at: i64, n: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let offset = next;
        let in_page = (PAGE - (at + offset as i64).rem_euclid(PAGE)) as usize;
        next = n.min(offset + in_page);
        (offset < n).then_some((offset, next - offset))
    })
}

const MAX_OPERATOR_LENGTH: i64 = (1 << 28) - 1;

impl ReadBuilder<'_> {
    /// Returns the size in bytes of the parts of the record, including the current operator, which
    /// features can extend to any length.
    fn used_bytes(&self) -> usize {
        let used = self.other_bytes + self.md.len() + size_of_val(&self.cigar[..]);
        if self.op_length <= MAX_OPERATOR_LENGTH {
            return used;
        }
        used + (self.op_length / MAX_OPERATOR_LENGTH) as usize * size_of::<u32>()
    }

    pub fn extend_operator(&mut self, op: u32, n: i64) {
        if self.op != op {
            self.close_operator();
            self.op = op;
        }
        self.op_length += n;
    }

    /// Appends the current operator to the CIGAR, as several operators if it is too long for one.
    pub fn close_operator(&mut self) {
        while self.op_length > 0 {
            let n = self.op_length.min(MAX_OPERATOR_LENGTH);
            self.cigar.push((n as u32) << 4 | self.op);
            self.op_length -= n;
        }
    }

    pub fn add_md_mismatch(&mut self, base: u8) {
        if self.wanted.md {
            append_number(self.md, self.matched.max(0) as u64);
            self.md.push(base);
            self.matched = 0;
        }
    }

    pub fn flush_md(&mut self) {
        if self.wanted.md && self.matched >= 0 {
            append_number(self.md, self.matched as u64);
        }
    }

    /// Adds `n` bases that equal the reference. With `is_last`, they end the read.
    pub fn add_matches(
        &mut self,
        source: &mut SliceReference<'_>,
        n: usize,
        is_last: bool,
    ) -> Result<()> {
        if source.has_bases(self.contig) && (self.has_bases || self.wanted.md || self.wanted.nm) {
            self.copy_reference(source, n, is_last)?;
        }
        self.extend_operator(MATCH, n as i64);
        self.at += n as i64;
        self.next += n;
        Ok(())
    }

    pub fn copy_reference(
        &mut self,
        source: &mut SliceReference<'_>,
        n: usize,
        is_last: bool,
    ) -> Result<()> {
        let end = self.next + n;
        if self.at + n as i64 > self.length {
            // Beyond the end of the contig, all bases are N.
            let left = (self.length - self.at).clamp(0, n as i64);
            if self.has_bases {
                for (offset, n) in split_by_pages(self.at, left as usize) {
                    let known = source.read_bases(self.contig, self.at + offset as i64, n as i64)?;
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
        for (offset, n) in split_by_pages(self.at, n) {
            let known = source.read_bases(self.contig, self.at + offset as i64, n as i64)?;
            if self.has_bases {
                self.seq[self.next + offset..][..n].copy_from_slice(known);
            }
            if !(self.wanted.md || self.wanted.nm) {
                continue;
            }
            let mut from = 0;
            // An N in the reference counts as a mismatch, whatever the base of the read.
            for at in memchr::memchr_iter(b'N', known) {
                self.matched += (at - from) as i64;
                if self.wanted.md {
                    append_number(self.md, self.matched.max(0) as u64);
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

    /// Adds a base that differs from the reference. The substitution matrix maps the reference base
    /// and `code` to the base of the read.
    pub fn add_substitution(
        &mut self,
        source: &mut SliceReference<'_>,
        matrix: &Substitutions,
        code: u8,
    ) -> Result<()> {
        let code = usize::from(code);
        if code > 3 {
            return Err(damaged_cram("a substitution has an invalid code"));
        }
        let known = source.has_bases(self.contig) && self.at < self.length;
        let reference = if known && self.at < source.contig_end(self.contig) {
            source.read_bases(self.contig, self.at, 1)?[0]
        } else {
            b'N'
        };
        let row = BASES.iter().position(|&base| base == reference).unwrap_or(4);
        if let Some(base) = self.seq.get_mut(self.next) {
            *base = matrix[row][code];
        }
        if known {
            self.add_md_mismatch(reference);
        } else if self.wanted.md || self.wanted.nm {
            self.flush_md();
            self.matched = -1;
            self.nm -= 1;
        }
        self.nm += 1;
        self.extend_operator(MATCH, 1);
        self.at += 1;
        self.next += 1;
        Ok(())
    }

    /// Adds `n` bases of the read that are stored literally. They are aligned to the reference
    /// (operator M).
    pub fn add_stored_bases(&mut self, source: &mut SliceReference<'_>, n: usize) -> Result<()> {
        if self.wanted.md || self.wanted.nm {
            self.flush_md();
            let known = n.min((self.length - self.at).max(0) as usize);
            for i in 0..known {
                if self.wanted.md {
                    if i > 0 {
                        append_number(self.md, 0);
                    }
                    let base = source.read_bases(self.contig, self.at + i as i64, 1)?[0];
                    self.md.push(base);
                }
            }
            self.nm += known as i64;
            self.matched = if n == 1 && known == 0 { -1 } else { 0 };
        }
        self.extend_operator(MATCH, n as i64);
        self.at += n as i64;
        self.next += n;
        Ok(())
    }

    pub fn add_deletion(&mut self, source: &mut SliceReference<'_>, n: i64) -> Result<()> {
        if self.wanted.md || self.wanted.nm {
            if self.at + n > source.contig_end(self.contig) {
                return Err(damaged_cram("a read extends beyond its slice"));
            }
            self.flush_md();
            if self.wanted.md {
                self.md.push(b'^');
                for (offset, n) in split_by_pages(self.at, n as usize) {
                    let known = source.read_bases(self.contig, self.at + offset as i64, n as i64)?;
                    self.md.extend_from_slice(known);
                }
                self.matched = 0;
            }
            self.nm += n;
        }
        self.extend_operator(DELETION, n);
        self.at += n;
        Ok(())
    }
}
