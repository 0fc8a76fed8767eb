//! samtools' keys for comparing reads. Each key is derived from one read alone.
//!
//! Positions are unclipped and 1-based, as in samtools: the start of a read is its first base and
//! the end its last, including clips.

use std::cmp::Ordering;

use readmill_record::RecordRef;

use super::PairEnds;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamtoolsEnd {
    pub ref_id: i32,
    pub coordinate: i64,
    pub reverse: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamtoolsCode {
    /// Read group number, from 1. 0 if read groups are not distinguished, and for reads without a
    /// read group.
    pub read_group: u16,
    pub barcode: u32,
}

impl SamtoolsCode {
    pub fn packed(self) -> u64 {
        u64::from(self.read_group) << 32 | u64::from(self.barcode)
    }
}

/// Returns samtools' hash for comparing barcodes (one-at-a-time, R. Jenkins). As in samtools, the
/// few barcodes with equal hashes count as one.
pub fn hash_barcode(barcode: &[u8]) -> u32 {
    let mixed = barcode.iter().fold(0u32, |hash, &byte| {
        let hash = hash.wrapping_add(byte.into());
        let hash = hash.wrapping_add(hash << 10);
        hash ^ hash >> 6
    });
    let hash = mixed.wrapping_add(mixed << 3);
    let hash = hash ^ hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// The strands of the two reads of a pair, from left to right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orientation {
    /// Both forward. If outer ends of templates are compared: read 1 is left.
    ForwardForward,
    /// Both reverse. If outer ends of templates are compared: read 1 is right.
    ReverseReverse,
    ForwardReverse,
    ReverseForward,
}

/// The key of a read in a pair. Reads with equal keys are duplicates of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairKey {
    pub ref_id: i32,
    pub coordinate: i64,
    /// Whether the read is reverse. `None` if `coordinate` is an outer end of the template instead
    /// of the 5′ end of the read.
    pub five_prime: Option<bool>,
    pub other_ref_id: i32,
    pub other_coordinate: i64,
    pub left: bool,
    pub orientation: Orientation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnclippedSpan {
    start: i64,
    end: i64,
}

impl UnclippedSpan {
    pub fn of_read(record: RecordRef<'_>) -> Self {
        let cigar = record.cigar();
        UnclippedSpan {
            start: i64::from(record.pos()) + 1 - cigar.leading_clip(),
            end: record.end() + cigar.trailing_clip(),
        }
    }

    /// Returns the span of a mate at `pos` (0-based), from its CIGAR in MC. A CIGAR without
    /// reference bases has length 0 here, unlike in the mate's own record.
    pub fn of_mate(pos: i32, cigar: &[u8]) -> Self {
        let (mut clipped, mut length, mut in_front, mut aligned) = (0i64, 0i64, true, false);
        let mut rest = cigar;
        while !rest.is_empty() && rest[0] != b'*' {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number = rest[..digits].iter().fold(0i64, |number, digit| {
                number.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
            });
            let number = if digits == 0 { 1 } else { number };
            let Some((&operator, behind)) = rest[digits..].split_first() else { break };
            let is_clip = matches!(operator, b'S' | b'H');
            in_front &= is_clip;
            if in_front {
                clipped = clipped.saturating_add(number);
            }
            if matches!(operator, b'M' | b'D' | b'N' | b'=' | b'X') {
                aligned = true;
                length = length.saturating_add(number);
            } else if is_clip && aligned {
                length = length.saturating_add(number);
            }
            rest = behind;
        }
        let pos = i64::from(pos);
        UnclippedSpan { start: (pos + 1).saturating_sub(clipped), end: pos.saturating_add(length) }
    }

    pub fn five_prime(self, reverse: bool) -> i64 {
        if reverse { self.end } else { self.start }
    }
}

pub fn make_pair_key(
    compared: PairEnds,
    record: RecordRef<'_>,
    own: UnclippedSpan,
    mate: UnclippedSpan,
) -> PairKey {
    let flags = record.flags();
    let (reverse, same_strand) = (flags.is_reverse(), flags.is_reverse() == flags.is_mate_reverse());
    let (ref_id, other_ref_id) = (record.ref_id(), record.next_ref_id());
    let five_prime = own.five_prime(reverse);
    let of_mate = mate.five_prime(flags.is_mate_reverse());
    let order = ref_id.cmp(&other_ref_id).then(five_prime.cmp(&of_mate));
    let left = match compared {
        PairEnds::Template => order.is_le(),
        PairEnds::Sequence => match order.then(record.pos().cmp(&record.next_pos())) {
            Ordering::Equal => flags.is_first(),
            order => order.is_lt(),
        },
    };
    let key = PairKey {
        ref_id,
        coordinate: five_prime,
        five_prime: Some(reverse),
        other_ref_id,
        other_coordinate: of_mate,
        left,
        orientation: match (same_strand, left != reverse) {
            (true, true) => Orientation::ForwardForward,
            (true, false) => Orientation::ReverseReverse,
            (false, true) => Orientation::ForwardReverse,
            (false, false) => Orientation::ReverseForward,
        },
    };
    if !same_strand || compared == PairEnds::Sequence {
        return key;
    }
    // If both reads are on one strand, samtools compares the outer ends and the strand of read 1.
    let (coordinate, other_coordinate) =
        if left { (own.start, mate.end) } else { (own.end, mate.start) };
    let orientation = if (left == flags.is_first()) != reverse {
        Orientation::ForwardForward
    } else {
        Orientation::ReverseReverse
    };
    PairKey { coordinate, five_prime: None, other_coordinate, orientation, ..key }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the published hash function.
    #[test]
    fn barcodes_are_hashed_one_at_a_time() {
        assert_eq!(hash_barcode(b""), 0);
        assert_eq!(hash_barcode(b"a"), 0xca2e_9442);
        assert_eq!(hash_barcode(b"The quick brown fox jumps over the lazy dog"), 0x519e_91f5);
    }

    #[test]
    fn the_span_of_a_mate_is_that_of_its_cigar_text() {
        for (cigar, start, end) in [
            ("10M", 101, 110),
            ("2H3S10M", 96, 110),
            ("3S10M2S1H", 98, 113),
            ("4M2I3D1N2P1M5S", 101, 114),
            ("5S", 96, 100),
            ("M", 101, 101),
            ("*", 101, 100),
            ("", 101, 100),
            ("3S4", 98, 100),
        ] {
            assert_eq!(
                UnclippedSpan::of_mate(100, cigar.as_bytes()),
                UnclippedSpan { start, end },
                "{cigar}"
            );
        }
    }
}
