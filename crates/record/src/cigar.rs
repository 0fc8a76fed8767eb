//! CIGARs, and the read and reference bases that each operator consumes.

/// A CIGAR as BAM stores it: for each operator a little-endian `u32`, length << 4 | operator.
///
/// ```
/// use readmill_record::Cigar;
///
/// // 5S10M: operators 4 (S) and 0 (M)
/// let bytes = [5u32 << 4 | 4, 10 << 4].map(u32::to_le_bytes).concat();
/// let cigar = Cigar(&bytes);
/// assert_eq!(cigar.ops().collect::<Vec<_>>(), [(4, 5), (0, 10)]);
/// assert_eq!((cigar.leading_clip(), cigar.reference_length(), cigar.query_length()), (5, 10, 15));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cigar<'a>(pub &'a [u8]);

/// The letters of the operators, indexed by their numbers in BAM.
pub const OPERATORS: &[u8; 9] = b"MIDNSHP=X";

pub const SOFT_CLIP: u32 = 4;
pub const HARD_CLIP: u32 = 5;
pub const SKIPPED_REGION: u32 = 3;

/// Returns whether the operator consumes reference bases (M, D, N, =, X). The mask has one bit per
/// operator.
pub fn consumes_reference(op: u32) -> bool {
    0b1_1000_1101 >> op & 1 != 0
}

/// Returns whether the operator consumes bases of the read (M, I, S, =, X).
pub fn consumes_query(op: u32) -> bool {
    0b1_1001_0011 >> op & 1 != 0
}

impl<'a> Cigar<'a> {
    pub fn ops(self) -> impl DoubleEndedIterator<Item = (u32, u32)> + ExactSizeIterator + 'a {
        self.0.chunks_exact(4).map(|c| {
            let v = u32::from_le_bytes([c[0], c[1], c[2], c[3]]);
            (v & 15, v >> 4)
        })
    }

    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of reference bases from the first to the last aligned base, including skipped
    /// bases (N).
    pub fn reference_length(self) -> i64 {
        self.ops().filter(|&(op, _)| consumes_reference(op)).map(|(_, n)| i64::from(n)).sum()
    }

    /// Returns the number of bases that SEQ must have, including soft clips.
    pub fn query_length(self) -> i64 {
        self.ops().filter(|&(op, _)| consumes_query(op)).map(|(_, n)| i64::from(n)).sum()
    }

    /// Returns the number of clipped bases (soft and hard) before the first other operator.
    pub fn leading_clip(self) -> i64 {
        sum_clips(self.ops())
    }

    /// Returns the number of clipped bases (soft and hard) after the last other operator.
    pub fn trailing_clip(self) -> i64 {
        sum_clips(self.ops().rev())
    }
}

fn sum_clips(ops: impl Iterator<Item = (u32, u32)>) -> i64 {
    ops.take_while(|&(op, _)| op == SOFT_CLIP || op == HARD_CLIP).map(|(_, n)| i64::from(n)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(text: &str) -> Vec<u8> {
        let (mut out, mut n) = (Vec::new(), 0u32);
        for c in text.bytes() {
            match OPERATORS.iter().position(|&o| o == c) {
                Some(op) => {
                    out.extend_from_slice(&(n << 4 | op as u32).to_le_bytes());
                    n = 0;
                }
                None => n = n * 10 + u32::from(c - b'0'),
            }
        }
        out
    }

    #[test]
    fn lengths_and_clips() {
        let bytes = packed("2H3S10M2I4D5N1=1X6P7S1H");
        let cigar = Cigar(&bytes);
        assert_eq!(cigar.reference_length(), 10 + 4 + 5 + 1 + 1);
        assert_eq!(cigar.query_length(), 3 + 10 + 2 + 1 + 1 + 7);
        assert_eq!((cigar.leading_clip(), cigar.trailing_clip()), (5, 8));
        let only_clips = packed("50S50H");
        assert_eq!(Cigar(&only_clips).leading_clip(), 100);
        let pad = packed("5S2P3S4M");
        assert_eq!(Cigar(&pad).leading_clip(), 5, "any other operator ends the run of clips");
    }
}
