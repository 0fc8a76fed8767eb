//! Bit writers for full keys, most significant bit first. [`KeyHead`] keeps the first 15 bytes and
//! [`KeyTail`] the bytes after them, so each order needs only one encoder.

use serde::{Deserialize, Serialize};

const HEAD_BYTES: usize = 15;

/// The first 15 bytes of a record's full key, big-endian, and a last byte that is 0 if the full key
/// has no more bytes. Keys compare as two unsigned integers.
///
/// If two equal keys are [decided](Key::is_decided), the records are equal in the sort order.
/// Otherwise the tails of the full keys must be compared ([`crate::Keyer::write_tail`]).
///
/// ```
/// use readmill_sort::Key;
///
/// let (short, long) = (Key::of(b"read:1"), Key::of(b"a name of more than 15 bytes"));
/// assert!(short.is_decided() && !long.is_decided());
/// assert!(long < short && short < Key::LAST);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key(pub [u64; 2]);

impl Key {
    /// Sorts after the key of every record, and marks the end of a source.
    pub const LAST: Key = Key([u64::MAX; 2]);

    pub fn of(full: &[u8]) -> Self {
        let mut bytes = [0; HEAD_BYTES + 1];
        let n = full.len().min(HEAD_BYTES);
        bytes[..n].copy_from_slice(&full[..n]);
        bytes[HEAD_BYTES] = u8::from(full.len() > HEAD_BYTES);
        Key::from_bits(u128::from_be_bytes(bytes))
    }

    fn from_bits(bits: u128) -> Self {
        Key([(bits >> 64) as u64, bits as u64])
    }

    /// Returns whether the key holds all bytes of the full key, so that no tail has to be compared.
    pub fn is_decided(self) -> bool {
        self.0[1] as u8 == 0
    }
}

/// A destination for the bits of a full key. Encoders are generic over it: they write to a
/// [`KeyHead`] when a record is added, and to a [`KeyTail`] when equal keys must be compared
/// further.
pub trait Bits {
    /// Appends the lowest `bits` bits (at most 64) of `value`, whose other bits must be 0.
    fn put_bits(&mut self, value: u64, bits: u32);

    fn is_full(&self) -> bool;

    /// Appends text without NUL, then a terminating NUL, which sorts before every other byte.
    fn put_text(&mut self, text: &[u8]) {
        self.put_bytes(text.iter().copied());
    }

    /// Appends bytes other than 0, then a terminating 0.
    fn put_bytes(&mut self, bytes: impl Iterator<Item = u8>) {
        for byte in bytes {
            if self.is_full() {
                return;
            }
            self.put_bits(u64::from(byte), 8);
        }
        self.put_bits(0, 8);
    }
}

pub fn bits_needed(largest: u64) -> u32 {
    u64::BITS - largest.leading_zeros()
}

const HEAD_BITS: u32 = 8 * HEAD_BYTES as u32;

#[derive(Default)]
pub struct KeyHead {
    bits: u128,
    used: u32,
}

impl KeyHead {
    pub fn key(self) -> Key {
        Key::from_bits(self.bits << 8 | u128::from(self.used > HEAD_BITS))
    }
}

impl Bits for KeyHead {
    #[inline]
    fn put_bits(&mut self, value: u64, bits: u32) {
        debug_assert!(bits == 64 || value >> bits == 0);
        let end = self.used + bits;
        if end <= HEAD_BITS {
            self.bits |= u128::from(value) << (HEAD_BITS - end);
            self.used = end;
        } else if !self.is_full() {
            self.bits |= u128::from(value) >> (end - HEAD_BITS);
            self.used = HEAD_BITS + 1;
        }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.used > HEAD_BITS
    }
}

pub struct KeyTail<'a> {
    bytes: &'a mut Vec<u8>,
    /// The bits written so far. Only the lowest `used` bits (fewer than 8) are not in `bytes` yet.
    bits: u64,
    used: u32,
}

impl<'a> KeyTail<'a> {
    pub fn new(bytes: &'a mut Vec<u8>) -> Self {
        bytes.clear();
        KeyTail { bytes, bits: 0, used: 0 }
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.used = 0;
    }

    /// Pads the last byte with zeros, and removes the first 15 bytes, which [`KeyHead`] keeps.
    pub fn finish_tail(mut self) {
        self.put_bits(0, (8 - self.used) % 8);
        self.bytes.drain(..self.bytes.len().min(HEAD_BYTES));
    }
}

impl Bits for KeyTail<'_> {
    fn put_bits(&mut self, value: u64, bits: u32) {
        if bits > 32 {
            self.put_bits(value >> 32, bits - 32);
            return self.put_bits(value & u64::from(u32::MAX), 32);
        }
        self.bits = self.bits << bits | value;
        self.used += bits;
        while self.used >= 8 {
            self.used -= 8;
            self.bytes.push((self.bits >> self.used) as u8);
        }
    }

    fn is_full(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(puts: &[(u64, u32)]) -> (Key, Vec<u8>) {
        let (mut head, mut bytes) = (KeyHead::default(), vec![9]);
        let mut rest = KeyTail::new(&mut bytes);
        for &(value, bits) in puts {
            head.put_bits(value, bits);
            rest.put_bits(value, bits);
        }
        rest.finish_tail();
        (head.key(), bytes)
    }

    #[test]
    fn fifteen_bytes_are_decided_and_one_bit_more_is_not() {
        let (key, rest) = both(&[(0xab, 8), (u64::MAX, 64), (1, 48)]);
        assert_eq!(key, Key([0xabff_ffff_ffff_ffff, 0xff00_0000_0000_0100]));
        assert!(key.is_decided() && rest.is_empty());
        let (key, rest) = both(&[(0xab, 8), (u64::MAX, 64), (1, 48), (1, 1)]);
        assert_eq!(key, Key([0xabff_ffff_ffff_ffff, 0xff00_0000_0000_0101]));
        assert_eq!((key.is_decided(), rest), (false, vec![0x80]));
    }

    #[test]
    fn a_value_may_lie_across_the_border() {
        let (key, rest) = both(&[(0, 64), (0x123, 52), (0xabcd, 16), (5, 3)]);
        assert_eq!(key, Key([0, 0x0000_0000_0012_3a01]));
        assert_eq!(rest, [0xbc, 0xda]);
    }

    #[test]
    fn both_agree_with_the_key_of_the_bytes() {
        let text = b"a text longer than fifteen bytes";
        let (mut head, mut bytes) = (KeyHead::default(), Vec::new());
        head.put_text(text);
        let mut rest = KeyTail::new(&mut bytes);
        rest.put_text(text);
        rest.finish_tail();
        assert_eq!(head.key(), Key::of(text));
        assert_eq!(bytes, b"han fifteen bytes\0");
    }
}
