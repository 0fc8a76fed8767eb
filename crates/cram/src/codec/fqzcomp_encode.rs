//! Encodes fqzcomp, which stores the quality scores of whole reads (CRAM codecs specification 3.1,
//! section 7).
//!
//! Each quality is encoded with the model of its context: the previous qualities of the read, the
//! number of qualities left, and the number of changes so far.

use super::arith_encode::{Models, RangeEncoder};
use super::fqzcomp::{DEDUP, DTAB, FIXED_LENGTH, PTAB, QMAP};
use crate::num::put_uint7;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QualityRead {
    pub length: u32,
    /// Whether the qualities are stored in reverse sequencing order. fqzcomp encodes them in
    /// sequencing order.
    pub reverse: bool,
}

/// The layout of a 16-bit context: `qbits` for the previous qualities, with `qshift` bits for each;
/// `pbits` for the number of qualities left in the read; `dbits` for the number of changes so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ContextLayout {
    qbits: u32,
    qshift: u32,
    pbits: u32,
    dbits: u32,
}

/// Maximum number of distinct qualities. SAM has 94.
const MAX_SYMBOLS: usize = 96;

pub const MAX_MEMORY_BYTES: usize = (1 << 16) * 4 * (MAX_SYMBOLS + 3);

#[derive(Default)]
pub struct FqzcompEncoder {
    qualities: Models,
    lengths: Models,
    turned: Vec<u8>,
}

/// Contexts of the one-bit models: whether a read has the same qualities as the previous read, and
/// whether it is reversed.
const DUPLICATE_CONTEXT: usize = 0;
const REVERSE: usize = 1;

impl FqzcompEncoder {
    /// Appends the encoded qualities `raw` of `reads`. Returns false if fqzcomp cannot store them:
    /// the lengths do not add up, a read is empty, or there are too many distinct qualities.
    pub fn encode(&mut self, raw: &[u8], reads: &[QualityRead], out: &mut Vec<u8>) -> bool {
        let sum: usize = reads.iter().map(|read| read.length as usize).sum();
        if sum != raw.len() || sum == 0 || reads.iter().any(|read| read.length == 0) {
            return false;
        }
        let (mut numbers, mut map) = ([0u8; 256], Vec::new());
        let mut seen = [false; 256];
        raw.iter().for_each(|&q| seen[q as usize] = true);
        for q in (0..=255u8).filter(|&q| seen[q as usize]) {
            numbers[q as usize] = map.len() as u8;
            map.push(q);
        }
        if map.len() > MAX_SYMBOLS {
            return false;
        }
        self.number_qualities(raw, reads, &numbers);
        let parameters = BlockParameters::new(context_layout(map.len()), reads, map, &self.turned);
        parameters.write_parameters(sum, out);
        self.encode_reads(&parameters, reads, out);
        true
    }

    fn number_qualities(&mut self, raw: &[u8], reads: &[QualityRead], numbers: &[u8; 256]) {
        self.turned.clear();
        self.turned.reserve(raw.len());
        let mut rest = raw;
        for read in reads {
            let Some((own, others)) = rest.split_at_checked(read.length as usize) else { return };
            let own = own.iter();
            if read.reverse {
                self.turned.extend(own.rev().map(|&q| numbers[q as usize]));
            } else {
                self.turned.extend(own.map(|&q| numbers[q as usize]));
            }
            rest = others;
        }
    }

    fn encode_reads(&mut self, parameters: &BlockParameters, reads: &[QualityRead], out: &mut Vec<u8>) {
        let FqzcompEncoder { qualities, lengths, turned } = self;
        qualities.reset(1 << 16, parameters.map.len() + 1);
        qualities.reserve(turned.len());
        let mut bits = Models::default();
        lengths.reset(4, 256);
        bits.reset(2, 2);
        let mut coder = RangeEncoder::new(out);
        let (mut at, mut before) = (0usize, 0usize);
        for (number, read) in reads.iter().enumerate() {
            let length = read.length as usize;
            let own = &turned[at..at + length];
            if number == 0 || !parameters.is_fixed {
                for (context, byte) in read.length.to_le_bytes().into_iter().enumerate() {
                    lengths.encode_symbol(context, u32::from(byte), &mut coder);
                }
            }
            if parameters.has_reversed_reads {
                bits.encode_symbol(REVERSE, u32::from(read.reverse), &mut coder);
            }
            if parameters.has_duplicates {
                let same = before == length && turned[at - before..at] == *own;
                bits.encode_symbol(DUPLICATE_CONTEXT, u32::from(same), &mut coder);
                if same {
                    at += length;
                    continue;
                }
            }
            parameters.encode_read(own, qualities, &mut coder);
            at += length;
            before = length;
        }
        coder.finish();
    }
}

struct BlockParameters {
    layout: ContextLayout,
    is_fixed: bool,
    has_reversed_reads: bool,
    has_duplicates: bool,
    map: Vec<u8>,
    /// Context bits, already shifted to their position: `ptab` by the number of qualities left,
    /// `dtab` by the number of changes.
    ptab: Vec<u16>,
    dtab: Vec<u16>,
}

fn context_layout(symbols: usize) -> ContextLayout {
    match symbols {
        0..=2 => ContextLayout { qbits: 8, qshift: 1, pbits: 5, dbits: 2 },
        3..=4 => ContextLayout { qbits: 8, qshift: 2, pbits: 5, dbits: 2 },
        5..=8 => ContextLayout { qbits: 9, qshift: 3, pbits: 5, dbits: 2 },
        9..=16 => ContextLayout { qbits: 8, qshift: 4, pbits: 5, dbits: 2 },
        _ => ContextLayout { qbits: 10, qshift: 5, pbits: 4, dbits: 2 },
    }
}

impl BlockParameters {
    fn new(layout: ContextLayout, reads: &[QualityRead], map: Vec<u8>, turned: &[u8]) -> Self {
        let longest = reads.iter().map(|read| read.length).max().unwrap_or(0);
        let is_fixed = reads.iter().all(|read| read.length == longest);
        let mut same = 0;
        let mut at = 0;
        for pair in reads.windows(2) {
            let [a, b] = [pair[0].length as usize, pair[1].length as usize];
            let (start, next) = (at, at + a);
            same += usize::from(a == b && turned[start..next] == turned[next..next + b]);
            at = next;
        }
        // Buckets the number of qualities left in equal steps, up to the longest read or the size
        // of the table.
        let pshift = (0..10).find(|shift| longest.min(1024) >> shift <= 1 << layout.pbits).unwrap_or(10);
        let place = |value: u32, bits: u32, at: u32| (value.min((1 << bits) - 1) << at) as u16;
        let ContextLayout { qbits, pbits, dbits, .. } = layout;
        BlockParameters {
            layout,
            is_fixed,
            has_reversed_reads: reads.iter().any(|read| read.reverse),
            has_duplicates: 20 * same > reads.len(),
            map,
            ptab: (0..1024).map(|left| place(left >> pshift, pbits, qbits)).collect(),
            dtab: (0..256u32).map(|n| place((n / 2).isqrt(), dbits, qbits + pbits)).collect(),
        }
    }

    fn write_parameters(&self, size: usize, out: &mut Vec<u8>) {
        let ContextLayout { qbits, qshift, pbits, dbits } = self.layout;
        put_uint7(out, size as u32);
        out.push(5);
        out.push(if self.has_reversed_reads { 4 } else { 0 });
        out.extend([0, 0]); // the first context
        let mut flags = if self.has_duplicates { DEDUP } else { 0 };
        flags |= if self.is_fixed { FIXED_LENGTH } else { 0 };
        flags |= QMAP | if pbits > 0 { PTAB } else { 0 } | if dbits > 0 { DTAB } else { 0 };
        out.extend([flags, self.map.len() as u8]);
        out.push((qbits << 4 | qshift) as u8);
        out.push(0); // position of a selector in the context; not used
        out.push((qbits << 4 | (qbits + pbits) & 15) as u8);
        out.extend_from_slice(&self.map);
        if pbits > 0 {
            put_table(&self.ptab.iter().map(|&n| n >> qbits).collect::<Vec<_>>(), out);
        }
        if dbits > 0 {
            put_table(&self.dtab.iter().map(|&n| n >> (qbits + pbits)).collect::<Vec<_>>(), out);
        }
    }

    #[inline]
    fn encode_read(&self, own: &[u8], models: &mut Models, coder: &mut RangeEncoder<'_>) {
        let ContextLayout { qbits, qshift, .. } = self.layout;
        let mask = (1u32 << qbits) - 1;
        let (mut context, mut recent, mut changes, mut before) = (0u32, 0u32, 0usize, 0u8);
        for (&q, left) in own.iter().zip((1..=own.len()).rev()) {
            models.encode_symbol(context as usize, u32::from(q), coder);
            recent <<= qshift;
            recent = recent.wrapping_add(u32::from(q));
            context = recent & mask;
            context += u32::from(self.ptab[left.min(1023)]) + u32::from(self.dtab[changes.min(255)]);
            changes += usize::from(before != q);
            before = q;
        }
    }
}

/// Appends a table of ascending values as run lengths. Equal run lengths are stored once with a
/// count.
fn put_table(values: &[u16], out: &mut Vec<u8>) {
    let mut runs = Vec::new();
    let (mut at, mut value) = (0, 0u16);
    while at < values.len() {
        let mut run = values[at..].iter().take_while(|&&other| other == value).count();
        at += run;
        while run >= 255 {
            runs.push(255u8);
            run -= 255;
        }
        runs.push(run as u8);
        value += 1;
    }
    let (mut at, mut last) = (0, None);
    while at < runs.len() {
        let run = runs[at];
        out.push(run);
        at += 1;
        if last == Some(run) {
            let copies = runs[at..].iter().take_while(|&&other| other == run).count().min(255);
            out.push(copies as u8);
            at += copies;
        }
        last = Some(run);
    }
}
