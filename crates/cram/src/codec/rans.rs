//! rANS 4x8, with four interleaved states (CRAM codecs specification 3.1, section 3; Duda 2013).
//! This is the decoder; [`super::block_codec`] has the encoder.

use readmill_record::Result;

use crate::num::{ByteCursor, damaged_cram};

const BITS: u32 = 12;

const SLOTS: usize = 1 << BITS;

const LOW: u32 = 1 << 23;

pub(super) const LOW_OF_NX16: u32 = 1 << 15;

/// A table entry: the symbol (low 8 bits), its frequency minus one (12 bits), and the offset of the
/// slot in the symbol's range (12 bits).
pub(super) type Slot = u32;

#[inline]
pub(super) fn table_slot(symbol: u8, frequency: u32, into: u32) -> Slot {
    u32::from(symbol) | (frequency - 1) << 8 | into << 20
}

pub(super) type SlotTable = [Slot; SLOTS];

/// Memory of all tables: one per context, and one shared by contexts that do not occur.
pub const TABLES_BYTES: usize = 257 * size_of::<SlotTable>();

#[derive(Default)]
pub struct Rans4x8Decoder {
    tables: Vec<SlotTable>,
}

/// Reads a list of symbols in which consecutive symbols are stored as runs. After each symbol,
/// `each` reads the data of that symbol.
pub(super) fn read_symbols<'a>(
    cursor: &mut ByteCursor<'a>,
    mut each: impl FnMut(u8, &mut ByteCursor<'a>) -> Result<()>,
) -> Result<()> {
    let (mut symbol, mut run) = (cursor.read_byte()?, 0u8);
    loop {
        each(symbol, cursor)?;
        if run > 0 {
            run -= 1;
            symbol =
                symbol.checked_add(1).ok_or_else(|| damaged_cram("a table has too many symbols"))?;
            continue;
        }
        let next = cursor.read_byte()?;
        if next == 0 {
            return Ok(());
        }
        if Some(next) == symbol.checked_add(1) {
            run = cursor.read_byte()?;
        }
        symbol = next;
    }
}

fn read_table(cursor: &mut ByteCursor<'_>, table: &mut SlotTable) -> Result<()> {
    let mut sum = 0usize;
    read_symbols(cursor, |symbol, cursor| {
        let byte = cursor.read_byte()?;
        let mut frequency = u32::from(byte);
        if byte >= 0x80 {
            frequency = u32::from(byte & 0x7f) << 8 | u32::from(cursor.read_byte()?);
        }
        if frequency == 0 {
            frequency = SLOTS as u32; // how some writers store a single symbol
        }
        let slots = table.get_mut(sum..sum + frequency as usize);
        let slots = slots.ok_or_else(|| damaged_cram("frequencies add up to too much"))?;
        (0..).zip(slots).for_each(|(into, entry)| *entry = table_slot(symbol, frequency, into));
        sum += frequency as usize;
        Ok(())
    })?;
    if sum + 1 < SLOTS {
        return Err(damaged_cram("frequencies add up to too little"));
    }
    if sum < SLOTS {
        table[SLOTS - 1] = table[SLOTS - 2]; // never reached in valid data
    }
    Ok(())
}

#[inline(always)]
fn decode_symbol(state: &mut u32, table: &SlotTable, data: &[u8], at: &mut usize) -> u8 {
    let entry = table[(*state & (SLOTS as u32 - 1)) as usize];
    let frequency = (entry >> 8 & 0xfff) + 1;
    *state = frequency.wrapping_mul(*state >> BITS).wrapping_add(entry >> 20);
    while *state < LOW {
        let Some(&byte) = data.get(*at) else { break };
        *state = *state << 8 | u32::from(byte);
        *at += 1;
    }
    entry as u8
}

impl Rans4x8Decoder {
    pub fn decode(&mut self, data: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut cursor = ByteCursor(data);
        let order = cursor.read_byte()?;
        let (stored, raw) = (cursor.read_u32()? as usize, cursor.read_u32()? as usize);
        if raw != size || stored != cursor.0.len() {
            return Err(damaged_cram("the sizes of a rANS block differ"));
        }
        out.resize(size, 0);
        match order {
            0 => self.decode_order_0(cursor, out),
            1 => self.decode_order_1(cursor, out),
            _ => Err(damaged_cram("the order of a rANS block is unknown")),
        }
    }

    fn decode_order_0(&mut self, mut cursor: ByteCursor<'_>, out: &mut [u8]) -> Result<()> {
        self.tables.truncate(1);
        self.tables.resize(1, [0; SLOTS]);
        let table = &mut self.tables[0];
        read_table(&mut cursor, table)?;
        let mut states =
            [cursor.read_u32()?, cursor.read_u32()?, cursor.read_u32()?, cursor.read_u32()?];
        let (data, mut at) = (cursor.0, 0);
        let mut chunks = out.chunks_exact_mut(4);
        for four in &mut chunks {
            four[0] = decode_symbol(&mut states[0], table, data, &mut at);
            four[1] = decode_symbol(&mut states[1], table, data, &mut at);
            four[2] = decode_symbol(&mut states[2], table, data, &mut at);
            four[3] = decode_symbol(&mut states[3], table, data, &mut at);
        }
        for (state, byte) in states.iter_mut().zip(chunks.into_remainder()) {
            *byte = decode_symbol(state, table, data, &mut at);
        }
        Ok(())
    }

    fn decode_order_1(&mut self, mut cursor: ByteCursor<'_>, out: &mut [u8]) -> Result<()> {
        // Contexts that do not occur share table 0, whose content is irrelevant.
        let mut of = [0u16; 256];
        let (mut used, tables) = (1usize, &mut self.tables);
        read_symbols(&mut cursor, |context, cursor| {
            if tables.len() <= used {
                tables.resize(used + 1, [0; SLOTS]);
            }
            read_table(cursor, &mut tables[used])?;
            of[context as usize] = used as u16;
            used += 1;
            Ok(())
        })?;
        let (tables, of) = (&self.tables[..used], &of);
        let mut states =
            [cursor.read_u32()?, cursor.read_u32()?, cursor.read_u32()?, cursor.read_u32()?];
        let (data, mut at) = (cursor.0, 0);
        let quarter = out.len() / 4;
        let (a, rest) = out.split_at_mut(quarter);
        let (b, rest) = rest.split_at_mut(quarter);
        let (c, d) = rest.split_at_mut(quarter);
        let mut last = [0u8; 4];
        let mut step = |j: usize, states: &mut [u32; 4]| {
            let table = &tables[of[last[j] as usize] as usize];
            last[j] = decode_symbol(&mut states[j], table, data, &mut at);
            last[j]
        };
        for i in 0..quarter {
            a[i] = step(0, &mut states);
            b[i] = step(1, &mut states);
            c[i] = step(2, &mut states);
            d[i] = step(3, &mut states);
        }
        for byte in &mut d[quarter..] {
            *byte = step(3, &mut states);
        }
        Ok(())
    }
}
