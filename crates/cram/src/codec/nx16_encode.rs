//! Encodes rANS Nx16 (CRAM codecs specification 3.1, section 4): bytes as they are, packed, without
//! runs or in stripes.
//!
//! The sizes of these forms are estimated from the counts of symbols and pairs, so that only the
//! one with the smallest estimate is encoded.

mod orders;

pub use orders::Nx16Encoder;
use orders::{BITS, cost};

use super::alphabet::{Alphabet, normalise_to};
use super::pack::{self, CAT, N32_OR_EXT, ORDER, PACK, RLE, STRIPE};
use crate::num::put_uint7;

/// From this many bytes on, 32 states are used, which decoders process at once. They take 112 bytes
/// more.
const MANY: usize = 1 << 16;

/// Run-length encoding is tried if a byte takes less than this many bytes without it. Else coding
/// by the byte before is as good.
const RUNS_PAY: f64 = 0.09;

const LEAST: usize = 16;

const MOST_PACKED: usize = 16;

struct Estimate {
    costs: [f64; 2],
    /// Bits of the sum of frequencies for order 1; `None` if pairs were not counted.
    bits: Option<u32>,
    /// How many bytes repeat the one before, among the `repeating` symbols.
    repeats: usize,
    /// Symbols of which more than half repeat the byte before.
    repeating: [bool; 256],
}

impl Estimate {
    const NONE: Estimate =
        Estimate { costs: [f64::INFINITY; 2], bits: None, repeats: 0, repeating: [false; 256] };

    fn best(&self) -> f64 {
        self.costs[0].min(self.costs[1])
    }
}

/// How bytes are transformed before they are coded, and by which order they are then coded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape {
    pack: bool,
    runs: bool,
    order: u8,
}

impl Nx16Encoder {
    pub fn new(quick: bool) -> Self {
        Nx16Encoder { quick, ..Nx16Encoder::default() }
    }

    /// Appends `raw` in the form with the smallest estimate. If it consists of values of `width`
    /// bytes, it is also encoded in as many stripes, and the smaller result is used.
    pub fn encode(&mut self, raw: &[u8], width: usize, out: &mut Vec<u8>) {
        let start = out.len();
        self.plain(raw, out);
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
            self.plain(&part, &mut parts);
            put_uint7(&mut striped, (parts.len() - at) as u32);
        }
        if striped.len() + parts.len() < out.len() - start {
            out.truncate(start);
            out.append(&mut striped);
            out.append(&mut parts);
        }
    }

    fn plain(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        if raw.len() < LEAST {
            return stored(raw, out);
        }
        let alphabet = Alphabet::of(raw);
        let few = (2..=MOST_PACKED).contains(&alphabet.list().len());
        let enough = if self.quick { MANY } else { 4 * MANY };
        // Pairs of packed bytes say at least as much as pairs of symbols and are at most half as
        // many, so long data with few symbols is only estimated packed.
        let estimate = match few && raw.len() >= enough {
            true => Estimate::NONE,
            false => self.estimate(raw, &alphabet),
        };
        std::mem::swap(&mut self.counts, &mut self.plain_counts);
        let mut best = (estimate.best(), shape(false, false, &estimate));
        if estimate.repeats > raw.len() / 2 && best.0 < RUNS_PAY * raw.len() as f64 {
            let cost = self.estimate_runs(raw, &estimate.repeating);
            best = better(best, (cost.0, Shape { pack: false, runs: true, order: cost.1 }));
        }
        if few {
            let mut packed = std::mem::take(&mut self.packed);
            packed.clear();
            pack::pack(raw, &alphabet.list(), &mut packed);
            let alphabet = Alphabet::of(&packed);
            let inner = self.estimate(&packed, &alphabet);
            best = better(best, (inner.best() + 20.0, shape(true, false, &inner)));
            if inner.repeats > packed.len() / 2 && inner.best() < RUNS_PAY * packed.len() as f64 {
                let cost = self.estimate_runs(&packed, &inner.repeating);
                best = better(best, (cost.0 + 20.0, Shape { pack: true, runs: true, order: cost.1 }));
            }
            self.packed = packed;
        }
        if best.0 >= raw.len() as f64 {
            return stored(raw, out);
        }
        let start = out.len();
        std::mem::swap(&mut self.counts, &mut self.plain_counts);
        self.shaped(raw, best.1, &alphabet, estimate.bits, out);
        if out.len() - start > raw.len() + 6 {
            out.truncate(start);
            stored(raw, out);
        }
    }

    fn estimate(&mut self, raw: &[u8], alphabet: &Alphabet) -> Estimate {
        let width = alphabet.counts.len();
        let n = alphabet.used.iter().filter(|used| **used).count();
        let mut estimate =
            Estimate { costs: [0.0, f64::INFINITY], bits: None, repeats: 0, repeating: [false; 256] };
        self.frequencies.clear();
        self.frequencies.resize(width, 0);
        normalise_to(1 << BITS, &alphabet.counts, &mut self.frequencies);
        estimate.costs[0] = cost(&alphabet.counts, &self.frequencies, BITS) + 16.0 + 2.5 * n as f64;
        // Tables for this many contexts are always larger than what they save.
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

    /// Estimates the size with runs taken out. Returns it with the better order for the remaining
    /// bytes.
    fn estimate_runs(&mut self, raw: &[u8], repeating: &[bool; 256]) -> (f64, u8) {
        self.take_runs(raw, repeating);
        let (literals, lengths) =
            (std::mem::take(&mut self.literals), std::mem::take(&mut self.lengths));
        let inner = self.estimate(&literals, &Alphabet::of(&literals));
        let alphabet = Alphabet::of(&lengths);
        let mut frequencies = vec![0; alphabet.counts.len()];
        normalise_to(1 << BITS, &alphabet.counts, &mut frequencies);
        let by_lengths = cost(&alphabet.counts, &frequencies, BITS) + 24.0;
        (self.literals, self.lengths) = (literals, lengths);
        (
            inner.best() + by_lengths.min(self.lengths.len() as f64),
            u8::from(inner.costs[1] < inner.costs[0]),
        )
    }

    /// Splits `raw` into bytes without runs and the lengths of the runs, which follow the list of
    /// symbols that have any.
    fn take_runs(&mut self, raw: &[u8], repeating: &[bool; 256]) {
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

    /// Appends `raw` in this shape. `bits` is given if its pairs are still counted.
    fn shaped(
        &mut self,
        raw: &[u8],
        shape: Shape,
        alphabet: &Alphabet,
        bits: Option<u32>,
        out: &mut Vec<u8>,
    ) {
        let wide = if raw.len() >= MANY { N32_OR_EXT } else { 0 };
        let head = out.len();
        out.push(wide | if shape.pack { PACK } else { 0 } | if shape.runs { RLE } else { 0 });
        put_uint7(out, raw.len() as u32);
        let mut packed = std::mem::take(&mut self.packed);
        let mut bytes = raw;
        if shape.pack {
            let list = alphabet.list();
            packed.clear();
            pack::pack(raw, &list, &mut packed);
            out.push(list.len() as u8);
            out.extend_from_slice(&list);
            put_uint7(out, packed.len() as u32);
            bytes = &packed;
        }
        let n = if wide != 0 { 32 } else { 4 };
        if shape.runs {
            let alphabet = Alphabet::of(bytes);
            let repeating = self.estimate(bytes, &alphabet).repeating;
            self.take_runs(bytes, &repeating);
            let (literals, lengths) =
                (std::mem::take(&mut self.literals), std::mem::take(&mut self.lengths));
            let mut coded = Vec::new();
            self.entropy(&lengths, &Alphabet::of(&lengths), 0, None, n, &mut coded);
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
            self.finish(&literals, &alphabet, (shape.order, None), n, head, out);
            (self.literals, self.lengths) = (literals, lengths);
        } else if shape.pack {
            self.finish(bytes, &Alphabet::of(bytes), (shape.order, None), n, head, out);
        } else {
            self.finish(bytes, alphabet, (shape.order, bits), n, head, out);
        }
        self.packed = packed;
    }

    /// Appends the last step, rANS or the bytes as they are, and sets its flags at `head`.
    fn finish(
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
        if bytes.len() >= LEAST {
            self.entropy(bytes, alphabet, order, bits, n, out);
        }
        if bytes.len() < LEAST || out.len() - start >= bytes.len() {
            out.truncate(start);
            out.extend_from_slice(bytes);
            out[head] |= CAT;
        } else if order > 0 {
            out[head] |= ORDER;
        }
    }
}

fn stored(raw: &[u8], out: &mut Vec<u8>) {
    out.push(CAT);
    put_uint7(out, raw.len() as u32);
    out.extend_from_slice(raw);
}

fn shape(pack: bool, runs: bool, estimate: &Estimate) -> Shape {
    Shape { pack, runs, order: u8::from(estimate.costs[1] < estimate.costs[0]) }
}

fn better(best: (f64, Shape), other: (f64, Shape)) -> (f64, Shape) {
    if other.0 < best.0 { other } else { best }
}
