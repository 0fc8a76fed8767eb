//! Encodes names as symbols of whole nibbles. Digits, which are most of a name, take one each.
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
//! Leading zeros of a number do not count: `x1` and `x01` are the same name. Bytes compare unsigned, and
//! as in C a NUL ends a name.

/// Symbols that are read at once, or a part of one: the nibbles, and their number, at most twelve.
pub type Nibbles = (u64, u32);

/// The longest number that is read at once.
const SHORT: u32 = 10;

/// A cursor over the symbols of a name.
pub struct Symbols<'a, const IS_NATURAL: bool> {
    name: &'a [u8],
    at: usize,
    /// Remaining digits of a long number.
    digits: u32,
    ended: bool,
}

impl<'a, const IS_NATURAL: bool> Symbols<'a, IS_NATURAL> {
    /// Starts at the symbol at byte `at` of `name`. If a NUL ends the name, more bytes may follow in the same
    /// slice; that is faster.
    pub fn new(name: &'a [u8], at: usize) -> Self {
        Symbols { name, at, digits: 0, ended: false }
    }

    /// Whether the end of the name was returned.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Returns the next symbols; after the last byte, the end.
    #[inline]
    pub fn next(&mut self) -> Nibbles {
        if IS_NATURAL && self.digits > 0 {
            return self.more_digits();
        }
        let byte = self.name.get(self.at).copied().unwrap_or(0);
        match (byte, IS_NATURAL) {
            (b'0'..=b'9', true) => return self.number(),
            (b'0'..=b':', false) => return self.digits_and_colons(),
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

    /// Reads a number and the colon or the end after it; or the symbol of a long number's length.
    #[inline]
    fn number(&mut self) -> Nibbles {
        let word = word(self.name, self.at) ^ ZEROS;
        let length = up_to(word, 9);
        if length == 8 {
            return self.long_number();
        }
        let digits = first(word, length);
        // Most numbers have no zeros in front.
        let (value, count) = if word & 0xff != 0 { short(digits, length) } else { trimmed(digits) };
        let byte = (word >> (8 * length)) as u8 ^ b'0';
        let (colon, end) = (byte == b':', byte == 0);
        self.at += length as usize + usize::from(colon);
        self.ended = end;
        let more = u32::from(colon | end);
        ((value << (4 * more)) | (14 * u64::from(colon)), count + more)
    }

    /// Reads up to eight digits and colons, whose symbols are 2 to 12 as their bytes are 0 to 10 above `0`,
    /// and the end after fewer than eight.
    #[inline]
    fn digits_and_colons(&mut self) -> Nibbles {
        let word = word(self.name, self.at) ^ ZEROS;
        let length = up_to(word, 10);
        self.at += length as usize;
        let value = first(word.wrapping_add(0x0202_0202_0202_0202), length);
        self.ended = length < 8 && (word >> (8 * (length % 8))) as u8 == b'0';
        let end = u32::from(self.ended);
        (value << (4 * end), length + end)
    }

    /// Reads a number of eight digits or more, including leading zeros.
    #[cold]
    fn long_number(&mut self) -> Nibbles {
        let rest = &self.name[self.at..];
        let zeros = rest.iter().take_while(|&&byte| byte == b'0').count();
        let digits = rest[zeros..].iter().take_while(|byte| byte.is_ascii_digit()).count() as u32;
        self.at += zeros;
        self.digits = digits;
        if digits > SHORT {
            return (13 << 8 | u64::from(digits), 3);
        }
        short(if digits > 0 { self.more_digits().0 } else { 0 }, digits)
    }

    fn more_digits(&mut self) -> Nibbles {
        let n = self.digits.min(SHORT);
        let (from, to) = (self.at, self.at + n as usize);
        (self.at, self.digits) = (to, self.digits - n);
        let digits = self.name[from..to].iter();
        (digits.fold(0, |value, byte| value << 4 | u64::from(byte - b'0')), n)
    }
}

/// Returns the symbol of a number of at most ten digits, which have a nibble each.
#[inline]
fn short(nibbles: u64, digits: u32) -> Nibbles {
    (u64::from(digits + 2) << (4 * digits) | nibbles, digits + 1)
}

/// The same where zeros may be in front.
fn trimmed(nibbles: u64) -> Nibbles {
    short(nibbles, (u64::BITS - nibbles.leading_zeros()).div_ceil(4))
}

/// Eight bytes `0`.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Returns eight bytes of `name` from `at` on, the first lowest; zeros after the last.
#[inline]
pub fn word(name: &[u8], at: usize) -> u64 {
    match name.get(at..at + 8) {
        Some(&[a, b, c, d, e, f, g, h]) => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => last_word(name, at),
    }
}

#[cold]
fn last_word(name: &[u8], at: usize) -> u64 {
    let rest = name.get(at..).unwrap_or_default();
    rest.iter().take(8).rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Returns the number of bytes before the first that is above `most`, which is less than 128.
#[inline]
fn up_to(word: u64, most: u64) -> u32 {
    // A byte above overflows into its highest bit, and from there at most into later bytes.
    let above = (word.wrapping_add((127 - most) * 0x0101_0101_0101_0101) | word) & 0x8080_8080_8080_8080;
    above.trailing_zeros() / 8
}

/// Returns the lower nibbles of the first `length` bytes, at least one, packed.
#[inline]
fn first(word: u64, length: u32) -> u64 {
    let bytes = (word << (u64::BITS - 8 * length)).swap_bytes() & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = (bytes | bytes >> 4) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    (fours | fours >> 16) & 0xffff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The symbols of a name as hexadecimal digits.
    fn symbols<const IS_NATURAL: bool>(name: &[u8]) -> String {
        let (mut symbols, mut text) = (Symbols::<IS_NATURAL>::new(name, 0), String::new());
        while !symbols.ended() {
            let (value, count) = symbols.next();
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
}
