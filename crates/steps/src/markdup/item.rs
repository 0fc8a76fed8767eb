//! Ends and pairs packed into arrays of 64-bit numbers whose order is the order wanted: first what
//! makes a set, then who represents it (best score, then smallest tile, x, y, then earliest), then what
//! is only carried along. Sorting, spilling and merging them needs no other knowledge.

use super::location::Location;

/// A field of a packed item: where it starts, counted from the most significant bit of the first
/// number, and its width.
#[derive(Clone, Copy)]
struct Field(usize, usize);

/// Reads a field.
fn get<const N: usize>(item: &[u64; N], Field(at, width): Field) -> u64 {
    let (word, bit) = (at / 64, at % 64);
    let high = u128::from(item[word]) << 64;
    let both = high | u128::from(item.get(word + 1).copied().unwrap_or(0));
    (both << bit >> (128 - width)) as u64
}

/// Writes a field that is still zero.
fn put<const N: usize>(item: &mut [u64; N], Field(at, width): Field, value: u64) {
    debug_assert!(width == 64 || value >> width == 0, "{value} in {width} bits");
    let (word, bit) = (at / 64, at % 64);
    let both = u128::from(value) << (128 - width) >> bit;
    item[word] |= (both >> 64) as u64;
    if let Some(next) = item.get_mut(word + 1) {
        *next |= both as u64;
    }
}

/// Positions reach below zero (clips) and are kept with this bias, in 34 bits.
const BIAS: i64 = 1 << 33;

fn biased(pos: i64) -> u64 {
    (pos + BIAS).clamp(0, 2 * BIAS - 1) as u64
}

/// Higher scores first.
fn by_score(score: i16) -> u64 {
    (i32::from(i16::MAX) - i32::from(score)) as u64
}

fn signed(n: i16) -> u64 {
    (i32::from(n) - i32::from(i16::MIN)) as u64
}

fn unsigned(n: u64) -> i16 {
    (n as i32 + i32::from(i16::MIN)) as i16
}

/// The 5′ end of a read: what fragments are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Library.
    pub library: u16,
    /// Reference sequence.
    pub ref_id: i32,
    /// Unclipped 5′ position, 0-based; may lie outside the reference.
    pub five_prime: i64,
    /// On the reverse strand.
    pub reverse: bool,
}

/// What is known of one participating read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Its 5′ end.
    pub end: End,
    /// Leftmost position, 0-based.
    pub pos: i32,
    /// Score, in Picard's 16 bits.
    pub score: i16,
    /// Location on the flow cell.
    pub location: Location,
    /// Index of its read group as the optical test compares it.
    pub read_group: u16,
    /// First segment of its template.
    pub first_segment: bool,
    /// Reference sequence of its mate, -1 when there is none.
    pub next_ref_id: i32,
    /// Its number in the input.
    pub ordinal: u64,
    /// How many records before it its template starts.
    pub lead: u32,
}

/// 83 bits of end in 128: the presence of a paired end.
pub type EndKey = [u64; 2];

const END_LIBRARY: Field = Field(0, 16);
const END_REF: Field = Field(16, 32);
const END_POS: Field = Field(48, 34);
const END_REVERSE: Field = Field(82, 1);

fn put_end<const N: usize>(item: &mut [u64; N], end: &End) {
    put(item, END_LIBRARY, end.library.into());
    put(item, END_REF, (end.ref_id + 1) as u64);
    put(item, END_POS, biased(end.five_prime));
    put(item, END_REVERSE, end.reverse.into());
}

/// The key of an end.
pub fn end_key(end: &End) -> EndKey {
    let mut key = [0; 2];
    put_end(&mut key, end);
    key
}

/// A read that is not paired.
pub type Fragment = [u64; 4];

const FRAGMENT_SCORE: Field = Field(83, 16);
const FRAGMENT_TILE: Field = Field(99, 16);
const FRAGMENT_X: Field = Field(115, 16);
const FRAGMENT_Y: Field = Field(131, 16);
const FRAGMENT_POS: Field = Field(147, 32);
const FRAGMENT_ORDINAL: Field = Field(179, 40);
const FRAGMENT_LEAD: Field = Field(219, 24);

/// Packs an unpaired read.
pub fn fragment(read: &Read) -> Fragment {
    let mut item = [0; 4];
    put_end(&mut item, &read.end);
    put(&mut item, FRAGMENT_SCORE, by_score(read.score));
    put(&mut item, FRAGMENT_TILE, signed(read.location.tile));
    put(&mut item, FRAGMENT_X, signed(read.location.x));
    put(&mut item, FRAGMENT_Y, signed(read.location.y));
    put(&mut item, FRAGMENT_POS, (read.pos + 1) as u64);
    put(&mut item, FRAGMENT_ORDINAL, read.ordinal);
    put(&mut item, FRAGMENT_LEAD, read.lead.into());
    item
}

/// The end a fragment is compared by.
pub fn fragment_end(item: &Fragment) -> EndKey {
    [item[0], item[1] >> 45 << 45]
}

/// Whether two fragments of a set tie in all but their place in the file.
pub fn fragments_tie(a: &Fragment, b: &Fragment) -> bool {
    [FRAGMENT_SCORE, FRAGMENT_TILE, FRAGMENT_X, FRAGMENT_Y].iter().all(|&f| get(a, f) == get(b, f))
}

/// Number of the read, and of its template's first record.
pub fn fragment_ordinals(item: &Fragment) -> (u64, u64) {
    let ordinal = get(item, FRAGMENT_ORDINAL);
    (ordinal, ordinal - get(item, FRAGMENT_LEAD))
}

/// Two mates.
pub type Pair = [u64; 6];

const PAIR_LIBRARY: Field = Field(0, 16);
const PAIR_REF1: Field = Field(16, 32);
const PAIR_POS1: Field = Field(48, 34);
const PAIR_STRANDS: Field = Field(82, 2);
const PAIR_REF2: Field = Field(84, 32);
const PAIR_POS2: Field = Field(116, 34);
const PAIR_SCORE: Field = Field(150, 16);
const PAIR_TILE: Field = Field(166, 16);
const PAIR_X: Field = Field(182, 16);
const PAIR_Y: Field = Field(198, 16);
const PAIR_POS: Field = Field(214, 32);
const PAIR_ORDINAL1: Field = Field(246, 40);
const PAIR_ORDINAL2: Field = Field(286, 40);
const PAIR_LEAD: Field = Field(326, 24);
const PAIR_READ_GROUP: Field = Field(350, 16);
const PAIR_SEQUENCED: Field = Field(366, 2);
const PAIR_END1: Field = Field(368, 1);

/// Packs two mates, of which `seen` came first in the file and lends its library, location and read group.
/// Also gives the second end, where it counts as a paired one.
///
/// Read 1 is the end with the smaller (reference sequence, 5′ position), the one seen first where they
/// are equal. Orientation: forward-forward, forward-reverse, reverse-forward, reverse-reverse; at
/// one position reverse-forward is the same as forward-reverse.
pub fn pair(seen: &Read, arriving: &Read) -> (Pair, Option<EndKey>) {
    let place = |read: &Read| (read.end.ref_id, read.end.five_prime);
    let (one, two) = if place(arriving) >= place(seen) { (seen, arriving) } else { (arriving, seen) };
    let swap = place(one) == place(two) && one.end.reverse && !two.end.reverse;
    let (left, right) = if swap { (two, one) } else { (one, two) };
    let mut item = [0; 6];
    put(&mut item, PAIR_LIBRARY, seen.end.library.into());
    put(&mut item, PAIR_REF1, (left.end.ref_id + 1) as u64);
    put(&mut item, PAIR_POS1, biased(left.end.five_prime));
    put(&mut item, PAIR_STRANDS, u64::from(left.end.reverse) << 1 | u64::from(right.end.reverse));
    put(&mut item, PAIR_REF2, (right.end.ref_id + 1) as u64);
    put(&mut item, PAIR_POS2, biased(right.end.five_prime));
    put(&mut item, PAIR_SCORE, by_score(seen.score.wrapping_add(arriving.score)));
    put(&mut item, PAIR_TILE, signed(seen.location.tile));
    put(&mut item, PAIR_X, signed(seen.location.x));
    put(&mut item, PAIR_Y, signed(seen.location.y));
    put(&mut item, PAIR_POS, (one.pos + 1) as u64);
    put(&mut item, PAIR_ORDINAL1, one.ordinal);
    put(&mut item, PAIR_ORDINAL2, two.ordinal);
    put(&mut item, PAIR_LEAD, one.lead.into());
    put(&mut item, PAIR_READ_GROUP, seen.read_group.into());
    let (r1, r2) = if arriving.first_segment { (arriving, seen) } else { (seen, arriving) };
    put(&mut item, PAIR_SEQUENCED, u64::from(r1.end.reverse) << 1 | u64::from(r2.end.reverse));
    put(&mut item, PAIR_END1, u64::from(left.next_ref_id >= 0));
    // Picard keeps the library of the end that was seen first for the pair, of each end for itself.
    (item, (right.next_ref_id >= 0).then(|| end_key(&right.end)))
}

/// Whether two pairs belong to one set: library, ends and orientation.
pub fn same_set(a: &Pair, b: &Pair) -> bool {
    a[..2] == b[..2] && a[2] >> 42 == b[2] >> 42
}

/// Whether two pairs of a set tie in all but their place in the file.
pub fn pairs_tie(a: &Pair, b: &Pair) -> bool {
    [PAIR_SCORE, PAIR_TILE, PAIR_X, PAIR_Y].iter().all(|&f| get(a, f) == get(b, f))
}

/// The first end of a pair, where it counts as a paired one.
pub fn pair_end(item: &Pair) -> Option<EndKey> {
    (get(item, PAIR_END1) == 1).then(|| [item[0], item[1] >> 45 << 45])
}

/// Numbers of read 1 and read 2, and of the template's first record.
pub fn pair_ordinals(item: &Pair) -> (u64, u64, u64) {
    let first = get(item, PAIR_ORDINAL1);
    (first, get(item, PAIR_ORDINAL2), first - get(item, PAIR_LEAD))
}

/// A paired read whose mate has not been met.
pub type Half = [u64; 7];

const HALF_KEY: Field = Field(128, 64);
const HALF_ORDINAL: Field = Field(192, 40);
const HALF_POS: Field = Field(232, 34);
const HALF_SCORE: Field = Field(266, 16);
const HALF_TILE: Field = Field(282, 16);
const HALF_X: Field = Field(298, 16);
const HALF_Y: Field = Field(314, 16);
const HALF_NEXT_REF: Field = Field(330, 32);
const HALF_READ_GROUP: Field = Field(362, 16);
const HALF_LIBRARY: Field = Field(378, 16);
const HALF_FIRST_SEGMENT: Field = Field(394, 1);
const HALF_LEAD: Field = Field(395, 24);

/// Packs a read with the 128-bit hash of its read group and name. Reads of one name sort in the order of
/// a coordinate-sorted file.
pub fn half(name: u128, read: &Read) -> Half {
    let mut item = [0; 7];
    (item[0], item[1]) = ((name >> 64) as u64, name as u64);
    let place = (read.end.ref_id + 1) as u64;
    let key = place << 33 | ((read.pos + 1) as u64) << 1 | u64::from(read.end.reverse);
    put(&mut item, HALF_KEY, key);
    put(&mut item, HALF_ORDINAL, read.ordinal);
    put(&mut item, HALF_POS, biased(read.end.five_prime));
    put(&mut item, HALF_SCORE, by_score(read.score));
    put(&mut item, HALF_TILE, signed(read.location.tile));
    put(&mut item, HALF_X, signed(read.location.x));
    put(&mut item, HALF_Y, signed(read.location.y));
    put(&mut item, HALF_NEXT_REF, (read.next_ref_id + 1) as u64);
    put(&mut item, HALF_READ_GROUP, read.read_group.into());
    put(&mut item, HALF_LIBRARY, read.end.library.into());
    put(&mut item, HALF_FIRST_SEGMENT, read.first_segment.into());
    put(&mut item, HALF_LEAD, read.lead.into());
    item
}

/// Whether two halves have the same read group and name.
pub fn same_name(a: &Half, b: &Half) -> bool {
    a[..2] == b[..2]
}

/// Unpacks a half.
pub fn half_read(item: &Half) -> Read {
    let key = get(item, HALF_KEY);
    Read {
        end: End {
            library: get(item, HALF_LIBRARY) as u16,
            ref_id: (key >> 33) as i32 - 1,
            five_prime: get(item, HALF_POS) as i64 - BIAS,
            reverse: key & 1 == 1,
        },
        pos: (key >> 1 & 0xffff_ffff) as i32 - 1,
        score: (i32::from(i16::MAX) - get(item, HALF_SCORE) as i32) as i16,
        location: Location {
            tile: unsigned(get(item, HALF_TILE)),
            x: unsigned(get(item, HALF_X)),
            y: unsigned(get(item, HALF_Y)),
        },
        read_group: get(item, HALF_READ_GROUP) as u16,
        first_segment: get(item, HALF_FIRST_SEGMENT) == 1,
        next_ref_id: get(item, HALF_NEXT_REF) as i32 - 1,
        ordinal: get(item, HALF_ORDINAL),
        lead: get(item, HALF_LEAD) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(ref_id: i32, five_prime: i64, reverse: bool) -> Read {
        Read {
            end: End { library: 7, ref_id, five_prime, reverse },
            pos: 100,
            score: -5,
            location: Location { tile: -1, x: 32767, y: -32768 },
            read_group: 3,
            first_segment: true,
            next_ref_id: 2,
            ordinal: (1 << 40) - 1,
            lead: (1 << 24) - 1,
        }
    }

    #[test]
    fn a_half_is_unpacked_as_it_was_packed() {
        for read in [read(0, -50, true), read(i32::MAX - 1, 1 << 32, false)] {
            let item = half(u128::MAX / 3, &read);
            assert_eq!(half_read(&item), read);
        }
    }

    #[test]
    fn ordinals_and_ends_come_back() {
        let (a, b) = (read(1, 10, false), Read { ordinal: 5, lead: 0, ..read(1, 300, true) });
        let (item, second) = pair(&a, &b);
        assert_eq!(pair_ordinals(&item), (a.ordinal, 5, a.ordinal - u64::from(a.lead)));
        assert_eq!(pair_end(&item), Some(end_key(&a.end)));
        assert_eq!(second, Some(end_key(&b.end)));
        let single = fragment(&a);
        assert_eq!(fragment_end(&single), end_key(&a.end));
        assert_eq!(fragment_ordinals(&single).0, a.ordinal);
    }

    #[test]
    fn the_set_does_not_depend_on_who_came_first_and_the_order_prefers_the_better() {
        let (a, b) = (read(1, 10, true), read(1, 10, false));
        assert!(same_set(&pair(&a, &b).0, &pair(&b, &a).0), "RF at one position is FR");
        let (c, d) = (read(1, 10, true), read(1, 11, false));
        assert!(same_set(&pair(&c, &d).0, &pair(&d, &c).0));
        assert!(!same_set(&pair(&c, &d).0, &pair(&read(1, 10, false), &d).0));
        let better = pair(&Read { score: 9, ..c }, &d).0;
        assert!(better < pair(&c, &d).0 && same_set(&better, &pair(&c, &d).0));
        let left = Read { location: Location { x: 32766, ..c.location }, ..c };
        assert!(pair(&left, &d).0 < pair(&c, &d).0);
    }
}
