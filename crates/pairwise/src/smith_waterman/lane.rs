//! The types of scores.

/// GKL's lower bound of a score after a match or mismatch.
const MIN_SCORE: i32 = -100_000_000;

/// A type of scores.
pub(super) trait Lane: Copy + Ord + Default {
    /// Less than any score, even if a gap is extended from it.
    const LOW: Self;
    /// GKL's lower bound.
    const MIN_SCORE: Self;
    fn from_score(score: i32) -> Self;
    fn to_score(self) -> i32;
    fn from_byte(byte: u8) -> Self;
    fn to_byte(self) -> u8;
    fn add(self, other: Self) -> Self;
}

impl Lane for i32 {
    const LOW: i32 = i32::MIN / 2;
    const MIN_SCORE: i32 = MIN_SCORE;

    fn from_score(score: i32) -> i32 {
        score
    }

    fn to_score(self) -> i32 {
        self
    }

    #[inline(always)]
    fn from_byte(byte: u8) -> i32 {
        i32::from(byte)
    }

    #[inline(always)]
    fn to_byte(self) -> u8 {
        self as u8
    }

    #[inline(always)]
    fn add(self, other: i32) -> i32 {
        self.wrapping_add(other)
    }
}

/// For alignments whose scores all have small values.
impl Lane for i16 {
    const LOW: i16 = -20_000;
    const MIN_SCORE: i16 = i16::MIN;

    fn from_score(score: i32) -> i16 {
        score as i16
    }

    fn to_score(self) -> i32 {
        i32::from(self)
    }

    #[inline(always)]
    fn from_byte(byte: u8) -> i16 {
        i16::from(byte)
    }

    #[inline(always)]
    fn to_byte(self) -> u8 {
        self as u8
    }

    #[inline(always)]
    fn add(self, other: i16) -> i16 {
        self.wrapping_add(other)
    }
}
