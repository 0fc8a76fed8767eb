//! The first step: fixed numbers of bases are cut at both ends, then sliding quality windows cut
//! more.
//!
//! Several results look odd (for example, a good window is cut to its last base), but match fastp
//! 0.23.2. The tests below include fastp's own example.

use std::ops::Range;

use crate::options::{EndCuts, QualityWindow, QualityWindows};

const QUALITY_OFFSET: u32 = 33;

/// Returns the range of bases to keep.
///
/// `None` means that the read is dropped: it is shorter than its fixed cuts, too short for a
/// window, or the windows leave nothing. `qualities` are Phred + 33.
pub fn find_kept_range(
    bases: &[u8],
    qualities: &[u8],
    ends: EndCuts,
    windows: &QualityWindows,
) -> Option<Range<usize>> {
    let length = bases.len();
    let end = length.checked_sub(ends.tail)?;
    if end < ends.front {
        return None;
    }
    if windows.is_disabled() {
        return Some(ends.front..end);
    }
    let mut cut = WindowCut { bases, qualities, start: ends.front, stop: end, end };
    windows.front.map_or(Some(()), |window| cut.cut_front(window))?;
    match (windows.right, windows.tail) {
        (Some(window), _) => cut.cut_right(window)?,
        (None, Some(window)) => cut.cut_tail(window)?,
        (None, None) => {}
    }
    (cut.stop > cut.start && cut.start + 1 < length).then_some(cut.start..cut.stop)
}

/// A read while windows slide over it. Bases `start..stop` are kept.
struct WindowCut<'a> {
    bases: &'a [u8],
    qualities: &'a [u8],
    start: usize,
    stop: usize,
    /// Index of the first base of the fixed cut at the 3' end. Windows do not extend beyond it.
    end: usize,
}

impl WindowCut<'_> {
    /// Returns `None` if the read has no room for the window and one more base. fastp drops such
    /// reads.
    fn require_room(&self, window: QualityWindow) -> Option<()> {
        (self.start + window.bases < self.end).then_some(())
    }

    fn quality_sum(&self, range: Range<usize>) -> u32 {
        self.qualities[range].iter().map(|&quality| u32::from(quality)).sum()
    }

    fn cut_front(&mut self, window: QualityWindow) -> Option<()> {
        self.require_room(window)?;
        let (size, min_sum) = (window.bases, min_quality_sum(window));
        let mut at = self.start;
        let mut sum = self.quality_sum(at..at + size);
        while sum < min_sum {
            at += 1;
            if at + size >= self.end {
                break;
            }
            sum = sum + u32::from(self.qualities[at + size - 1]) - u32::from(self.qualities[at - 1]);
        }
        // fastp keeps only the last base of the good window. It does this even if the first window
        // was good, provided that the fixed cut removed bases before it.
        if at > 0 {
            at += size - 1;
        }
        at += self.bases[at..].iter().take_while(|&&base| base == b'N').count();
        self.start = at;
        Some(())
    }

    fn cut_right(&mut self, window: QualityWindow) -> Option<()> {
        self.require_room(window)?;
        let (size, min_sum) = (window.bases, min_quality_sum(window));
        let mut at = self.start;
        let mut sum = self.quality_sum(at..at + size);
        while sum >= min_sum {
            at += 1;
            if at + size >= self.end {
                return Some(());
            }
            sum = sum + u32::from(self.qualities[at + size - 1]) - u32::from(self.qualities[at - 1]);
        }
        // The good bases at the start of the bad window are kept. As in fastp, the scan may
        // continue into the fixed cut at the 3' end and keep some of its bases.
        let last = self.bases.len() - 1;
        let good = QUALITY_OFFSET + u32::from(window.min_quality);
        let stay = self.qualities[at..last].iter().take_while(|&&quality| u32::from(quality) >= good);
        self.stop = at + stay.count();
        Some(())
    }

    fn cut_tail(&mut self, window: QualityWindow) -> Option<()> {
        self.require_room(window)?;
        let (size, min_sum) = (window.bases, min_quality_sum(window));
        // The index after the window's last base.
        let mut behind = self.end;
        let mut sum = self.quality_sum(behind - size..behind);
        while sum < min_sum {
            behind -= 1;
            if behind <= self.start + size {
                break;
            }
            sum = sum + u32::from(self.qualities[behind - size]) - u32::from(self.qualities[behind]);
        }
        // fastp keeps only the first base of the good window. It does this even if the first window
        // was good, provided that the fixed cut removed bases after it.
        if behind < self.bases.len() {
            behind = behind + 1 - size;
        }
        behind -= self.bases[..behind].iter().rev().take_while(|&&base| base == b'N').count();
        self.stop = behind;
        Some(())
    }
}

/// Returns the minimum quality sum of a good window. Qualities include their offset of 33.
fn min_quality_sum(window: QualityWindow) -> u32 {
    window.bases as u32 * (QUALITY_OFFSET + u32::from(window.min_quality))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: QualityWindows = QualityWindows { front: None, tail: None, right: None };
    const W: Option<QualityWindow> = Some(QualityWindow { bases: 4, min_quality: 20 });

    fn cut(
        bases: &str,
        qualities: &str,
        front: usize,
        tail: usize,
        windows: QualityWindows,
    ) -> Option<Range<usize>> {
        find_kept_range(
            bases.as_bytes(),
            qualities.as_bytes(),
            EndCuts { front, tail, max_length: 0 },
            &windows,
        )
    }

    #[test]
    fn ends_go_first() {
        assert_eq!(cut("ACGTAC", "IIIIII", 1, 2, NONE), Some(1..4));
        assert_eq!(
            cut("ACGTAC", "IIIIII", 4, 2, NONE),
            Some(4..4),
            "nothing is left, and that is no failure yet"
        );
        assert_eq!(cut("ACGTAC", "IIIIII", 4, 3, NONE), None);
        assert_eq!(cut("", "", 0, 0, NONE), Some(0..0));
    }

    #[test]
    fn bad_ends_are_cut_to_one_base_of_the_first_good_window() {
        let windows = QualityWindows { front: W, tail: W, right: None };
        // The example of fastp's own test.
        let bases = "TTTTAACCCCCCCCCCCCCCCCCCCCCCCCCCCCAATTTT";
        let qualities = "/////CCCCCCCCCCCC////CCCCCCCCCCCCCC////E";
        let kept = cut(bases, qualities, 0, 1, windows).unwrap();
        assert_eq!(&bases[kept.clone()], "CCCCCCCCCCCCCCCCCCCCCCCCCCCC");
        assert_eq!(&qualities[kept], "CCCCCCCCCCC////CCCCCCCCCCCCC");
    }

    #[test]
    fn a_front_that_goes_takes_the_good_window_with_it() {
        let windows = QualityWindows { front: W, ..NONE };
        assert_eq!(cut("ACGTACGTAC", "IIIIIIIIII", 0, 0, windows), Some(0..10));
        assert_eq!(cut("ACGTACGTAC", "IIIIIIIIII", 1, 0, windows), Some(4..10));
        assert_eq!(
            cut("NACGTACGTA", "IIIIIIIIII", 0, 0, windows),
            Some(1..10),
            "N at the new start goes"
        );
        assert_eq!(cut("ACGT", "IIII", 0, 0, windows), None, "no base beside the window");
    }

    #[test]
    fn to_the_right_all_goes_from_the_first_bad_base_of_a_bad_window() {
        let windows = QualityWindows { right: W, tail: W, ..NONE };
        assert_eq!(cut("ACGTACGTAC", "IIIII#####", 0, 0, windows), Some(0..5));
        assert_eq!(cut("ACGTACGTAC", "IIIIIIIIII", 0, 0, windows), Some(0..10));
        assert_eq!(cut("ACGTACGTAC", "##########", 0, 0, windows), None);
    }

    #[test]
    fn tails_are_cut_from_behind() {
        let windows = QualityWindows { tail: W, ..NONE };
        assert_eq!(cut("ACGTACGTAC", "IIIIII####", 0, 0, windows), Some(0..5));
        assert_eq!(cut("ACGTACGTAC", "IIIIIIIIII", 0, 0, windows), Some(0..10));
        assert_eq!(cut("ACGTACGTAN", "IIIIIIIIII", 0, 0, windows), Some(0..9));
        assert_eq!(cut("ACGTACGTAC", "IIIIIIIIII", 0, 1, windows), Some(0..6));
    }
}
