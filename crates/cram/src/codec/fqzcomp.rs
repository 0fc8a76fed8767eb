//! Decodes fqzcomp: quality scores with mixed contexts (CRAM codecs specification 3.1, section 7).
//!
//! Each quality is decoded with the model of its context: 16 bits that combine the previous
//! qualities of the read, the number of qualities left, and the number of changes so far.

use readmill_record::Result;

use super::arith::{Model, RangeDecoder};
use crate::num::{ByteCursor, damaged_cram};

struct ParameterSet {
    context: u32,
    flags: u8,
    qbits: u32,
    qshift: u32,
    qloc: u32,
    sloc: u32,
    ploc: u32,
    dloc: u32,
    max_symbol: usize,
    qmap: Option<Vec<u8>>,
    qtab: Vec<u32>,
    ptab: Vec<u32>,
    dtab: Vec<u32>,
}

pub(super) const DEDUP: u8 = 2;
/// All reads have the same length. This follows htscodecs; the specification says the opposite.
pub(super) const FIXED_LENGTH: u8 = 4;
const SELECTOR: u8 = 8;
pub(super) const QMAP: u8 = 16;
pub(super) const PTAB: u8 = 32;
pub(super) const DTAB: u8 = 64;
const QTAB: u8 = 128;

/// Reads a table of `n` ascending values from the lengths of their runs, which are themselves
/// run-length encoded.
fn read_table(cursor: &mut ByteCursor<'_>, n: usize) -> Result<Vec<u32>> {
    let (mut runs, mut sum, mut last) = (Vec::new(), 0usize, None);
    while sum < n {
        let run = cursor.read_byte()?;
        runs.push(run);
        sum += usize::from(run);
        if last == Some(run) {
            let copies = usize::from(cursor.read_byte()?);
            runs.resize(runs.len() + copies, run);
            sum += usize::from(run) * copies;
        }
        if runs.len() > 2 * n + 512 {
            return Err(damaged_cram("a table of contexts has no end"));
        }
        last = Some(run);
    }
    let (mut values, mut value) = (Vec::with_capacity(n), 0);
    let mut runs = runs.into_iter();
    while values.len() < n {
        let mut length = 0;
        loop {
            let part = runs.next().ok_or_else(|| damaged_cram("a table of contexts is too short"))?;
            length += usize::from(part);
            if part != 255 {
                break;
            }
        }
        values.resize((values.len() + length).min(n), value);
        value += 1;
    }
    Ok(values)
}

impl ParameterSet {
    fn read(cursor: &mut ByteCursor<'_>) -> Result<Self> {
        let two = cursor.take_bytes(2)?;
        let context = u32::from(u16::from_le_bytes([two[0], two[1]]));
        let (flags, max_symbol) = (cursor.read_byte()?, usize::from(cursor.read_byte()?));
        let (q, s, p) = (cursor.read_byte()?, cursor.read_byte()?, cursor.read_byte()?);
        let (high, low) = (|byte: u8| u32::from(byte >> 4), |byte: u8| u32::from(byte & 15));
        let qmap = if flags & QMAP != 0 { Some(cursor.take_bytes(max_symbol)?.to_vec()) } else { None };
        let has_qtab = flags & QTAB != 0 && q >> 4 > 0;
        let qtab = if has_qtab { read_table(cursor, 256)? } else { (0..256).collect() };
        let ptab = if flags & PTAB != 0 { read_table(cursor, 1024)? } else { Vec::new() };
        let dtab = if flags & DTAB != 0 { read_table(cursor, 256)? } else { Vec::new() };
        Ok(ParameterSet {
            context,
            flags,
            qbits: high(q),
            qshift: low(q),
            qloc: high(s),
            sloc: low(s),
            ploc: high(p),
            dloc: low(p),
            max_symbol,
            qmap,
            qtab,
            ptab,
            dtab,
        })
    }
}

#[derive(Default)]
struct History {
    qualities: u32,
    delta: usize,
    before: u16,
    selector: u32,
}

impl History {
    /// Updates the history with quality `q` of a read that has `left` qualities left. Returns the
    /// context of the next quality.
    fn next_context(&mut self, parameters: &ParameterSet, q: u16, left: usize) -> usize {
        let mut context = parameters.context;
        let value = parameters.qtab.get(usize::from(q)).copied().unwrap_or(0);
        self.qualities = (self.qualities << parameters.qshift).wrapping_add(value);
        let recent = self.qualities & ((1 << parameters.qbits) - 1);
        context = context.wrapping_add(recent << parameters.qloc);
        if parameters.flags & PTAB != 0 {
            context = context.wrapping_add(parameters.ptab[left.min(1023)] << parameters.ploc);
        }
        if parameters.flags & DTAB != 0 {
            context = context.wrapping_add(parameters.dtab[self.delta.min(255)] << parameters.dloc);
            self.delta += usize::from(self.before != q);
            self.before = q;
        }
        if parameters.flags & SELECTOR != 0 {
            context = context.wrapping_add(self.selector << parameters.sloc);
        }
        (context & 0xffff) as usize
    }
}

struct FqzcompHeader {
    sets: Vec<ParameterSet>,
    selectors: Option<Vec<u32>>,
    max_selector: usize,
    reversed: bool,
}

impl FqzcompHeader {
    fn symbol_count(&self) -> usize {
        self.sets.iter().map(|set| set.max_symbol).max().unwrap_or(0) + 1
    }

    fn read(cursor: &mut ByteCursor<'_>) -> Result<Self> {
        if cursor.read_byte()? != 5 {
            return Err(damaged_cram("this version of fqzcomp is unknown"));
        }
        let flags = cursor.read_byte()?;
        let count = if flags & 1 != 0 { usize::from(cursor.read_byte()?) } else { 1 };
        let mut max_selector = if flags & 1 != 0 { count } else { 0 };
        let mut selectors = None;
        if flags & 2 != 0 {
            max_selector = usize::from(cursor.read_byte()?);
            selectors = Some(read_table(cursor, 256)?);
        }
        let sets = (0..count).map(|_| ParameterSet::read(cursor)).collect::<Result<Vec<_>>>()?;
        if sets.is_empty() {
            return Err(damaged_cram("fqzcomp has no parameters"));
        }
        Ok(FqzcompHeader { sets, selectors, max_selector, reversed: flags & 4 != 0 })
    }
}

const CONTEXTS: usize = 1 << 16;

/// Memory for parameter tables (up to four per set, each with up to 1,024 entries) and for all
/// models except those of qualities.
const TABLES_BYTES: usize = 256 * (4 * 4096 + 512) + (64 << 10);

/// Returns the maximum memory of [`decode`] in bytes, excluding its output: a model for each
/// context that occurs, and the read lengths.
pub fn scratch_bytes(data: &[u8], size: usize) -> usize {
    let mut cursor = ByteCursor(data);
    // Damage is reported later, when the block is decoded.
    let setup = cursor.read_uint7().and_then(|_| FqzcompHeader::read(&mut cursor));
    let symbols = setup.map_or(0, |setup| setup.symbol_count());
    let models = size.min(CONTEXTS) * (symbols * 4 + 16) + CONTEXTS * size_of::<Option<Model>>();
    models + size + TABLES_BYTES
}

pub fn decode(data: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
    let mut cursor = ByteCursor(data);
    if cursor.read_uint7()? as usize != size {
        return Err(damaged_cram("a block does not have its stated size"));
    }
    let setup = FqzcompHeader::read(&mut cursor)?;
    let symbols = setup.symbol_count();
    let FqzcompHeader { sets, selectors, max_selector, reversed } = setup;
    let mut coder = RangeDecoder::new(cursor.0)?;
    let mut lengths = vec![Model::new(256); 4];
    let mut qualities: Vec<Option<Model>> = vec![None; CONTEXTS];
    let (mut duplicate, mut reverse) = (Model::new(2), Model::new(2));
    let mut selector = Model::new(max_selector + 1);
    let (mut lengths_turned, mut last_length) = (Vec::new(), None);
    let start = out.len();
    out.reserve_exact(size);
    while out.len() - start < size {
        let mut history = History::default();
        let mut which = 0;
        if max_selector > 0 && (sets.len() > 1 || sets[0].flags & SELECTOR != 0) {
            let selected = usize::from(selector.decode_symbol(&mut coder)?);
            history.selector = selected as u32;
            which = selectors.as_ref().map_or(selected, |table| table[selected.min(255)] as usize);
        }
        let set =
            sets.get(which).ok_or_else(|| damaged_cram("the parameters of fqzcomp are invalid"))?;
        let length = match last_length {
            Some(length) if set.flags & FIXED_LENGTH != 0 => length,
            _ => {
                let mut bytes = [0; 4];
                for (byte, model) in bytes.iter_mut().zip(&mut lengths) {
                    *byte = model.decode_symbol(&mut coder)? as u8;
                }
                u32::from_le_bytes(bytes) as usize
            }
        };
        last_length = Some(length);
        let at = out.len();
        if length > size - (at - start) || length == 0 {
            return Err(damaged_cram("a record has too many qualities, or none"));
        }
        if reversed {
            put_length(length, reverse.decode_symbol(&mut coder)? != 0, &mut lengths_turned);
        }
        if set.flags & DEDUP != 0 && duplicate.decode_symbol(&mut coder)? != 0 {
            let from = at.checked_sub(length).filter(|&from| from >= start);
            let from =
                from.ok_or_else(|| damaged_cram("qualities repeat a record that does not exist"))?;
            out.extend_from_within(from..at);
            continue;
        }
        let mut context = set.context as usize;
        for left in (1..=length).rev() {
            let model = qualities[context].get_or_insert_with(|| Model::new(symbols));
            let q = model.decode_symbol(&mut coder)?;
            out.push(match &set.qmap {
                Some(map) => map.get(usize::from(q)).copied().unwrap_or(0),
                None => q as u8,
            });
            context = history.next_context(set, q, left);
        }
    }
    let (mut cursor, mut at) = (&lengths_turned[..], start);
    while let Some((length, turned)) = take_length(&mut cursor) {
        if turned {
            out[at..at + length].reverse();
        }
        at += length;
    }
    Ok(())
}

/// Appends the length of a read and whether it is reversed. An entry takes no more bytes than the
/// read has qualities, so the block size bounds it.
fn put_length(length: usize, turned: bool, out: &mut Vec<u8>) {
    let mut n = length << 1 | usize::from(turned);
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn take_length(cursor: &mut &[u8]) -> Option<(usize, bool)> {
    let (mut n, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = cursor.split_first()?;
        *cursor = rest;
        n |= usize::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return Some((n >> 1, n & 1 != 0));
        }
    }
}
