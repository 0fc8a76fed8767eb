//! By position, as `samtools sort`.
//!
//! Reference sequence, with none last; position + 1; the record's own reverse bit. Nothing else counts: no
//! name, no FLAG, not whether a read is mapped. (Read in samtools 1.24, `bam_sort.c`.)

use readmill_record::{Header, RecordRef};

use super::bits::{Bits, bits_of};

/// Bits of position + 1, which reaches 2^31, and of the strand.
const POSITION_BITS: u32 = 33;

/// Encodes positions as numbers.
#[derive(Clone, Copy)]
pub struct Coordinate {
    n_ref: u32,
    bits: u32,
}

impl Coordinate {
    /// Creates the encoder for the reference sequences of `header`.
    pub fn new(header: &Header) -> Self {
        let n_ref = header.n_ref().cast_unsigned();
        Coordinate { n_ref, bits: POSITION_BITS + bits_of(u64::from(n_ref)) }
    }

    /// Returns the position as a number.
    #[inline]
    pub fn number(self, record: RecordRef<'_>) -> u64 {
        let id = u32::try_from(record.ref_id()).unwrap_or(self.n_ref);
        let position = (i64::from(record.pos()) + 1).cast_unsigned();
        u64::from(id) << POSITION_BITS | position << 1 | u64::from(record.flags().is_reverse())
    }

    /// Appends [`Coordinate::number`] in as many bits as the number of reference sequences needs.
    pub fn put(self, record: RecordRef<'_>, key: &mut impl Bits) {
        key.put(self.number(record), self.bits);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TestRead, header};
    use super::*;

    #[test]
    fn reference_then_position_then_strand_and_none_last() {
        let coordinate = Coordinate::new(&header(3));
        let in_order = [
            (0, -1, 0x10),
            (0, 0, 0x4),
            (0, 0, 0x10),
            (0, i32::MAX, 0x10),
            (2, 5, 0),
            (-1, -1, 0x4),
            (-1, -1, 0x14),
            (-1, 0, 0),
        ];
        let numbers: Vec<u64> = in_order
            .iter()
            .map(|&(ref_id, pos, flags)| {
                let raw = TestRead { ref_id, pos, flags, ..TestRead::default() }.raw();
                coordinate.number(RecordRef::new(&raw))
            })
            .collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:x?}");
        assert_eq!(numbers[4], 2 << 33 | 6 << 1);
    }
}
