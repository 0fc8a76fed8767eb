//! A view over the bytes of one BAM record (SAM specification, section 4.2).

use crate::cigar::{Cigar, SKIPPED_REGION, SOFT_CLIP};
use crate::flags::Flags;
use crate::tag::{self, Field, Fields, Tag};

/// Bytes before the read name: `block_size` and the eleven fixed fields.
pub const FIXED_BYTES: usize = 36;

/// A record as BAM stores it, `block_size` included. Accessors read the bytes in place.
///
/// The bytes must have passed [`RecordRef::check`], so accessors return no errors; bytes from a file are
/// an [`UncheckedRecord`](crate::UncheckedRecord) until then. Positions are 0-based, as in BAM.
///
/// ```
/// use readmill_record::{RecordRef, edit};
///
/// let mut raw = vec![0; 38]; // 36 bytes of fixed fields, and the name "r" with its NUL
/// (raw[12], raw[36]) = (2, b'r');
/// edit::set_block_size(&mut raw, 0); // sets block_size
/// edit::set_pos(&mut raw, 99);
///
/// RecordRef::check(&raw, 1)?; // the header has one reference sequence
/// let record = RecordRef::new(&raw);
/// assert_eq!((record.qname(), record.ref_id(), record.pos()), (&b"r"[..], 0, 99));
/// assert!(record.cigar().is_empty() && record.fields().next().is_none());
/// # Ok::<(), &str>(())
/// ```
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

/// Returns the number of bytes before the optional fields, computed from the lengths in the fixed part.
/// If the record is damaged, this may exceed its length.
#[inline]
fn fields_start(raw: &[u8]) -> u64 {
    let l_seq = u64::from(i32_at(raw, 20).cast_unsigned());
    FIXED_BYTES as u64 + u64::from(raw[12]) + 4 * u64::from(u16_at(raw, 16)) + l_seq.div_ceil(2) + l_seq
}

pub const MALFORMED_FIELDS: &str = "the optional fields are malformed";

impl<'a> RecordRef<'a> {
    /// Wraps `raw`, which must have passed [`RecordRef::check`]. Otherwise accessors may panic.
    pub fn new(raw: &'a [u8]) -> Self {
        debug_assert!(raw.len() >= FIXED_BYTES);
        RecordRef(raw)
    }

    /// Checks `raw` as a record of a file with `n_ref` reference sequences (SAM specification, section
    /// 4.2).
    ///
    /// # Errors
    /// Fails if the lengths do not add up, a position is out of range, or a reference sequence is not in
    /// the header.
    pub fn check(raw: &[u8], n_ref: i32) -> Result<(), &'static str> {
        let fields = RecordRef::check_lengths(raw, n_ref)?;
        if tag::is_well_formed(&raw[fields..]) { Ok(()) } else { Err(MALFORMED_FIELDS) }
    }

    /// Checks `raw` as [`RecordRef::check`] does, but skips the optional fields unless the CIGAR may be
    /// stored there (`CG`). For runs in which no step reads them.
    ///
    /// # Errors
    /// The same as for [`RecordRef::check`].
    #[inline]
    pub fn check_without_fields(raw: &[u8], n_ref: i32) -> Result<(), &'static str> {
        let fields = RecordRef::check_lengths(raw, n_ref)?;
        let long_cigar = u16_at(raw, 16) == 2
            && RecordRef(raw).stored_cigar().ops().any(|(op, _)| op == SKIPPED_REGION);
        if long_cigar && !tag::is_well_formed(&raw[fields..]) { Err(MALFORMED_FIELDS) } else { Ok(()) }
    }

    /// Checks everything except the optional fields, and returns their offset.
    #[inline]
    fn check_lengths(raw: &[u8], n_ref: i32) -> Result<usize, &'static str> {
        if raw.len() < FIXED_BYTES || i32_at(raw, 0).cast_unsigned() as usize != raw.len() - 4 {
            return Err("block_size does not match the record");
        }
        let name_end = FIXED_BYTES + usize::from(raw[12]);
        if raw[12] == 0 || name_end > raw.len() || raw[name_end - 1] != 0 {
            return Err("the read name does not end with a NUL");
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
            // POS in SAM text is one larger, and its maximum is 2^31 - 1.
            match i32_at(raw, at) {
                ..-1 => return Err("the position is negative"),
                i32::MAX => return Err("the position is beyond 2147483647"),
                _ => {}
            }
        }
        Ok(fields as usize)
    }

    /// Returns whether a record may start at `bytes`, by a quick check of the fixed part. Used to guess
    /// where the first record of an inflated chunk starts. Fewer than [`FIXED_BYTES`] bytes never pass.
    pub fn is_plausible(bytes: &[u8], n_ref: i32) -> bool {
        if bytes.len() < FIXED_BYTES {
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
            && bytes.get(FIXED_BYTES + usize::from(bytes[12]) - 1).is_none_or(|&end| end == 0)
    }

    pub fn raw(self) -> &'a [u8] {
        self.0
    }

    /// Returns the index of the reference sequence, or -1 for none.
    #[inline]
    pub fn ref_id(self) -> i32 {
        i32_at(self.0, 4)
    }

    /// Returns the leftmost position, 0-based, or -1 for none.
    #[inline]
    pub fn pos(self) -> i32 {
        i32_at(self.0, 8)
    }

    /// Returns the mapping quality (Phred); 255 means unknown.
    #[inline]
    pub fn mapq(self) -> u8 {
        self.0[13]
    }

    pub fn bin(self) -> u16 {
        u16_at(self.0, 14)
    }

    #[inline]
    pub fn flags(self) -> Flags {
        Flags(u16_at(self.0, 18))
    }

    #[inline]
    pub fn l_seq(self) -> usize {
        i32_at(self.0, 20).cast_unsigned() as usize
    }

    #[inline]
    pub fn next_ref_id(self) -> i32 {
        i32_at(self.0, 24)
    }

    #[inline]
    pub fn next_pos(self) -> i32 {
        i32_at(self.0, 28)
    }

    #[inline]
    pub fn tlen(self) -> i32 {
        i32_at(self.0, 32)
    }

    #[inline]
    fn name_end(self) -> usize {
        FIXED_BYTES + usize::from(self.0[12])
    }

    pub fn qname(self) -> &'a [u8] {
        &self.0[FIXED_BYTES..self.name_end() - 1]
    }

    #[inline]
    fn seq_start(self) -> usize {
        self.name_end() + 4 * usize::from(u16_at(self.0, 16))
    }

    /// Returns the CIGAR as stored. If it has more than 65,535 operators, this is only the placeholder
    /// `kSmN`; see [`RecordRef::cigar`].
    pub fn stored_cigar(self) -> Cigar<'a> {
        Cigar(&self.0[self.name_end()..self.seq_start()])
    }

    /// Returns the actual CIGAR, which is in the `CG` field if the stored one is its placeholder (SAM
    /// specification, section 4.2.2).
    #[inline]
    pub fn cigar(self) -> Cigar<'a> {
        let stored = self.stored_cigar();
        if stored.0.len() == 8 {
            return self.long_cigar().unwrap_or(stored);
        }
        stored
    }

    /// Returns the CIGAR in `CG:B,I`, or `None` if the stored one is not `<l_seq>S<reference length>N`.
    pub fn long_cigar(self) -> Option<Cigar<'a>> {
        let mut ops = self.stored_cigar().ops();
        let (first, second) = (ops.next()?, ops.next()?);
        if first != (SOFT_CLIP, self.l_seq() as u32) || second.0 != SKIPPED_REGION {
            return None;
        }
        let field = self.field(tag::CG)?;
        let unsigned = field.kind == b'B' && matches!(field.value[0], b'I' | b'i');
        unsigned.then(|| Cigar(&field.value[5..]))
    }

    /// Returns SEQ, with two bases per byte, as codes of the alphabet `=ACMGRSVTWYHKDBN`
    /// ([`bases`](crate::bases)).
    pub fn seq(self) -> &'a [u8] {
        let start = self.seq_start();
        &self.0[start..start + self.l_seq().div_ceil(2)]
    }

    /// Returns QUAL, one Phred score per byte. If qualities are absent, all bytes are 255.
    pub fn qual(self) -> &'a [u8] {
        let start = self.seq_start() + self.l_seq().div_ceil(2);
        &self.0[start..start + self.l_seq()]
    }

    #[inline]
    pub fn fields_start(self) -> usize {
        fields_start(self.0) as usize
    }

    pub fn field_bytes(self) -> &'a [u8] {
        &self.0[self.fields_start()..]
    }

    pub fn fields(self) -> Fields<'a> {
        Fields::new(self.field_bytes())
    }

    pub fn field(self, tag: Tag) -> Option<Field<'a>> {
        tag::find_field(self.field_bytes(), tag)
    }

    /// Returns the read group that `RG:Z` names, or `None` if there is no such field or it has another
    /// type.
    pub fn read_group(self) -> Option<&'a [u8]> {
        self.field(tag::RG).filter(|field| field.kind == b'Z').map(|field| field.value)
    }

    /// Returns the unclipped 5′ position, 0-based: soft and hard clips count as aligned. Duplicate
    /// marking compares reads by this position, which may lie outside the reference sequence.
    pub fn five_prime(self) -> i64 {
        let (pos, cigar) = (i64::from(self.pos()), self.cigar());
        if self.flags().is_reverse() {
            pos + cigar.reference_length() - 1 + cigar.trailing_clip()
        } else {
            pos - cigar.leading_clip()
        }
    }

    /// Returns the position after the last reference base, 0-based. A record without reference bases
    /// counts as one base long, as in index formats.
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
        let mut raw = vec![0; FIXED_BYTES + 2];
        raw[0] = (FIXED_BYTES - 2) as u8;
        (raw[12], raw[FIXED_BYTES]) = (2, b'r');
        for at in [8, 28] {
            raw[at..at + 4].copy_from_slice(&(i32::MAX - 1).to_le_bytes());
            assert_eq!(RecordRef::check(&raw, 1), Ok(()));
            raw[at..at + 4].copy_from_slice(&i32::MAX.to_le_bytes());
            assert_eq!(RecordRef::check(&raw, 1), Err("the position is beyond 2147483647"));
            raw[at..at + 4].fill(0);
        }
    }
}
