//! Prefix codes of DEFLATE (RFC 1951): the code for given weights, lengths and distances as symbols, the head of a block.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bits, the first one lowest, and how many they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits {
    pub bits: u64,
    pub count: u32,
}

impl Bits {
    /// These bits, and `more` behind them; together at most 64.
    pub fn then(self, more: Bits) -> Bits {
        Bits { bits: self.bits | (more.bits << self.count), count: self.count + more.count }
    }
}

/// The symbol that ends a block.
pub(crate) const END: usize = 256;

/// The symbols of bytes and lengths.
pub(crate) const SYMBOLS: usize = 286;

/// The shortest and the longest match.
pub(crate) const SHORTEST: usize = 3;
pub(crate) const LONGEST: usize = 258;

/// The symbols of distances that are used, up to [`FARTHEST`].
pub(crate) const DISTANCES: usize = 20;

/// The longest distance of those.
pub(crate) const FARTHEST: usize = 1024;

/// The most bits of a code of DEFLATE.
const MOST_BITS: u8 = 15;

/// The symbol of the length of a match, and the bits behind it.
pub(crate) fn length_symbol(length: usize) -> (usize, Bits) {
    if length == LONGEST {
        return (285, Bits::default());
    }
    let (group, count, more) = group_of(length - SHORTEST, 2);
    (257 + group, Bits { bits: more, count })
}

/// The symbol of a distance, and the bits behind it.
pub(crate) fn distance_symbol(distance: usize) -> (usize, Bits) {
    let (group, count, more) = group_of(distance - 1, 1);
    (group, Bits { bits: more, count })
}

/// The group of a number, where `2^log` groups share each number of further bits; that number, and the further bits.
fn group_of(number: usize, log: u32) -> (usize, u32, u64) {
    let (groups, wide) = (1 << log, number >> log);
    if wide < 2 {
        return (number, 0, 0);
    }
    let count = wide.ilog2();
    let group = (number >> count) - groups + groups * (count as usize + 1);
    (group, count, (number & ((1 << count) - 1)) as u64)
}

/// The lengths of the codes of symbols with these weights, at least two of them. Weights that differ too much make codes that
/// are too long for DEFLATE; a test looks at all weights that lines have.
pub(crate) fn code_lengths(weights: &[u32]) -> Vec<u8> {
    // Nodes by weight, and those of equal weight in the order in which they were made, so that the code is always the same.
    let mut open: BinaryHeap<_> =
        weights.iter().enumerate().map(|(node, &weight)| Reverse((u64::from(weight), node))).collect();
    let mut parents = vec![0; weights.len()];
    while let (Some(Reverse((light, one))), Some(Reverse((heavy, other)))) = (open.pop(), open.pop()) {
        let parent = parents.len();
        (parents[one], parents[other]) = (parent, parent);
        parents.push(parent);
        if open.is_empty() {
            break;
        }
        open.push(Reverse((light + heavy, parent)));
    }
    let mut depths = vec![0; parents.len()];
    for node in (0..parents.len() - 1).rev() {
        depths[node] = depths[parents[node]] + 1;
    }
    depths.truncate(weights.len());
    depths
}

/// The code of each symbol, in the order that RFC 1951 (3.2.2) demands.
pub(crate) fn codes(lengths: &[u8]) -> Vec<Bits> {
    let (mut codes, mut next) = (vec![Bits::default(); lengths.len()], 0_u32);
    for length in 1..=MOST_BITS {
        next <<= 1;
        for (code, _) in codes.iter_mut().zip(lengths).filter(|(_, it)| **it == length) {
            let count = u32::from(length);
            *code = Bits { bits: u64::from(next.reverse_bits() >> (32 - count)), count };
            next += 1;
        }
    }
    codes
}

/// The head of the only block of a stream, with these lengths of codes for bytes and lengths, and for distances.
pub(crate) fn block_head(symbols: &[u8], distances: &[u8]) -> Vec<Bits> {
    let number = |number: usize, count| Bits { bits: number as u64, count };
    let mut head = vec![number(1, 1), number(2, 2)]; // the last block, with codes of its own
    head.extend([number(symbols.len() - 257, 5), number(distances.len() - 1, 5), number(19 - 4, 4)]);
    // Each length, from 0 to 15, has a code of four bits, and there are no repeats (the first three).
    head.extend((0..19).map(|place| number(if place < 3 { 0 } else { 4 }, 3)));
    let own = codes(&[4; 16]);
    head.extend(symbols.iter().chain(distances).map(|&length| own[usize::from(length)]));
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_distances_are_as_in_the_tables_of_the_rfc() {
        let of_length = |length| {
            let (symbol, Bits { bits, count }) = length_symbol(length);
            (symbol, bits, count)
        };
        for (length, expected) in [
            (3, (257, 0, 0)),
            (10, (264, 0, 0)),
            (11, (265, 0, 1)),
            (12, (265, 1, 1)),
            (13, (266, 0, 1)),
            (18, (268, 1, 1)),
            (19, (269, 0, 2)),
            (114, (279, 15, 4)),
            (257, (284, 30, 5)),
            (258, (285, 0, 0)),
        ] {
            assert_eq!(of_length(length), expected, "{length}");
        }
        let of_distance = |distance| {
            let (symbol, Bits { bits, count }) = distance_symbol(distance);
            (symbol, bits, count)
        };
        for (distance, expected) in [
            (1, (0, 0, 0)),
            (4, (3, 0, 0)),
            (5, (4, 0, 1)),
            (6, (4, 1, 1)),
            (7, (5, 0, 1)),
            (9, (6, 0, 2)),
            (24, (8, 7, 3)),
            (FARTHEST, (DISTANCES - 1, 255, 8)),
        ] {
            assert_eq!(of_distance(distance), expected, "{distance}");
        }
    }

    #[test]
    fn codes_are_complete_and_the_heavier_symbol_has_the_shorter_one() {
        for weights in [vec![1, 1], vec![5, 1, 1, 1, 20], (1..=300).collect(), vec![1; 286]] {
            let lengths = code_lengths(&weights);
            let whole: u32 = lengths.iter().map(|&length| 1 << (MOST_BITS - length)).sum();
            assert_eq!(whole, 1 << MOST_BITS);
            for (one, a) in weights.iter().zip(&lengths) {
                assert!(weights.iter().zip(&lengths).all(|(other, b)| one <= other || a <= b));
            }
        }
        // The example of RFC 1951, 3.2.2.
        let of = codes(&[3, 3, 3, 3, 3, 2, 4, 4]);
        let shown: Vec<u64> = of.iter().map(|it| it.bits.reverse_bits() >> (64 - it.count)).collect();
        assert_eq!(shown, [0b010, 0b011, 0b100, 0b101, 0b110, 0b00, 0b1110, 0b1111]);
    }
}
