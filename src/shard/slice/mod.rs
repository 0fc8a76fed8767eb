//! Divides an input into slices: contiguous parts that hold whole templates. Each slice
//! can be read as if it were a file of its own.
//!
//! A slice is read as the header, followed by a range of bytes of the file. A border
//! between slices is found from the bytes near a wanted offset, so the file needs no
//! index:
//!
//! - BAM: the first BGZF block from there on, the first record in it, and then the
//!   first record with another read name than the record before it.
//! - SAM: the same with lines.
//! - CRAM: the first container whose first read has another name than the last read of
//!   the container before it.
//!
//! In BAM, the first record near an offset is a guess; all records that follow in the
//! next MiB must look plausible, too. A wrong guess cannot go unnoticed, because then
//! the slice before it would end inside a record, which is an error. Compressed SAM,
//! CRAM older than version 3, and small files become one slice each.

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

use self::file::{failed, open};
use super::job::{Bounds, Part, Slice, VirtualOffset};
use crate::pipeline::inputs::{InputFile, Inputs};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// BAM, or SAM in BGZF blocks: `bam::start` tells them apart.
    Bam,
    Text,
    Cram,
    /// Compressed by plain gzip, which cannot be read from the middle.
    Gzip,
}

impl Kind {
    fn of(file: &File) -> Result<Self> {
        let mut magic = [0; 4];
        file.read_at(&mut magic, 0).map_err(|e| failed(&e))?;
        Ok(match magic {
            [0x1f, 0x8b, _, flags] if flags & 4 == 0 => Kind::Gzip, // without the extra field of BGZF
            [0x1f, 0x8b, ..] => Kind::Bam,
            magic if magic == *b"CRAM" => Kind::Cram,
            _ => Kind::Text,
        })
    }
}

/// Divides inputs into about `wanted` slices of similar size in bytes. `shard plan`
/// calls it for reads that need no alignment, and `scan` for each lane of unaligned
/// records.
pub fn divide(inputs: &Inputs, wanted: usize, ledger: &Ledger) -> Result<Vec<Slice>> {
    let list = inputs.list();
    let size = |input: &InputFile| std::fs::metadata(&input.path).map_or(0, |meta| meta.len());
    let each = (list.iter().map(size).sum::<u64>() / wanted.max(1) as u64).max(1);
    let mut slices = Vec::new();
    for (number, input) in list.iter().enumerate() {
        let parts = (size(input) + each / 2) / each;
        let near = |part| (u128::from(size(input)) * u128::from(part) / u128::from(parts)) as u64;
        let wanted: Vec<u64> = (1..parts).map(near).collect();
        let borders =
            borders(inputs, number, &wanted, ledger).map_err(|error| error.file(&input.path))?;
        let Some((first, inner)) = borders.split_first() else {
            slices.push(Slice { input: number, part: Part::Whole });
            continue;
        };
        let mut from = *first;
        for &to in inner {
            slices.push(Slice { input: number, part: Part::Between(Bounds { from, to: Some(to) }) });
            from = to;
        }
        slices.push(Slice { input: number, part: Part::Between(Bounds { from, to: None }) });
    }
    Ok(slices)
}

/// Returns the start of the first record, and then a border near each of the `wanted`
/// offsets, in ascending order without repetitions. Returns an empty list if the file
/// cannot be divided or no offset is wanted.
fn borders(
    inputs: &Inputs,
    number: usize,
    wanted: &[u64],
    ledger: &Ledger,
) -> Result<Vec<VirtualOffset>> {
    let input = &inputs.list()[number];
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let file = Arc::new(open(&input.path)?);
    let mut borders: Vec<VirtualOffset> = Vec::new();
    match Kind::of(&file)? {
        Kind::Bam => {
            let Some(first) = bam::start(&file, ledger)? else { return Ok(borders) };
            borders.push(first);
            for &near in wanted {
                borders.extend(bam::border(&file, input.header.n_ref(), first, near, ledger)?);
            }
        }
        Kind::Text => {
            borders.push(VirtualOffset { offset: text::start(&file, ledger)?, within: 0 });
            for &near in wanted {
                borders.extend(text::border(&file, near, ledger)?);
            }
        }
        Kind::Gzip => return Ok(borders),
        Kind::Cram => {
            let Some(first) = cram::start(&file)? else { return Ok(borders) };
            let differ = |bounds| inputs.names_differ(number, read(input, bounds)?.0);
            borders = cram::borders(&file, first, wanted, differ)?;
        }
    }
    let first = borders[0];
    borders.retain(|border| *border >= first);
    borders.sort_unstable();
    borders.dedup();
    Ok(borders)
}

/// Opens a slice as a stream of a complete file: the header, the records between the
/// bounds, and an end marker. Also returns the number of bytes that are read from the
/// file itself, without the header.
pub fn read(input: &InputFile, bounds: Bounds) -> Result<(Box<dyn Read + Send>, u64)> {
    let file = Arc::new(open(&input.path)?);
    let size = file.metadata().map_err(|e| failed(&e))?.len();
    let (mut prefix, mut suffix) = (Vec::new(), Vec::new());
    let (mut from, mut to) = (bounds.from.offset, bounds.to.map_or(size, |to| to.offset));
    match Kind::of(&file)? {
        Kind::Text | Kind::Gzip => prefix = input.header.to_text(),
        Kind::Cram => {
            prefix = cram::head(&file)?;
            if bounds.to.is_some() {
                suffix.extend_from_slice(&readmill_cram::EOF);
            }
        }
        Kind::Bam => {
            let mut header = Vec::new();
            bam_header::write(&input.header, &mut header)?;
            pack(&header, &mut prefix);
            drop(header);
            if let Some(end) = bounds.to {
                let (block, _) = bam::inflated_block(&file, end.offset)?;
                let skipped = if end.offset == from { bounds.from.within as usize } else { 0 };
                pack(block.get(skipped..end.within as usize).unwrap_or_default(), &mut suffix);
                suffix.extend_from_slice(&EOF_BLOCK);
            }
            let is_one_block = bounds.to.is_some_and(|end| end.offset == from);
            if bounds.from.within > 0 && !is_one_block {
                let (block, next) = bam::inflated_block(&file, from)?;
                pack(block.get(bounds.from.within as usize..).unwrap_or_default(), &mut prefix);
                from = next;
            }
        }
    }
    to = to.max(from);
    let middle = FileSlice::new(&file, from, to);
    Ok((Box::new(Cursor::new(prefix).chain(middle).chain(Cursor::new(suffix))), to - from))
}

fn pack(bytes: &[u8], out: &mut Vec<u8>) {
    let mut deflater = Deflater::new(Codec::default(), 0);
    for payload in bytes.chunks(BLOCK_PAYLOAD) {
        deflater.block(payload, out);
    }
}
