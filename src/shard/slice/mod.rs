//! Divides an input into slices: contiguous parts that contain complete templates. Each slice can
//! be read like a separate file.
//!
//! A slice is read as the header, followed by a range of bytes of the file. A border between slices
//! is found from the bytes near a wanted offset, so the file needs no index:
//!
//! - BAM: the first BGZF block at or after the offset, the first record in it, and then the
//!   first record whose read name differs from that of the preceding record.
//! - SAM: the same, with lines.
//! - CRAM: the first container whose first read name differs from the last read name of the
//!   preceding container.
//!
//! In BAM, the first record near an offset is a guess, and all records in the following MiB must be
//! plausible. A wrong guess is always detected, because the preceding slice would end inside a
//! record, which is an error. Compressed SAM, CRAM older than version 3, and small files become one
//! slice each.

mod bam;
mod cram;
mod file;
mod text;

use std::fs::File;
use std::io::{Cursor, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use readmill_format::bam::header as bam_header;
use readmill_format::bgzf::{BLOCK_PAYLOAD, Codec, Deflater, EOF_BLOCK};
use readmill_format::file_slice::FileSlice;
use readmill_record::{Ledger, Result};

use self::file::{open, read_error};
use super::job::{Slice, SliceBounds, SlicePart, VirtualOffset};
use crate::pipeline::inputs::{InputFile, Inputs};

#[derive(Clone, Copy, PartialEq, Eq)]
enum InputKind {
    /// BAM, or SAM in BGZF blocks. `bam::find_first_record` distinguishes them.
    Bam,
    Text,
    Cram,
    /// Plain gzip, which can only be read from the start.
    Gzip,
}

impl InputKind {
    fn of(file: &File) -> Result<Self> {
        let mut magic = [0; 4];
        file.read_at(&mut magic, 0).map_err(|e| read_error(&e))?;
        Ok(match magic {
            [0x1f, 0x8b, _, flags] if flags & 4 == 0 => InputKind::Gzip, // without the extra field of BGZF
            [0x1f, 0x8b, ..] => InputKind::Bam,
            magic if magic == *b"CRAM" => InputKind::Cram,
            _ => InputKind::Text,
        })
    }
}

/// Divides inputs into about `wanted` slices of similar size in bytes. Called by `shard plan` for
/// reads that need no alignment, and by `scan` for each lane of unaligned records.
pub fn divide_inputs(inputs: &Inputs, wanted: usize, ledger: &Ledger) -> Result<Vec<Slice>> {
    let list = inputs.files();
    let size = |input: &InputFile| std::fs::metadata(&input.path).map_or(0, |meta| meta.len());
    let each = (list.iter().map(size).sum::<u64>() / wanted.max(1) as u64).max(1);
    let mut slices = Vec::new();
    for (number, input) in list.iter().enumerate() {
        let parts = (size(input) + each / 2) / each;
        let near = |part| (u128::from(size(input)) * u128::from(part) / u128::from(parts)) as u64;
        let wanted: Vec<u64> = (1..parts).map(near).collect();
        let borders =
            find_borders(inputs, number, &wanted, ledger).map_err(|error| error.file(&input.path))?;
        let Some((first, inner)) = borders.split_first() else {
            slices.push(Slice { input: number, part: SlicePart::Whole });
            continue;
        };
        let mut from = *first;
        for &to in inner {
            slices.push(Slice {
                input: number,
                part: SlicePart::Between(SliceBounds { from, to: Some(to) }),
            });
            from = to;
        }
        slices.push(Slice { input: number, part: SlicePart::Between(SliceBounds { from, to: None }) });
    }
    Ok(slices)
}

/// Returns the start of the first record, followed by a border near each of the `wanted` offsets,
/// in ascending order without duplicates. Returns an empty list if the file cannot be divided, or
/// if `wanted` is empty.
fn find_borders(
    inputs: &Inputs,
    number: usize,
    wanted: &[u64],
    ledger: &Ledger,
) -> Result<Vec<VirtualOffset>> {
    let input = &inputs.files()[number];
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let file = Arc::new(open(&input.path)?);
    let mut borders: Vec<VirtualOffset> = Vec::new();
    match InputKind::of(&file)? {
        InputKind::Bam => {
            let Some(first) = bam::find_first_record(&file, ledger)? else { return Ok(borders) };
            borders.push(first);
            for &near in wanted {
                borders.extend(bam::find_border(&file, input.header.n_ref(), first, near, ledger)?);
            }
        }
        InputKind::Text => {
            borders
                .push(VirtualOffset { offset: text::find_first_alignment(&file, ledger)?, within: 0 });
            for &near in wanted {
                borders.extend(text::find_border(&file, near, ledger)?);
            }
        }
        InputKind::Gzip => return Ok(borders),
        InputKind::Cram => {
            let Some(first) = cram::find_first_container(&file)? else { return Ok(borders) };
            let differ = |bounds| inputs.names_differ(number, open_slice(input, bounds)?.0);
            borders = cram::find_borders(&file, first, wanted, differ)?;
        }
    }
    let first = borders[0];
    borders.retain(|border| *border >= first);
    borders.sort_unstable();
    borders.dedup();
    Ok(borders)
}

/// Opens a slice as a stream with the form of a complete file: the header, the records between the
/// bounds, and an end marker. Also returns the number of bytes to be read from the file, without
/// the header.
pub fn open_slice(input: &InputFile, bounds: SliceBounds) -> Result<(Box<dyn Read + Send>, u64)> {
    let file = Arc::new(open(&input.path)?);
    let size = file.metadata().map_err(|e| read_error(&e))?.len();
    let (mut prefix, mut suffix) = (Vec::new(), Vec::new());
    let (mut from, mut to) = (bounds.from.offset, bounds.to.map_or(size, |to| to.offset));
    match InputKind::of(&file)? {
        InputKind::Text | InputKind::Gzip => prefix = input.header.to_text(),
        InputKind::Cram => {
            prefix = cram::read_header_bytes(&file)?;
            if bounds.to.is_some() {
                suffix.extend_from_slice(&readmill_cram::EOF);
            }
        }
        InputKind::Bam => {
            let mut header = Vec::new();
            bam_header::write_header(&input.header, &mut header)?;
            append_stored_blocks(&header, &mut prefix);
            drop(header);
            if let Some(end) = bounds.to {
                let (block, _) = bam::read_inflated_block(&file, end.offset)?;
                let skipped = if end.offset == from { bounds.from.within as usize } else { 0 };
                append_stored_blocks(
                    block.get(skipped..end.within as usize).unwrap_or_default(),
                    &mut suffix,
                );
                suffix.extend_from_slice(&EOF_BLOCK);
            }
            let is_one_block = bounds.to.is_some_and(|end| end.offset == from);
            if bounds.from.within > 0 && !is_one_block {
                let (block, next) = bam::read_inflated_block(&file, from)?;
                append_stored_blocks(
                    block.get(bounds.from.within as usize..).unwrap_or_default(),
                    &mut prefix,
                );
                from = next;
            }
        }
    }
    to = to.max(from);
    let middle = FileSlice::new(&file, from, to);
    Ok((Box::new(Cursor::new(prefix).chain(middle).chain(Cursor::new(suffix))), to - from))
}

fn append_stored_blocks(bytes: &[u8], out: &mut Vec<u8>) {
    let mut deflater = Deflater::new(Codec::default(), 0);
    for payload in bytes.chunks(BLOCK_PAYLOAD) {
        deflater.deflate_block(payload, out);
    }
}
