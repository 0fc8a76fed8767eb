//! Decides which trimmed reads are dropped, and why.

use crate::counts::count_bytes;
use crate::options::{QualityFilter, TrimOptions};

/// The outcome of the filters for one read. Variants are ordered by severity: a pair gets the more
/// severe outcome of its two reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilterVerdict {
    Passed,
    TooManyN,
    /// Shorter than the minimum length, or without any bases after trimming.
    TooShort,
    TooLong,
    LowQuality,
    LowComplexity,
}

/// All verdicts, in the order of their discriminants, which [`crate::TrimTally`] uses as indexes of
/// its counts.
pub const FILTER_VERDICTS: [FilterVerdict; 6] = [
    FilterVerdict::Passed,
    FilterVerdict::TooManyN,
    FilterVerdict::TooShort,
    FilterVerdict::TooLong,
    FilterVerdict::LowQuality,
    FilterVerdict::LowComplexity,
];

/// Returns the outcome of all filters for a trimmed read.
///
/// The filters run in fastp's order, and the first one that fails determines the verdict.
/// `qualities` are Phred + 33.
pub fn judge_read(bases: &[u8], qualities: &[u8], options: &TrimOptions) -> FilterVerdict {
    let length = bases.len();
    if length == 0 {
        return FilterVerdict::TooShort;
    }
    if let Some(filter) = &options.quality {
        if has_low_quality(qualities, filter) {
            return FilterVerdict::LowQuality;
        }
        if count_bytes(bases, |base| base == b'N') > filter.max_n_bases as u64 {
            return FilterVerdict::TooManyN;
        }
    }
    if let Some(filter) = &options.length {
        if length < filter.min_bases {
            return FilterVerdict::TooShort;
        }
        if filter.max_bases > 0 && length > filter.max_bases {
            return FilterVerdict::TooLong;
        }
    }
    match options.complexity {
        Some(min_percent) if !is_complex(bases, min_percent) => FilterVerdict::LowComplexity,
        _ => FilterVerdict::Passed,
    }
}

fn has_low_quality(qualities: &[u8], filter: &QualityFilter) -> bool {
    let length = qualities.len() as u64;
    let low = count_bytes(qualities, |quality| quality < 33 + filter.min_quality);
    if low * 100 > u64::from(filter.max_unqualified_percent) * length {
        return true;
    }
    let sum = || qualities.iter().map(|&quality| u64::from(quality)).sum::<u64>();
    filter.min_average_quality > 0
        && sum().saturating_sub(33 * length) / length < u64::from(filter.min_average_quality)
}

/// Returns whether at least `min_percent` percent of the bases differ from the next base. A read of one
/// base has no next base, so it never passes, as in fastp.
fn is_complex(bases: &[u8], min_percent: u8) -> bool {
    let differing = bases.iter().zip(&bases[1..]).filter(|(one, next)| one != next).count();
    bases.len() > 1 && differing * 100 >= usize::from(min_percent) * (bases.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::LengthFilter;

    #[test]
    fn reads_fail_for_the_first_reason_in_the_order_of_the_filters() {
        let options = TrimOptions::default();
        let judged = |bases: &[u8], qualities: &[u8]| judge_read(bases, qualities, &options);
        assert_eq!(judged(&[b'A'; 15], &[b'I'; 15]), FilterVerdict::Passed);
        assert_eq!(judged(&[b'A'; 14], &[b'I'; 14]), FilterVerdict::TooShort);
        assert_eq!(judged(b"", b""), FilterVerdict::TooShort);
        let low = |n| [vec![b'/'; n], vec![b'0'; 20 - n]].concat();
        assert_eq!(judged(&[b'A'; 20], &low(8)), FilterVerdict::Passed, "40 of a hundred may be bad");
        assert_eq!(judged(&[b'A'; 20], &low(9)), FilterVerdict::LowQuality);
        let n = |n| [vec![b'N'; n], vec![b'A'; 20 - n]].concat();
        assert_eq!(judged(&n(5), &[b'I'; 20]), FilterVerdict::Passed);
        assert_eq!(judged(&n(6), &[b'I'; 20]), FilterVerdict::TooManyN);
    }

    #[test]
    fn averages_lengths_and_complexity_are_filtered_if_that_is_asked_for() {
        let quality =
            TrimOptions::default().quality.map(|it| QualityFilter { min_average_quality: 20, ..it });
        let length = Some(LengthFilter { min_bases: 2, max_bases: 10 });
        let options = TrimOptions { quality, length, complexity: Some(30), ..TrimOptions::default() };
        assert_eq!(judge_read(b"ACGT", b"5555", &options), FilterVerdict::Passed);
        assert_eq!(judge_read(b"ACGT", b"5554", &options), FilterVerdict::LowQuality, "19.75 is 19");
        assert_eq!(judge_read(&[b'A'; 11], &[b'I'; 11], &options), FilterVerdict::TooLong);
        assert_eq!(judge_read(b"AAAAAACACT", b"IIIIIIIIII", &options), FilterVerdict::Passed, "4 of 9");
        assert_eq!(judge_read(b"AAAAAAAAAC", b"IIIIIIIIII", &options), FilterVerdict::LowComplexity);
        let one = TrimOptions { length: None, complexity: Some(0), ..options };
        assert_eq!(judge_read(b"A", b"I", &one), FilterVerdict::LowComplexity, "without a neighbour");
    }
}
