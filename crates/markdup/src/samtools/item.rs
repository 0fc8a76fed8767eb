//! Keys of samtools' rules, packed like the items of [`crate::item`]. Items sort by set key, then
//! better score, then earlier read.
//!
//! ```text
//!  bit 0     48      75       109        111          138           172     173           175
//!    code │ ref │ coordinate │ end kind │ mate's ref │ coordinate │ left │ orientation │ score, ordinal
//! ```
//!
//! `code` has the read group and the barcode hash.

use super::key::{Orientation, PairKey, SamtoolsCode, SamtoolsEnd};
use crate::item::bits::{BitField, add_bias, get_field, put_field, same_prefix};

/// A read of a pair, with the key of the pair. Each read of a pair has such an item.
pub type PairItem = [u64; 4];

/// The 5′ end of some paired read, as a key.
pub type EndItem = [u64; 2];

/// The 5′ end of a paired read, with its position in coordinate order.
pub type LocatedEnd = [u64; 3];

pub type SingleItem = [u64; 4];

const CODE: BitField = BitField(0, 48);

const BIAS: i64 = 1 << 33;
const REF: BitField = BitField(48, REF_BITS);
const COORDINATE: BitField = BitField(75, 34);

const REVERSE: BitField = BitField(109, 1);
const END_BITS: usize = 110;

/// Whether the coordinate of a pair is the 5′ end of a forward read (0) or of a reverse read (1),
/// or an outer end of the template (2).
const END_KIND: BitField = BitField(109, 2);
const OTHER_REF: BitField = BitField(111, REF_BITS);
const OTHER_COORDINATE: BitField = BitField(138, 34);
const LEFT: BitField = BitField(172, 1);
const ORIENTATION: BitField = BitField(173, 2);
const KEY_BITS: usize = 175;

/// One bit for failed quality control, then the score. Better reads have lower values, so they sort
/// first.
const PAIR_RANK: BitField = BitField(KEY_BITS, 1 + SCORE_BITS);
const PAIR_ORDINAL: BitField = BitField(216, 40);

const SINGLE_SCORE: BitField = BitField(END_BITS, SCORE_BITS);
const SINGLE_POS: BitField = BitField(150, 32);
const SINGLE_ORDINAL: BitField = BitField(182, 40);

const END_POS: BitField = BitField(END_BITS, 32);
const END_ORDINAL: BitField = BitField(142, 40);

const REF_BITS: usize = 27;

/// Enough for a read with up to 2^30 qualities of up to 255, plus a mate score of any 32-bit
/// number.
const SCORE_BITS: usize = 40;
const MAX_SCORE: i64 = 1 << 39;

fn pack_coordinate(at: i64) -> u64 {
    add_bias(at, BIAS, COORDINATE.1)
}

fn pack_score(score: i64) -> u64 {
    (MAX_SCORE - score).clamp(0, (1 << SCORE_BITS) - 1) as u64
}

pub fn pack_end(code: SamtoolsCode, end: &SamtoolsEnd) -> EndItem {
    let mut item = [0; 2];
    put_end(&mut item, code, end);
    item
}

/// Packs the 5′ end of a paired read. Equal ends sort in coordinate order.
pub fn pack_located_end(code: SamtoolsCode, read: &SamtoolsEnd, pos: i32, ordinal: u64) -> LocatedEnd {
    let mut item = [0; 3];
    put_end(&mut item, code, read);
    put_field(&mut item, END_POS, (i64::from(pos) + 1) as u64);
    put_field(&mut item, END_ORDINAL, ordinal);
    item
}

pub fn end_and_ordinal(item: &LocatedEnd) -> (EndItem, u64) {
    let end = [item[0], item[1] >> (128 - END_BITS) << (128 - END_BITS)];
    (end, get_field(item, END_ORDINAL))
}

fn put_end(item: &mut [u64], code: SamtoolsCode, end: &SamtoolsEnd) {
    put_field(item, CODE, code.packed());
    put_field(item, REF, (end.ref_id + 1) as u64);
    put_field(item, COORDINATE, pack_coordinate(end.coordinate));
    put_field(item, REVERSE, end.reverse.into());
}

/// Packs a read that is compared without a mate. Reads with equal scores sort by position, then by
/// input order.
pub fn pack_single(
    code: SamtoolsCode,
    read: &SamtoolsEnd,
    score: i64,
    pos: i32,
    ordinal: u64,
) -> SingleItem {
    let mut item = [0; 4];
    put_end(&mut item, code, read);
    put_field(&mut item, SINGLE_SCORE, pack_score(score));
    put_field(&mut item, SINGLE_POS, (i64::from(pos) + 1) as u64);
    put_field(&mut item, SINGLE_ORDINAL, ordinal);
    item
}

pub fn single_end(item: &SingleItem) -> EndItem {
    [item[0], item[1] >> (128 - END_BITS) << (128 - END_BITS)]
}

pub fn single_ordinal(item: &SingleItem) -> u64 {
    get_field(item, SINGLE_ORDINAL)
}

/// Packs a read of a pair. Reads that passed quality control sort before those that failed.
pub fn pack_pair(code: SamtoolsCode, key: &PairKey, failed: bool, score: i64, ordinal: u64) -> PairItem {
    let mut item = [0; 4];
    put_field(&mut item, CODE, code.packed());
    put_field(&mut item, REF, (key.ref_id + 1) as u64);
    put_field(&mut item, COORDINATE, pack_coordinate(key.coordinate));
    put_field(&mut item, END_KIND, key.five_prime.map_or(2, u64::from));
    put_field(&mut item, OTHER_REF, (key.other_ref_id + 1) as u64);
    put_field(&mut item, OTHER_COORDINATE, pack_coordinate(key.other_coordinate));
    put_field(&mut item, LEFT, key.left.into());
    let orientation = match key.orientation {
        Orientation::ForwardForward => 0,
        Orientation::ReverseReverse => 1,
        Orientation::ForwardReverse => 2,
        Orientation::ReverseForward => 3,
    };
    put_field(&mut item, ORIENTATION, orientation);
    put_field(&mut item, PAIR_RANK, u64::from(failed) << SCORE_BITS | pack_score(score));
    put_field(&mut item, PAIR_ORDINAL, ordinal);
    item
}

pub fn same_set(a: &PairItem, b: &PairItem) -> bool {
    same_prefix(a, b, KEY_BITS)
}

/// Returns whether two reads of one set have the same score, so that their names decide.
pub fn are_tied(a: &PairItem, b: &PairItem) -> bool {
    get_field(a, PAIR_RANK) == get_field(b, PAIR_RANK)
}

/// Returns the 5′ end of the read, or `None` if the key has an outer end of the template instead.
pub fn pair_end(item: &PairItem) -> Option<EndItem> {
    (get_field(item, END_KIND) < 2).then(|| {
        let mut end = [item[0], item[1] >> (128 - END_BITS + 1) << (128 - END_BITS + 1)];
        put_field(&mut end, REVERSE, get_field(item, END_KIND));
        end
    })
}

pub fn pair_ordinal(item: &PairItem) -> u64 {
    get_field(item, PAIR_ORDINAL)
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
            let five_prime = SamtoolsEnd { ref_id: -1, coordinate: at, reverse };
            let code = SamtoolsCode { read_group: u16::MAX, barcode: u32::MAX };
            let item = pack_pair(code, &key(at, Some(reverse)), true, -(1 << 38), (1 << 40) - 1);
            assert_eq!(pair_end(&item), Some(pack_end(code, &five_prime)));
            assert_eq!(pair_ordinal(&item), (1 << 40) - 1);
            let item = pack_single(code, &five_prime, -1, i32::MAX, (1 << 40) - 2);
            assert_eq!(single_end(&item), pack_end(code, &five_prime));
            assert_eq!(single_ordinal(&item), (1 << 40) - 2);
            let item = pack_located_end(code, &five_prime, i32::MAX, (1 << 40) - 3);
            assert_eq!(end_and_ordinal(&item), (pack_end(code, &five_prime), (1 << 40) - 3));
        }
        assert_eq!(pair_end(&pack_pair(SamtoolsCode::default(), &key(5, None), false, 0, 0)), None);
    }

    #[test]
    fn better_scores_come_first_then_earlier_reads() {
        let (code, barcode) =
            (SamtoolsCode::default(), SamtoolsCode { barcode: 1, ..SamtoolsCode::default() });
        let of = |score, ordinal| pack_pair(code, &key(3, None), false, score, ordinal);
        let failed = pack_pair(code, &key(3, None), true, 99, 0);
        assert!(of(-5, 9) < failed && same_set(&of(9, 5), &failed));
        assert!(!same_set(&of(1, 1), &pack_pair(barcode, &key(3, None), false, 1, 1)));
        assert!(of(9, 5) < of(8, 1) && of(8, 1) < of(8, 2) && of(-1, 0) > of(0, 9));
        assert!(are_tied(&of(8, 1), &of(8, 2)) && !are_tied(&of(9, 1), &of(8, 1)));
        assert!(
            same_set(&of(1, 1), &of(2, 2))
                && !same_set(&of(1, 1), &pack_pair(code, &key(4, None), false, 1, 1))
        );
        let five_prime = SamtoolsEnd { ref_id: 3, coordinate: 10, reverse: false };
        let single = |pos, ordinal| pack_single(code, &five_prime, 50, pos, ordinal);
        assert!(single(8, 2) < single(9, 1) && single(9, 1) < single(9, 2));
    }
}
