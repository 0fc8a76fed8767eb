//! Keys of samtools' rules, packed like the items of [`crate::item`]: first the key of a set, then
//! the better score, then the earlier read.
//!
//! ```text
//!  bit 0     48      75       109        111          138           172     173           175
//!    code │ ref │ coordinate │ end kind │ mate's ref │ coordinate │ left │ orientation │ score, ordinal
//! ```
//!
//! `code` has the read group and the hash of the barcode.

use super::key::{Code, End, Orientation, PairKey};
use crate::item::bits::{Field, biased, get, put, same_prefix};

/// A read of a pair, under the key of the pair. Both reads of a pair have one.
pub type PairItem = [u64; 4];

/// A key that says that some paired read has this 5′ end.
pub type EndItem = [u64; 2];

/// The 5′ end of a paired read, with its position in the order of a coordinate-sorted file.
pub type LocatedEnd = [u64; 3];

pub type SingleItem = [u64; 4];

const CODE: Field = Field(0, 48);

const BIAS: i64 = 1 << 33;
const REF: Field = Field(48, REF_BITS);
const COORDINATE: Field = Field(75, 34);

const REVERSE: Field = Field(109, 1);
const END_BITS: usize = 110;

/// Whether the coordinate of a pair is the 5′ end of its forward read (0), of its reverse read (1),
/// or may be either end (2).
const END_KIND: Field = Field(109, 2);
const OTHER_REF: Field = Field(111, REF_BITS);
const OTHER_COORDINATE: Field = Field(138, 34);
const LEFT: Field = Field(172, 1);
const ORIENTATION: Field = Field(173, 2);
const KEY_BITS: usize = 175;

/// One bit for failed quality control, then the score. Lower sorts first and is better.
const PAIR_RANK: Field = Field(KEY_BITS, 1 + SCORE_BITS);
const PAIR_ORDINAL: Field = Field(216, 40);

const SINGLE_SCORE: Field = Field(END_BITS, SCORE_BITS);
const SINGLE_POS: Field = Field(150, 32);
const SINGLE_ORDINAL: Field = Field(182, 40);

const END_POS: Field = Field(END_BITS, 32);
const END_ORDINAL: Field = Field(142, 40);

const REF_BITS: usize = 27;

/// A read has up to 2^30 qualities of up to 255, and its mate's score may be any 32-bit number.
const SCORE_BITS: usize = 40;
const MOST_SCORE: i64 = 1 << 39;

fn coordinate(at: i64) -> u64 {
    biased(at, BIAS, COORDINATE.1)
}

fn by_score(score: i64) -> u64 {
    (MOST_SCORE - score).clamp(0, (1 << SCORE_BITS) - 1) as u64
}

pub fn end(code: Code, end: &End) -> EndItem {
    let mut item = [0; 2];
    put_end(&mut item, code, end);
    item
}

/// Packs the 5′ end of a paired read. Equal ends sort in the order of a coordinate-sorted file.
pub fn located_end(code: Code, read: &End, pos: i32, ordinal: u64) -> LocatedEnd {
    let mut item = [0; 3];
    put_end(&mut item, code, read);
    put(&mut item, END_POS, (i64::from(pos) + 1) as u64);
    put(&mut item, END_ORDINAL, ordinal);
    item
}

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

/// Packs a read that is compared without a mate. Reads with equal scores sort by position, then by
/// input order.
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

/// Packs a read of a pair. Reads that passed quality control sort before those that failed.
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

pub fn same_set(a: &PairItem, b: &PairItem) -> bool {
    same_prefix(a, b, KEY_BITS)
}

/// Returns whether two reads of one set have the same score, so that their names decide.
pub fn are_tied(a: &PairItem, b: &PairItem) -> bool {
    get(a, PAIR_RANK) == get(b, PAIR_RANK)
}

/// Returns the 5′ end of the read; `None` if the key has an outer end of the template instead.
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
