//! Reads packed into arrays of 64-bit numbers whose numeric order is the wanted order: the key of a set, then the better
//! score, then the read that comes first.

use super::key::{Code, End, Orientation, PairKey};
use crate::item::bits::{Field, biased, get, put, same_prefix};

/// A read of a pair, under the key of the pair.
pub type PairItem = [u64; 4];

/// The presence of a 5′ end of a paired read.
pub type EndItem = [u64; 2];

/// The 5′ end of a paired read, and its place in the order of a coordinate-sorted file.
pub type LocatedEnd = [u64; 3];

/// A read that is compared without a mate.
pub type SingleItem = [u64; 4];

/// What keeps reads of equal ends apart: the read group, the barcode.
const CODE: Field = Field(0, 48);

/// Positions reach below zero (clips) and are kept with this bias.
const BIAS: i64 = 1 << 33;
const REF: Field = Field(48, REF_BITS);
const COORDINATE: Field = Field(75, 34);

const REVERSE: Field = Field(109, 1);
const END_BITS: usize = 110;

/// Whether the coordinate of a pair is the 5′ end of its forward read (0), of its reverse read (1), or need not be one (2).
const END_KIND: Field = Field(109, 2);
const OTHER_REF: Field = Field(111, REF_BITS);
const OTHER_COORDINATE: Field = Field(138, 34);
const LEFT: Field = Field(172, 1);
const ORIENTATION: Field = Field(173, 2);
const KEY_BITS: usize = 175;

/// Whether the read failed quality control, and its score.
const PAIR_RANK: Field = Field(KEY_BITS, 1 + SCORE_BITS);
const PAIR_ORDINAL: Field = Field(216, 40);

const SINGLE_SCORE: Field = Field(END_BITS, SCORE_BITS);
const SINGLE_POS: Field = Field(150, 32);
const SINGLE_ORDINAL: Field = Field(182, 40);

const END_POS: Field = Field(END_BITS, 32);
const END_ORDINAL: Field = Field(142, 40);

/// [`HALF_REFS`](crate::item::HALF_REFS) reference sequences, and none.
const REF_BITS: usize = 27;

/// A read has up to 2^30 qualities of up to 255, and its mate says any number of 32 bits.
const SCORE_BITS: usize = 40;
const MOST_SCORE: i64 = 1 << 39;

fn coordinate(at: i64) -> u64 {
    biased(at, BIAS, COORDINATE.1)
}

/// Higher scores first.
fn by_score(score: i64) -> u64 {
    (MOST_SCORE - score).clamp(0, (1 << SCORE_BITS) - 1) as u64
}

pub fn end(code: Code, end: &End) -> EndItem {
    let mut item = [0; 2];
    put_end(&mut item, code, end);
    item
}

/// Packs the end of a paired read: of equal ends, the one that comes first in a coordinate-sorted file comes first.
pub fn located_end(code: Code, read: &End, pos: i32, ordinal: u64) -> LocatedEnd {
    let mut item = [0; 3];
    put_end(&mut item, code, read);
    put(&mut item, END_POS, (i64::from(pos) + 1) as u64);
    put(&mut item, END_ORDINAL, ordinal);
    item
}

/// Returns the end, and the number of the read.
pub fn end_and_ordinal(item: &LocatedEnd) -> (EndItem, u64) {
    let end = [item[0], item[1] >> (128 - END_BITS) << (128 - END_BITS)];
    (end, get(item, END_ORDINAL))
}

fn put_end(item: &mut [u64], code: Code, end: &End) {
    put(item, CODE, code.packed());
    put(item, REF, (end.ref_id + 1) as u64);
    put(item, COORDINATE, coordinate(end.coordinate));
    put(item, REVERSE, end.reverse.into());
}

/// Packs a single read; of reads with equal scores, the one whose position is smaller comes first, then the one that came
/// first.
pub fn single(code: Code, read: &End, score: i64, pos: i32, ordinal: u64) -> SingleItem {
    let mut item = [0; 4];
    put_end(&mut item, code, read);
    put(&mut item, SINGLE_SCORE, by_score(score));
    put(&mut item, SINGLE_POS, (i64::from(pos) + 1) as u64);
    put(&mut item, SINGLE_ORDINAL, ordinal);
    item
}

pub fn single_end(item: &SingleItem) -> EndItem {
    [item[0], item[1] >> (128 - END_BITS) << (128 - END_BITS)]
}

pub fn single_ordinal(item: &SingleItem) -> u64 {
    get(item, SINGLE_ORDINAL)
}

/// Packs a read of a pair; reads that passed quality control come before those that failed.
pub fn pair(code: Code, key: &PairKey, failed: bool, score: i64, ordinal: u64) -> PairItem {
    let mut item = [0; 4];
    put(&mut item, CODE, code.packed());
    put(&mut item, REF, (key.ref_id + 1) as u64);
    put(&mut item, COORDINATE, coordinate(key.coordinate));
    put(&mut item, END_KIND, key.five_prime.map_or(2, u64::from));
    put(&mut item, OTHER_REF, (key.other_ref_id + 1) as u64);
    put(&mut item, OTHER_COORDINATE, coordinate(key.other_coordinate));
    put(&mut item, LEFT, key.left.into());
    let orientation = match key.orientation {
        Orientation::ForwardForward => 0,
        Orientation::ReverseReverse => 1,
        Orientation::ForwardReverse => 2,
        Orientation::ReverseForward => 3,
    };
    put(&mut item, ORIENTATION, orientation);
    put(&mut item, PAIR_RANK, u64::from(failed) << SCORE_BITS | by_score(score));
    put(&mut item, PAIR_ORDINAL, ordinal);
    item
}

/// Whether two reads of pairs are in one set.
pub fn same_set(a: &PairItem, b: &PairItem) -> bool {
    same_prefix(a, b, KEY_BITS)
}

/// Whether two reads of one set have the same score.
pub fn are_tied(a: &PairItem, b: &PairItem) -> bool {
    get(a, PAIR_RANK) == get(b, PAIR_RANK)
}

/// The 5′ end of the read, if the key has it.
pub fn pair_end(item: &PairItem) -> Option<EndItem> {
    (get(item, END_KIND) < 2).then(|| {
        let mut end = [item[0], item[1] >> (128 - END_BITS + 1) << (128 - END_BITS + 1)];
        put(&mut end, REVERSE, get(item, END_KIND));
        end
    })
}

pub fn pair_ordinal(item: &PairItem) -> u64 {
    get(item, PAIR_ORDINAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(coordinate: i64, five_prime: Option<bool>) -> PairKey {
        let (ref_id, other_ref_id, other_coordinate, left) =
            (-1, crate::item::HALF_REFS - 1, i64::from(u32::MAX), true);
        let orientation = Orientation::ReverseForward;
        PairKey { ref_id, coordinate, five_prime, other_ref_id, other_coordinate, left, orientation }
    }

    #[test]
    fn ends_and_numbers_come_back() {
        for (at, reverse) in [(-7, true), (1 << 31, false)] {
            let five_prime = End { ref_id: -1, coordinate: at, reverse };
            let code = Code { read_group: u16::MAX, barcode: u32::MAX };
            let item = pair(code, &key(at, Some(reverse)), true, -(1 << 38), (1 << 40) - 1);
            assert_eq!(pair_end(&item), Some(end(code, &five_prime)));
            assert_eq!(pair_ordinal(&item), (1 << 40) - 1);
            let item = single(code, &five_prime, -1, i32::MAX, (1 << 40) - 2);
            assert_eq!(single_end(&item), end(code, &five_prime));
            assert_eq!(single_ordinal(&item), (1 << 40) - 2);
            let item = located_end(code, &five_prime, i32::MAX, (1 << 40) - 3);
            assert_eq!(end_and_ordinal(&item), (end(code, &five_prime), (1 << 40) - 3));
        }
        assert_eq!(pair_end(&pair(Code::default(), &key(5, None), false, 0, 0)), None);
    }

    #[test]
    fn better_scores_come_first_then_earlier_reads() {
        let (code, barcode) = (Code::default(), Code { barcode: 1, ..Code::default() });
        let of = |score, ordinal| pair(code, &key(3, None), false, score, ordinal);
        let failed = pair(code, &key(3, None), true, 99, 0);
        assert!(of(-5, 9) < failed && same_set(&of(9, 5), &failed));
        assert!(!same_set(&of(1, 1), &pair(barcode, &key(3, None), false, 1, 1)));
        assert!(of(9, 5) < of(8, 1) && of(8, 1) < of(8, 2) && of(-1, 0) > of(0, 9));
        assert!(are_tied(&of(8, 1), &of(8, 2)) && !are_tied(&of(9, 1), &of(8, 1)));
        assert!(
            same_set(&of(1, 1), &of(2, 2))
                && !same_set(&of(1, 1), &pair(code, &key(4, None), false, 1, 1))
        );
        let five_prime = End { ref_id: 3, coordinate: 10, reverse: false };
        let single = |pos, ordinal| single(code, &five_prime, 50, pos, ordinal);
        assert!(single(8, 2) < single(9, 1) && single(9, 1) < single(9, 2));
    }
}
