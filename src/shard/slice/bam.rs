//! Finds where a slice of a BAM file can start.

use std::fs::File;
use std::sync::Arc;

use readmill_format::bam::header as bam_header;
use readmill_format::bgzf::BlockWindow;
use readmill_record::view::FIXED_BYTES;
use readmill_record::{Ledger, RecordRef, Result, UncheckedRecord};

use super::file::{BORDERS, MAX_SEARCHED_BYTES, read_up_to};
use crate::shard::job::VirtualOffset;

/// Number of inflated bytes in which all records after a guessed record must be plausible.
const PLAUSIBLE_BYTES: usize = 1 << 20;

/// Number of compressed bytes before the wanted offset at which the search for a border starts.
const LOOK_BACK_BYTES: u64 = 1 << 18;

/// Number of consecutive BGZF block headers required to accept an offset as the start of a block.
const MIN_CONSECUTIVE_BLOCKS: usize = 6;

/// Returns the position of the first record. `None` if the file is not BAM, if it has no records,
/// or if its header does not fit into memory.
pub fn find_first_record(file: &Arc<File>, ledger: &Ledger) -> Result<Option<VirtualOffset>> {
    let mut blocks = open_block_window(file, 0, ledger);
    while blocks.bytes().len() < 4 && blocks.inflate_more()? {}
    if !blocks.bytes().starts_with(bam_header::MAGIC) {
        return Ok(None);
    }
    let mut outline = bam_header::HeaderOutline::default();
    while !outline.is_complete(blocks.bytes())? {
        if !blocks.inflate_more()? {
            return Ok(None);
        }
    }
    let (_, taken) = outline.parse_header(blocks.bytes(), ledger)?;
    while taken == blocks.bytes().len() {
        if !blocks.inflate_more()? {
            return Ok(None); // there are no records
        }
    }
    Ok(Some(virtual_offset(&blocks, taken)))
}

/// Finds the first position at or after offset `near` where the read name changes. Returns `None`
/// if there is none, or if the records to be searched do not fit into memory.
///
/// The search starts `LOOK_BACK_BYTES` before the offset. The first guess may be wrong, because an
/// optional field can contain bytes that look like a record. After the end of the real record that
/// contains them, the chain of records is correct.
pub fn find_border(
    file: &Arc<File>,
    n_ref: i32,
    first: VirtualOffset,
    near: u64,
    ledger: &Ledger,
) -> Result<Option<VirtualOffset>> {
    let back = near.saturating_sub(LOOK_BACK_BYTES);
    let is_start = back <= first.offset;
    let start = if is_start { Some(first.offset) } else { find_block_from(file, back)? };
    let Some(offset) = start else { return Ok(None) };
    let known = is_start.then_some(first.within as usize);
    let mut blocks = open_block_window(file, offset, ledger);
    let mut wanted = PLAUSIBLE_BYTES;
    loop {
        while blocks.first_block_from(near).is_none_or(|at| blocks.bytes().len() < at + wanted)
            && blocks.inflate_more()?
        {}
        let Some(min_position) = blocks.first_block_from(near) else { return Ok(None) };
        if let Some(at) = find_name_change(blocks.bytes(), n_ref, known, min_position) {
            return Ok(Some(virtual_offset(&blocks, at)));
        }
        if blocks.has_ended() || wanted >= MAX_SEARCHED_BYTES {
            return Ok(None);
        }
        wanted *= 2;
    }
}

/// Returns the first position at or after `min_position` where the read name differs from that of the
/// preceding record. `known` is the position of a record in `bytes`; if it is `None`, the first
/// record is guessed.
fn find_name_change(
    bytes: &[u8],
    n_ref: i32,
    known: Option<usize>,
    min_position: usize,
) -> Option<usize> {
    let looks_right =
        |at: usize| count_plausible_records(bytes, at, n_ref).is_some_and(|records| records > 3);
    let first = known.or_else(|| (0..bytes.len()).find(|&at| looks_right(at)))?;
    let (mut at, mut before) = (first, None);
    loop {
        let size = record_size(bytes, at)?;
        let record = bytes.get(at..at + size)?;
        // A damaged record is reported later, by the stage that reads it.
        let name = UncheckedRecord::new(record).check_without_fields(n_ref).ok()?.qname();
        if at >= min_position && before.is_some_and(|before| before != name) {
            return Some(at);
        }
        (before, at) = (Some(name), at + size);
    }
}

/// Counts the complete records from `at` to the end of `bytes`. Returns `None` if one of them is
/// not plausible.
fn count_plausible_records(bytes: &[u8], mut at: usize, n_ref: i32) -> Option<usize> {
    let mut records = 0;
    while bytes.len() - at >= FIXED_BYTES {
        if !RecordRef::is_plausible(&bytes[at..], n_ref) {
            return None;
        }
        match record_size(bytes, at) {
            Some(size) if bytes.len() - at >= size => (at, records) = (at + size, records + 1),
            _ => break,
        }
    }
    Some(records)
}

fn record_size(bytes: &[u8], at: usize) -> Option<usize> {
    let size = u32::from_le_bytes(*bytes.get(at..)?.first_chunk::<4>()?) as usize + 4;
    (size >= FIXED_BYTES).then_some(size)
}

fn find_block_from(file: &File, near: u64) -> Result<Option<u64>> {
    let mut bytes = vec![0; (MIN_CONSECUTIVE_BLOCKS + 2) << 16]; // a block has at most 64 KiB
    let read = read_up_to(file, &mut bytes, near)?;
    bytes.truncate(read);
    let follow = |start: usize| {
        let mut at = start;
        (0..MIN_CONSECUTIVE_BLOCKS).all(|_| match bytes.get(at..).and_then(block_size) {
            Some(size) => {
                at += size;
                true
            }
            None => at == bytes.len() && at > start,
        })
    };
    let found = (0..bytes.len()).find(|&at| follow(at));
    Ok(found.map(|at| near + at as u64))
}

/// Returns the size of the BGZF block at the start of `bytes`, from its BC field (SAM
/// specification, section 4.1). `None` if there is no block.
fn block_size(bytes: &[u8]) -> Option<usize> {
    let head = bytes.get(..12).filter(|head| head[..4] == [0x1f, 0x8b, 8, 4])?;
    let mut extra = bytes.get(12..12 + usize::from(u16::from_le_bytes([head[10], head[11]])))?;
    while let [a, b, low, high, rest @ ..] = extra {
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        if [*a, *b] == *b"BC" && length == 2 {
            return Some(usize::from(u16::from_le_bytes(*rest.first_chunk::<2>()?)) + 1);
        }
        extra = rest.get(length..)?;
    }
    None
}

fn open_block_window(file: &Arc<File>, offset: u64, ledger: &Ledger) -> BlockWindow {
    BlockWindow::new(file, offset, None, ledger.empty_charge(BORDERS))
}

fn virtual_offset(blocks: &BlockWindow, at: usize) -> VirtualOffset {
    let (offset, within) = blocks.virtual_position(at);
    VirtualOffset { offset, within: within as u32 }
}

pub fn read_inflated_block(file: &Arc<File>, offset: u64) -> Result<(Vec<u8>, u64)> {
    let charge = Ledger::unlimited().empty_charge(BORDERS); // at most 64 KiB, less than one batch
    let mut blocks = BlockWindow::new(file, offset, Some(1), charge);
    blocks.inflate_more()?;
    Ok((blocks.bytes().to_vec(), blocks.next_offset()))
}
