//! Encodes read names as symbols of one or more nibbles (4 bits), so that longer names fit into a
//! key. Digits, the most frequent characters of names, take one nibble each.
//!
//! | symbol | lexicographic | natural |
//! |---|---|---|
//! | end of the name | 0 | 0 |
//! | a byte below `0` | 1, byte | 1, byte |
//! | digit | 2 + digit | |
//! | number of at most ten digits | | 2 + digits, digits |
//! | longer number | | 13, number of digits in a byte, digits |
//! | `:` | 12 | 14 |
//! | a byte above `:` | 13, byte | 15, byte |
//!
//! In natural order, leading zeros of a number are ignored: `x1` and `x01` are the same name. Bytes
//! compare as unsigned numbers, and NUL ends a name, as in C.
//!
//! # The anchor
//!
//! Names of one sequencing run share a long prefix. A key therefore encodes a name relative to one
//! of them, the [`Anchor`], and omits the part that both share.
//!
//! Let A be the nibbles of the anchor, n their number, and R the nibbles of a name. The key has one
//! byte for the result of comparing R with A, then the nibbles of R from the first different one:
//!
//! | | byte | nibbles of R from |
//! |---|---|---|
//! | R < A, the first l nibbles are equal | l | l |
//! | R begins with A | n | n |
//! | R > A, the first l nibbles are equal | 2n - l | l |
//!
//! Of two names below the anchor, the one that differs from it earlier is smaller. Of two names
//! above the anchor, the one that differs earlier is greater. If both differ at the same nibble,
//! the remaining nibbles decide. So the order does not depend on the anchor. R cannot end within A:
//! A is stored without its end symbol, and no other symbol matches the end of R.

use super::bits::Bits;

/// One or more symbols that are read together, or part of one symbol: the nibbles, right-aligned,
/// and their number (at most twelve).
pub type Nibbles = (u64, u32);

const MAX_SHORT_DIGITS: u32 = 10;

pub struct Symbols<'a, const IS_NATURAL: bool> {
    name: &'a [u8],
    at: usize,
    /// Remaining digits of a number that has more than ten digits.
    digits: u32,
    ended: bool,
}

impl<'a, const IS_NATURAL: bool> Symbols<'a, IS_NATURAL> {
    /// Starts at byte `at` of `name`, which must be the first byte of a symbol. `name` may continue
    /// after the terminating NUL, which makes reading whole words faster.
    pub fn new(name: &'a [u8], at: usize) -> Self {
        Symbols { name, at, digits: 0, ended: false }
    }

    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns the next symbols. The symbol after the last byte of the name is its end.
    #[inline]
    pub fn next_symbols(&mut self) -> Nibbles {
        if IS_NATURAL && self.digits > 0 {
            return self.read_more_digits();
        }
        let byte = self.name.get(self.at).copied().unwrap_or(0);
        match (byte, IS_NATURAL) {
            (b'0'..=b'9', true) => return self.read_number(),
            (b'0'..=b':', false) => return self.read_digits_and_colons(),
            _ => self.at += 1,
        }
        self.ended = byte == 0;
        match byte {
            0 => (0, 1),
            1..b'0' => (1 << 8 | u64::from(byte), 3),
            b':' => (14, 1),
            _ if IS_NATURAL => (15 << 8 | u64::from(byte), 3),
            _ => (13 << 8 | u64::from(byte), 3),
        }
    }

    /// Reads a number, and the colon or the end of the name if one follows. Of a number with more
    /// than ten digits, reads only the symbol for its length.
    #[inline]
    fn read_number(&mut self) -> Nibbles {
        let word = load_word(self.name, self.at) ^ ZEROS;
        let length = count_bytes_up_to(word, 9);
        if length == 8 {
            return self.read_long_number();
        }
        let digits = pack_nibbles(word, length);
        // Most numbers have no leading zeros.
        let (value, count) = if word & 0xff != 0 {
            pack_number_symbol(digits, length)
        } else {
            pack_trimmed_number_symbol(digits)
        };
        let byte = (word >> (8 * length)) as u8 ^ b'0';
        let (colon, end) = (byte == b':', byte == 0);
        self.at += length as usize + usize::from(colon);
        self.ended = end;
        let more = u32::from(colon | end);
        ((value << (4 * more)) | (14 * u64::from(colon)), count + more)
    }

    /// Reads up to eight digits and colons, and the end of the name if it follows fewer than eight.
    /// In ASCII, digits and colons are `0` plus 0 to 10; they become the symbols 2 to 12.
    #[inline]
    fn read_digits_and_colons(&mut self) -> Nibbles {
        let word = load_word(self.name, self.at) ^ ZEROS;
        let length = count_bytes_up_to(word, 10);
        self.at += length as usize;
        let value = pack_nibbles(word.wrapping_add(0x0202_0202_0202_0202), length);
        self.ended = length < 8 && (word >> (8 * (length % 8))) as u8 == b'0';
        let end = u32::from(self.ended);
        (value << (4 * end), length + end)
    }

    #[cold]
    fn read_long_number(&mut self) -> Nibbles {
        let rest = &self.name[self.at..];
        let zeros = rest.iter().take_while(|&&byte| byte == b'0').count();
        let digits = rest[zeros..].iter().take_while(|byte| byte.is_ascii_digit()).count() as u32;
        self.at += zeros;
        self.digits = digits;
        if digits > MAX_SHORT_DIGITS {
            return (13 << 8 | u64::from(digits), 3);
        }
        pack_number_symbol(if digits > 0 { self.read_more_digits().0 } else { 0 }, digits)
    }

    fn read_more_digits(&mut self) -> Nibbles {
        let n = self.digits.min(MAX_SHORT_DIGITS);
        let (from, to) = (self.at, self.at + n as usize);
        (self.at, self.digits) = (to, self.digits - n);
        let digits = self.name[from..to].iter();
        (digits.fold(0, |value, byte| value << 4 | u64::from(byte - b'0')), n)
    }
}

/// Returns the symbol of a number of at most ten digits. `nibbles` has one nibble for each digit.
#[inline]
fn pack_number_symbol(nibbles: u64, digits: u32) -> Nibbles {
    (u64::from(digits + 2) << (4 * digits) | nibbles, digits + 1)
}

fn pack_trimmed_number_symbol(nibbles: u64) -> Nibbles {
    pack_number_symbol(nibbles, (u64::BITS - nibbles.leading_zeros()).div_ceil(4))
}

const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Loads eight bytes of `name`, starting at byte `at`, as a little-endian word. Bytes after the end
/// of `name` are 0.
#[inline]
pub fn load_word(name: &[u8], at: usize) -> u64 {
    match name.get(at..at + 8) {
        Some(&[a, b, c, d, e, f, g, h]) => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => load_last_word(name, at),
    }
}

#[cold]
fn load_last_word(name: &[u8], at: usize) -> u64 {
    let rest = name.get(at..).unwrap_or_default();
    rest.iter().take(8).rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Counts the bytes of `word`, from the lowest, before the first byte greater than `max_byte`.
/// `max_byte` is below 128.
#[inline]
fn count_bytes_up_to(word: u64, max_byte: u64) -> u32 {
    // A byte above `max_byte` overflows into its highest bit. A carry can only reach later bytes.
    let above =
        (word.wrapping_add((127 - max_byte) * 0x0101_0101_0101_0101) | word) & 0x8080_8080_8080_8080;
    above.trailing_zeros() / 8
}

/// Packs the low nibbles of the first `length` bytes (1 to 8) of `word`. The first byte becomes the
/// highest nibble.
#[inline]
fn pack_nibbles(word: u64, length: u32) -> u64 {
    let bytes = (word << (u64::BITS - 8 * length)).swap_bytes() & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = (bytes | bytes >> 4) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    (fours | fours >> 16) & 0xffff_ffff
}

/// Maximum number of nibbles of an anchor. Twice this number must fit into a byte.
const MAX_ANCHOR_NIBBLES: usize = 120;

/// Pads the nibbles of an anchor. No symbol continues with this nibble, so no name matches the
/// padding.
const PADDING_NIBBLE: u8 = 15;

/// A read name relative to which other names are encoded, to keep their keys short.
pub struct Anchor {
    /// The part of the name that is used, followed by 16 zero bytes so that whole words can be
    /// read.
    name: Vec<u8>,
    /// Indexed by the length of the prefix that a name shares with the anchor: the byte and the
    /// nibble at which the first symbol that can differ starts. If the prefix ends within or after
    /// a number, this is the start of the number, because the other name's number may have more
    /// digits.
    starts: Vec<(u8, u8)>,
    /// The nibbles of the anchor, two per byte, padded with [`PADDING_NIBBLE`] so that a window may
    /// extend beyond the end.
    nibbles: Vec<u8>,
    nibble_count: u32,
}

impl Anchor {
    pub fn empty() -> Self {
        Self::new::<false>(b"")
    }

    /// Creates an anchor from the first symbols of `name`, at most [`MAX_ANCHOR_NIBBLES`] nibbles.
    /// Numbers are never split.
    pub fn new<const NATURAL: bool>(name: &[u8]) -> Self {
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        let name = &name[..name.len().min(usize::from(u8::MAX))];
        let (mut nibbles, mut starts, mut byte) = (Vec::new(), vec![(0, 0)], 0);
        while byte < name.len() {
            let digits = name[byte..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number = NATURAL && digits > 0;
            let (end, n) = (byte + if number { digits } else { 1 }, nibbles.len());
            let mut symbols = Symbols::<NATURAL>::new(&name[..end], byte);
            while !symbols.has_ended() {
                let (value, count) = symbols.next_symbols();
                nibbles.extend((0..count).rev().map(|i| (value >> (4 * i)) as u8 & 15));
            }
            nibbles.pop(); // the end of the name
            if nibbles.len() > MAX_ANCHOR_NIBBLES {
                nibbles.truncate(n);
                break;
            }
            let start = if number { (byte, n) } else { (end, nibbles.len()) };
            starts.extend((byte..end).map(|_| (start.0 as u8, start.1 as u8)));
            byte = end;
        }
        let n = nibbles.len() as u32;
        nibbles.resize(nibbles.len().next_multiple_of(2) + 16, PADDING_NIBBLE);
        let nibbles = nibbles.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        let name = [&name[..byte], &[0; 16]].concat();
        Anchor { name, starts, nibbles, nibble_count: n }
    }

    fn window(&self, at: u32, count: u32) -> u64 {
        let bytes = self.nibbles[at as usize / 2..].first_chunk().copied().unwrap_or_default();
        u64::from_be_bytes(bytes) << (at % 2 * 4) >> (u64::BITS - 4 * count)
    }

    /// Writes `name` to `key`, relative to the anchor. `name` may continue after its terminating
    /// NUL.
    pub fn put_name<const NATURAL: bool>(&self, name: &[u8], key: &mut impl Bits) {
        let alike = measure_common_prefix(&self.name, name).min(self.starts.len() - 1);
        let (byte, nibble) = self.starts[alike];
        let mut symbols = Symbols::<NATURAL>::new(name, usize::from(byte));
        let mut at = u32::from(nibble);
        while at < self.nibble_count {
            let (value, count) = symbols.next_symbols();
            let ours = self.window(at, count);
            if value == ours {
                at += count;
                continue;
            }
            // If the anchor ends before the first difference, both `at` and `compares` become n.
            let left = (u64::BITS - (value ^ ours).leading_zeros()).div_ceil(4);
            at += count - left;
            let compares = u64::from(if value < ours { at } else { 2 * self.nibble_count - at });
            let value = value & ((1 << (4 * left)) - 1);
            key.put_bits(compares << (4 * left) | value, 8 + 4 * left);
            return put_symbols(symbols, key);
        }
        key.put_bits(u64::from(self.nibble_count), 8);
        put_symbols(symbols, key);
    }
}

fn put_symbols<const NATURAL: bool>(mut symbols: Symbols<'_, NATURAL>, key: &mut impl Bits) {
    while !symbols.has_ended() && !key.is_full() {
        let (value, count) = symbols.next_symbols();
        key.put_bits(value, 4 * count);
    }
}

/// Returns the length of the common prefix of `a` and `b`. Compares 16 bytes at a time: names of
/// one sequencing run usually share between 16 and 32 bytes.
fn measure_common_prefix(a: &[u8], b: &[u8]) -> usize {
    let max_length = a.len().min(b.len());
    let mut alike = 0;
    while alike < max_length {
        let low = load_word(a, alike) ^ load_word(b, alike);
        let high = load_word(a, alike + 8) ^ load_word(b, alike + 8);
        let differing = u128::from(high) << 64 | u128::from(low);
        alike += differing.trailing_zeros() as usize / 8;
        if differing != 0 {
            break;
        }
    }
    alike.min(max_length)
}

#[cfg(test)]
mod tests {
    use super::super::Key;
    use super::super::bits::KeyHead;
    use super::*;

    fn symbols<const IS_NATURAL: bool>(name: &[u8]) -> String {
        let (mut symbols, mut text) = (Symbols::<IS_NATURAL>::new(name, 0), String::new());
        while !symbols.has_ended() {
            let (value, count) = symbols.next_symbols();
            text.push_str(&format!("{value:0width$x}", width = count as usize));
        }
        text
    }

    #[test]
    fn names_are_written_as_stated() {
        for (name, natural, lexicographic) in [
            ("", "0", "0"),
            ("a", "f610", "d610"),
            ("!/:;", "12112fef3b0", "12112fcd3b0"),
            ("0", "20", "20"),
            ("00100:0", "5100e20", "22322c20"),
            ("1234567", "912345670", "34567890"),
            ("12345678:", "a12345678e0", "3456789ac0"),
            ("12:45:7890", "412e445e678900", "34c67c9ab20"),
        ] {
            assert_eq!(symbols::<true>(name.as_bytes()), natural, "{name}");
            assert_eq!(symbols::<false>(name.as_bytes()), lexicographic, "{name}");
            let beyond = [name.as_bytes(), b"\x007:x9"].concat();
            assert_eq!(symbols::<true>(&beyond), natural, "{name} and more behind its NUL");
            assert_eq!(symbols::<false>(&beyond), lexicographic, "{name} and more behind its NUL");
        }
    }

    #[test]
    fn numbers_of_every_length_are_written() {
        for digits in 0..40usize {
            for zeros in usize::from(digits == 0)..12 {
                let number: String = "1234567890".chars().cycle().take(digits).collect();
                let head =
                    if digits > 10 { format!("d{digits:02x}") } else { format!("{:x}", digits + 2) };
                for (behind, symbol) in [("", ""), (":", "e"), ("x", "f78"), ("-", "12d")] {
                    let name = format!("{}{number}{behind}", "0".repeat(zeros));
                    assert_eq!(symbols::<true>(name.as_bytes()), format!("{head}{number}{symbol}0"));
                }
            }
        }
    }

    fn key<const NATURAL: bool>(anchor: &[u8], name: &[u8]) -> Key {
        let mut head = KeyHead::default();
        Anchor::new::<NATURAL>(anchor).put_name::<NATURAL>(name, &mut head);
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
        assert_eq!(Anchor::new::<true>(&anchor).nibble_count, 3 + 109 + 1 + 3);
        assert_eq!(Anchor::new::<true>(&b"1".repeat(118)).nibble_count, 0);
        assert_eq!(Anchor::new::<false>(&b"1".repeat(130)).nibble_count, 120);
        assert_eq!(Anchor::new::<false>(&b"x".repeat(130)).nibble_count, 120);
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
            assert_eq!(measure_common_prefix(&a, &b), n.min(29));
            assert_eq!(measure_common_prefix(&a, &a[..n.min(29)]), n.min(29));
        }
    }
}
