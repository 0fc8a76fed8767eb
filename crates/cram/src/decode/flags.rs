//! Decodes only FLAG and MAPQ of the records of a slice, for counts that need nothing else.

use readmill_format::chain::OpenedChunk;
use readmill_record::{Flags, Result, edit};

use crate::encoding::Streams;
use crate::num::damaged_cram;
use crate::reader::exceeds_container_error;
use crate::scheme::{DETACHED, DOWNSTREAM, Encodings, MATE_REVERSE, MATE_UNMAPPED, Series};

#[derive(Clone, Copy)]
struct PendingFlags {
    /// FLAG as stored. If the mate is in the slice, its mate bits are missing.
    flags: u16,
    /// Mate bits of FLAG, stored if the mate is not in the slice.
    mate_flags: u16,
    mapq: u8,
    next: u32,
    /// For a later record of a template, index plus one of its first record; otherwise 0.
    first: u32,
}

/// Appends `records` records to `opened`, which have FLAG and MAPQ but no name, position or bases.
/// `max_bytes` limits the size of `opened` in bytes.
///
/// Reads only the series for FLAG and MAPQ.
/// [`Scheme::needed_blocks`](crate::scheme::Scheme::needed_blocks) has ensured that they have
/// blocks of their own, so the other blocks may be missing.
///
/// # Errors
/// The slice is damaged, or has more records than its container announced.
pub fn decode_flags(
    series: &Encodings,
    streams: &mut Streams,
    records: usize,
    max_bytes: usize,
    opened: &mut OpenedChunk,
) -> Result<()> {
    let mut number = |of: Series| series[of as usize].read_number(streams);
    let start = opened.bytes_mut().len();
    if records.saturating_mul(RECORD.len()) > max_bytes.saturating_sub(start) {
        return Err(exceeds_container_error());
    }
    let mut known = vec![PendingFlags { flags: 0, mate_flags: 0, mapq: 0, next: 0, first: 0 }; records];
    for at in 0..records {
        let flags = u16::try_from(number(Series::Bf)?);
        let flags = flags.map_err(|_| damaged_cram("FLAG is not a number of 16 bits"))?;
        let cram = number(Series::Cf)?;
        known[at].flags = flags;
        if cram & DETACHED != 0 {
            known[at].mate_flags = stored_mate_bits(number(Series::Mf)?);
        } else if cram & DOWNSTREAM != 0 {
            let next = usize::try_from(number(Series::Nf)?).ok().map(|between| at + between + 1);
            let next = next.filter(|&next| next < records);
            let next = next.ok_or_else(|| damaged_cram("a mate is outside its slice"))?;
            if known[next].first != 0 {
                return Err(damaged_cram("the links between mates are wrong"));
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
            one.flags | one.mate_flags | mate.map_or(0, |mate| mate_bits_of(mate.flags)),
        );
        bytes.extend_from_slice(&record);
    }
    let ends = (start..).step_by(RECORD.len()).take(records);
    ends.for_each(|at| opened.push_sized_record(at, RECORD.len()));
    Ok(())
}

const RECORD: [u8; 38] = {
    let mut record = [0; 38];
    record[0] = 34; // block_size: bytes after this number
    record[12] = 2; // l_read_name
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

fn mate_bits_of(flags: u16) -> u16 {
    let unmapped = if flags & Flags::UNMAPPED != 0 { Flags::MATE_UNMAPPED } else { 0 };
    let reverse = if flags & Flags::REVERSE != 0 { Flags::MATE_REVERSE } else { 0 };
    Flags::PAIRED | unmapped | reverse
}

fn stored_mate_bits(stored: i32) -> u16 {
    let reverse = if stored & MATE_REVERSE != 0 { Flags::PAIRED | Flags::MATE_REVERSE } else { 0 };
    let unmapped = if stored & MATE_UNMAPPED != 0 { Flags::MATE_UNMAPPED } else { 0 };
    reverse | unmapped
}
