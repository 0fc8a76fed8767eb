//! Decoder of the adaptive arithmetic coder: its range coder, its models, and the byte codec built
//! on them (CRAM codecs specification 3.1, section 5). fqzcomp uses the same range coder and
//! models.

use readmill_record::Result;

use super::general::{BZIP2_BYTES, read_all};
use super::pack::{self, CAT, ORDER, PACK, RLE, STATES_32_OR_EXT, STRIPE, SymbolPacking};
use crate::num::{ByteCursor, damaged_cram};

pub(super) const FREQUENCY_STEP: u32 = 16;

/// Maximum sum of a model's frequencies. Above it, all frequencies are halved.
pub(super) const MAX_FREQUENCY_SUM: u32 = (1 << 16) - 17;

pub(super) struct RangeDecoder<'a> {
    range: u32,
    code: u32,
    data: &'a [u8],
}

impl<'a> RangeDecoder<'a> {
    pub fn new(data: &'a [u8]) -> Result<Self> {
        let mut cursor = ByteCursor(data);
        let code = cursor.take_bytes(5)?.iter().fold(0u32, |code, &byte| code << 8 | u32::from(byte));
        Ok(RangeDecoder { range: u32::MAX, code, data: cursor.0 })
    }

    #[inline]
    fn decode_target(&mut self, sum: u32) -> u32 {
        self.range /= sum;
        self.code.checked_div(self.range).unwrap_or(0)
    }

    #[inline]
    fn narrow_range(&mut self, low: u32, frequency: u32) -> Result<()> {
        self.code = self.code.wrapping_sub(low.wrapping_mul(self.range));
        self.range = self.range.wrapping_mul(frequency);
        while self.range < 1 << 24 {
            let Some((&byte, rest)) = self.data.split_first() else {
                return Err(damaged_cram("an arithmetic code ends too early"));
            };
            if self.range == 0 {
                return Err(damaged_cram("an arithmetic code is invalid"));
            }
            self.data = rest;
            self.code = self.code << 8 | u32::from(byte);
            self.range <<= 8;
        }
        Ok(())
    }
}

#[derive(Clone)]
pub(super) struct Model {
    pub(super) sum: u32,
    pub(super) symbols: Vec<(u16, u16)>,
}

impl Model {
    pub fn new(n: usize) -> Self {
        Model { sum: n as u32, symbols: (0..n as u16).map(|symbol| (symbol, 1)).collect() }
    }

    #[inline]
    pub fn decode_symbol(&mut self, coder: &mut RangeDecoder<'_>) -> Result<u16> {
        let target = coder.decode_target(self.sum);
        let (mut low, mut at) = (0, 0);
        let frequency = loop {
            let Some(&(_, frequency)) = self.symbols.get(at) else {
                return Err(damaged_cram("an arithmetic code is invalid"));
            };
            let frequency = u32::from(frequency);
            if low + frequency > target {
                break frequency;
            }
            (low, at) = (low + frequency, at + 1);
        };
        coder.narrow_range(low, frequency)?;
        let (symbol, frequency) = &mut self.symbols[at];
        let symbol = *symbol;
        *frequency += FREQUENCY_STEP as u16;
        self.sum += FREQUENCY_STEP;
        if self.sum > MAX_FREQUENCY_SUM {
            self.halve_frequencies();
        }
        if at > 0 && self.symbols[at].1 > self.symbols[at - 1].1 {
            self.symbols.swap(at, at - 1);
        }
        Ok(symbol)
    }

    fn halve_frequencies(&mut self) {
        self.sum = 0;
        for (_, frequency) in &mut self.symbols {
            *frequency -= *frequency / 2;
            self.sum += u32::from(*frequency);
        }
    }
}

const MODELS: usize = 256 * (256 * 4 + 64) + 258 * 64;

pub fn scratch_bytes(data: &[u8], size: usize) -> usize {
    let flags = data.first().copied().unwrap_or(0);
    let bzip2 = if flags & (STRIPE | STATES_32_OR_EXT) != 0 { BZIP2_BYTES } else { 0 };
    let several = if flags & (STRIPE | PACK) != 0 { 2 * size } else { 0 }; // a stripe and its packed bytes
    MODELS + bzip2 + several
}

pub fn decode(data: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
    let mut cursor = ByteCursor(data);
    let flags = cursor.read_byte()?;
    let size = pack::read_size(&mut cursor, flags, size)?;
    if flags & STRIPE != 0 {
        return pack::decode_stripes(&mut cursor, size, decode, out);
    }
    if flags & PACK == 0 {
        return decode_entropy(&mut cursor, flags, size, out);
    }
    let packing = SymbolPacking::read(&mut cursor, size)?;
    let mut packed = Vec::new();
    decode_entropy(&mut cursor, flags, packing.packed, &mut packed)?;
    packing.unpack(&packed, size, out)
}

fn decode_entropy(cursor: &mut ByteCursor<'_>, flags: u8, size: usize, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    if flags & CAT != 0 {
        out.extend_from_slice(cursor.take_bytes(size)?);
        return Ok(());
    }
    if flags & STATES_32_OR_EXT != 0 {
        read_all(bzip2::read::BzDecoder::new(cursor.0), size, out)?;
        if out.len() - start != size {
            return Err(damaged_cram("a block does not have its stated size"));
        }
        return Ok(());
    }
    if size == 0 {
        return Ok(());
    }
    out.reserve_exact(size);
    let symbols = match cursor.read_byte()? {
        0 => 256,
        n => usize::from(n),
    };
    let mut coder = RangeDecoder::new(cursor.0)?;
    let contexts = if flags & ORDER != 0 { symbols } else { 1 };
    let mut literals = vec![Model::new(symbols); contexts];
    let mut runs = vec![Model::new(4); if flags & RLE != 0 { 258 } else { 0 }];
    let mut last = 0;
    while out.len() - start < size {
        let context = if flags & ORDER != 0 { last } else { 0 };
        last = usize::from(literals[context].decode_symbol(&mut coder)?);
        let mut run = 0;
        if flags & RLE != 0 {
            let mut context = last;
            loop {
                let part = runs[context].decode_symbol(&mut coder)?;
                run += usize::from(part);
                if part < 3 {
                    break;
                }
                if run >= size {
                    return Err(damaged_cram("a run is too long"));
                }
                context = if context < 256 { 256 } else { 257 };
            }
        }
        let left = size - (out.len() - start);
        if run >= left {
            return Err(damaged_cram("a run is too long"));
        }
        out.resize(out.len() + run + 1, last as u8);
    }
    Ok(())
}
