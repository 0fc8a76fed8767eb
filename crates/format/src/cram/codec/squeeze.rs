//! Compressing blocks: rANS 4x8 of order 0 and 1, and gzip, whichever is smallest.

use libdeflater::{CompressionLvl, Compressor};

use super::Method;

/// The sum of all frequencies. (4096 less one, as decoders that divide may need.)
const TOTAL: u32 = 4095;

/// Bits of it.
const BITS: u32 = 12;

/// The least a state may be.
const LOW: u32 = 1 << 23;

/// How one symbol changes a state, prepared so that nothing is divided.
#[derive(Clone, Copy, Default)]
struct Symbol {
    /// A state as large as this gives bytes away first.
    most: u32,
    /// The reciprocal of the frequency, and how far to shift after multiplying.
    reciprocal: u32,
    shift: u32,
    bias: u32,
    complement: u32,
}

impl Symbol {
    /// Of a symbol whose range starts at `start` and is `frequency` wide (Giesen's reciprocals, as he describes them
    /// for rANS: exact for states below 2^31).
    fn new(start: u32, frequency: u32) -> Self {
        let most = (LOW >> BITS << 8) * frequency;
        let complement = (1 << BITS) - frequency;
        if frequency < 2 {
            return Symbol { most, reciprocal: !0, shift: 0, bias: start + (1 << BITS) - 1, complement };
        }
        let shift = 32 - (frequency - 1).leading_zeros();
        let reciprocal = ((1u64 << (shift + 31)).div_ceil(u64::from(frequency))) as u32;
        Symbol { most, reciprocal, shift: shift - 1, bias: start, complement }
    }

    /// Puts the symbol into `state`; bytes go before `at`.
    #[inline(always)]
    fn put(self, state: &mut u32, out: &mut [u8], at: &mut usize) {
        let mut x = *state;
        while x >= self.most {
            *at -= 1;
            out[*at] = x as u8;
            x >>= 8;
        }
        let quotient = ((u64::from(x) * u64::from(self.reciprocal)) >> 32) as u32 >> self.shift;
        *state = x.wrapping_add(self.bias).wrapping_add(quotient.wrapping_mul(self.complement));
    }
}

/// Counts, made to add up to [`TOTAL`], none of them zero that was not.
fn normalise(counts: &[u32; 256], frequencies: &mut [u16; 256]) {
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
    // So many rare symbols that the largest cannot pay for them: all large ones pay.
    while left < 0 {
        for f in frequencies.iter_mut().filter(|f| **f > 1) {
            if left < 0 {
                *f -= 1;
                left += 1;
            }
        }
    }
}

/// Bits that the symbols counted take at these frequencies.
fn cost(counts: &[u32; 256], frequencies: &[u16; 256]) -> f64 {
    let bits = |f: u16| f64::from(BITS) - f64::from(f).log2();
    counts.iter().zip(frequencies).filter(|(n, _)| **n > 0).map(|(&n, &f)| f64::from(n) * bits(f)).sum()
}

/// Writes symbols with run-length encoded neighbours; `each` writes what follows a symbol.
fn put_symbols(
    used: impl Fn(usize) -> bool,
    out: &mut Vec<u8>,
    mut each: impl FnMut(usize, &mut Vec<u8>),
) {
    let mut run = 0;
    for symbol in (0..256).filter(|&symbol| used(symbol)) {
        if run > 0 {
            run -= 1;
        } else {
            out.push(symbol as u8);
            if symbol > 0 && used(symbol - 1) {
                run = (symbol + 1..256).take_while(|&next| used(next)).count();
                out.push(run as u8);
            }
        }
        each(symbol, out);
    }
    out.push(0);
}

fn put_frequencies(frequencies: &[u16; 256], out: &mut Vec<u8>) {
    let used = |symbol: usize| frequencies[symbol] > 0;
    put_symbols(used, out, |symbol, out| {
        let f = frequencies[symbol];
        if f >= 0x80 {
            out.push((f >> 8) as u8 | 0x80);
        }
        out.push(f as u8);
    });
}

fn table_of(frequencies: &[u16; 256]) -> [Symbol; 256] {
    let (mut table, mut start) = ([Symbol::default(); 256], 0);
    for (symbol, &f) in table.iter_mut().zip(frequencies).filter(|(_, f)| **f > 0) {
        *symbol = Symbol::new(start, u32::from(f));
        start += u32::from(f);
    }
    table
}

/// What is counted of a block: how often symbols follow each other.
struct Pairs {
    counts: Vec<[u32; 256]>,
    frequencies: Vec<[u16; 256]>,
}

/// One thread's means to compress blocks.
pub struct Squeezer {
    gzip: Compressor,
    gzipped: Vec<u8>,
    /// Bytes of the states, written from the end.
    coded: Vec<u8>,
    pairs: Pairs,
}

/// Which codecs to try on a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes without repeats, such as quality scores.
    Statistical,
    /// Bytes that repeat earlier stretches, such as names.
    Repeating,
    /// Not known.
    Any,
}

/// Smaller blocks stay as they are.
const LEAST: usize = 24;

impl Squeezer {
    /// A squeezer whose gzip works at `level`, from 1 to 12.
    pub fn new(level: u8) -> Self {
        let level = CompressionLvl::new(i32::from(level.max(1))).unwrap_or_default();
        let pairs = Pairs { counts: vec![[0; 256]; 256], frequencies: vec![[0; 256]; 256] };
        Squeezer { gzip: Compressor::new(level), gzipped: Vec::new(), coded: Vec::new(), pairs }
    }

    /// Compresses `raw` by the codec that makes it smallest; says which, and gives the bytes.
    pub fn squeeze<'a>(
        &'a mut self,
        raw: &'a [u8],
        kind: Kind,
        out: &'a mut Vec<u8>,
    ) -> (Method, &'a [u8]) {
        out.clear();
        if raw.len() < LEAST {
            return (Method::Raw, raw);
        }
        let statistical = if kind == Kind::Repeating { usize::MAX } else { self.rans(raw, out) };
        let repeating = if kind == Kind::Statistical { usize::MAX } else { self.gzip(raw) };
        let least = statistical.min(repeating);
        if least >= raw.len() {
            (Method::Raw, raw)
        } else if repeating < statistical {
            (Method::Gzip, &self.gzipped[..repeating])
        } else {
            (Method::Rans4x8, &out[..])
        }
    }

    fn gzip(&mut self, raw: &[u8]) -> usize {
        self.gzipped.resize(self.gzip.gzip_compress_bound(raw.len()), 0);
        self.gzip.gzip_compress(raw, &mut self.gzipped).unwrap_or(usize::MAX)
    }

    /// By rANS, of whichever order promises less; gives the size.
    fn rans(&mut self, raw: &[u8], out: &mut Vec<u8>) -> usize {
        let (counts, frequencies, order_0) = Self::count(raw);
        let order_1 = self.pairs.count(raw);
        // What order 1 says of its own tables, about: two bytes a symbol and three a context.
        out.extend([0; 9]);
        if order_1 < order_0 {
            out[0] = 1;
            self.order_1(raw, out);
        } else {
            self.order_0(raw, &counts, &frequencies, out);
        }
        let (stored, size) = ((out.len() - 9) as u32, raw.len() as u32);
        out[1..5].copy_from_slice(&stored.to_le_bytes());
        out[5..9].copy_from_slice(&size.to_le_bytes());
        out.len()
    }

    /// Counts, frequencies and about how many bytes the block takes by order 0.
    fn count(raw: &[u8]) -> ([u32; 256], [u16; 256], f64) {
        let mut four = [[0u32; 256]; 4]; // no count waits for the one before it
        let mut chunks = raw.chunks_exact(4);
        for chunk in &mut chunks {
            for (counts, &byte) in four.iter_mut().zip(chunk) {
                counts[byte as usize] += 1;
            }
        }
        chunks.remainder().iter().for_each(|&byte| four[0][byte as usize] += 1);
        let mut counts = [0; 256];
        for part in &four {
            counts.iter_mut().zip(part).for_each(|(sum, n)| *sum += n);
        }
        let mut frequencies = [0; 256];
        normalise(&counts, &mut frequencies);
        let table = frequencies.iter().filter(|f| **f > 0).count();
        let bytes = cost(&counts, &frequencies) / 8.0 + 2.0 * table as f64;
        (counts, frequencies, bytes)
    }

    fn order_0(&mut self, raw: &[u8], _: &[u32; 256], frequencies: &[u16; 256], out: &mut Vec<u8>) {
        put_frequencies(frequencies, out);
        let table = table_of(frequencies);
        let at = self.room(raw.len());
        let (coded, mut at, mut states) = (&mut self.coded[..], at, [LOW; 4]);
        for (i, &byte) in raw.iter().enumerate().skip(raw.len() & !3).rev() {
            table[byte as usize].put(&mut states[i & 3], coded, &mut at);
        }
        for four in raw.chunks_exact(4).rev() {
            table[four[3] as usize].put(&mut states[3], coded, &mut at);
            table[four[2] as usize].put(&mut states[2], coded, &mut at);
            table[four[1] as usize].put(&mut states[1], coded, &mut at);
            table[four[0] as usize].put(&mut states[0], coded, &mut at);
        }
        states.iter().for_each(|state| out.extend_from_slice(&state.to_le_bytes()));
        out.extend_from_slice(&self.coded[at..]);
    }

    fn order_1(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        let frequencies = &self.pairs.frequencies;
        let used = |context: usize| frequencies[context].iter().any(|&f| f > 0);
        put_symbols(used, out, |context, out| put_frequencies(&frequencies[context], out));
        let tables: Vec<[Symbol; 256]> = frequencies.iter().map(table_of).collect();
        let at = self.room(raw.len());
        let (coded, mut at, mut states) = (&mut self.coded[..], at, [LOW; 4]);
        let quarter = raw.len() / 4;
        let mut put = |j: usize, i: usize, context: u8| {
            tables[context as usize][raw[i] as usize].put(&mut states[j], coded, &mut at);
        };
        for i in (4 * quarter..raw.len()).rev() {
            put(3, i, if i > 3 * quarter { raw[i - 1] } else { 0 });
        }
        for i in (1..quarter).rev() {
            for j in [3, 2, 1, 0] {
                put(j, j * quarter + i, raw[j * quarter + i - 1]);
            }
        }
        for j in [3, 2, 1, 0] {
            if quarter > 0 {
                put(j, j * quarter, 0);
            }
        }
        states.iter().for_each(|state| out.extend_from_slice(&state.to_le_bytes()));
        out.extend_from_slice(&self.coded[at..]);
    }

    /// Makes room for what `n` symbols can become at most; gives its end.
    fn room(&mut self, n: usize) -> usize {
        let room = 2 * n + 64; // no symbol takes more than twelve bits
        if self.coded.len() < room {
            self.coded.resize(room, 0);
        }
        self.coded.len()
    }
}

impl Pairs {
    /// Counts how symbols follow each other in each quarter; gives about how many bytes the block takes by order 1.
    fn count(&mut self, raw: &[u8]) -> f64 {
        self.counts.fill([0; 256]);
        let quarter = raw.len() / 4;
        let mut last = [0u8; 4];
        for i in 0..quarter {
            for (j, last) in last.iter_mut().enumerate() {
                let byte = raw[j * quarter + i];
                self.counts[*last as usize][byte as usize] += 1;
                *last = byte;
            }
        }
        for &byte in &raw[4 * quarter..] {
            self.counts[last[3] as usize][byte as usize] += 1;
            last[3] = byte;
        }
        let mut bytes = 0.0;
        for (counts, frequencies) in self.counts.iter().zip(&mut self.frequencies) {
            let symbols = counts.iter().filter(|&&n| n > 0).count();
            if symbols == 0 {
                frequencies.fill(0);
                continue;
            }
            normalise(counts, frequencies);
            bytes += cost(counts, frequencies) / 8.0 + 2.0 * symbols as f64 + 3.0;
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::Codecs;
    use super::*;

    fn there_and_back(raw: &[u8]) {
        let (mut squeezer, mut out, mut codecs) = (Squeezer::new(6), Vec::new(), Codecs::default());
        for kind in [Kind::Statistical, Kind::Repeating, Kind::Any] {
            let (method, data) = squeezer.squeeze(raw, kind, &mut out);
            let mut back = Vec::new();
            codecs.inflate(method, data, raw.len(), &mut back).unwrap();
            assert!(back == raw, "{kind:?} {method:?} of {} bytes", raw.len());
        }
    }

    #[test]
    fn blocks_come_back_whole() {
        let mut state = 1u32;
        let mut next = move || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 16
        };
        for n in [0, 1, 23, 24, 25, 26, 27, 28, 100, 1001, 70_000] {
            there_and_back(&vec![7; n]);
            there_and_back(&(0..n).map(|_| next() as u8).collect::<Vec<_>>());
            there_and_back(&(0..n).map(|_| (next() % 40).min(next() % 40) as u8).collect::<Vec<_>>());
            there_and_back(&(0..n).map(|i| (i / 3 % 5) as u8 * 40).collect::<Vec<_>>());
            let mut rare = vec![0u8; n];
            rare.iter_mut().skip(1).step_by(997).for_each(|byte| *byte = next() as u8);
            there_and_back(&rare);
        }
    }

    #[test]
    fn both_orders_of_rans_are_used() {
        let mut squeezer = Squeezer::new(6);
        let mut out = Vec::new();
        let alternating: Vec<u8> = (0..4000u32).map(|i| (i * i % 7 + i % 2 * 100) as u8).collect();
        assert_eq!(squeezer.squeeze(&alternating, Kind::Statistical, &mut out).1[0], 1);
        let mut state = 1u64;
        let random: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 60) as u8
        })
        .take(1000)
        .collect();
        assert_eq!(squeezer.squeeze(&random, Kind::Statistical, &mut out).1[0], 0);
    }
}
