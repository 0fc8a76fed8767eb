//! Decodes FLAG and MAPQ of the records of a slice, and nothing else.

use readmill_format::chain::Opened;
use readmill_record::{Flags, Result, edit};

use crate::encoding::Streams;
use crate::num::damaged;
use crate::reader::too_much;
use crate::scheme::{DETACHED, DOWNSTREAM, Encodings, MATE_REVERSE, MATE_UNMAPPED, Series};

/// A record before its mate is decoded.
#[derive(Clone, Copy)]
struct Known {
    /// FLAG, without what it says of a mate in the same slice.
    flags: u16,
    /// Bits of FLAG that the record stores of a mate elsewhere.
    stored: u16,
    mapq: u8,
    /// The index of the next record of its template in the slice; 0 if none follows.
    next: u32,
    /// The index of the first record of its template, if others come before it, and one more; else 0.
    first: u32,
}

/// Appends `records` records without a name, a place and bases to `opened`, whose bytes may become `most`.
///
/// Each series has blocks of its own, so that those that are not read here make no difference.
pub fn read(
    series: &Encodings,
    streams: &mut Streams,
    records: usize,
    most: usize,
    opened: &mut Opened,
) -> Result<()> {
    let mut number = |of: Series| series[of as usize].number(streams);
    let start = opened.bytes_mut().len();
    if records.saturating_mul(RECORD.len()) > most.saturating_sub(start) {
        return Err(too_much());
    }
    let mut known = vec![Known { flags: 0, stored: 0, mapq: 0, next: 0, first: 0 }; records];
    for at in 0..records {
        let flags = u16::try_from(number(Series::Bf)?);
        let flags = flags.map_err(|_| damaged("FLAG is not a number of 16 bits"))?;
        let cram = number(Series::Cf)?;
        known[at].flags = flags;
        if cram & DETACHED != 0 {
            known[at].stored = mate_bits(number(Series::Mf)?);
        } else if cram & DOWNSTREAM != 0 {
            let next = usize::try_from(number(Series::Nf)?).ok().map(|between| at + between + 1);
            let next = next.filter(|&next| next < records);
            let next = next.ok_or_else(|| damaged("a mate lies outside of its slice"))?;
            if known[next].first != 0 {
                return Err(damaged("mates refer to each other wrongly"));
            }
            known[next].first = if known[at].first == 0 { at as u32 + 1 } else { known[at].first };
            known[at].next = next as u32;
        }
        if flags & Flags::UNMAPPED == 0 {
            known[at].mapq = number(Series::Mq)? as u8;
        }
    }
    let bytes = opened.bytes_mut();
    bytes.reserve(records * RECORD.len());
    for one in &known {
        let mate = match (one.next, one.first) {
            (0, 0) => None,
            (0, first) => known.get(first as usize - 1),
            (next, _) => known.get(next as usize),
        };
        let mut record = RECORD;
        record[13] = one.mapq;
        edit::set_flags(
            &mut record,
            one.flags | one.stored | mate.map_or(0, |mate| of_mate(mate.flags)),
        );
        bytes.extend_from_slice(&record);
    }
    let ends = (start..).step_by(RECORD.len()).take(records);
    ends.for_each(|at| opened.push_sized(at, RECORD.len()));
    Ok(())
}

/// A record that has no name and lies nowhere.
const RECORD: [u8; 38] = {
    let mut record = [0; 38];
    record[0] = 34; // bytes behind this number
    record[12] = 2; // of the name
    record[36] = b'*';
    let mut at = 4;
    while at < 8 {
        // RNAME, POS, RNEXT and PNEXT are -1.
        (record[at], record[at + 4]) = (0xff, 0xff);
        (record[at + 20], record[at + 24]) = (0xff, 0xff);
        at += 1;
    }
    record
};

/// The bits of FLAG about a mate that has these flags.
fn of_mate(flags: u16) -> u16 {
    let unmapped = if flags & Flags::UNMAPPED != 0 { Flags::MATE_UNMAPPED } else { 0 };
    let reverse = if flags & Flags::REVERSE != 0 { Flags::MATE_REVERSE } else { 0 };
    Flags::PAIRED | unmapped | reverse
}

/// The bits of FLAG about a mate, of the flags that CRAM stores for it (MF).
fn mate_bits(stored: i32) -> u16 {
    let reverse = if stored & MATE_REVERSE != 0 { Flags::PAIRED | Flags::MATE_REVERSE } else { 0 };
    let unmapped = if stored & MATE_UNMAPPED != 0 { Flags::MATE_UNMAPPED } else { 0 };
    reverse | unmapped
}
