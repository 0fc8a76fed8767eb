//! The ends of a template as `samtools sort --template-coordinate` defines them (`bam.c` of
//! samtools 1.24): reference sequence, unclipped 5' position and strand. Only soft clips are
//! counted; hard clips are ignored.

use readmill_record::cigar::{HARD_CLIP, SOFT_CLIP};
use readmill_record::tag::Field;
use readmill_record::{Error, Header, RecordRef, Result};

use super::bits::{Bits, bits_needed};

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SegmentEnd {
    /// The reference ID plus 1, so that -1 becomes 0. `u64::MAX` for an unmapped segment.
    pub reference: u64,
    /// Unclipped 5' position, 1-based.
    pub position: i64,
    pub reverse: bool,
}

impl SegmentEnd {
    pub const UNMAPPED: SegmentEnd =
        SegmentEnd { reference: u64::MAX, position: i64::MAX, reverse: false };

    fn new(ref_id: i32, position: i64, reverse: bool) -> Self {
        SegmentEnd { reference: (i64::from(ref_id) + 1).cast_unsigned(), position, reverse }
    }

    pub fn of_record(record: RecordRef<'_>) -> Self {
        let flags = record.flags();
        if flags.is_unmapped() {
            return Self::UNMAPPED;
        }
        let (cigar, reverse) = (record.cigar(), flags.is_reverse());
        let position = if reverse {
            record.end() + count_soft_clipped_bases(cigar.ops().rev())
        } else {
            i64::from(record.pos()) + 1 - count_soft_clipped_bases(cigar.ops())
        };
        SegmentEnd::new(record.ref_id(), position, reverse)
    }

    /// Returns the end of the mate. `field` is the record's `MC` field, the CIGAR of the mate.
    ///
    /// # Errors
    ///
    /// The mate is mapped and `field` is missing or not text.
    pub fn of_mate(record: RecordRef<'_>, field: Option<Field<'_>>) -> Result<Self> {
        let flags = record.flags();
        if !flags.is_paired() || flags.is_mate_unmapped() {
            return Ok(Self::UNMAPPED);
        }
        let field = field.ok_or_else(|| {
            Error::input("template-coordinate order needs the CIGAR of the mate in the MC field")
                .hint("add MC with readmill filter --fix-mates samtools; reads must be grouped by name")
        })?;
        let (cigar, start) = (require_text(Some(field))?, i64::from(record.next_pos()));
        let reverse = flags.is_mate_reverse();
        let position = if reverse {
            start.saturating_add(count_mate_span_bases(cigar))
        } else {
            start.saturating_add(1).saturating_sub(count_mate_clipped_bases(cigar))
        };
        Ok(SegmentEnd::new(record.next_ref_id(), position, reverse))
    }
}

/// Returns the text of a `Z` or `H` field, or an empty text if there is no field. Fails for fields
/// of other types.
pub fn require_text(field: Option<Field<'_>>) -> Result<&[u8]> {
    match field {
        None => Ok(b""),
        Some(Field { kind: b'Z' | b'H', value, .. }) => Ok(value),
        Some(field) => {
            let [a, b] = field.tag.map(char::from);
            let what = format!("template-coordinate order needs {a}{b} to be text (type Z)");
            Err(Error::input(what).hint("correct or remove the field, or choose another order"))
        }
    }
}

/// Counts the soft-clipped bases before the first operator that is not a clip.
fn count_soft_clipped_bases(ops: impl Iterator<Item = (u32, u32)>) -> i64 {
    let clips = ops.take_while(|&(op, _)| op == SOFT_CLIP || op == HARD_CLIP);
    clips.filter(|&(op, _)| op == SOFT_CLIP).map(|(_, n)| i64::from(n)).sum()
}

/// Parses the operators of a CIGAR in text form as samtools does: an operator without a number
/// counts as one base, and a number without an operator is ignored.
fn parse_operators(text: &[u8]) -> impl Iterator<Item = (u8, i64)> + '_ {
    let mut rest = text;
    std::iter::from_fn(move || {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, from) = rest.split_at(digits);
        let add = |n: i64, byte: &u8| n.saturating_mul(10).saturating_add(i64::from(byte - b'0'));
        let n = if digits == 0 { 1 } else { number.iter().fold(0, add) };
        let (&op, after) = from.split_first()?;
        rest = after;
        (op != b'*' || digits > 0).then_some((op, n))
    })
}

fn count_mate_clipped_bases(cigar: &[u8]) -> i64 {
    let clips = parse_operators(cigar).take_while(|&(op, _)| op == b'S' || op == b'H');
    clips.filter(|&(op, _)| op == b'S').fold(0, |sum: i64, (_, n)| sum.saturating_add(n))
}

/// Returns the number of reference bases that the mate's CIGAR covers, plus the soft-clipped bases
/// after its first aligned base.
fn count_mate_span_bases(cigar: &[u8]) -> i64 {
    let (mut reach, mut started) = (0i64, false);
    for (op, n) in parse_operators(cigar) {
        let aligned = matches!(op, b'M' | b'D' | b'N' | b'=' | b'X');
        started |= aligned;
        if aligned || op == b'S' && started {
            reach = reach.saturating_add(n);
        }
    }
    reach
}

/// Encodes unclipped positions in as few bits as the longest reference sequence allows. Positions
/// far outside every reference sequence take 64 additional bits.
pub struct PositionEncoder {
    high: i64,
    bits: u32,
}

impl PositionEncoder {
    const NEAR_MARGIN: i64 = 1 << 16;

    pub fn new(header: &Header) -> Self {
        let longest = header.references().iter().map(|reference| reference.length).max();
        let high = i64::from(longest.unwrap_or(0)) + Self::NEAR_MARGIN;
        PositionEncoder { high, bits: bits_needed((high + Self::NEAR_MARGIN + 2).cast_unsigned()) }
    }

    pub fn put_position(&self, position: i64, key: &mut impl Bits) {
        let far = match position {
            p if p < -Self::NEAR_MARGIN => 0,
            p if p > self.high => self.high + Self::NEAR_MARGIN + 2,
            p => return key.put_bits((p + Self::NEAR_MARGIN + 1).cast_unsigned(), self.bits),
        };
        key.put_bits(far.cast_unsigned(), self.bits);
        key.put_bits(position.cast_unsigned() ^ 1 << 63, 64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::bits::{Key, KeyHead};
    use super::super::testing::header;
    use super::*;

    #[test]
    fn positions_near_the_reference_take_few_bits() {
        let positions = PositionEncoder::new(&header(1)); // -65,536 to 66,536: 18 bits
        let key = |position| {
            let mut head = KeyHead::default();
            positions.put_position(position, &mut head);
            head.key()
        };
        let bits = |code: u128, more: i64| {
            let all = code << 110 | u128::from(more.cast_unsigned() ^ 1 << 63) << 46;
            Key([(all >> 64) as u64, all as u64])
        };
        const NO_MORE: i64 = i64::MIN;
        assert_eq!(key(i64::MIN + 1), bits(0, i64::MIN + 1));
        assert_eq!(key(-65537), bits(0, -65537));
        assert_eq!(key(-65536), bits(1, NO_MORE));
        assert_eq!(key(0), bits(65537, NO_MORE));
        assert_eq!(key(66536), bits(132073, NO_MORE));
        assert_eq!(key(66537), bits(132074, 66537));
        assert_eq!(key(i64::MAX), bits(132074, i64::MAX));
    }

    #[test]
    fn the_cigar_of_the_mate_is_read_as_samtools_reads_it() {
        for (cigar, clip, reach) in [
            ("", 0, 0),
            ("*", 0, 0),
            ("10M", 0, 10),
            ("3H4S5H6S7M8I9D1N2S3H4S", 10, 7 + 9 + 1 + 2 + 4),
            ("5S", 5, 0),
            ("SM3", 1, 1),
            ("2S1P3S4=5X", 2, 9),
            ("99999999999999999999S1M", i64::MAX, 1),
        ] {
            assert_eq!(
                (count_mate_clipped_bases(cigar.as_bytes()), count_mate_span_bases(cigar.as_bytes())),
                (clip, reach)
            );
        }
    }
}
