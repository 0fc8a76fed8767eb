//! The tables of rANS 4x8 encoding: the symbols of a block, their frequencies, and their effect on a state.

/// The sum of all frequencies. (4096 less one, as decoders that divide may need.)
const TOTAL: u32 = 4095;

/// Bits of the sum.
const BITS: u32 = 12;

/// The smallest value of a state.
pub(super) const LOW: u32 = 1 << 23;

/// The effect of a symbol on a state, prepared so that no division is needed.
#[derive(Clone, Copy, Default)]
pub(super) struct Symbol {
    /// A state of at least this value writes bytes first.
    most: u32,
    /// The reciprocal of the frequency, and how far to shift after multiplying.
    reciprocal: u32,
    bias: u16,
    complement: u16,
    shift: u8,
}

impl Symbol {
    /// The entry of a symbol whose range starts at `start` and is `frequency` wide (Giesen's reciprocals, as he
    /// describes them for rANS: exact for states below 2^31).
    fn new(start: u32, frequency: u32) -> Self {
        let most = (LOW >> BITS << 8) * frequency;
        let complement = ((1 << BITS) - frequency) as u16;
        if frequency < 2 {
            let bias = (start + (1 << BITS) - 1) as u16;
            return Symbol { most, reciprocal: !0, shift: 0, bias, complement };
        }
        let shift = 32 - (frequency - 1).leading_zeros();
        let reciprocal = ((1u64 << (shift + 31)).div_ceil(u64::from(frequency))) as u32;
        Symbol { most, reciprocal, shift: shift as u8 - 1, bias: start as u16, complement }
    }

    /// Encodes the symbol into `state`; bytes go before `at`.
    #[inline(always)]
    pub fn put(&self, state: &mut u32, out: &mut [u8], at: &mut usize) {
        let mut x = *state;
        while x >= self.most {
            *at -= 1;
            out[*at] = x as u8;
            x >>= 8;
        }
        let quotient = ((u64::from(x) * u64::from(self.reciprocal)) >> 32) as u32 >> self.shift;
        let more = quotient.wrapping_mul(u32::from(self.complement));
        *state = x.wrapping_add(u32::from(self.bias)).wrapping_add(more);
    }
}

/// Scales counts to the sum [`TOTAL`]; none becomes zero that was not.
pub(super) fn normalise(counts: &[u32], frequencies: &mut [u16]) {
    let sum: u64 = counts.iter().map(|&n| u64::from(n)).sum();
    let (mut left, mut most) = (TOTAL as i32, 0);
    for (i, &n) in counts.iter().enumerate() {
        let share = u64::from(n) * u64::from(TOTAL) / sum.max(1);
        frequencies[i] = if n > 0 { share.max(1) as u16 } else { 0 };
        left -= i32::from(frequencies[i]);
        if frequencies[i] > frequencies[most] {
            most = i;
        }
    }
    let largest = i32::from(frequencies[most]);
    if largest + left > 0 {
        frequencies[most] = (largest + left) as u16;
        return;
    }
    // There are so many rare symbols that the largest cannot pay for them: all large ones do.
    while left < 0 {
        for f in frequencies.iter_mut().filter(|f| **f > 1) {
            if left < 0 {
                *f -= 1;
                left += 1;
            }
        }
    }
}

/// Estimates the bytes of the counted symbols at these frequencies, and of their table.
pub(super) fn cost(counts: &[u32], frequencies: &[u16]) -> f64 {
    let bits = |f: u16| f64::from(BITS) - f64::from(f).log2();
    let used = counts.iter().zip(frequencies).filter(|(n, _)| **n > 0);
    used.map(|(&n, &f)| f64::from(n) * bits(f) / 8.0 + 2.0).sum()
}

/// Writes symbols, with run-length encoded neighbours; `each` writes the data of a symbol.
pub(super) fn put_symbols(
    used: impl Fn(u8) -> bool,
    out: &mut Vec<u8>,
    mut each: impl FnMut(u8, &mut Vec<u8>),
) {
    let mut run = 0;
    for symbol in (0..=255u8).filter(|&symbol| used(symbol)) {
        if run > 0 {
            run -= 1;
        } else {
            out.push(symbol);
            if symbol > 0 && used(symbol - 1) {
                run = (symbol..=255).skip(1).take_while(|&next| used(next)).count();
                out.push(run as u8);
            }
        }
        each(symbol, out);
    }
    out.push(0);
}

/// The symbols of a block, numbered without gaps. Zero is always among them: contexts begin with it.
pub(super) struct Alphabet {
    /// Number of each symbol.
    pub of: [u8; 256],
    pub used: [bool; 256],
    /// The count of each symbol.
    pub counts: Vec<u32>,
}

impl Alphabet {
    pub fn of(raw: &[u8]) -> Self {
        let mut four = [[0u32; 256]; 4]; // four tables, so that no count waits for the one before it
        let mut chunks = raw.chunks_exact(4);
        for chunk in &mut chunks {
            for (counts, &byte) in four.iter_mut().zip(chunk) {
                counts[byte as usize] += 1;
            }
        }
        chunks.remainder().iter().for_each(|&byte| four[0][byte as usize] += 1);
        let mut alphabet = Alphabet { of: [0; 256], used: [false; 256], counts: Vec::new() };
        for symbol in 0..256 {
            let count = four.iter().map(|counts| counts[symbol]).sum();
            alphabet.used[symbol] = count > 0;
            if count > 0 || symbol == 0 {
                alphabet.of[symbol] = alphabet.counts.len() as u8;
                alphabet.counts.push(count);
            }
        }
        alphabet
    }

    /// Writes the frequencies of one context.
    pub fn put_frequencies(&self, frequencies: &[u16], out: &mut Vec<u8>) {
        let of = |symbol: u8| frequencies[usize::from(self.of[symbol as usize])];
        put_symbols(
            |symbol| self.used[symbol as usize] && of(symbol) > 0,
            out,
            |symbol, out| {
                let f = of(symbol);
                if f >= 0x80 {
                    out.push((f >> 8) as u8 | 0x80);
                }
                out.push(f as u8);
            },
        );
    }
}

/// Fills in the symbols of one context.
pub(super) fn fill(frequencies: &[u16], symbols: &mut [Symbol]) {
    let mut start = 0;
    for (symbol, &f) in symbols.iter_mut().zip(frequencies).filter(|(_, f)| **f > 0) {
        *symbol = Symbol::new(start, u32::from(f));
        start += u32::from(f);
    }
}
