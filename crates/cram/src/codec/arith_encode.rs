//! Encoder of the adaptive arithmetic coder (CRAM codecs specification 3.1, section 5).

use super::alphabet::Alphabet;
use super::arith::{FREQUENCY_STEP, MAX_FREQUENCY_SUM};
use super::pack::{self, CAT, ORDER, PACK, RLE, STRIPE};
use crate::num::put_uint7;

pub(super) struct RangeEncoder<'a> {
    /// Start of the range. A carry into bit 32 changes bytes that have not been appended yet.
    low: u64,
    range: u32,
    /// The last byte that a carry may still change, and the number of 255 bytes that follow it.
    last: u8,
    full: usize,
    out: &'a mut Vec<u8>,
}

impl<'a> RangeEncoder<'a> {
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        RangeEncoder { low: 0, range: u32::MAX, last: 0, full: 0, out }
    }

    #[inline]
    pub fn encode_range(&mut self, before: u32, frequency: u32, sum: u32) {
        self.range /= sum;
        self.low += u64::from(before) * u64::from(self.range);
        self.range *= frequency;
        while self.range < 1 << 24 {
            self.range <<= 8;
            self.shift_byte_out();
        }
    }

    /// Appends the highest byte of `low` to the output, or holds it back while a carry could still
    /// change it.
    #[inline]
    fn shift_byte_out(&mut self) {
        let carry = (self.low >> 32) as u8;
        let top = (self.low >> 24) as u8;
        if carry > 0 || top < 0xff {
            self.out.push(self.last.wrapping_add(carry));
            let filler = 0xffu8.wrapping_add(carry);
            for _ in 0..std::mem::take(&mut self.full) {
                self.out.push(filler);
            }
            self.last = top;
        } else {
            self.full += 1;
        }
        self.low = (self.low & 0x00ff_ffff) << 8;
    }

    pub fn finish(mut self) {
        (0..5).for_each(|_| self.shift_byte_out());
    }
}

/// Adaptive models of one alphabet, one per context. A model is created when its context first
/// occurs.
#[derive(Default)]
pub(super) struct Models {
    symbols: usize,
    starts: Vec<u32>,
    /// For each model: the sum of its frequencies, then one word per symbol (low half: symbol, high
    /// half: frequency), roughly in order of descending frequency.
    all: Vec<u32>,
}

impl Models {
    pub fn reset(&mut self, contexts: usize, symbols: usize) {
        self.symbols = symbols;
        self.starts.clear();
        self.starts.resize(contexts, 0);
        self.all.clear();
    }

    /// Reserves memory for up to this many models, so that they are not copied as their number
    /// grows.
    pub fn reserve(&mut self, models: usize) {
        self.all.reserve_exact(models.min(self.starts.len()) * (self.symbols + 1));
    }

    #[inline]
    pub fn encode_symbol(&mut self, context: usize, symbol: u32, coder: &mut RangeEncoder<'_>) {
        let mut start = self.starts[context] as usize;
        if start == 0 {
            start = self.add_model();
            self.starts[context] = start as u32;
        }
        let model = &mut self.all[start - 1..][..=self.symbols];
        let (mut before, mut at) = (0, 1);
        while at < model.len() && model[at] & 0xffff != symbol {
            before += model[at] >> 16;
            at += 1;
        }
        let Some(&entry) = model.get(at) else { return };
        coder.encode_range(before, entry >> 16, model[0]);
        let entry = entry + (FREQUENCY_STEP << 16);
        model[at] = entry;
        model[0] += FREQUENCY_STEP;
        if model[0] > MAX_FREQUENCY_SUM {
            halve_frequencies(model);
        }
        if at > 1 && model[at] >> 16 > model[at - 1] >> 16 {
            model.swap(at, at - 1);
        }
    }

    #[cold]
    fn add_model(&mut self) -> usize {
        self.all.push(self.symbols as u32);
        let start = self.all.len();
        self.all.extend((0..self.symbols as u32).map(|symbol| symbol | 1 << 16));
        start
    }
}

#[cold]
fn halve_frequencies(model: &mut [u32]) {
    let mut sum = 0;
    for entry in &mut model[1..] {
        let frequency = *entry >> 16;
        let frequency = frequency - frequency / 2;
        *entry = *entry & 0xffff | frequency << 16;
        sum += frequency;
    }
    model[0] = sum;
}

#[derive(Default)]
pub struct ArithEncoder {
    literals: Models,
    runs: Models,
    packed: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    flags: u8,
}

pub const FORMS: [Form; 6] = [
    Form { flags: 0 },
    Form { flags: ORDER },
    Form { flags: RLE },
    Form { flags: RLE | ORDER },
    Form { flags: PACK },
    Form { flags: PACK | ORDER },
];

pub const STRIPED: Form = Form { flags: STRIPE };

const MIN_CODED_BYTES: usize = 8;

impl ArithEncoder {
    /// Appends `raw`, encoded in this form. Packing is skipped if the data has too many or too few
    /// symbols for it.
    pub fn encode(&mut self, raw: &[u8], form: Form, out: &mut Vec<u8>) {
        if form.flags & STRIPE != 0 {
            return self.encode_stripes(raw, out);
        }
        let head = out.len();
        out.push(form.flags & !PACK);
        put_uint7(out, raw.len() as u32);
        let mut packed = std::mem::take(&mut self.packed);
        packed.clear();
        let mut bytes = raw;
        if form.flags & PACK != 0 {
            let list = Alphabet::of(raw).used_symbols();
            if (2..=16).contains(&list.len()) {
                pack::pack_symbols(raw, &list, &mut packed);
                out[head] |= PACK;
                out.push(list.len() as u8);
                out.extend_from_slice(&list);
                put_uint7(out, packed.len() as u32);
                bytes = &packed;
            }
        }
        if bytes.len() < MIN_CODED_BYTES {
            out[head] = out[head] & PACK | CAT;
            out.extend_from_slice(bytes);
        } else {
            self.encode_entropy(bytes, form.flags, out);
        }
        self.packed = packed;
    }

    fn encode_stripes(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        const WIDTH: usize = 4;
        out.push(STRIPE);
        put_uint7(out, raw.len() as u32);
        out.push(WIDTH as u8);
        let (mut parts, mut part) = (Vec::new(), Vec::new());
        for j in 0..WIDTH {
            part.clear();
            part.extend(raw.iter().skip(j).step_by(WIDTH));
            let at = parts.len();
            self.encode(&part, FORMS[0], &mut parts);
            put_uint7(out, (parts.len() - at) as u32);
        }
        out.append(&mut parts);
    }

    fn encode_entropy(&mut self, bytes: &[u8], flags: u8, out: &mut Vec<u8>) {
        let symbols = bytes.iter().max().map_or(0, |&max_symbol| usize::from(max_symbol)) + 1;
        out.push(symbols as u8); // 256 is 0
        let ordered = flags & ORDER != 0;
        self.literals.reset(if ordered { symbols } else { 1 }, symbols);
        let mut coder = RangeEncoder::new(out);
        if flags & RLE == 0 {
            let mut last = 0;
            for &byte in bytes {
                self.literals.encode_symbol(if ordered { last } else { 0 }, u32::from(byte), &mut coder);
                last = usize::from(byte);
            }
            return coder.finish();
        }
        self.runs.reset(258, 4);
        let (mut at, mut last) = (0, 0);
        while at < bytes.len() {
            let byte = bytes[at];
            self.literals.encode_symbol(if ordered { last } else { 0 }, u32::from(byte), &mut coder);
            last = usize::from(byte);
            at += 1;
            let mut run = bytes[at..].iter().take_while(|&&other| other == byte).count();
            at += run;
            let mut context = last;
            loop {
                let part = run.min(3);
                self.runs.encode_symbol(context, part as u32, &mut coder);
                run -= part;
                if part < 3 {
                    break;
                }
                context = if context < 256 { 256 } else { 257 };
            }
        }
        coder.finish();
    }
}

const SAMPLE_BYTES: usize = 1 << 15;

impl ArithEncoder {
    /// Appends `raw` in whichever form encodes its start in the fewest bytes. Stripes are tried if
    /// values are four bytes wide.
    pub fn encode_smallest(&mut self, raw: &[u8], width: usize, out: &mut Vec<u8>) {
        let (start, sample) = (out.len(), &raw[..raw.len().min(SAMPLE_BYTES)]);
        let mut best = (usize::MAX, FORMS[0]);
        let striped = (width == 4).then_some(STRIPED);
        for form in striped.into_iter().chain(FORMS) {
            self.encode(sample, form, out);
            if out.len() - start < best.0 {
                best = (out.len() - start, form);
            }
            out.truncate(start);
        }
        self.encode(raw, best.1, out);
    }
}
