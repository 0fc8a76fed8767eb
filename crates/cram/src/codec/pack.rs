//! The transforms that the CRAM 3.1 codecs apply before entropy coding: packing, run-length
//! encoding and stripes (CRAM codecs specification 3.1, sections 4.4 to 4.6).

use readmill_record::Result;

use crate::num::{ByteCursor, damaged_cram};

/// Bits of the flags byte that starts a block. Order 1: the context is the previous symbol.
pub(super) const ORDER: u8 = 1;
/// In rANS, 32 states instead of 4. In the arithmetic coder, bzip2 is used instead.
pub(super) const STATES_32_OR_EXT: u8 = 4;
pub(super) const STRIPE: u8 = 8;
/// The uncompressed size is not stored, because the caller knows it.
pub(super) const NO_SIZE: u8 = 16;
pub(super) const CAT: u8 = 32;
pub(super) const RLE: u8 = 64;
pub(super) const PACK: u8 = 128;

/// Reads the uncompressed size, which follows the flags. A size above `max_size` is an error.
pub(super) fn read_size(cursor: &mut ByteCursor<'_>, flags: u8, max_size: usize) -> Result<usize> {
    if flags & NO_SIZE != 0 {
        return Ok(max_size);
    }
    let size = cursor.read_uint7()? as usize;
    if size > max_size {
        return Err(damaged_cram("a block contains more than its stated size"));
    }
    Ok(size)
}

pub(super) struct SymbolPacking<'a> {
    symbols: &'a [u8],
    pub packed: usize,
}

impl<'a> SymbolPacking<'a> {
    /// Reads the packing parameters from the front of the data. The packed data must not be larger
    /// than `max_packed`, its unpacked size.
    pub fn read(cursor: &mut ByteCursor<'a>, max_packed: usize) -> Result<Self> {
        let n = cursor.read_byte()?;
        if !(1..=16).contains(&n) {
            return Err(damaged_cram("a packed block has no symbols, or too many"));
        }
        let symbols = cursor.take_bytes(n as usize)?;
        let packed = cursor.read_uint7()? as usize;
        if packed > max_packed {
            return Err(damaged_cram("a packed block is larger than its content"));
        }
        Ok(SymbolPacking { symbols, packed })
    }

    pub fn unpack(&self, packed: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        out.reserve_exact(size);
        out.resize(start + size, self.symbols[0]);
        let out = &mut out[start..];
        match self.symbols.len() {
            1 => Ok(()),
            2 => self.unpack_each::<8>(packed, out),
            3..=4 => self.unpack_each::<4>(packed, out),
            _ => self.unpack_each::<2>(packed, out),
        }
    }

    /// Unpacks `packed`, whose bytes hold `N` symbols each, and fills `out`.
    fn unpack_each<const N: usize>(&self, packed: &[u8], out: &mut [u8]) -> Result<()> {
        if packed.len() < out.len().div_ceil(N) {
            return Err(damaged_cram("a packed block ends too early"));
        }
        let (bits, mut map) = (8 / N, [self.symbols[0]; 16]);
        map[..self.symbols.len()].copy_from_slice(self.symbols);
        let mut of_byte = [[0; N]; 256];
        for (byte, symbols) in of_byte.iter_mut().enumerate() {
            for (i, symbol) in symbols.iter_mut().enumerate() {
                *symbol = map[byte >> (i * bits) & ((1 << bits) - 1)];
            }
        }
        let whole = out.len() / N;
        let mut chunks = out.chunks_exact_mut(N);
        for (chunk, &byte) in (&mut chunks).zip(packed) {
            chunk.copy_from_slice(&of_byte[usize::from(byte)]);
        }
        let rest = chunks.into_remainder();
        if let (n @ 1.., Some(&byte)) = (rest.len(), packed.get(whole)) {
            rest.copy_from_slice(&of_byte[usize::from(byte)][..n]);
        }
        Ok(())
    }
}

/// Appends symbols with the minimum number of bits that distinguishes them. `symbols` lists those
/// that occur, two to sixteen.
pub(super) fn pack_symbols(raw: &[u8], symbols: &[u8], out: &mut Vec<u8>) {
    let bits = match symbols.len() {
        0..=2 => 1,
        3..=4 => 2,
        _ => 4,
    };
    let mut number = [0u8; 256];
    (0..).zip(symbols).for_each(|(i, &symbol)| number[symbol as usize] = i);
    out.extend(
        raw.chunks(8 / bits).map(|some| {
            some.iter().rev().fold(0, |byte, &symbol| byte << bits | number[symbol as usize])
        }),
    );
}

type Decode = fn(&[u8], usize, &mut Vec<u8>) -> Result<()>;

/// Decodes the stripes, interleaves them, and appends the `size` bytes to `out`.
pub(super) fn decode_stripes(
    cursor: &mut ByteCursor<'_>,
    size: usize,
    decode: Decode,
    out: &mut Vec<u8>,
) -> Result<()> {
    let n = usize::from(cursor.read_byte()?);
    if n == 0 {
        return Err(damaged_cram("a striped block has no stripes"));
    }
    let sizes = (0..n).map(|_| cursor.read_uint7()).collect::<Result<Vec<_>>>()?;
    let start = out.len();
    out.resize(start + size, 0);
    let mut stripe = Vec::new();
    for (j, stored) in sizes.into_iter().enumerate() {
        let data = cursor.take_bytes(stored as usize)?;
        if data.first().is_none_or(|flags| flags & STRIPE != 0) {
            return Err(damaged_cram("a stripe is empty or striped itself"));
        }
        stripe.clear();
        let expected = size / n + usize::from(size % n > j);
        decode(data, expected, &mut stripe)?;
        if stripe.len() != expected {
            return Err(damaged_cram("a stripe has a wrong size"));
        }
        out[start..].iter_mut().skip(j).step_by(n).zip(&stripe).for_each(|(to, &byte)| *to = byte);
    }
    Ok(())
}
