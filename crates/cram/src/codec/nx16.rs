//! Decodes rANS Nx16: 4 or 32 states, renormalised by 16-bit words, with optional packing, striping
//! and run-length encoding of the bytes (CRAM codecs specification 3.1, section 4).

use readmill_record::Result;

#[cfg(target_arch = "x86_64")]
use super::nx16_avx2 as avx2;
use super::pack::{self, CAT, ORDER, PACK, RLE, STATES_32_OR_EXT, STRIPE, SymbolPacking};
use super::rans::{LOW_OF_NX16 as LOW, Slot, read_symbols, table_slot};
use crate::num::{ByteCursor, damaged_cram};

const CONTEXTS: usize = 257 * size_of::<[Slot; 1 << 12]>() + 4 * (256 * 256 + 256);

pub fn scratch_bytes(data: &[u8], size: usize) -> usize {
    let flags = data.first().copied().unwrap_or(0);
    let contexts = if flags & (ORDER | STRIPE) != 0 { CONTEXTS } else { 0 };
    // A stripe, its packed bytes, its bytes without runs, and its run lengths.
    let several = if flags & (STRIPE | PACK | RLE) != 0 { 4 * size + MAX_SYMBOL_LIST_BYTES } else { 0 };
    contexts + several
}

const MAX_SYMBOL_LIST_BYTES: usize = 257;

pub fn decode(data: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
    let mut cursor = ByteCursor(data);
    let flags = cursor.read_byte()?;
    let size = pack::read_size(&mut cursor, flags, size)?;
    if flags & STRIPE != 0 {
        return pack::decode_stripes(&mut cursor, size, decode, out);
    }
    let packing = if flags & PACK != 0 { Some(SymbolPacking::read(&mut cursor, size)?) } else { None };
    let unpacked = packing.as_ref().map_or(size, |packing| packing.packed);
    let n = if flags & STATES_32_OR_EXT != 0 { 32 } else { 4 };
    let runs = if flags & RLE != 0 { Some(Runs::read(&mut cursor, unpacked, n)?) } else { None };
    let coded = runs.as_ref().map_or(unpacked, |runs| runs.literals);
    if packing.is_none() && runs.is_none() {
        return decode_entropy(&mut cursor, flags, coded, n, out);
    }
    let mut bytes = Vec::new();
    decode_entropy(&mut cursor, flags, coded, n, &mut bytes)?;
    if let Some(runs) = runs {
        bytes = runs.expand_runs(&bytes, unpacked)?;
    }
    match packing {
        Some(packing) => packing.unpack(&bytes, size, out),
        None => {
            out.extend_from_slice(&bytes);
            Ok(())
        }
    }
}

/// Appends `size` bytes of the innermost coding step, which is rANS with `n` states, or none.
fn decode_entropy(
    cursor: &mut ByteCursor<'_>,
    flags: u8,
    size: usize,
    n: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    if flags & CAT != 0 {
        out.extend_from_slice(cursor.take_bytes(size)?);
        return Ok(());
    }
    if size == 0 {
        return Ok(());
    }
    let start = out.len();
    out.resize(start + size, 0);
    let out = &mut out[start..];
    match (flags & ORDER != 0, n) {
        (false, 4) => decode_order_0::<4>(cursor, out, false),
        (false, _) => decode_order_0::<32>(cursor, out, has_vectors()),
        (true, 4) => decode_order_1::<4>(cursor, out, false),
        (true, _) => decode_order_1::<32>(cursor, out, has_vectors()),
    }
}

pub fn has_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    return avx2::is_available();
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// A run of at most this many bytes is written as exactly this many, and later bytes overwrite the
/// excess: a copy of constant length needs no loop.
const SHORT_RUN: usize = 16;

struct Runs {
    /// For each symbol: 255 if it has run lengths, otherwise 0.
    has_lengths: [u8; 256],
    lengths: Vec<u8>,
    from: usize,
    literals: usize,
}

impl Runs {
    fn read(cursor: &mut ByteCursor<'_>, max_bytes: usize, n: usize) -> Result<Self> {
        let (size, literals) = (cursor.read_uint7()? as usize, cursor.read_uint7()? as usize);
        // A run length takes no more bytes than its run.
        if literals > max_bytes || size / 2 > max_bytes + MAX_SYMBOL_LIST_BYTES {
            return Err(damaged_cram("runs are longer than their expanded data"));
        }
        let mut lengths = Vec::new();
        if size & 1 != 0 {
            lengths.extend_from_slice(cursor.take_bytes(size / 2)?);
        } else {
            let stored = cursor.read_uint7()? as usize;
            let mut coded = ByteCursor(cursor.take_bytes(stored)?);
            decode_entropy(&mut coded, 0, size / 2, n, &mut lengths)?;
        }
        let mut meta = ByteCursor(&lengths);
        let count = match meta.read_byte()? {
            0 => 256,
            n => n as usize,
        };
        let mut of = [0; 256];
        meta.take_bytes(count)?.iter().for_each(|&symbol| of[symbol as usize] = u8::MAX);
        let from = lengths.len() - meta.0.len();
        Ok(Runs { has_lengths: of, lengths, from, literals })
    }

    fn expand_runs(&self, literals: &[u8], size: usize) -> Result<Vec<u8>> {
        let (mut lengths, mut out) = (ByteCursor(&self.lengths[self.from..]), vec![0; size]);
        let mut rest = &mut out[..];
        for &symbol in literals {
            // Whether a symbol has a run length is hard to predict, so short runs are written
            // without a branch on it.
            let has_length = self.has_lengths[symbol as usize];
            let more = lengths.0.first().map_or(u8::MAX, |&byte| byte) & has_length;
            if let Some(short) = rest.first_chunk_mut::<SHORT_RUN>()
                && usize::from(more) < SHORT_RUN
            {
                *short = [symbol; SHORT_RUN];
                lengths.0 = &lengths.0[usize::from(has_length & 1)..];
                rest = &mut rest[usize::from(more) + 1..];
                continue;
            }
            let more = if has_length == 0 { 0 } else { lengths.read_uint7()? as usize };
            if more >= rest.len() {
                return Err(damaged_cram("runs are too long"));
            }
            rest[..more + 1].fill(symbol);
            rest = &mut rest[more + 1..];
        }
        let left = rest.len();
        out.truncate(size - left);
        Ok(out)
    }
}

/// Fills the slots of a context from its frequencies. Their sum must be the number of slots divided
/// by a power of two.
fn fill_slots(frequencies: &[(u8, u32)], bits: u32, table: &mut [Slot]) -> Result<()> {
    let slots = 1u32 << bits;
    let sum = frequencies.iter().map(|&(_, f)| u64::from(f)).sum::<u64>();
    if sum == 0 {
        return Ok(());
    }
    let shift = (0..=bits).find(|shift| sum << shift >= u64::from(slots)).unwrap_or(0);
    if sum << shift != u64::from(slots) {
        return Err(damaged_cram("frequencies do not add up"));
    }
    let mut rest = table;
    for &(symbol, f) in frequencies.iter().filter(|(_, f)| *f > 0) {
        let own = rest.split_off_mut(..(f << shift) as usize);
        let own = own.ok_or_else(|| damaged_cram("frequencies add up to too much"))?;
        (0..).zip(own).for_each(|(into, entry)| *entry = table_slot(symbol, f << shift, into));
    }
    Ok(())
}

struct CodedBytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl CodedBytes<'_> {
    fn has_bytes_for(&self, n: usize) -> bool {
        self.bytes.len() - self.at >= 2 * n
    }

    #[inline(always)]
    fn next_state(state: u32, entry: Slot, bits: u32) -> u32 {
        let frequency = (entry >> 8 & 0xfff) + 1;
        frequency.wrapping_mul(state >> bits).wrapping_add(entry >> 20)
    }

    /// Decodes a symbol from a state, given its table `entry`. It does not branch on whether the
    /// state reads bytes, because that is hard to predict. Enough bytes must be left
    /// ([`has_bytes_for`](Self::has_bytes_for)).
    #[inline(always)]
    fn decode_symbol(&mut self, state: &mut u32, entry: Slot, bits: u32) -> u8 {
        let next = Self::next_state(*state, entry, bits);
        let two = u16::from_le_bytes([self.bytes[self.at], self.bytes[self.at + 1]]);
        let taken = next < LOW;
        *state = if taken { next << 16 | u32::from(two) } else { next };
        self.at += 2 * usize::from(taken);
        entry as u8
    }

    /// Decodes a symbol from a state, given its table `entry`, near the end of the bytes: the state
    /// reads only bytes that exist.
    #[inline(always)]
    fn decode_symbol_at_end(&mut self, state: &mut u32, entry: Slot, bits: u32) -> u8 {
        if self.has_bytes_for(1) {
            return self.decode_symbol(state, entry, bits);
        }
        *state = Self::next_state(*state, entry, bits);
        entry as u8
    }
}

fn read_states<const N: usize>(cursor: &mut ByteCursor<'_>) -> Result<[u32; N]> {
    let mut states = [0; N];
    for state in &mut states {
        *state = cursor.read_u32()?;
    }
    Ok(states)
}

/// Fills `out` with bytes decoded with order 0. With `vectors`, 32 states are decoded with SIMD.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut, unused_variables))]
pub fn decode_order_0<const N: usize>(
    cursor: &mut ByteCursor<'_>,
    out: &mut [u8],
    vectors: bool,
) -> Result<()> {
    let mut frequencies = Vec::new();
    read_symbols(cursor, |symbol, _| {
        frequencies.push((symbol, 0));
        Ok(())
    })?;
    for (_, f) in &mut frequencies {
        *f = cursor.read_uint7()?;
    }
    let mut table = [0; 1 << 12];
    fill_slots(&frequencies, 12, &mut table)?;
    let mut states = read_states::<N>(cursor)?;
    let mut coded = CodedBytes { bytes: cursor.0, at: 0 };
    let mut done = 0;
    #[cfg(target_arch = "x86_64")]
    if let Some(states) = states[..].as_mut_array()
        && vectors
    {
        done = avx2::decode_order_0((coded.bytes, &mut coded.at), &table, states, out);
    }
    let entry = |state: u32| table[(state & 0xfff) as usize];
    for chunk in out[done..].chunks_mut(N) {
        if chunk.len() == N && coded.has_bytes_for(N) {
            for (state, byte) in states.iter_mut().zip(chunk) {
                *byte = coded.decode_symbol(state, entry(*state), 12);
            }
        } else {
            for (state, byte) in states.iter_mut().zip(chunk) {
                *byte = coded.decode_symbol_at_end(state, entry(*state), 12);
            }
        }
    }
    cursor.take_bytes(coded.at)?;
    Ok(())
}

struct Contexts {
    bits: u32,
    of: [u16; 256],
    tables: Vec<Slot>,
}

impl Contexts {
    fn read(cursor: &mut ByteCursor<'_>) -> Result<Self> {
        let head = cursor.read_byte()?;
        let bits = u32::from(head >> 4);
        if bits > 12 {
            return Err(damaged_cram("frequencies are too large"));
        }
        if head & 1 == 0 {
            return Self::read_tables(cursor, bits);
        }
        let (size, stored) = (cursor.read_uint7()? as usize, cursor.read_uint7()? as usize);
        if size > 3 * (256 * 256 + 256) {
            return Err(damaged_cram("a table of frequencies is too large"));
        }
        let (mut coded, mut bytes) = (ByteCursor(cursor.take_bytes(stored)?), vec![0; size]);
        decode_order_0::<4>(&mut coded, &mut bytes, false)?;
        Self::read_tables(&mut ByteCursor(&bytes), bits)
    }

    fn read_tables(cursor: &mut ByteCursor<'_>, bits: u32) -> Result<Self> {
        let mut alphabet = Vec::new();
        read_symbols(cursor, |symbol, _| {
            alphabet.push(symbol);
            Ok(())
        })?;
        let mut of = [0u16; 256];
        let size = 1 << bits;
        let mut tables = vec![0; (alphabet.len() + 1) * size]; // the first is for contexts that do not occur
        let mut frequencies: Vec<(u8, u32)> = Vec::new();
        for (i, &context) in alphabet.iter().enumerate() {
            of[context as usize] = i as u16 + 1;
            let mut zeros = 0;
            frequencies.clear();
            for &symbol in &alphabet {
                if zeros > 0 {
                    zeros -= 1;
                    continue;
                }
                match cursor.read_uint7()? {
                    0 => zeros = cursor.read_byte()?,
                    f => frequencies.push((symbol, f)),
                }
            }
            fill_slots(&frequencies, bits, &mut tables[(i + 1) * size..][..size])?;
        }
        Ok(Contexts { bits, of, tables })
    }

    #[cfg(target_arch = "x86_64")]
    fn table_starts(&self) -> [u32; 256] {
        self.of.map(|table| u32::from(table) << self.bits)
    }

    #[inline(always)]
    fn table_entry(&self, context: u8, state: u32) -> Slot {
        let into = state & ((1 << self.bits) - 1);
        self.tables[(usize::from(self.of[context as usize]) << self.bits) + into as usize]
    }
}

/// Fills `out` with bytes decoded with order 1: the context is the previous byte. With `vectors`,
/// 32 states are decoded with SIMD.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_mut, unused_variables))]
pub fn decode_order_1<const N: usize>(
    cursor: &mut ByteCursor<'_>,
    out: &mut [u8],
    vectors: bool,
) -> Result<()> {
    let contexts = Contexts::read(cursor)?;
    let mut states = read_states::<N>(cursor)?;
    let mut coded = CodedBytes { bytes: cursor.0, at: 0 };
    let (mut last, part) = ([0u8; N], out.len() / N);
    let mut done = 0;
    #[cfg(target_arch = "x86_64")]
    if let (Some(states), Some(last)) = (states[..].as_mut_array(), last[..].as_mut_array())
        && vectors
    {
        let (coded, bits) = ((coded.bytes, &mut coded.at), contexts.bits);
        let tables = (&contexts.table_starts(), &contexts.tables[..]);
        done = avx2::decode_order_1(coded, tables, bits, (states, last), &mut out[..part * N]);
    }
    for i in done..part {
        let is_within = coded.has_bytes_for(N);
        for j in 0..N {
            let entry = contexts.table_entry(last[j], states[j]);
            last[j] = match is_within {
                true => coded.decode_symbol(&mut states[j], entry, contexts.bits),
                false => coded.decode_symbol_at_end(&mut states[j], entry, contexts.bits),
            };
            out[i + j * part] = last[j];
        }
    }
    for byte in &mut out[part * N..] {
        let entry = contexts.table_entry(last[N - 1], states[N - 1]);
        last[N - 1] = coded.decode_symbol_at_end(&mut states[N - 1], entry, contexts.bits);
        *byte = last[N - 1];
    }
    cursor.take_bytes(coded.at)?;
    Ok(())
}
