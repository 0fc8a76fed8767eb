//! Encodings: how the values of a data series are stored in the blocks of a slice (CRAM
//! specification 3.1, section 13).

use std::collections::HashMap;

use readmill_record::{Error, Result};

use crate::num::{ByteCursor, block_too_short, damaged_cram};

/// The encoding of a data series or a tag. Variants hold their parameters in the order of the
/// specification; bit codes begin with the offset.
///
/// External blocks are identified by their content id in a compression header, and by their index
/// in [`Streams`] after [`with_block_indexes`](Self::with_block_indexes).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SeriesEncoding {
    #[default]
    Null,
    /// Bytes, or ITF8 numbers, in an external block.
    External(i32),
    Golomb(i32, i32),
    /// Values that are all equal and take no bits: a Huffman code of one symbol.
    Constant(i32),
    Huffman(Huffman),
    /// Byte arrays: the encodings of their lengths and of their bytes.
    ArrayLength(Box<SeriesEncoding>, Box<SeriesEncoding>),
    /// Byte arrays in an external block, each followed by a stop byte.
    ArrayStop(u8, i32),
    Beta(i32, u32),
    Subexponential(i32, u32),
    Rice(i32, u32),
    Gamma(i32),
}

/// A canonical Huffman code. Only code lengths and symbols are stored, because they determine the
/// code words.
#[derive(Clone, Debug, PartialEq)]
pub struct Huffman {
    words: Vec<(u32, u32, i32)>,
}

impl Huffman {
    fn read(cursor: &mut ByteCursor<'_>) -> Result<Self> {
        let (symbols, lengths) = (cursor.read_itf8_list()?, cursor.read_itf8_list()?);
        let wrong = || damaged_cram("a Huffman code is invalid");
        if symbols.len() != lengths.len() {
            return Err(wrong());
        }
        if symbols.is_empty() {
            return Ok(Huffman { words: Vec::new() }); // for a series without values
        }
        let mut words: Vec<_> = lengths.into_iter().zip(symbols).collect();
        words.sort_unstable();
        if words.iter().any(|(length, _)| !(0..=31).contains(length)) {
            return Err(wrong());
        }
        let (mut word, mut last) = (0u32, words[0].0);
        let words = words.into_iter().enumerate().map(|(i, (length, symbol))| {
            if i > 0 {
                word = word.checked_add(1)? << (length - last);
            }
            last = length;
            Some((length as u32, word, symbol))
        });
        let words = words.collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
        if words.len() > 1 && (words[0].0 == 0 || words.iter().any(|&(n, word, _)| word >> n != 0)) {
            return Err(wrong());
        }
        Ok(Huffman { words })
    }

    fn decode(&self, bits: &mut CoreBits) -> Result<i32> {
        let (mut word, mut have) = (0, 0);
        let mut rest = &self.words[..];
        while let Some(&(length, first, _)) = rest.first() {
            word = word << (length - have) | bits.take_bits(length - have)?;
            have = length;
            // Words of the same length are consecutive numbers.
            let (same, longer) = rest.split_at(rest.partition_point(|it| it.0 == length));
            let known = word.checked_sub(first).and_then(|number| same.get(number as usize));
            if let Some(&(.., symbol)) = known {
                return Ok(symbol);
            }
            rest = longer;
        }
        Err(damaged_cram("a Huffman code word does not exist"))
    }
}

impl SeriesEncoding {
    pub fn read(cursor: &mut ByteCursor<'_>) -> Result<Self> {
        Self::read_nested(cursor, 0)
    }

    fn read_nested(cursor: &mut ByteCursor<'_>, depth: u32) -> Result<Self> {
        let (kind, length) = (cursor.read_itf8()?, cursor.read_count()?);
        let mut own = ByteCursor(cursor.take_bytes(length)?);
        let bits = |n: i32| {
            u32::try_from(n).ok().filter(|&n| n <= 32).ok_or_else(|| damaged_cram("too many bits"))
        };
        Ok(match kind {
            0 => SeriesEncoding::Null,
            1 => SeriesEncoding::External(own.read_itf8()?),
            2 => SeriesEncoding::Golomb(own.read_itf8()?, own.read_itf8()?.max(1)),
            3 => match Huffman::read(&mut own)? {
                Huffman { words } if matches!(words[..], [(0, ..)]) => Self::Constant(words[0].2),
                code => SeriesEncoding::Huffman(code),
            },
            4 if depth == 0 => {
                let (lengths, values) =
                    (Self::read_nested(&mut own, 1)?, Self::read_nested(&mut own, 1)?);
                SeriesEncoding::ArrayLength(Box::new(lengths), Box::new(values))
            }
            5 => SeriesEncoding::ArrayStop(own.read_byte()?, own.read_itf8()?),
            6 => match (own.read_itf8()?, bits(own.read_itf8()?)?) {
                (offset, 0) => SeriesEncoding::Constant(offset.wrapping_neg()),
                (offset, n) => SeriesEncoding::Beta(offset, n),
            },
            7 => SeriesEncoding::Subexponential(own.read_itf8()?, bits(own.read_itf8()?)?),
            8 => SeriesEncoding::Rice(own.read_itf8()?, bits(own.read_itf8()?)?),
            9 => SeriesEncoding::Gamma(own.read_itf8()?),
            other => {
                return Err(damaged_cram(format!(
                    "the encoding {other} is unknown, or not allowed here"
                )));
            }
        })
    }

    pub fn empty_array() -> Self {
        SeriesEncoding::ArrayLength(Box::new(Self::Constant(0)), Box::new(Self::Constant(0)))
    }

    /// Appends the content ids of the external blocks to `ids`. Returns false if the encoding uses
    /// the core block: all series share its bits, so none of them can be skipped.
    pub fn collect_block_ids(&self, ids: &mut Vec<i32>) -> bool {
        match self {
            SeriesEncoding::Null | SeriesEncoding::Constant(_) => true,
            SeriesEncoding::External(id) | SeriesEncoding::ArrayStop(_, id) => {
                ids.push(*id);
                true
            }
            SeriesEncoding::ArrayLength(lengths, values) => {
                let lengths = lengths.collect_block_ids(ids);
                values.collect_block_ids(ids) && lengths
            }
            SeriesEncoding::Huffman(code) => code.words.is_empty(),
            _ => false,
        }
    }

    pub fn with_block_indexes(&self, place: &impl Fn(i32) -> i32) -> Self {
        match self {
            SeriesEncoding::External(id) => SeriesEncoding::External(place(*id)),
            SeriesEncoding::ArrayStop(stop, id) => SeriesEncoding::ArrayStop(*stop, place(*id)),
            SeriesEncoding::ArrayLength(lengths, values) => SeriesEncoding::ArrayLength(
                lengths.with_block_indexes(place).into(),
                values.with_block_indexes(place).into(),
            ),
            other => other.clone(),
        }
    }

    /// Decodes the next number of the series.
    ///
    /// # Errors
    /// The block ends too early, or the encoding is for arrays.
    #[inline]
    pub fn read_number(&self, streams: &mut Streams) -> Result<i32> {
        match self {
            SeriesEncoding::External(at) => streams.read_itf8(*at),
            other => other.read_bit_coded(streams),
        }
    }

    fn read_bit_coded(&self, streams: &mut Streams) -> Result<i32> {
        let bits = &mut streams.core;
        let (value, offset) = match *self {
            SeriesEncoding::Constant(value) => return streams.count_constants(1).map(|()| value),
            SeriesEncoding::Huffman(ref code) => return code.decode(bits),
            SeriesEncoding::Beta(offset, n) => (bits.take_bits(n)?, offset),
            SeriesEncoding::Gamma(offset) => {
                let n = bits.count_unary(0)?;
                ((1u32 << n.min(31)) | bits.take_bits(n)?, offset)
            }
            SeriesEncoding::Subexponential(offset, k) => match bits.count_unary(1)? {
                0 => (bits.take_bits(k)?, offset),
                n if n + k <= 32 => (1 << (n + k - 1) | bits.take_bits(n + k - 1)?, offset),
                _ => return Err(damaged_cram("a number is too large")),
            },
            SeriesEncoding::Rice(offset, n) => {
                let high = bits.count_unary(1)?;
                (high.wrapping_shl(n) | bits.take_bits(n)?, offset)
            }
            SeriesEncoding::Golomb(offset, m) => {
                let (quotient, m) = (bits.count_unary(1)?, m as u32);
                let n = 32 - (m - 1).leading_zeros(); // bits of a remainder, or one less
                let spare = (1u64 << n) as u32 - m;
                let mut rest = if n == 0 { 0 } else { bits.take_bits(n - 1)? };
                if n > 0 && rest >= spare {
                    rest = (rest << 1 | bits.take_bits(1)?) - spare;
                }
                (quotient.wrapping_mul(m).wrapping_add(rest), offset)
            }
            SeriesEncoding::Null => return Err(damaged_cram("a required value is not stored")),
            _ => return Err(damaged_cram("an encoding of bytes is used for numbers")),
        };
        Ok(value.cast_signed().wrapping_sub(offset))
    }

    #[inline]
    pub fn read_byte(&self, streams: &mut Streams) -> Result<u8> {
        match self {
            SeriesEncoding::External(at) => streams.read_byte(*at),
            other => Ok(other.read_bit_coded(streams)? as u8),
        }
    }

    #[inline]
    pub fn read_bytes(&self, streams: &mut Streams, n: usize, out: &mut Vec<u8>) -> Result<()> {
        if let SeriesEncoding::External(at) = self {
            out.extend_from_slice(streams.take_bytes(*at, n)?);
            return Ok(());
        }
        for _ in 0..n {
            out.push(self.read_byte(streams)?);
        }
        Ok(())
    }

    /// Appends the next byte array to `out` and returns its length. `reserve` gets the length before
    /// memory is taken for the array, and returns an error if the array is too long.
    #[inline]
    pub fn read_array(
        &self,
        streams: &mut Streams,
        reserve: impl FnOnce(usize) -> Result<()>,
        out: &mut Vec<u8>,
    ) -> Result<usize> {
        match self {
            SeriesEncoding::ArrayStop(stop, at) => {
                let stream = streams.external_block(*at)?;
                let rest = &stream.bytes[stream.at..];
                let n = memchr::memchr(*stop, rest).ok_or_else(block_too_short)?;
                reserve(n)?;
                out.extend_from_slice(&rest[..n]);
                stream.at += n + 1;
                Ok(n)
            }
            SeriesEncoding::ArrayLength(lengths, values) => {
                let n = usize::try_from(lengths.read_number(streams)?);
                let n = n.map_err(|_| damaged_cram("the length of an array is negative"))?;
                reserve(n)?;
                values.read_bytes(streams, n, out)?;
                Ok(n)
            }
            SeriesEncoding::Null => Err(damaged_cram("a required value is not stored")),
            _ => Err(damaged_cram("an encoding of numbers is used for bytes")),
        }
    }
}

#[derive(Default)]
pub struct CoreBits {
    pub bytes: Vec<u8>,
    at: usize,
}

impl CoreBits {
    pub fn restart(&mut self) {
        self.at = 0;
    }

    fn take_bits(&mut self, n: u32) -> Result<u32> {
        let end = self.at + n as usize;
        if end > 8 * self.bytes.len() {
            return Err(block_too_short());
        }
        let mut value = 0;
        for at in self.at..end {
            value = value << 1 | u32::from(self.bytes[at / 8] >> (7 - at % 8) & 1);
        }
        self.at = end;
        Ok(value)
    }

    /// Counts the bits equal to `bit` before the next different bit, and consumes that bit as well.
    /// A count above 31 is an error.
    fn count_unary(&mut self, bit: u32) -> Result<u32> {
        let mut n = 0;
        while self.take_bits(1)? == bit {
            n += 1;
            if n > 31 {
                return Err(damaged_cram("a number is too large"));
            }
        }
        Ok(n)
    }
}

#[derive(Default)]
pub struct ExternalBlock {
    pub id: i32,
    pub bytes: Vec<u8>,
    pub at: usize,
}

/// The blocks of a slice from which values are decoded. A decoder reuses it, and its memory, from
/// slice to slice.
#[derive(Default)]
pub struct Streams {
    pub core: CoreBits,
    /// External blocks. Those from index `used` on are from earlier slices and kept for their
    /// memory.
    pub external: Vec<ExternalBlock>,
    pub used: usize,
    /// How many more values that take no bits a container may have. Its blocks limit the number of
    /// all other values; without this limit, a few bytes could keep the decoder busy for years.
    pub constants_left: usize,
}

#[cold]
fn too_many_values() -> Error {
    damaged_cram("a container has more values than its data can contain")
}

/// Index of a block that the slice lacks. Reading from it is an error.
pub const MISSING_BLOCK: i32 = i32::MAX;

impl Streams {
    /// Returns the index of each external block by its content id. If several have the same id, it
    /// is the index of the first one.
    pub fn block_indexes(&self) -> HashMap<i32, i32> {
        let blocks = self.external[..self.used].iter().enumerate();
        blocks.rev().map(|(index, block)| (block.id, index as i32)).collect()
    }

    /// Counts `n` values, or other steps, that take no bits.
    ///
    /// # Errors
    /// There are more of them than a valid container can have.
    #[inline]
    pub fn count_constants(&mut self, n: usize) -> Result<()> {
        self.constants_left = self.constants_left.checked_sub(n).ok_or_else(too_many_values)?;
        Ok(())
    }

    #[inline]
    fn external_block(&mut self, at: i32) -> Result<&mut ExternalBlock> {
        self.external[..self.used].get_mut(at as usize).ok_or_else(|| damaged_cram("a block is missing"))
    }

    #[inline]
    fn read_byte(&mut self, at: i32) -> Result<u8> {
        let stream = self.external_block(at)?;
        let byte = *stream.bytes.get(stream.at).ok_or_else(block_too_short)?;
        stream.at += 1;
        Ok(byte)
    }

    #[inline]
    fn read_itf8(&mut self, at: i32) -> Result<i32> {
        let stream = self.external_block(at)?;
        let rest = &stream.bytes[stream.at..];
        if let Some(&byte) = rest.first().filter(|&&byte| byte < 0x80) {
            stream.at += 1;
            return Ok(i32::from(byte));
        }
        let mut cursor = ByteCursor(rest);
        let number = cursor.read_itf8()?;
        stream.at += rest.len() - cursor.0.len();
        Ok(number)
    }

    #[inline]
    fn take_bytes(&mut self, at: i32, n: usize) -> Result<&[u8]> {
        if n == 0 {
            return Ok(&[]); // htslib does not write blocks without bytes
        }
        let stream = self.external_block(at)?;
        let taken =
            stream.bytes.get(stream.at..stream.at.saturating_add(n)).ok_or_else(block_too_short)?;
        stream.at += n;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(encoding: &SeriesEncoding, bytes: &[u8], n: usize) -> Vec<i32> {
        let mut streams = Streams { constants_left: n, ..Streams::default() };
        streams.core.bytes = bytes.to_vec();
        (0..n).map(|_| encoding.read_number(&mut streams).unwrap()).collect()
    }

    #[test]
    fn bits_are_read_as_the_specification_shows() {
        // Section 13: gamma 1, 2, 3, 4 are 1, 010, 011, 00100.
        assert_eq!(values(&SeriesEncoding::Gamma(0), &[0b1010_0110, 0b0100_0000], 4), [1, 2, 3, 4]);
        // Subexponential, k = 2: 0 to 4 and 8 are 000, 001, 010, 011, 1000, 110000.
        let bytes = [0b0000_0101, 0b0011_1000, 0b1100_0000];
        assert_eq!(values(&SeriesEncoding::Subexponential(0, 2), &bytes, 6), [0, 1, 2, 3, 4, 8]);
        assert_eq!(values(&SeriesEncoding::Beta(10, 3), &[0b1010_1000], 2), [-5, -8]);
        // Golomb, m = 3: 0 to 4 are 00, 010, 011, 100, 1010. Rice, m = 4: 0, 5 are 000, 1001.
        let bytes = [0b0001_0011, 0b1001_0100];
        assert_eq!(values(&SeriesEncoding::Golomb(0, 3), &bytes, 5), [0, 1, 2, 3, 4]);
        assert_eq!(values(&SeriesEncoding::Rice(0, 2), &[0b0001_0010], 2), [0, 5]);
    }

    #[test]
    fn huffman_codes_are_canonical() {
        // Symbols 65 to 68 of lengths 1, 3, 3, 2: 0, 110, 111, 10.
        let mut cursor = ByteCursor(&[3, 10, 4, 65, 66, 67, 68, 4, 1, 3, 3, 2]);
        let code = SeriesEncoding::read(&mut cursor).unwrap();
        assert_eq!(values(&code, &[0b0110_1111, 0b0000_0000], 4), [65, 66, 67, 68]);
        let mut one = ByteCursor(&[3, 4, 1, 7, 1, 0]);
        assert_eq!(values(&SeriesEncoding::read(&mut one).unwrap(), &[], 3), [7, 7, 7]);
    }

    #[test]
    fn values_without_bits_are_counted() {
        // A Huffman code of one symbol, and beta codes of no bits with offset -7.
        for bytes in [&[3, 4, 1, 7, 1, 0][..], &[6, 6, 0xff, 0xff, 0xff, 0xff, 0x09, 0]] {
            let encoding = SeriesEncoding::read(&mut ByteCursor(bytes)).unwrap();
            let mut streams = Streams { constants_left: 2, ..Streams::default() };
            let next = |streams: &mut Streams| encoding.read_number(streams).ok();
            assert_eq!([(); 3].map(|()| next(&mut streams)), [Some(7), Some(7), None]);
        }
    }
}
