//! Encodings: how the values of a data series are read from the blocks of a slice (CRAM
//! specification 3.1, section 13).

use readmill_record::Result;

use crate::num::{ByteCursor, damaged, short};

/// The encoding of a data series or a tag. Variants hold their parameters in the order of the
/// specification, so that codes of bits begin with the offset.
///
/// External blocks are given by their content id in a compression header, and by their index in
/// [`Streams`] after [`resolve`](Self::resolve).
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Encoding {
    #[default]
    Null,
    /// Bytes, or numbers as ITF8, in an external block.
    External(i32),
    Golomb(i32, i32),
    Huffman(Huffman),
    /// Arrays of bytes: the encodings of their lengths and of their bytes.
    ArrayLength(Box<Encoding>, Box<Encoding>),
    /// Arrays of bytes in an external block, each followed by a stop byte.
    ArrayStop(u8, i32),
    Beta(i32, u32),
    Subexponential(i32, u32),
    Rice(i32, u32),
    Gamma(i32),
}

/// A canonical Huffman code. The order of its words follows from their lengths and symbols, so only
/// these are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Huffman {
    words: Vec<(u32, u32, i32)>,
}

impl Huffman {
    fn read(cursor: &mut ByteCursor<'_>) -> Result<Self> {
        let (symbols, lengths) = (cursor.itf8s()?, cursor.itf8s()?);
        let wrong = || damaged("a Huffman code makes no sense");
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

    fn decode(&self, bits: &mut Bits) -> Result<i32> {
        let (mut word, mut have) = (0, 0);
        let mut at = 0;
        while at < self.words.len() {
            let length = self.words[at].0;
            word = word << (length - have) | bits.take(length - have)?;
            have = length;
            while let Some(&(n, candidate, symbol)) = self.words.get(at).filter(|it| it.0 == length) {
                debug_assert_eq!(n, length);
                if candidate == word {
                    return Ok(symbol);
                }
                at += 1;
            }
        }
        Err(damaged("a Huffman code word does not exist"))
    }
}

impl Encoding {
    pub fn read(cursor: &mut ByteCursor<'_>) -> Result<Self> {
        Self::read_nested(cursor, 0)
    }

    fn read_nested(cursor: &mut ByteCursor<'_>, depth: u32) -> Result<Self> {
        let (kind, length) = (cursor.itf8()?, cursor.count()?);
        let mut own = ByteCursor(cursor.take(length)?);
        let bits =
            |n: i32| u32::try_from(n).ok().filter(|&n| n <= 32).ok_or_else(|| damaged("too many bits"));
        Ok(match kind {
            0 => Encoding::Null,
            1 => Encoding::External(own.itf8()?),
            2 => Encoding::Golomb(own.itf8()?, own.itf8()?.max(1)),
            3 => Encoding::Huffman(Huffman::read(&mut own)?),
            4 if depth == 0 => {
                let (lengths, values) =
                    (Self::read_nested(&mut own, 1)?, Self::read_nested(&mut own, 1)?);
                Encoding::ArrayLength(Box::new(lengths), Box::new(values))
            }
            5 => Encoding::ArrayStop(own.byte()?, own.itf8()?),
            6 => Encoding::Beta(own.itf8()?, bits(own.itf8()?)?),
            7 => Encoding::Subexponential(own.itf8()?, bits(own.itf8()?)?),
            8 => Encoding::Rice(own.itf8()?, bits(own.itf8()?)?),
            9 => Encoding::Gamma(own.itf8()?),
            other => return Err(damaged(format!("encoding {other} does not exist, or not here"))),
        })
    }

    pub fn zero() -> Self {
        Encoding::Huffman(Huffman { words: vec![(0, 0, 0)] })
    }

    pub fn empty_array() -> Self {
        Encoding::ArrayLength(Box::new(Self::zero()), Box::new(Self::zero()))
    }

    /// Appends the content ids of the external blocks to `ids`. Returns whether the core block is
    /// not used: its bits are one stream for all series, so a series in it cannot be left out.
    pub fn blocks(&self, ids: &mut Vec<i32>) -> bool {
        match self {
            Encoding::Null => true,
            Encoding::External(id) | Encoding::ArrayStop(_, id) => {
                ids.push(*id);
                true
            }
            Encoding::ArrayLength(lengths, values) => {
                let lengths = lengths.blocks(ids);
                values.blocks(ids) && lengths
            }
            Encoding::Huffman(code) => code.words.iter().all(|&(length, ..)| length == 0),
            _ => false,
        }
    }

    pub fn resolve(&self, place: &impl Fn(i32) -> i32) -> Self {
        match self {
            Encoding::External(id) => Encoding::External(place(*id)),
            Encoding::ArrayStop(stop, id) => Encoding::ArrayStop(*stop, place(*id)),
            Encoding::ArrayLength(lengths, values) => {
                Encoding::ArrayLength(lengths.resolve(place).into(), values.resolve(place).into())
            }
            other => other.clone(),
        }
    }

    /// Decodes the next number of the series.
    ///
    /// # Errors
    /// The block ends before it, or the encoding is for arrays.
    #[inline]
    pub fn number(&self, streams: &mut Streams) -> Result<i32> {
        match self {
            Encoding::External(at) => streams.itf8(*at),
            Encoding::Huffman(code) if code.words.len() == 1 && code.words[0].0 == 0 => {
                Ok(code.words[0].2)
            }
            other => other.bits(&mut streams.core),
        }
    }

    fn bits(&self, bits: &mut Bits) -> Result<i32> {
        let (value, offset) = match *self {
            Encoding::Huffman(ref code) => return code.decode(bits),
            Encoding::Beta(offset, n) => (bits.take(n)?, offset),
            Encoding::Gamma(offset) => {
                let n = bits.unary(0)?;
                ((1u32 << n.min(31)) | bits.take(n)?, offset)
            }
            Encoding::Subexponential(offset, k) => match bits.unary(1)? {
                0 => (bits.take(k)?, offset),
                n if n + k <= 32 => (1 << (n + k - 1) | bits.take(n + k - 1)?, offset),
                _ => return Err(damaged("a number is too large")),
            },
            Encoding::Rice(offset, n) => {
                let high = bits.unary(1)?;
                (high.wrapping_shl(n) | bits.take(n)?, offset)
            }
            Encoding::Golomb(offset, m) => {
                let (quotient, m) = (bits.unary(1)?, m as u32);
                let n = 32 - (m - 1).leading_zeros(); // bits of a remainder, or one less
                let spare = (1u64 << n) as u32 - m;
                let mut rest = if n == 0 { 0 } else { bits.take(n - 1)? };
                if n > 0 && rest >= spare {
                    rest = (rest << 1 | bits.take(1)?) - spare;
                }
                (quotient.wrapping_mul(m).wrapping_add(rest), offset)
            }
            Encoding::Null => return Err(damaged("a value is needed that is not stored")),
            _ => return Err(damaged("an encoding of bytes is used for numbers")),
        };
        Ok(value.cast_signed().wrapping_sub(offset))
    }

    #[inline]
    pub fn byte(&self, streams: &mut Streams) -> Result<u8> {
        match self {
            Encoding::External(at) => streams.byte(*at),
            other => Ok(other.number(streams)? as u8),
        }
    }

    #[inline]
    pub fn bytes(&self, streams: &mut Streams, n: usize, out: &mut Vec<u8>) -> Result<()> {
        if let Encoding::External(at) = self {
            out.extend_from_slice(streams.take(*at, n)?);
            return Ok(());
        }
        for _ in 0..n {
            out.push(self.byte(streams)?);
        }
        Ok(())
    }

    /// Appends the next array of bytes to `out` and returns its length. A stored length above
    /// `most` is an error. An array with a stop byte needs no limit, because its bytes are in
    /// memory already.
    #[inline]
    pub fn array(&self, streams: &mut Streams, most: usize, out: &mut Vec<u8>) -> Result<usize> {
        match self {
            Encoding::ArrayStop(stop, at) => {
                let stream = streams.stream(*at)?;
                let rest = &stream.bytes[stream.at..];
                let n = memchr::memchr(*stop, rest).ok_or_else(short)?;
                out.extend_from_slice(&rest[..n]);
                stream.at += n + 1;
                Ok(n)
            }
            Encoding::ArrayLength(lengths, values) => {
                let n = usize::try_from(lengths.number(streams)?).ok().filter(|&n| n <= most);
                let n = n.ok_or_else(|| damaged("an array of bytes is too long"))?;
                values.bytes(streams, n, out)?;
                Ok(n)
            }
            Encoding::Null => Err(damaged("a value is needed that is not stored")),
            _ => Err(damaged("an encoding of numbers is used for bytes")),
        }
    }
}

#[derive(Default)]
pub struct Bits {
    pub bytes: Vec<u8>,
    at: usize,
}

impl Bits {
    pub fn restart(&mut self) {
        self.at = 0;
    }

    fn take(&mut self, n: u32) -> Result<u32> {
        let end = self.at + n as usize;
        if end > 8 * self.bytes.len() {
            return Err(short());
        }
        let mut value = 0;
        for at in self.at..end {
            value = value << 1 | u32::from(self.bytes[at / 8] >> (7 - at % 8) & 1);
        }
        self.at = end;
        Ok(value)
    }

    /// Counts the bits equal to `bit` before the next different one, and reads that one, too. More
    /// than 31 are an error.
    fn unary(&mut self, bit: u32) -> Result<u32> {
        let mut n = 0;
        while self.take(1)? == bit {
            n += 1;
            if n > 31 {
                return Err(damaged("a number is too large"));
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

/// The blocks of a slice from which encodings read values. A decoder keeps it, and its memory, from
/// slice to slice.
#[derive(Default)]
pub struct Streams {
    pub core: Bits,
    /// External blocks. Those from index `used` on are left from earlier slices, for their memory.
    pub external: Vec<ExternalBlock>,
    pub used: usize,
}

/// Index of a block that the slice lacks. Reading a value from it is an error.
pub const NOWHERE: i32 = i32::MAX;

impl Streams {
    pub fn place(&self, id: i32) -> i32 {
        let place = self.external[..self.used].iter().position(|stream| stream.id == id);
        place.map_or(NOWHERE, |place| place as i32)
    }

    #[inline]
    fn stream(&mut self, at: i32) -> Result<&mut ExternalBlock> {
        self.external[..self.used].get_mut(at as usize).ok_or_else(|| damaged("a block is missing"))
    }

    #[inline]
    fn byte(&mut self, at: i32) -> Result<u8> {
        let stream = self.stream(at)?;
        let byte = *stream.bytes.get(stream.at).ok_or_else(short)?;
        stream.at += 1;
        Ok(byte)
    }

    #[inline]
    fn itf8(&mut self, at: i32) -> Result<i32> {
        let stream = self.stream(at)?;
        let rest = &stream.bytes[stream.at..];
        if let Some(&byte) = rest.first().filter(|&&byte| byte < 0x80) {
            stream.at += 1;
            return Ok(i32::from(byte));
        }
        let mut cursor = ByteCursor(rest);
        let number = cursor.itf8()?;
        stream.at += rest.len() - cursor.0.len();
        Ok(number)
    }

    #[inline]
    fn take(&mut self, at: i32, n: usize) -> Result<&[u8]> {
        if n == 0 {
            return Ok(&[]); // htslib does not write blocks without bytes
        }
        let stream = self.stream(at)?;
        let taken = stream.bytes.get(stream.at..stream.at.saturating_add(n)).ok_or_else(short)?;
        stream.at += n;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(encoding: &Encoding, bytes: &[u8], n: usize) -> Vec<i32> {
        let mut streams = Streams::default();
        streams.core.bytes = bytes.to_vec();
        (0..n).map(|_| encoding.number(&mut streams).unwrap()).collect()
    }

    #[test]
    fn bits_are_read_as_the_specification_shows() {
        // Section 13: gamma 1, 2, 3, 4 are 1, 010, 011, 00100.
        assert_eq!(values(&Encoding::Gamma(0), &[0b1010_0110, 0b0100_0000], 4), [1, 2, 3, 4]);
        // Subexponential, k = 2: 0 to 4 and 8 are 000, 001, 010, 011, 1000, 110000.
        let bytes = [0b0000_0101, 0b0011_1000, 0b1100_0000];
        assert_eq!(values(&Encoding::Subexponential(0, 2), &bytes, 6), [0, 1, 2, 3, 4, 8]);
        assert_eq!(values(&Encoding::Beta(10, 3), &[0b1010_1000], 2), [-5, -8]);
        // Golomb, m = 3: 0 to 4 are 00, 010, 011, 100, 1010. Rice, m = 4: 0, 5 are 000, 1001.
        let bytes = [0b0001_0011, 0b1001_0100];
        assert_eq!(values(&Encoding::Golomb(0, 3), &bytes, 5), [0, 1, 2, 3, 4]);
        assert_eq!(values(&Encoding::Rice(0, 2), &[0b0001_0010], 2), [0, 5]);
    }

    #[test]
    fn huffman_codes_are_canonical() {
        // Symbols 65 to 68 of lengths 1, 3, 3, 2: 0, 110, 111, 10.
        let mut cursor = ByteCursor(&[3, 10, 4, 65, 66, 67, 68, 4, 1, 3, 3, 2]);
        let code = Encoding::read(&mut cursor).unwrap();
        assert_eq!(values(&code, &[0b0110_1111, 0b0000_0000], 4), [65, 66, 67, 68]);
        let mut one = ByteCursor(&[3, 4, 1, 7, 1, 0]);
        assert_eq!(values(&Encoding::read(&mut one).unwrap(), &[], 3), [7, 7, 7]);
    }
}
