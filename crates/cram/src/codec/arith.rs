//! The adaptive arithmetic coder (CRAM codecs specification 3.1, section 5). Decoding.

use readmill_record::Result;

use super::models::{Model, RangeDecoder};
use super::pack::{self, CAT, N32_OR_EXT, ORDER, PACK, Packing, RLE, STRIPE};
use super::whole::{BZIP2, read_all};
use crate::num::{ByteCursor, damaged};

/// Memory of the models of all contexts.
const MODELS: usize = 256 * (256 * 4 + 64) + 258 * 64;

/// The most bytes that [`decode`] takes besides its output.
pub fn scratch(data: &[u8], size: usize) -> usize {
    let flags = data.first().copied().unwrap_or(0);
    let bzip2 = if flags & (STRIPE | N32_OR_EXT) != 0 { BZIP2 } else { 0 };
    let several = if flags & (STRIPE | PACK) != 0 { 2 * size } else { 0 }; // a stripe, and its packed bytes
    MODELS + bzip2 + several
}

/// Decodes `data` and appends the `size` bytes to `out`.
pub fn decode(data: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
    let mut cursor = ByteCursor(data);
    let flags = cursor.byte()?;
    let size = pack::size(&mut cursor, flags, size)?;
    if flags & STRIPE != 0 {
        return pack::stripes(&mut cursor, size, decode, out);
    }
    if flags & PACK == 0 {
        return entropy(&mut cursor, flags, size, out);
    }
    let packing = Packing::read(&mut cursor, size)?;
    let mut packed = Vec::new();
    entropy(&mut cursor, flags, packing.packed, &mut packed)?;
    packing.unpack(&packed, size, out)
}

fn entropy(cursor: &mut ByteCursor<'_>, flags: u8, size: usize, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    if flags & CAT != 0 {
        out.extend_from_slice(cursor.take(size)?);
        return Ok(());
    }
    if flags & N32_OR_EXT != 0 {
        read_all(bzip2::read::BzDecoder::new(cursor.0), size, out)?;
        if out.len() - start != size {
            return Err(damaged("a block has not the size it claims"));
        }
        return Ok(());
    }
    if size == 0 {
        return Ok(());
    }
    out.reserve_exact(size);
    let symbols = match cursor.byte()? {
        0 => 256,
        n => usize::from(n),
    };
    let mut coder = RangeDecoder::new(cursor.0)?;
    let contexts = if flags & ORDER != 0 { symbols } else { 1 };
    let mut literals = vec![Model::new(symbols); contexts];
    let mut runs = vec![Model::new(4); if flags & RLE != 0 { 258 } else { 0 }];
    let mut last = 0;
    while out.len() - start < size {
        let context = if flags & ORDER != 0 { last } else { 0 };
        last = usize::from(literals[context].decode(&mut coder)?);
        let mut run = 0;
        if flags & RLE != 0 {
            let mut context = last;
            loop {
                let part = runs[context].decode(&mut coder)?;
                run += usize::from(part);
                if part < 3 {
                    break;
                }
                if run >= size {
                    return Err(damaged("a run is too long"));
                }
                context = if context < 256 { 256 } else { 257 };
            }
        }
        let left = size - (out.len() - start);
        if run >= left {
            return Err(damaged("a run is too long"));
        }
        out.resize(out.len() + run + 1, last as u8);
    }
    Ok(())
}
