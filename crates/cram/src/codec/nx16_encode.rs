//! Encodes rANS Nx16 (CRAM codecs specification 3.1, section 4): bytes unchanged, packed, without
//! runs, or in stripes.
//!
//! The size of each form is estimated from symbol and pair counts, so that only the form with the
//! smallest estimate is encoded.

mod orders;

pub use orders::Nx16Encoder;
use orders::{BITS, estimate_bytes};

use super::alphabet::{Alphabet, normalise_to};
use super::pack::{self, CAT, ORDER, PACK, RLE, STATES_32_OR_EXT, STRIPE};
use crate::num::put_uint7;

/// Minimum block size for 32 states, which decoders process with SIMD. They take 112 bytes more.
const MIN_WIDE_BYTES: usize = 1 << 16;

/// Run-length encoding is tried if a byte takes less than this many bytes without it. Above that,
/// order 1 is as good.
const MAX_COST_FOR_RUNS: f64 = 0.09;

const MIN_CODED_BYTES: usize = 16;

const MAX_PACKED_SYMBOLS: usize = 16;

struct Estimate {
    costs: [f64; 2],
    /// Bits of the frequency sum for order 1; `None` if pairs were not counted.
    bits: Option<u32>,
    /// Number of bytes that repeat the previous one, for `repeating` symbols only.
    repeats: usize,
    /// Symbols that follow themselves in more than half of their occurrences.
    repeating: [bool; 256],
}

impl Estimate {
    const NONE: Estimate =
        Estimate { costs: [f64::INFINITY; 2], bits: None, repeats: 0, repeating: [false; 256] };

    fn min_cost(&self) -> f64 {
        self.costs[0].min(self.costs[1])
    }
}

/// How bytes are transformed, and the order of the rANS coder that encodes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CodingShape {
    pack: bool,
    runs: bool,
    order: u8,
}

impl Nx16Encoder {
    pub fn new(quick: bool) -> Self {
        Nx16Encoder { quick, ..Nx16Encoder::default() }
    }

    /// Appends `raw` in the form with the smallest estimate. If it consists of values of `width`
    /// bytes, it is also encoded in `width` stripes, and the smaller result is used.
    pub fn encode(&mut self, raw: &[u8], width: usize, out: &mut Vec<u8>) {
        let start = out.len();
        self.encode_without_stripes(raw, out);
        if width < 2 || raw.len() < 4 * width || width > 255 {
            return;
        }
        let mut striped = vec![STRIPE];
        put_uint7(&mut striped, raw.len() as u32);
        striped.push(width as u8);
        let (mut parts, mut part) = (Vec::new(), Vec::with_capacity(raw.len() / width + 1));
        for j in 0..width {
            part.clear();
            part.extend(raw.iter().skip(j).step_by(width));
            let at = parts.len();
            self.encode_without_stripes(&part, &mut parts);
            put_uint7(&mut striped, (parts.len() - at) as u32);
        }
        if striped.len() + parts.len() < out.len() - start {
            out.truncate(start);
            out.append(&mut striped);
            out.append(&mut parts);
        }
    }

    fn encode_without_stripes(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        if raw.len() < MIN_CODED_BYTES {
            return write_stored(raw, out);
        }
        let alphabet = Alphabet::of(raw);
        let few = (2..=MAX_PACKED_SYMBOLS).contains(&alphabet.used_symbols().len());
        let enough = if self.quick { MIN_WIDE_BYTES } else { 4 * MIN_WIDE_BYTES };
        // A pair of packed bytes is at least as informative as a pair of symbols, and there are at
        // most half as many. So long data with few symbols is estimated only in packed form.
        let estimate = match few && raw.len() >= enough {
            true => Estimate::NONE,
            false => self.estimate_orders(raw, &alphabet),
        };
        std::mem::swap(&mut self.counts, &mut self.plain_counts);
        let mut best = (estimate.min_cost(), shape_by_estimate(false, false, &estimate));
        if estimate.repeats > raw.len() / 2 && best.0 < MAX_COST_FOR_RUNS * raw.len() as f64 {
            let cost = self.estimate_runs(raw, &estimate.repeating);
            best = cheaper_shape(best, (cost.0, CodingShape { pack: false, runs: true, order: cost.1 }));
        }
        if few {
            let mut packed = std::mem::take(&mut self.packed);
            packed.clear();
            pack::pack_symbols(raw, &alphabet.used_symbols(), &mut packed);
            let alphabet = Alphabet::of(&packed);
            let inner = self.estimate_orders(&packed, &alphabet);
            best =
                cheaper_shape(best, (inner.min_cost() + 20.0, shape_by_estimate(true, false, &inner)));
            if inner.repeats > packed.len() / 2
                && inner.min_cost() < MAX_COST_FOR_RUNS * packed.len() as f64
            {
                let cost = self.estimate_runs(&packed, &inner.repeating);
                best = cheaper_shape(
                    best,
                    (cost.0 + 20.0, CodingShape { pack: true, runs: true, order: cost.1 }),
                );
            }
            self.packed = packed;
        }
        if best.0 >= raw.len() as f64 {
            return write_stored(raw, out);
        }
        let start = out.len();
        std::mem::swap(&mut self.counts, &mut self.plain_counts);
        self.encode_shaped(raw, best.1, &alphabet, estimate.bits, out);
        if out.len() - start > raw.len() + 6 {
            out.truncate(start);
            write_stored(raw, out);
        }
    }

    fn estimate_orders(&mut self, raw: &[u8], alphabet: &Alphabet) -> Estimate {
        let width = alphabet.counts.len();
        let n = alphabet.used.iter().filter(|used| **used).count();
        let mut estimate =
            Estimate { costs: [0.0, f64::INFINITY], bits: None, repeats: 0, repeating: [false; 256] };
        self.frequencies.clear();
        self.frequencies.resize(width, 0);
        normalise_to(1 << BITS, &alphabet.counts, &mut self.frequencies);
        estimate.costs[0] =
            estimate_bytes(&alphabet.counts, &self.frequencies, BITS) + 16.0 + 2.5 * n as f64;
        // Tables for this many contexts always cost more than they save.
        if width * width > 4 * raw.len() {
            return estimate;
        }
        self.count_pairs(raw, alphabet);
        for symbol in 0..=255u8 {
            let at = usize::from(alphabet.of[symbol as usize]);
            let repeats = self.counts[at * width + at];
            if alphabet.used[symbol as usize] && 2 * repeats > alphabet.counts[at] {
                estimate.repeating[symbol as usize] = true;
                estimate.repeats += repeats as usize;
            }
        }
        let (bits, pairs) = self.choose_bits(width);
        (estimate.bits, estimate.costs[1]) = (Some(bits), pairs + 18.0 + 2.0 * n as f64);
        estimate
    }

    /// Estimates the size with run-length encoding. Returns it with the better order for the
    /// remaining bytes.
    fn estimate_runs(&mut self, raw: &[u8], repeating: &[bool; 256]) -> (f64, u8) {
        self.split_runs(raw, repeating);
        let (literals, lengths) =
            (std::mem::take(&mut self.literals), std::mem::take(&mut self.lengths));
        let inner = self.estimate_orders(&literals, &Alphabet::of(&literals));
        let alphabet = Alphabet::of(&lengths);
        let mut frequencies = vec![0; alphabet.counts.len()];
        normalise_to(1 << BITS, &alphabet.counts, &mut frequencies);
        let by_lengths = estimate_bytes(&alphabet.counts, &frequencies, BITS) + 24.0;
        (self.literals, self.lengths) = (literals, lengths);
        (
            inner.min_cost() + by_lengths.min(self.lengths.len() as f64),
            u8::from(inner.costs[1] < inner.costs[0]),
        )
    }

    /// Splits `raw` into bytes without runs, and the run lengths, which are preceded by the list of
    /// symbols that have runs.
    fn split_runs(&mut self, raw: &[u8], repeating: &[bool; 256]) {
        self.literals.clear();
        self.lengths.clear();
        let symbols = (0..=255u8).filter(|&symbol| repeating[symbol as usize]);
        self.lengths.push(symbols.clone().count() as u8); // 256 is 0
        self.lengths.extend(symbols);
        let mut at = 0;
        while at < raw.len() {
            let symbol = raw[at];
            self.literals.push(symbol);
            at += 1;
            if repeating[symbol as usize] {
                let run = raw[at..].iter().take_while(|&&other| other == symbol).count();
                put_uint7(&mut self.lengths, run as u32);
                at += run;
            }
        }
    }

    /// Appends `raw`, encoded in this shape. `bits` is given if its pair counts are still valid.
    fn encode_shaped(
        &mut self,
        raw: &[u8],
        shape: CodingShape,
        alphabet: &Alphabet,
        bits: Option<u32>,
        out: &mut Vec<u8>,
    ) {
        let wide = if raw.len() >= MIN_WIDE_BYTES { STATES_32_OR_EXT } else { 0 };
        let head = out.len();
        out.push(wide | if shape.pack { PACK } else { 0 } | if shape.runs { RLE } else { 0 });
        put_uint7(out, raw.len() as u32);
        let mut packed = std::mem::take(&mut self.packed);
        let mut bytes = raw;
        if shape.pack {
            let list = alphabet.used_symbols();
            packed.clear();
            pack::pack_symbols(raw, &list, &mut packed);
            out.push(list.len() as u8);
            out.extend_from_slice(&list);
            put_uint7(out, packed.len() as u32);
            bytes = &packed;
        }
        let n = if wide != 0 { 32 } else { 4 };
        if shape.runs {
            let alphabet = Alphabet::of(bytes);
            let repeating = self.estimate_orders(bytes, &alphabet).repeating;
            self.split_runs(bytes, &repeating);
            let (literals, lengths) =
                (std::mem::take(&mut self.literals), std::mem::take(&mut self.lengths));
            let mut coded = Vec::new();
            self.encode_entropy(&lengths, &Alphabet::of(&lengths), 0, None, n, &mut coded);
            let small = coded.len() + 5 < lengths.len();
            put_uint7(out, (lengths.len() as u32) << 1 | u32::from(!small));
            put_uint7(out, literals.len() as u32);
            if small {
                put_uint7(out, coded.len() as u32);
                out.append(&mut coded);
            } else {
                out.extend_from_slice(&lengths);
            }
            let alphabet = Alphabet::of(&literals);
            self.write_last_step(&literals, &alphabet, (shape.order, None), n, head, out);
            (self.literals, self.lengths) = (literals, lengths);
        } else if shape.pack {
            self.write_last_step(bytes, &Alphabet::of(bytes), (shape.order, None), n, head, out);
        } else {
            self.write_last_step(bytes, alphabet, (shape.order, bits), n, head, out);
        }
        self.packed = packed;
    }

    /// Appends the innermost step, rANS or the bytes unchanged, and sets its flags at index `head`.
    fn write_last_step(
        &mut self,
        bytes: &[u8],
        alphabet: &Alphabet,
        (order, bits): (u8, Option<u32>),
        n: usize,
        head: usize,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        let order = if bytes.len() < 4 * n { 0 } else { order };
        if bytes.len() >= MIN_CODED_BYTES {
            self.encode_entropy(bytes, alphabet, order, bits, n, out);
        }
        if bytes.len() < MIN_CODED_BYTES || out.len() - start >= bytes.len() {
            out.truncate(start);
            out.extend_from_slice(bytes);
            out[head] |= CAT;
        } else if order > 0 {
            out[head] |= ORDER;
        }
    }
}

fn write_stored(raw: &[u8], out: &mut Vec<u8>) {
    out.push(CAT);
    put_uint7(out, raw.len() as u32);
    out.extend_from_slice(raw);
}

fn shape_by_estimate(pack: bool, runs: bool, estimate: &Estimate) -> CodingShape {
    CodingShape { pack, runs, order: u8::from(estimate.costs[1] < estimate.costs[0]) }
}

fn cheaper_shape(best: (f64, CodingShape), other: (f64, CodingShape)) -> (f64, CodingShape) {
    if other.0 < best.0 { other } else { best }
}
