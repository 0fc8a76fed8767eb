//! Decides which trimmed reads are dropped, and for what reason.

use crate::counts::count;
use crate::options::{QualityFilter, TrimOptions};

/// The outcome of the filters for one read. Variants are ordered by severity, and a pair gets the
/// more severe outcome of its two reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Passed,
    TooManyN,
    /// Shorter than the minimum length, or without any bases after trimming.
    TooShort,
    TooLong,
    LowQuality,
    LowComplexity,
}

/// All verdicts, in the order of their discriminants: [`crate::TrimTally`] indexes its counts by
/// them.
pub const VERDICTS: [Verdict; 6] = [
    Verdict::Passed,
    Verdict::TooManyN,
    Verdict::TooShort,
    Verdict::TooLong,
    Verdict::LowQuality,
    Verdict::LowComplexity,
];

/// Returns the outcome of all filters for a read that has been trimmed.
///
/// The filters run in fastp's order, and the first one that fails determines the verdict.
/// `qualities` are Phred + 33.
pub fn judge(bases: &[u8], qualities: &[u8], options: &TrimOptions) -> Verdict {
    let length = bases.len();
    if length == 0 {
        return Verdict::TooShort;
    }
    if let Some(filter) = &options.quality {
        if has_low_quality(qualities, filter) {
            return Verdict::LowQuality;
        }
        if count(bases, |base| base == b'N') > filter.most_n as u64 {
            return Verdict::TooManyN;
        }
    }
    if let Some(filter) = &options.length {
        if length < filter.least {
            return Verdict::TooShort;
        }
        if filter.most > 0 && length > filter.most {
            return Verdict::TooLong;
        }
    }
    match options.complexity {
        Some(least) if !is_complex(bases, least) => Verdict::LowComplexity,
        _ => Verdict::Passed,
    }
}

fn has_low_quality(qualities: &[u8], filter: &QualityFilter) -> bool {
    let length = qualities.len() as u64;
    let low = count(qualities, |quality| quality < 33 + filter.qualified);
    if low * 100 > u64::from(filter.unqualified_percent) * length {
        return true;
    }
    let sum = || qualities.iter().map(|&quality| u64::from(quality)).sum::<u64>();
    filter.average > 0 && sum().saturating_sub(33 * length) / length < u64::from(filter.average)
}

/// Returns whether at least `least` percent of the bases differ from the next base. A read of one
/// base has no neighbours, so it never passes, as in fastp.
fn is_complex(bases: &[u8], least: u8) -> bool {
    let differing = bases.iter().zip(&bases[1..]).filter(|(one, next)| one != next).count();
    bases.len() > 1 && differing * 100 >= usize::from(least) * (bases.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::LengthFilter;

    #[test]
    fn reads_fail_for_the_first_reason_in_the_order_of_the_filters() {
        let options = TrimOptions::default();
        let judged = |bases: &[u8], qualities: &[u8]| judge(bases, qualities, &options);
        assert_eq!(judged(&[b'A'; 15], &[b'I'; 15]), Verdict::Passed);
        assert_eq!(judged(&[b'A'; 14], &[b'I'; 14]), Verdict::TooShort);
        assert_eq!(judged(b"", b""), Verdict::TooShort);
        let low = |n| [vec![b'/'; n], vec![b'0'; 20 - n]].concat();
        assert_eq!(judged(&[b'A'; 20], &low(8)), Verdict::Passed, "40 of a hundred may be bad");
        assert_eq!(judged(&[b'A'; 20], &low(9)), Verdict::LowQuality);
        let n = |n| [vec![b'N'; n], vec![b'A'; 20 - n]].concat();
        assert_eq!(judged(&n(5), &[b'I'; 20]), Verdict::Passed);
        assert_eq!(judged(&n(6), &[b'I'; 20]), Verdict::TooManyN);
    }

    #[test]
    fn averages_lengths_and_complexity_are_filtered_if_that_is_asked_for() {
        let quality = TrimOptions::default().quality.map(|it| QualityFilter { average: 20, ..it });
        let length = Some(LengthFilter { least: 2, most: 10 });
        let options = TrimOptions { quality, length, complexity: Some(30), ..TrimOptions::default() };
        assert_eq!(judge(b"ACGT", b"5555", &options), Verdict::Passed);
        assert_eq!(judge(b"ACGT", b"5554", &options), Verdict::LowQuality, "19.75 is 19");
        assert_eq!(judge(&[b'A'; 11], &[b'I'; 11], &options), Verdict::TooLong);
        assert_eq!(judge(b"AAAAAACACT", b"IIIIIIIIII", &options), Verdict::Passed, "4 of 9");
        assert_eq!(judge(b"AAAAAAAAAC", b"IIIIIIIIII", &options), Verdict::LowComplexity);
        let one = TrimOptions { length: None, complexity: Some(0), ..options };
        assert_eq!(judge(b"A", b"I", &one), Verdict::LowComplexity, "without a neighbour");
    }
}
