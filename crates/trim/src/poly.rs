//! Finds tails of one repeated base, by fastp's rules.
//!
//! A tail may contain other bases: one in eight, and at most five.

const BASES_PER_OTHER: usize = 8;

const MAX_OTHER_BASES: usize = 5;

/// The bases, in the order in which tails are counted and reported.
pub const BASES: [u8; 4] = *b"ATCG";

/// Returns the length of the read without its poly-G tail, or the full length if the tail is
/// shorter than `min_length`.
pub fn length_without_poly_g(bases: &[u8], min_length: usize) -> usize {
    let length = bases.len();
    let (mut others, mut first, mut looked_at) = (0, length.saturating_sub(1), 0);
    for (at, &base) in bases.iter().enumerate().rev() {
        if base == b'G' {
            first = at;
        } else {
            others += 1;
        }
        let too_many = others > (looked_at + 1) / BASES_PER_OTHER && looked_at + 1 >= min_length;
        if others > MAX_OTHER_BASES || too_many {
            break;
        }
        looked_at += 1;
    }
    if looked_at >= min_length { first } else { length }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Index into [`BASES`].
    pub base: usize,
    pub length: usize,
}

/// Returns the longest tail of one repeated base, or `None` if it is shorter than `min_length`.
///
/// N counts as every base. The tail may have length 0, because fastp counts such tails too.
pub fn find_poly_x_tail(bases: &[u8], min_length: usize) -> Option<Tail> {
    let length = bases.len();
    let (mut counts, mut looked_at) = ([0; 4], 0);
    for &base in bases.iter().rev() {
        for (count, letter) in counts.iter_mut().zip(BASES) {
            *count += usize::from(base == letter || base == b'N');
        }
        let now = looked_at + 1;
        let allowed = MAX_OTHER_BASES.min(now / BASES_PER_OTHER);
        let is_none = counts.iter().all(|count| now - count > allowed);
        if is_none && (looked_at >= BASES_PER_OTHER || now + 1 >= min_length) {
            break;
        }
        looked_at = now;
    }
    if looked_at + 1 < min_length {
        return None;
    }
    let max_count = counts.iter().copied().max().unwrap_or(0);
    let base = counts.iter().position(|&count| count == max_count).unwrap_or(0);
    // The tail starts at the first `BASES[base]` among the bases that were examined.
    let from = length.saturating_sub(looked_at + 1);
    let first = bases[from..].iter().position(|&it| it == BASES[base]);
    Some(Tail { base, length: first.map_or(0, |first| length - from - first) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_of_g_may_have_others_in_it() {
        assert_eq!(length_without_poly_g(b"ACGTACGTACGGGGGGGGGG", 10), 10);
        assert_eq!(length_without_poly_g(b"ACGTACGTACTGGGGGGGGG", 10), 11, "nine, and one other");
        assert_eq!(length_without_poly_g(b"ACGTACGTACCTGGGGGGGG", 10), 20, "eight are too few");
        assert_eq!(length_without_poly_g(b"ACTACTTTGGGGGGGGGGAGGGGGGGGGG", 10), 8);
        assert_eq!(length_without_poly_g(b"GGGGGGGGGGGG", 10), 0);
        assert_eq!(length_without_poly_g(b"", 10), 0);
    }

    #[test]
    fn a_tail_of_any_base_is_the_longest_that_ends_with_it() {
        // The example of fastp's own test.
        let bases = b"ATTTTAAAAAAAAAATAAAAAAAAAAAAACAAAAAAAAAAAAAAAAAAAAAAAAAT";
        assert_eq!(find_poly_x_tail(bases, 10), Some(Tail { base: 0, length: 51 }));
        assert_eq!(find_poly_x_tail(b"CCGATCAAAAAAAAAA", 10), Some(Tail { base: 0, length: 10 }));
        assert_eq!(find_poly_x_tail(b"CCGATCGTAAAAAA", 10), None);
        assert_eq!(find_poly_x_tail(b"TTTTTTTTTTTTT", 10), Some(Tail { base: 1, length: 13 }));
        assert_eq!(find_poly_x_tail(b"", 10), None);
    }
}
