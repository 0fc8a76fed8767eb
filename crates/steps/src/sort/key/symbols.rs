//! Names as symbols of whole nibbles, such that digits, which names mostly are, take one each.
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

/// One symbol of a name, or a piece of one: its nibbles, and how many.
pub type Symbol = (u64, u32);

/// The longest number that is written in one piece.
const SHORT: usize = 10;

/// Walks the symbols of a name.
pub struct Symbols<'a, const NATURAL: bool> {
    rest: &'a [u8],
    /// Digits of a long number still to come.
    digits: usize,
    ended: bool,
}

impl<'a, const NATURAL: bool> Symbols<'a, NATURAL> {
    /// The symbols of `name`.
    pub fn new(name: &'a [u8]) -> Self {
        Symbols { rest: name, digits: 0, ended: false }
    }

    /// Whether the end of the name was given out.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Whether the next symbol starts with the next byte.
    pub fn at_border(&self) -> bool {
        self.digits == 0
    }

    /// Bytes not yet walked.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next symbol; after the last byte, the end.
    #[inline]
    pub fn next(&mut self) -> Symbol {
        if NATURAL && self.digits > 0 {
            return self.more_digits();
        }
        let Some((&byte, rest)) = self.rest.split_first() else { return self.end() };
        if NATURAL && byte.is_ascii_digit() {
            return self.number();
        }
        self.rest = rest;
        let value = u64::from(byte);
        match byte {
            0 => self.end(),
            1..b'0' => (1 << 8 | value, 3),
            b'0'..=b'9' => (value - u64::from(b'0') + 2, 1),
            b':' => (if NATURAL { 14 } else { 12 }, 1),
            _ => (if NATURAL { 15 } else { 13 } << 8 | value, 3),
        }
    }

    fn end(&mut self) -> Symbol {
        self.ended = true;
        (0, 1)
    }

    /// A number, or how long it is.
    #[inline]
    fn number(&mut self) -> Symbol {
        let (mut value, mut digits) = (0, 0);
        let mut rest = self.rest;
        while let Some((&byte @ b'0'..=b'9', after)) = rest.split_first() {
            value = value << 4 | u64::from(byte - b'0');
            digits += usize::from(digits > 0 || byte != b'0');
            rest = after;
        }
        if digits <= SHORT {
            self.rest = rest;
            return ((digits as u64 + 2) << (4 * digits) | value, digits as u32 + 1);
        }
        let start = self.rest.len() - rest.len() - digits;
        self.rest = &self.rest[start..];
        self.digits = digits;
        (13 << 8 | digits as u64, 3)
    }

    fn more_digits(&mut self) -> Symbol {
        let (now, rest) = self.rest.split_at(self.digits.min(SHORT));
        self.rest = rest;
        self.digits -= now.len();
        let value = now.iter().fold(0, |value, byte| value << 4 | u64::from(byte - b'0'));
        (value, now.len() as u32)
    }
}
