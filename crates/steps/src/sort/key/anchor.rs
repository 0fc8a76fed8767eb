//! Names of one run begin alike. What they share with one of them, the anchor, is left out of keys.
//!
//! With A the nibbles of the anchor, n of them, and R those of a name, a key has one byte that says how
//! R compares with A, then the nibbles of R from the first that differs on:
//!
//! | | byte | from |
//! |---|---|---|
//! | R < A, alike for l nibbles | l | l |
//! | R begins with A | n | n |
//! | R > A, alike for l nibbles | 2n - l | l |
//!
//! Of two names below the anchor, the one that leaves it earlier is the smaller; above it, the greater;
//! and where both leave it at once, the nibbles decide. So the order is the same for every anchor.
//! R never ends within A: its end is a symbol that A, being without its own, does not have.

use super::bits::Bits;
use super::symbols::Symbols;

/// Most nibbles of an anchor, so that 2n fits a byte.
const LIMIT: usize = 120;

/// A name that others are compared with.
pub struct Anchor {
    name: Vec<u8>,
    /// For each number of leading bytes: the byte and the nibble at which the symbol starts that decides
    /// what comes next. A number may go on after its last byte here, so that is the number itself.
    starts: Vec<(u8, u8)>,
    /// Nibbles, two a byte, and eight bytes more.
    nibbles: Vec<u8>,
    n: u32,
}

impl Anchor {
    /// No name is shortened.
    pub fn none() -> Self {
        Self::new::<false>(b"")
    }

    /// As many symbols of `name` as fit.
    pub fn new<const NATURAL: bool>(name: &[u8]) -> Self {
        let mut symbols = Symbols::<NATURAL>::new(name);
        let (mut nibbles, mut starts) = (Vec::new(), vec![(0, 0)]);
        while !symbols.rest().is_empty() {
            let (byte, n) = (name.len() - symbols.rest().len(), nibbles.len());
            push(&mut nibbles, symbols.next());
            while !symbols.at_border() {
                push(&mut nibbles, symbols.next());
            }
            if symbols.ended() || nibbles.len() > LIMIT {
                nibbles.truncate(n);
                break;
            }
            let end = name.len() - symbols.rest().len();
            let number = NATURAL && name[byte].is_ascii_digit();
            let start = if number { (byte as u8, n as u8) } else { (end as u8, nibbles.len() as u8) };
            starts.extend((byte..end).map(|_| start));
        }
        let n = nibbles.len() as u32;
        nibbles.resize(nibbles.len().next_multiple_of(2) + 16, 0);
        let nibbles = nibbles.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        Anchor { name: name[..starts.len() - 1].to_vec(), starts, nibbles, n }
    }

    /// `count` nibbles from the one at `at` on.
    fn window(&self, at: u32, count: u32) -> u64 {
        let bytes = self.nibbles[at as usize / 2..].first_chunk().copied().unwrap_or_default();
        u64::from_be_bytes(bytes) << (at % 2 * 4) >> (u64::BITS - 4 * count)
    }

    /// Appends `name` as it compares with the anchor.
    pub fn put<const NATURAL: bool>(&self, name: &[u8], key: &mut impl Bits) {
        let (byte, nibble) = self.starts[shared(&self.name, name)];
        let mut symbols = Symbols::<NATURAL>::new(&name[usize::from(byte)..]);
        let mut at = u32::from(nibble);
        while at < self.n {
            let (value, count) = symbols.next();
            let ours = self.window(at, count);
            if value == ours {
                at += count;
                continue;
            }
            let differing = u64::BITS - (value ^ ours).leading_zeros();
            let left = differing.div_ceil(4);
            at += count - left;
            let compares = if value < ours { at } else { 2 * self.n - at };
            key.put(u64::from(compares), 8);
            key.put(value & ((1 << (4 * left)) - 1), 4 * left);
            return rest(symbols, key);
        }
        key.put(u64::from(self.n), 8);
        rest(symbols, key);
    }
}

fn push(nibbles: &mut Vec<u8>, (value, count): (u64, u32)) {
    nibbles.extend((0..count).rev().map(|i| (value >> (4 * i)) as u8 & 15));
}

/// Appends the symbols that are left, the end included.
fn rest<const NATURAL: bool>(mut symbols: Symbols<'_, NATURAL>, key: &mut impl Bits) {
    while !symbols.ended() && !key.is_full() {
        let (value, count) = symbols.next();
        key.put(value, 4 * count);
    }
}

/// Number of leading bytes that are the same.
fn shared(a: &[u8], b: &[u8]) -> usize {
    let words = a.chunks_exact(8).zip(b.chunks_exact(8));
    let mut alike = 0;
    for (a, b) in words {
        let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let differing = word(a) ^ word(b);
        if differing != 0 {
            return alike + differing.trailing_zeros() as usize / 8;
        }
        alike += 8;
    }
    alike + a[alike..].iter().zip(&b[alike..]).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::super::Key;
    use super::super::bits::Head;
    use super::*;

    fn key<const NATURAL: bool>(anchor: &[u8], name: &[u8]) -> Key {
        let mut head = Head::default();
        Anchor::new::<NATURAL>(anchor).put::<NATURAL>(name, &mut head);
        head.key()
    }

    fn bytes(hex: u128) -> Key {
        Key([(hex >> 64) as u64, hex as u64])
    }

    #[test]
    fn a_key_says_how_a_name_leaves_the_anchor() {
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
