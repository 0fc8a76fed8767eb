//! rANS Nx16 of order 0 and order 1: counts, frequencies, tables, states, and the encoder's memory.

use crate::codec::alphabet::{Alphabet, normalise_to, put_symbols};
use crate::codec::rans_symbol::{RansSymbol, estimated_size, fill_symbols};
use crate::num::put_uint7;

pub(super) const BITS: u32 = 12;

const LOW: u32 = 1 << 15;

/// Bits of the smaller frequency sum for order 1. It is preferred if it costs little, because a
/// decoder's tables are then a quarter of the size.
const SMALL_SUM_BITS: u32 = 10;

/// The smaller sum is used if it makes a block larger by at most 1/400.
const SMALL_SUM_COST_DIVISOR: f64 = 400.0;

#[derive(Default)]
pub struct Nx16Encoder {
    pub(super) quick: bool,
    pub(super) dense: Vec<u8>,
    pub(super) coded: Vec<u16>,
    pub(super) counts: Vec<u32>,
    pub(super) plain_counts: Vec<u32>,
    pub(super) frequencies: Vec<u16>,
    pub(super) other_frequencies: Vec<u16>,
    pub(super) symbols: Vec<RansSymbol>,
    pub(super) packed: Vec<u8>,
    pub(super) literals: Vec<u8>,
    pub(super) lengths: Vec<u8>,
}

impl Nx16Encoder {
    /// Appends the tables and the encoded states of `bytes`, which must not be empty. If `bits` is
    /// given, pairs have already been counted.
    pub(super) fn encode_entropy(
        &mut self,
        bytes: &[u8],
        alphabet: &Alphabet,
        order: u8,
        bits: Option<u32>,
        n: usize,
        out: &mut Vec<u8>,
    ) {
        self.dense.clear();
        self.dense.extend(bytes.iter().map(|&byte| alphabet.of[byte as usize]));
        match (order, n) {
            (0, 4) => self.encode_order_0::<4>(alphabet, out),
            (0, _) => self.encode_order_0::<32>(alphabet, out),
            (_, 4) => self.encode_order_1::<4>(bytes, alphabet, bits, out),
            (..) => self.encode_order_1::<32>(bytes, alphabet, bits, out),
        }
    }

    fn encode_order_0<const N: usize>(&mut self, alphabet: &Alphabet, out: &mut Vec<u8>) {
        let mut frequencies = vec![0; alphabet.counts.len()];
        normalise_to(1 << BITS, &alphabet.counts, &mut frequencies);
        let of = |symbol: u8| frequencies[usize::from(alphabet.of[symbol as usize])];
        put_symbols(|symbol| alphabet.used[symbol as usize], out, |_, _| {});
        let used = (0..=255u8).filter(|&symbol| alphabet.used[symbol as usize]);
        used.for_each(|symbol| put_uint7(out, u32::from(of(symbol))));
        let mut table = [RansSymbol::default(); 256];
        fill_nx16_symbols(&frequencies, BITS, &mut table);
        let mut at = self.reserve_output();
        let (dense, coded, mut states) = (&self.dense[..], &mut self.coded[..], [LOW; N]);
        let whole = dense.len() / N * N;
        for (j, &number) in dense[whole..].iter().enumerate().rev() {
            encode_symbol(&table[number as usize], &mut states[j], coded, &mut at);
        }
        for chunk in dense[..whole].chunks_exact(N).rev() {
            for (state, &number) in states.iter_mut().zip(chunk).rev() {
                encode_symbol(&table[number as usize], state, coded, &mut at);
            }
        }
        self.put_states(&states, at, out);
    }

    /// Counts which symbol follows which. The first symbol follows a zero byte, which is symbol 0.
    pub(super) fn count_pairs(&mut self, raw: &[u8], alphabet: &Alphabet) {
        let n = alphabet.counts.len();
        self.counts.clear();
        self.counts.resize(n * n, 0);
        let counts = &mut self.counts[..];
        let number = |byte: u8| usize::from(alphabet.of[byte as usize]);
        let quarter = raw.len() / 4;
        // Counts at four places in turn, so that an addition seldom waits for the previous one.
        let mut last = [0, 1, 2, 3].map(|j| match (j * quarter).checked_sub(1) {
            Some(before) if j > 0 => number(raw[before]),
            _ => 0,
        });
        let (a, rest) = raw.split_at(quarter);
        let (b, rest) = rest.split_at(quarter);
        let (c, d) = rest.split_at(quarter);
        for (((&a, &b), &c), &d) in a.iter().zip(b).zip(c).zip(d) {
            let now = [a, b, c, d].map(number);
            for (last, now) in last.iter().zip(now) {
                counts[last * n + now] += 1;
            }
            last = now;
        }
        for &byte in &d[quarter..] {
            let now = number(byte);
            counts[last[3] * n + now] += 1;
            last[3] = now;
        }
    }

    fn scale_pairs(&mut self, bits: u32, n: usize) {
        self.frequencies.clear();
        self.frequencies.resize(n * n, 0);
        let rows = self.counts.chunks_exact(n).zip(self.frequencies.chunks_exact_mut(n));
        rows.for_each(|(counts, frequencies)| {
            scale_row(bits, counts, frequencies);
        });
    }

    /// Scales the pair counts to both possible sums and keeps the better frequencies. Returns the
    /// bits of the sum and the estimated size in bytes.
    pub(super) fn choose_bits(&mut self, n: usize) -> (u32, f64) {
        let mut costs = [0.0; 2];
        for (cost_of, bits) in costs.iter_mut().zip([SMALL_SUM_BITS, BITS]) {
            self.frequencies.clear();
            self.frequencies.resize(n * n, 0);
            let rows = self.counts.chunks_exact(n).zip(self.frequencies.chunks_exact_mut(n));
            for (counts, frequencies) in rows {
                if let Some(shift) = scale_row(bits, counts, frequencies) {
                    *cost_of += estimate_bytes(counts, frequencies, bits - shift)
                        + estimate_row_bytes(frequencies);
                } else {
                    *cost_of += 2.0;
                }
            }
            if bits == SMALL_SUM_BITS {
                std::mem::swap(&mut self.frequencies, &mut self.other_frequencies);
            }
        }
        if costs[0] <= costs[1] * (1.0 + 1.0 / SMALL_SUM_COST_DIVISOR) {
            std::mem::swap(&mut self.frequencies, &mut self.other_frequencies);
            return (SMALL_SUM_BITS, costs[0]);
        }
        (BITS, costs[1])
    }

    fn encode_order_1<const N: usize>(
        &mut self,
        raw: &[u8],
        alphabet: &Alphabet,
        bits: Option<u32>,
        out: &mut Vec<u8>,
    ) {
        let n = alphabet.counts.len();
        if bits.is_none() {
            self.count_pairs(raw, alphabet);
        }
        let part = raw.len() / N;
        for j in 1..N {
            // The initial context of each state is zero.
            let [before, now] =
                [j * part - 1, j * part].map(|at| usize::from(alphabet.of[raw[at] as usize]));
            self.counts[before * n + now] -= 1;
            self.counts[now] += 1;
        }
        let bits = match bits {
            Some(bits) => {
                self.scale_pairs(bits, n);
                bits
            }
            None => self.choose_bits(n).0,
        };
        self.put_contexts(alphabet, bits, out);
        self.symbols.clear();
        self.symbols.resize(n * n, RansSymbol::default());
        let rows = self.frequencies.chunks_exact_mut(n).zip(self.symbols.chunks_exact_mut(n));
        for (frequencies, symbols) in rows {
            let sum: u32 = frequencies.iter().map(|&f| u32::from(f)).sum();
            if sum > 0 {
                let shift = bits - sum.trailing_zeros();
                frequencies.iter_mut().for_each(|f| *f <<= shift);
                fill_nx16_symbols(frequencies, bits, symbols);
            }
        }
        let mut at = self.reserve_output();
        let (dense, symbols, coded) = (&self.dense[..], &self.symbols[..], &mut self.coded[..]);
        let mut states = [LOW; N];
        let context = |at: usize| if at == 0 { 0 } else { usize::from(dense[at - 1]) };
        for i in (part * N..dense.len()).rev() {
            encode_symbol(
                &symbols[context(i) * n + usize::from(dense[i])],
                &mut states[N - 1],
                coded,
                &mut at,
            );
        }
        // Last to first: the context of a symbol is the symbol before it, so it is encoded once
        // that one is known.
        let mut next = [0usize; N];
        for (j, next) in next.iter_mut().enumerate() {
            *next = usize::from(dense[j * part + part - 1]);
        }
        for i in (0..part - 1).rev() {
            for j in (0..N).rev() {
                let context = usize::from(dense[j * part + i]);
                encode_symbol(&symbols[context * n + next[j]], &mut states[j], coded, &mut at);
                next[j] = context;
            }
        }
        for j in (0..N).rev() {
            encode_symbol(&symbols[next[j]], &mut states[j], coded, &mut at);
        }
        self.put_states(&states, at, out);
    }

    fn put_contexts(&mut self, alphabet: &Alphabet, bits: u32, out: &mut Vec<u8>) {
        let mut table = Vec::new();
        // Zero is always listed, because it is the initial context of each state.
        let listed = |symbol: u8| symbol == 0 || alphabet.used[symbol as usize];
        put_symbols(listed, &mut table, |_, _| {});
        let n = alphabet.counts.len();
        for row in self.frequencies.chunks_exact(n) {
            let mut i = 0;
            while i < n {
                put_uint7(&mut table, u32::from(row[i]));
                i += 1;
                if row[i - 1] == 0 {
                    let zeros = row[i..].iter().take_while(|f| **f == 0).count().min(255);
                    table.push(zeros as u8);
                    i += zeros;
                }
            }
        }
        let mut coded = Vec::new();
        if table.len() > 1000 {
            let mut inner = Nx16Encoder::default();
            inner.encode_entropy(&table, &Alphabet::of(&table), 0, None, 4, &mut coded);
        }
        let small = !coded.is_empty() && coded.len() + 6 < table.len();
        out.push((bits << 4) as u8 | u8::from(small));
        if small {
            put_uint7(out, table.len() as u32);
            put_uint7(out, coded.len() as u32);
            table = coded;
        }
        out.append(&mut table);
    }

    fn put_states(&self, states: &[u32], at: usize, out: &mut Vec<u8>) {
        states.iter().for_each(|state| out.extend_from_slice(&state.to_le_bytes()));
        out.extend(self.coded[at..].iter().flat_map(|two| two.to_le_bytes()));
    }

    fn reserve_output(&mut self) -> usize {
        let room = self.dense.len() + 64; // a symbol takes at most twelve bits
        if self.coded.len() < room {
            self.coded.resize(room, 0);
        }
        self.coded.len()
    }
}

/// Scales the counts of a context to the smallest sufficient power of two, at most 2^`bits`.
/// Returns how many bits below `bits` it is, or `None` if the context does not occur.
fn scale_row(bits: u32, counts: &[u32], frequencies: &mut [u16]) -> Option<u32> {
    let (mut sum, mut kinds) = (0u64, 0u32);
    for &n in counts {
        sum += u64::from(n);
        kinds += u32::from(n > 0);
    }
    if kinds == 0 {
        return None;
    }
    let needed = match kinds {
        1 => 0,
        _ => (64 - (sum - 1).leading_zeros()).max(32 - (kinds - 1).leading_zeros()).min(bits),
    };
    normalise_to(1 << needed, counts, frequencies);
    Some(bits - needed)
}

fn estimate_row_bytes(frequencies: &[u16]) -> f64 {
    let (mut bytes, mut zero) = (0.0, false);
    for &f in frequencies {
        bytes += match f {
            0 if zero => 0.0,
            0 => 1.4,
            1..0x80 => 0.9,
            _ => 1.7,
        };
        zero = f == 0;
    }
    bytes
}

pub(super) fn estimate_bytes(counts: &[u32], frequencies: &[u16], bits: u32) -> f64 {
    estimated_size(counts, frequencies, bits, 0.0)
}

fn fill_nx16_symbols(frequencies: &[u16], bits: u32, symbols: &mut [RansSymbol]) {
    fill_symbols(frequencies, bits, LOW >> bits << 16, symbols);
}

/// Encodes a symbol into `state`. Renormalisation may store a 16-bit word before index `at`.
#[inline(always)]
fn encode_symbol(symbol: &RansSymbol, state: &mut u32, out: &mut [u16], at: &mut usize) {
    let x = *state;
    let over = u32::from(x >= symbol.renormalise_from); // without a branch, which would be predicted badly
    out[*at - 1] = x as u16;
    *at -= over as usize;
    *state = symbol.next_state(x >> (16 * over));
}
