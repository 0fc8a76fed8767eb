//! Compresses blocks with the codecs of CRAM 3.0, gzip and rANS 4x8 of order 0 or 1, and keeps the
//! smallest result.
//!
//! For each context, rANS needs the counts of its symbols, their frequencies (scaled to
//! [`FREQUENCY_SUM`]), and the effect of each symbol on the state. Symbols are encoded last to
//! first, because rANS decodes in reverse order.

use libdeflater::{CompressionLvl, Compressor};

use super::alphabet::{Alphabet, normalise_to, put_symbols};
use super::choice::{BlockContent, Chooser, ContentKind};
use super::rans_symbol::{RansSymbol, estimated_size, fill_symbols};
use super::{Method, Profile};

pub struct BlockCompressor {
    gzip: Compressor,
    gzipped: Vec<u8>,
    dense: Vec<u8>,
    coded: Vec<u8>,
    /// For each context: symbol counts, frequencies, and the effects of the symbols on the state.
    counts: Vec<u32>,
    frequencies: Vec<u16>,
    symbols: Vec<RansSymbol>,
    chooser: Option<Box<Chooser>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompressionHint {
    /// Bytes without repeats, such as quality scores; compressed with rANS.
    Statistical,
    /// Bytes that repeat earlier ones, such as names; compressed with gzip.
    Repeating,
    Any,
}

const MIN_COMPRESSED_BYTES: usize = 24;

impl BlockCompressor {
    /// Returns a compressor with this gzip level (1 to 12). If a profile is given, it uses the
    /// codecs of CRAM 3.1.
    pub fn new(level: u8, profile: Option<Profile>) -> Self {
        let chooser = profile.map(|profile| Box::new(Chooser::new(profile, level)));
        let level = CompressionLvl::new(i32::from(level.max(1))).unwrap_or_default();
        BlockCompressor {
            gzip: Compressor::new(level),
            gzipped: Vec::new(),
            dense: Vec::new(),
            coded: Vec::new(),
            counts: Vec::new(),
            frequencies: Vec::new(),
            symbols: Vec::new(),
            chooser,
        }
    }

    /// Compresses `raw` with the codec that gives the smallest result. Returns the codec and the
    /// compressed bytes, which borrow from `out`, `self`, or `raw` itself.
    pub fn compress<'a>(
        &'a mut self,
        raw: &'a [u8],
        content: BlockContent<'_>,
        out: &'a mut Vec<u8>,
    ) -> (Method, &'a [u8]) {
        if let Some(chooser) = &mut self.chooser {
            return (chooser.compress(raw, content, out), out);
        }
        let hint = match content.kind {
            ContentKind::Names => CompressionHint::Repeating,
            ContentKind::Qualities | ContentKind::Statistical => CompressionHint::Statistical,
            ContentKind::Any => CompressionHint::Any,
        };
        self.compress_3_0(raw, hint, out)
    }

    fn compress_3_0<'a>(
        &'a mut self,
        raw: &'a [u8],
        kind: CompressionHint,
        out: &'a mut Vec<u8>,
    ) -> (Method, &'a [u8]) {
        out.clear();
        if raw.len() < MIN_COMPRESSED_BYTES {
            return (Method::Raw, raw);
        }
        let statistical =
            if kind == CompressionHint::Repeating { usize::MAX } else { self.compress_rans(raw, out) };
        let repeating =
            if kind == CompressionHint::Statistical { usize::MAX } else { self.compress_gzip(raw) };
        let min_size = statistical.min(repeating);
        if min_size >= raw.len() {
            (Method::Raw, raw)
        } else if repeating < statistical {
            (Method::Gzip, &self.gzipped[..repeating])
        } else {
            (Method::Rans4x8, &out[..])
        }
    }

    fn compress_gzip(&mut self, raw: &[u8]) -> usize {
        let bound = self.gzip.gzip_compress_bound(raw.len());
        if self.gzipped.len() < bound {
            self.gzipped.resize(bound, 0);
        }
        self.gzip.gzip_compress(raw, &mut self.gzipped).unwrap_or(usize::MAX)
    }

    /// Compresses with rANS, with the order that has the smaller size estimate. Returns the
    /// compressed size.
    fn compress_rans(&mut self, raw: &[u8], out: &mut Vec<u8>) -> usize {
        let alphabet = Alphabet::of(raw);
        let n = alphabet.counts.len();
        self.dense.clear();
        self.dense.extend(raw.iter().map(|&byte| alphabet.of[byte as usize]));
        let mut frequencies = vec![0; n];
        normalise_to(FREQUENCY_SUM, &alphabet.counts, &mut frequencies);
        let order_0 = estimate_bytes(&alphabet.counts, &frequencies);
        // Tables for this many contexts always cost more than they save.
        let order_1 = if n * n > 4 * raw.len() { f64::INFINITY } else { self.count_pairs(n) };
        out.extend([0; 9]);
        if order_1 < order_0 {
            out[0] = 1;
            self.encode_order_1(&alphabet, out);
        } else {
            self.encode_order_0(&alphabet, &frequencies, out);
        }
        let (stored, size) = ((out.len() - 9) as u32, raw.len() as u32);
        out[1..5].copy_from_slice(&stored.to_le_bytes());
        out[5..9].copy_from_slice(&size.to_le_bytes());
        out.len()
    }

    fn encode_order_0(&mut self, alphabet: &Alphabet, frequencies: &[u16], out: &mut Vec<u8>) {
        alphabet.put_frequencies(frequencies, out);
        let mut table = [RansSymbol::default(); 256];
        fill_symbols(frequencies, BITS, MAX_STATE_FACTOR, &mut table);
        let mut at = self.reserve_output();
        let (dense, coded, mut states) = (&self.dense[..], &mut self.coded[..], [LOW; 4]);
        for (i, &number) in dense.iter().enumerate().skip(dense.len() & !3).rev() {
            encode_symbol(&table[number as usize], &mut states[i & 3], coded, &mut at);
        }
        for four in dense.chunks_exact(4).rev() {
            encode_symbol(&table[four[3] as usize], &mut states[3], coded, &mut at);
            encode_symbol(&table[four[2] as usize], &mut states[2], coded, &mut at);
            encode_symbol(&table[four[1] as usize], &mut states[1], coded, &mut at);
            encode_symbol(&table[four[0] as usize], &mut states[0], coded, &mut at);
        }
        states.iter().for_each(|state| out.extend_from_slice(&state.to_le_bytes()));
        out.extend_from_slice(&self.coded[at..]);
    }

    /// Counts symbol pairs in each quarter of the block, for order 1. Returns the estimated
    /// compressed size in bytes.
    fn count_pairs(&mut self, n: usize) -> f64 {
        self.counts.clear();
        self.counts.resize(n * n, 0);
        let (dense, counts) = (&self.dense[..], &mut self.counts[..]);
        let quarter = dense.len() / 4;
        let (a, rest) = dense.split_at(quarter);
        let (b, rest) = rest.split_at(quarter);
        let (c, d) = rest.split_at(quarter);
        let mut last = [0usize; 4];
        for (((&a, &b), &c), &d) in a.iter().zip(b).zip(c).zip(d) {
            let now = [a, b, c, d].map(usize::from);
            for (last, now) in last.iter().zip(now) {
                counts[last * n + now] += 1;
            }
            last = now;
        }
        for &now in &d[quarter..] {
            counts[last[3] * n + usize::from(now)] += 1;
            last[3] = usize::from(now);
        }
        self.frequencies.clear();
        self.frequencies.resize(n * n, 0);
        let contexts = self.counts.chunks_exact(n).zip(self.frequencies.chunks_exact_mut(n));
        let used = contexts.filter(|(counts, _)| counts.iter().any(|&n| n > 0));
        used.map(|(counts, frequencies)| {
            normalise_to(FREQUENCY_SUM, counts, frequencies);
            estimate_bytes(counts, frequencies) + 3.0
        })
        .sum()
    }

    fn encode_order_1(&mut self, alphabet: &Alphabet, out: &mut Vec<u8>) {
        let n = alphabet.counts.len();
        let row = |symbol: u8| {
            let at = usize::from(alphabet.of[symbol as usize]) * n;
            &self.frequencies[at..at + n]
        };
        let used = |symbol: u8| {
            (symbol == 0 || alphabet.used[symbol as usize]) && row(symbol).iter().any(|&f| f > 0)
        };
        put_symbols(used, out, |context, out| alphabet.put_frequencies(row(context), out));
        self.symbols.clear();
        self.symbols.resize(n * n, RansSymbol::default());
        let rows = self.frequencies.chunks_exact(n).zip(self.symbols.chunks_exact_mut(n));
        rows.for_each(|(frequencies, symbols)| {
            fill_symbols(frequencies, BITS, MAX_STATE_FACTOR, symbols)
        });
        let mut at = self.reserve_output();
        let (dense, symbols, coded) = (&self.dense[..], &self.symbols[..], &mut self.coded[..]);
        let (mut states, quarter) = ([LOW; 4], dense.len() / 4);
        let (a, rest) = dense.split_at(quarter);
        let (b, rest) = rest.split_at(quarter);
        let (c, d) = rest.split_at(quarter);
        // Last to first: the context of a symbol is the symbol before it, so it is encoded once
        // that one is known.
        let mut next = [a, b, c, &d[..quarter]].map(|part| usize::from(part[quarter - 1]));
        let mut last = usize::from(d[d.len() - 1]);
        for &context in d[quarter - 1..d.len() - 1].iter().rev() {
            let context = usize::from(context);
            encode_symbol(&symbols[context * n + last], &mut states[3], coded, &mut at);
            last = context;
        }
        let before = a[..quarter - 1].iter().zip(&b[..quarter - 1]).zip(&c[..quarter - 1]).zip(d);
        for (((&a, &b), &c), &d) in before.rev() {
            let contexts = [a, b, c, d].map(usize::from);
            encode_symbol(&symbols[contexts[3] * n + next[3]], &mut states[3], coded, &mut at);
            encode_symbol(&symbols[contexts[2] * n + next[2]], &mut states[2], coded, &mut at);
            encode_symbol(&symbols[contexts[1] * n + next[1]], &mut states[1], coded, &mut at);
            encode_symbol(&symbols[contexts[0] * n + next[0]], &mut states[0], coded, &mut at);
            next = contexts;
        }
        for j in [3, 2, 1, 0] {
            encode_symbol(&symbols[next[j]], &mut states[j], coded, &mut at);
        }
        states.iter().for_each(|state| out.extend_from_slice(&state.to_le_bytes()));
        out.extend_from_slice(&self.coded[at..]);
    }

    fn reserve_output(&mut self) -> usize {
        let room = 2 * self.dense.len() + 64; // a symbol takes at most twelve bits
        if self.coded.len() < room {
            self.coded.resize(room, 0);
        }
        self.coded.len()
    }
}

/// Sum of all frequencies. It is 4096 - 1, which decoders that use division may need.
const FREQUENCY_SUM: u32 = 4095;

const BITS: u32 = 12;

const LOW: u32 = 1 << 23;

/// If a state is at least this factor times the symbol's frequency, it outputs bytes before it
/// encodes the symbol.
const MAX_STATE_FACTOR: u32 = LOW >> BITS << 8;

/// Encodes a symbol into `state`. Renormalisation stores bytes before index `at`.
#[inline(always)]
fn encode_symbol(symbol: &RansSymbol, state: &mut u32, out: &mut [u8], at: &mut usize) {
    let mut x = *state;
    while x >= symbol.renormalise_from {
        *at -= 1;
        out[*at] = x as u8;
        x >>= 8;
    }
    *state = symbol.next_state(x);
}

fn estimate_bytes(counts: &[u32], frequencies: &[u16]) -> f64 {
    estimated_size(counts, frequencies, BITS, 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Codecs;

    fn there_and_back(raw: &[u8]) {
        let (mut compressor, mut out, mut codecs) =
            (BlockCompressor::new(6, None), Vec::new(), Codecs::default());
        for kind in [CompressionHint::Statistical, CompressionHint::Repeating, CompressionHint::Any] {
            let (method, data) = compressor.compress_3_0(raw, kind, &mut out);
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
        let mut compressor = BlockCompressor::new(6, None);
        let mut out = Vec::new();
        let alternating: Vec<u8> = (0..4000u32).map(|i| (i * i % 7 + i % 2 * 100) as u8).collect();
        assert_eq!(
            compressor.compress_3_0(&alternating, CompressionHint::Statistical, &mut out).1[0],
            1
        );
        let mut state = 1u64;
        let random: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 60) as u8
        })
        .take(1000)
        .collect();
        assert_eq!(compressor.compress_3_0(&random, CompressionHint::Statistical, &mut out).1[0], 0);
    }
}
