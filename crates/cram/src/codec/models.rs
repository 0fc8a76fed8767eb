//! The range coder and its adaptive models (CRAM codecs specification 3.1, section 5). Decoding.

use readmill_record::Result;

use crate::num::{ByteCursor, damaged};

/// The growth of a symbol's frequency each time it occurs.
const STEP: u32 = 16;

/// A model's frequencies are halved beyond this sum.
const MOST: u32 = (1 << 16) - 17;

/// A range coder that decodes.
pub(super) struct RangeDecoder<'a> {
    range: u32,
    code: u32,
    data: &'a [u8],
}

impl<'a> RangeDecoder<'a> {
    /// Starts with the first bytes of `data`.
    pub fn new(data: &'a [u8]) -> Result<Self> {
        let mut cursor = ByteCursor(data);
        let code = cursor.take(5)?.iter().fold(0u32, |code, &byte| code << 8 | u32::from(byte));
        Ok(RangeDecoder { range: u32::MAX, code, data: cursor.0 })
    }

    #[inline]
    fn frequency(&mut self, sum: u32) -> u32 {
        self.range /= sum;
        self.code.checked_div(self.range).unwrap_or(0)
    }

    #[inline]
    fn narrow(&mut self, low: u32, frequency: u32) -> Result<()> {
        self.code = self.code.wrapping_sub(low.wrapping_mul(self.range));
        self.range = self.range.wrapping_mul(frequency);
        while self.range < 1 << 24 {
            let Some((&byte, rest)) = self.data.split_first() else {
                return Err(damaged("an arithmetic code ends too early"));
            };
            if self.range == 0 {
                return Err(damaged("an arithmetic code makes no sense"));
            }
            self.data = rest;
            self.code = self.code << 8 | u32::from(byte);
            self.range <<= 8;
        }
        Ok(())
    }
}

/// Symbols and their frequencies, roughly by falling frequency.
#[derive(Clone)]
pub(super) struct Model {
    sum: u32,
    /// Symbol and frequency.
    symbols: Vec<(u16, u16)>,
}

impl Model {
    /// A model of that many symbols, all equally frequent.
    pub fn new(n: usize) -> Self {
        Model { sum: n as u32, symbols: (0..n as u16).map(|symbol| (symbol, 1)).collect() }
    }

    /// Decodes a symbol.
    #[inline]
    pub fn decode(&mut self, coder: &mut RangeDecoder<'_>) -> Result<u16> {
        let target = coder.frequency(self.sum);
        let (mut low, mut at) = (0, 0);
        let frequency = loop {
            let Some(&(_, frequency)) = self.symbols.get(at) else {
                return Err(damaged("an arithmetic code makes no sense"));
            };
            let frequency = u32::from(frequency);
            if low + frequency > target {
                break frequency;
            }
            (low, at) = (low + frequency, at + 1);
        };
        coder.narrow(low, frequency)?;
        let (symbol, frequency) = &mut self.symbols[at];
        let symbol = *symbol;
        *frequency += STEP as u16;
        self.sum += STEP;
        if self.sum > MOST {
            self.halve();
        }
        if at > 0 && self.symbols[at].1 > self.symbols[at - 1].1 {
            self.symbols.swap(at, at - 1);
        }
        Ok(symbol)
    }

    fn halve(&mut self) {
        self.sum = 0;
        for (_, frequency) in &mut self.symbols {
            *frequency -= *frequency / 2;
            self.sum += u32::from(*frequency);
        }
    }
}
