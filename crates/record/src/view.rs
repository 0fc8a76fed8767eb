//! A view over one raw BAM record.

use crate::cigar::{Cigar, SKIP, SOFT_CLIP};
use crate::flags::Flags;
use crate::tag::{self, Field, Fields, Tag};

/// Bytes before the read name: `block_size` and the eleven fixed fields.
pub const FIXED: usize = 36;

/// A record as BAM stores it, `block_size` included. It is made only from bytes that [`RecordRef::check`] accepted,
/// so its accessors do not fail. Bytes that were read are an [`UncheckedRecord`](crate::UncheckedRecord) before.
#[derive(Clone, Copy)]
pub struct RecordRef<'a>(&'a [u8]);

#[inline(always)]
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[inline(always)]
fn i32_at(bytes: &[u8], at: usize) -> i32 {
    i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Bytes before the optional fields according to the fixed part, counted from the start of the record.
#[inline]
fn fields_start(raw: &[u8]) -> u64 {
    let l_seq = u64::from(i32_at(raw, 20).cast_unsigned());
    FIXED as u64 + u64::from(raw[12]) + 4 * u64::from(u16_at(raw, 16)) + l_seq.div_ceil(2) + l_seq
}

/// The error of optional fields that are cut or have unknown types.
pub const MALFORMED_FIELDS: &str = "the optional fields are malformed";

impl<'a> RecordRef<'a> {
    /// A view over `raw`, which must have passed [`RecordRef::check`].
    pub fn new(raw: &'a [u8]) -> Self {
        debug_assert!(raw.len() >= FIXED);
        RecordRef(raw)
    }

    /// Checks `raw` as a record of a file with `n_ref` reference sequences (SAM specification, section 4.2).
    ///
    /// # Errors
    /// The lengths do not add up, or an identifier does not exist.
    pub fn check(raw: &[u8], n_ref: i32) -> Result<(), &'static str> {
        let fields = RecordRef::check_lengths(raw, n_ref)?;
        if tag::well_formed(&raw[fields..]) { Ok(()) } else { Err(MALFORMED_FIELDS) }
    }

    /// Checks `raw` as [`RecordRef::check`] does, but looks at its optional fields only if its CIGAR may be one of them.
    ///
    /// # Errors
    /// The lengths do not add up, or an identifier does not exist.
    #[inline]
    pub fn check_without_fields(raw: &[u8], n_ref: i32) -> Result<(), &'static str> {
        let fields = RecordRef::check_lengths(raw, n_ref)?;
        let long_cigar =
            u16_at(raw, 16) == 2 && RecordRef(raw).stored_cigar().ops().any(|(op, _)| op == SKIP);
        if long_cigar && !tag::well_formed(&raw[fields..]) { Err(MALFORMED_FIELDS) } else { Ok(()) }
    }

    /// Checks all but the optional fields, and returns where these start.
    #[inline]
    fn check_lengths(raw: &[u8], n_ref: i32) -> Result<usize, &'static str> {
        if raw.len() < FIXED || i32_at(raw, 0).cast_unsigned() as usize != raw.len() - 4 {
            return Err("block_size does not match the record");
        }
        let name_end = FIXED + usize::from(raw[12]);
        if raw[12] == 0 || name_end > raw.len() || raw[name_end - 1] != 0 {
            return Err("the read name is not terminated");
        }
        if i32_at(raw, 20) < 0 {
            return Err("l_seq is negative");
        }
        let fields = fields_start(raw);
        if fields > raw.len() as u64 {
            return Err("the record is shorter than its name, CIGAR, SEQ and QUAL");
        }
        for at in [4, 24] {
            if !(-1..n_ref).contains(&i32_at(raw, at)) {
                return Err("the reference sequence is not in the header");
            }
        }
        for at in [8, 28] {
            // The text form is one larger, and its maximum is 2^31 - 1.
            match i32_at(raw, at) {
                ..-1 => return Err("the position is negative"),
                i32::MAX => return Err("the position is beyond 2147483647"),
                _ => {}
            }
        }
        Ok(fields as usize)
    }

    /// Whether a record may start at `bytes`: a quick check of its fixed part, used to guess where the first record
    /// of a chunk is. Needs [`FIXED`] bytes.
    pub fn plausible(bytes: &[u8], n_ref: i32) -> bool {
        if bytes.len() < FIXED {
            return false;
        }
        let size = i64::from(i32_at(bytes, 0));
        size >= 33
            && (-1..n_ref).contains(&i32_at(bytes, 4))
            && (-1..n_ref).contains(&i32_at(bytes, 24))
            && i32_at(bytes, 8) >= -1
            && i32_at(bytes, 28) >= -1
            && bytes[12] > 0
            && i32_at(bytes, 20) >= 0
            && fields_start(bytes) <= size as u64 + 4
            && bytes.get(FIXED + usize::from(bytes[12]) - 1).is_none_or(|&end| end == 0)
    }

    /// The record's bytes, `block_size` included.
    pub fn raw(self) -> &'a [u8] {
        self.0
    }

    /// Index of the reference sequence, -1 when there is none.
    pub fn ref_id(self) -> i32 {
        i32_at(self.0, 4)
    }

    /// Leftmost position, 0-based; -1 when there is none.
    pub fn pos(self) -> i32 {
        i32_at(self.0, 8)
    }

    /// Mapping quality, 255 when unknown.
    pub fn mapq(self) -> u8 {
        self.0[13]
    }

    /// The stored BAI bin.
    pub fn bin(self) -> u16 {
        u16_at(self.0, 14)
    }

    /// FLAG.
    pub fn flags(self) -> Flags {
        Flags(u16_at(self.0, 18))
    }

    /// Number of bases in SEQ.
    pub fn l_seq(self) -> usize {
        i32_at(self.0, 20).cast_unsigned() as usize
    }

    /// Reference sequence of the next segment, -1 when there is none.
    pub fn next_ref_id(self) -> i32 {
        i32_at(self.0, 24)
    }

    /// Position of the next segment, 0-based; -1 when there is none.
    pub fn next_pos(self) -> i32 {
        i32_at(self.0, 28)
    }

    /// Signed template length.
    pub fn tlen(self) -> i32 {
        i32_at(self.0, 32)
    }

    fn name_end(self) -> usize {
        FIXED + usize::from(self.0[12])
    }

    /// Read name, without its NUL.
    pub fn qname(self) -> &'a [u8] {
        &self.0[FIXED..self.name_end() - 1]
    }

    fn seq_start(self) -> usize {
        self.name_end() + 4 * usize::from(u16_at(self.0, 16))
    }

    /// The stored CIGAR, which for a long CIGAR is only the `kSmN` placeholder.
    pub fn stored_cigar(self) -> Cigar<'a> {
        Cigar(&self.0[self.name_end()..self.seq_start()])
    }

    /// The true CIGAR: that of the `CG` field if the stored one is its placeholder.
    pub fn cigar(self) -> Cigar<'a> {
        let stored = self.stored_cigar();
        if stored.0.len() == 8 {
            return self.long_cigar().unwrap_or(stored);
        }
        stored
    }

    /// The CIGAR in `CG:B,I` if the stored one is `<l_seq>S<reference length>N`.
    pub fn long_cigar(self) -> Option<Cigar<'a>> {
        let mut ops = self.stored_cigar().ops();
        let (first, second) = (ops.next()?, ops.next()?);
        if first != (SOFT_CLIP, self.l_seq() as u32) || second.0 != SKIP {
            return None;
        }
        let field = self.field(tag::CG)?;
        let unsigned = field.kind == b'B' && matches!(field.value[0], b'I' | b'i');
        unsigned.then(|| Cigar(&field.value[5..]))
    }

    /// SEQ, two bases in each byte, in the alphabet `=ACMGRSVTWYHKDBN`.
    pub fn seq(self) -> &'a [u8] {
        let start = self.seq_start();
        &self.0[start..start + self.l_seq().div_ceil(2)]
    }

    /// QUAL, one Phred score in each byte; all 255 if absent.
    pub fn qual(self) -> &'a [u8] {
        let start = self.seq_start() + self.l_seq().div_ceil(2);
        &self.0[start..start + self.l_seq()]
    }

    /// Start of the optional fields in [`RecordRef::raw`].
    pub fn fields_start(self) -> usize {
        fields_start(self.0) as usize
    }

    /// The optional fields as bytes.
    pub fn field_bytes(self) -> &'a [u8] {
        &self.0[self.fields_start()..]
    }

    /// The optional fields in order.
    pub fn fields(self) -> Fields<'a> {
        Fields::new(self.field_bytes())
    }

    /// The first optional field called `tag`.
    pub fn field(self, tag: Tag) -> Option<Field<'a>> {
        tag::find(self.field_bytes(), tag)
    }

    /// The read group named by `RG:Z`.
    pub fn read_group(self) -> Option<&'a [u8]> {
        self.field(tag::RG).filter(|field| field.kind == b'Z').map(|field| field.value)
    }

    /// The unclipped 5′ position, 0-based: soft and hard clips count as aligned. It may lie outside the
    /// reference sequence.
    pub fn five_prime(self) -> i64 {
        let (pos, cigar) = (i64::from(self.pos()), self.cigar());
        if self.flags().is_reverse() {
            pos + cigar.reference_length() - 1 + cigar.trailing_clip()
        } else {
            pos - cigar.leading_clip()
        }
    }

    /// One past the last reference base, 0-based. A record without reference bases counts as one base long, as in
    /// index formats.
    pub fn end(self) -> i64 {
        let span = if self.flags().is_unmapped() { 0 } else { self.cigar().reference_length() };
        i64::from(self.pos()) + span.max(1)
    }
}

impl std::fmt::Debug for RecordRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = String::from_utf8_lossy(self.qname());
        write!(f, "{name}/{:#x} {}:{}", self.flags().0, self.ref_id(), self.pos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_that_text_cannot_say_is_refused() {
        let mut raw = vec![0; FIXED + 2];
        raw[0] = (FIXED - 2) as u8;
        (raw[12], raw[FIXED]) = (2, b'r');
        for at in [8, 28] {
            raw[at..at + 4].copy_from_slice(&(i32::MAX - 1).to_le_bytes());
            assert_eq!(RecordRef::check(&raw, 1), Ok(()));
            raw[at..at + 4].copy_from_slice(&i32::MAX.to_le_bytes());
            assert_eq!(RecordRef::check(&raw, 1), Err("the position is beyond 2147483647"));
            raw[at..at + 4].fill(0);
        }
    }
}
