//! Shortens the names in keys: names of one sequencing run share a prefix with one of them, the anchor, and
//! keys leave it out.
//!
//! With A the nibbles of the anchor, n of them, and R those of a name, a key has one byte for the comparison
//! of R with A, then the nibbles of R from the first that differs on:
//!
//! | | byte | from |
//! |---|---|---|
//! | R < A, alike for l nibbles | l | l |
//! | R begins with A | n | n |
//! | R > A, alike for l nibbles | 2n - l | l |
//!
//! Of two names below the anchor, the one that differs from it earlier is the smaller; above it, the greater;
//! and where both differ at the same nibble, the nibbles decide. So the order is the same for every anchor. R
//! never ends within A: its end is a symbol that A, being without its own, does not have.

use super::bits::Bits;
use super::symbols::{Symbols, word};

/// Most nibbles of an anchor, so that 2n fits a byte.
const LIMIT: usize = 120;

/// The nibble after the anchor; no symbol continues with it.
const NOTHING: u8 = 15;

/// The anchor: a name that others are compared with.
pub struct Anchor {
    /// The name up to the limit, and 16 bytes more.
    name: Vec<u8>,
    /// For each count of leading bytes: the byte and the nibble where the deciding symbol starts. A number
    /// may go on after its last byte here, so the deciding symbol is the number itself.
    starts: Vec<(u8, u8)>,
    /// Nibbles, two a byte, padded with [`NOTHING`] so that a window may reach beyond the end.
    nibbles: Vec<u8>,
    n: u32,
}

impl Anchor {
    /// Creates the empty anchor, which shortens no name.
    pub fn none() -> Self {
        Self::new::<false>(b"")
    }

    /// Creates an anchor from as many symbols of `name` as fit.
    pub fn new<const NATURAL: bool>(name: &[u8]) -> Self {
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let name = &name[..name.len().min(usize::from(u8::MAX))];
        let (mut nibbles, mut starts, mut byte) = (Vec::new(), vec![(0, 0)], 0);
        while byte < name.len() {
            let digits = name[byte..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number = NATURAL && digits > 0;
            let (end, n) = (byte + if number { digits } else { 1 }, nibbles.len());
            let mut symbols = Symbols::<NATURAL>::new(&name[..end], byte);
            while !symbols.ended() {
                let (value, count) = symbols.next();
                nibbles.extend((0..count).rev().map(|i| (value >> (4 * i)) as u8 & 15));
            }
            nibbles.pop(); // the end
            if nibbles.len() > LIMIT {
                nibbles.truncate(n);
                break;
            }
            let start = if number { (byte, n) } else { (end, nibbles.len()) };
            starts.extend((byte..end).map(|_| (start.0 as u8, start.1 as u8)));
            byte = end;
        }
        let n = nibbles.len() as u32;
        nibbles.resize(nibbles.len().next_multiple_of(2) + 16, NOTHING);
        let nibbles = nibbles.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        let name = [&name[..byte], &[0; 16]].concat();
        Anchor { name, starts, nibbles, n }
    }

    /// Returns `count` nibbles from `at` on.
    fn window(&self, at: u32, count: u32) -> u64 {
        let bytes = self.nibbles[at as usize / 2..].first_chunk().copied().unwrap_or_default();
        u64::from_be_bytes(bytes) << (at % 2 * 4) >> (u64::BITS - 4 * count)
    }

    /// Appends `name`, relative to the anchor. A NUL and more bytes may follow the name.
    pub fn put<const NATURAL: bool>(&self, name: &[u8], key: &mut impl Bits) {
        let alike = shared(&self.name, name).min(self.starts.len() - 1);
        let (byte, nibble) = self.starts[alike];
        let mut symbols = Symbols::<NATURAL>::new(name, usize::from(byte));
        let mut at = u32::from(nibble);
        while at < self.n {
            let (value, count) = symbols.next();
            let ours = self.window(at, count);
            if value == ours {
                at += count;
                continue;
            }
            // If the anchor ends before they differ, `at` becomes n, and so does what is written.
            let left = (u64::BITS - (value ^ ours).leading_zeros()).div_ceil(4);
            at += count - left;
            let compares = u64::from(if value < ours { at } else { 2 * self.n - at });
            let value = value & ((1 << (4 * left)) - 1);
            key.put(compares << (4 * left) | value, 8 + 4 * left);
            return put_rest(symbols, key);
        }
        key.put(u64::from(self.n), 8);
        put_rest(symbols, key);
    }
}

/// Appends the remaining symbols, including the end.
fn put_rest<const NATURAL: bool>(mut symbols: Symbols<'_, NATURAL>, key: &mut impl Bits) {
    while !symbols.ended() && !key.is_full() {
        let (value, count) = symbols.next();
        key.put(value, 4 * count);
    }
}

/// Returns the number of equal leading bytes. They are compared 16 at a time, as names of a run mostly have
/// more than 16 in common and less than 32.
fn shared(a: &[u8], b: &[u8]) -> usize {
    let most = a.len().min(b.len());
    let mut alike = 0;
    while alike < most {
        let low = word(a, alike) ^ word(b, alike);
        let high = word(a, alike + 8) ^ word(b, alike + 8);
        let differing = u128::from(high) << 64 | u128::from(low);
        alike += differing.trailing_zeros() as usize / 8;
        if differing != 0 {
            break;
        }
    }
    alike.min(most)
}

#[cfg(test)]
mod tests {
    use super::super::Key;
    use super::super::bits::KeyHead;
    use super::*;

    fn key<const NATURAL: bool>(anchor: &[u8], name: &[u8]) -> Key {
        let mut head = KeyHead::default();
        Anchor::new::<NATURAL>(anchor).put::<NATURAL>(name, &mut head);
        head.key()
    }

    fn bytes(hex: u128) -> Key {
        Key([(hex >> 64) as u64, hex as u64])
    }

    #[test]
    fn a_key_has_the_difference_of_a_name_from_the_anchor() {
        // "a:12" is d61 c 3 4: six nibbles.
        let lexicographic = key::<false>;
        let (below, equal, above) = (b"a:1", b"a:12", b"a:20");
        assert_eq!(lexicographic(b"a:12", below), bytes(0x0500 << 112));
        assert_eq!(lexicographic(b"a:12", equal), bytes(0x0600 << 112));
        assert_eq!(lexicographic(b"a:12", above), bytes(0x0842_0000 << 96));
        assert_eq!(lexicographic(b"", above), bytes(0x00d6_1c42_0000 << 80));
        // "a:12" is f61 e 4 12: seven nibbles.
        let natural = key::<true>;
        assert_eq!(natural(b"a:12", b"a:012"), bytes(0x0700 << 112));
        assert_eq!(natural(b"a:12", b"a:1"), bytes(0x0431_0000 << 96));
        assert_eq!(natural(b"a:12", b"a:123"), bytes(0x0a51_2300 << 96));
        assert_eq!(natural(b"a:12", b"a:12x"), bytes(0x07f7_8000 << 96));
    }

    #[test]
    fn a_number_is_kept_whole_in_a_long_anchor() {
        let anchor = [&b"0123456789".repeat(11)[..], b":x"].concat();
        assert_eq!(Anchor::new::<true>(&anchor).n, 3 + 109 + 1 + 3);
        assert_eq!(Anchor::new::<true>(&b"1".repeat(118)).n, 0);
        assert_eq!(Anchor::new::<false>(&b"1".repeat(130)).n, 120);
        assert_eq!(Anchor::new::<false>(&b"x".repeat(130)).n, 120);
        let same = key::<true>(&anchor, &anchor[1..]);
        assert_eq!(same, bytes((3 + 109 + 1 + 3) << 120));
    }

    #[test]
    fn shared_bytes_are_counted_across_words() {
        for n in 0..30 {
            let a: Vec<u8> = (0..29).collect();
            let mut b = a.clone();
            if let Some(byte) = b.get_mut(n) {
                *byte ^= 0x40;
            }
            assert_eq!(shared(&a, &b), n.min(29));
            assert_eq!(shared(&a, &a[..n.min(29)]), n.min(29));
        }
    }
}
