//! Blocks of sites, in which sites are written, read and kept in memory, and the index of all
//! blocks.
//!
//! Sites are sorted and do not overlap, so two small numbers describe a site: the number of bases
//! since the end of the previous one, and its length - 1. Each is stored with seven bits per byte.

use std::ops::Range;
use std::sync::Arc;

use crate::spill_codec::damaged_spill_error;
use readmill_record::{Charge, Result};

use crate::spill::{Extent, Spill};

pub(super) const LEDGER_NAME: &str = "known sites";

/// Size of a full block in bytes. A block is small, because reads in random order each need a new
/// one.
pub(super) const BLOCK_BYTES: usize = 1 << 10;

pub(super) const BLOCK_SITES: usize = BLOCK_BYTES / 2;

const SITE_BYTES: usize = 10;

#[derive(Clone, Copy, Debug)]
pub(super) struct SiteBlock {
    at: u64,
    bytes: u32,
    pub first: u32,
    pub end: u32,
}

/// A site: its first base, and the base after the last one (0-based).
pub(super) type Site = (u32, u32);

pub(super) struct SiteBlockWriter {
    bytes: Vec<u8>,
    first: u32,
    end: u32,
}

impl Default for SiteBlockWriter {
    fn default() -> Self {
        SiteBlockWriter { bytes: Vec::with_capacity(BLOCK_BYTES), first: 0, end: 0 }
    }
}

impl SiteBlockWriter {
    /// Adds a site that does not start before the end of the last one. Returns the block if it is
    /// now full.
    pub fn push_site(
        &mut self,
        site: Site,
        spill: &Spill,
        extent: &mut Extent,
    ) -> Result<Option<SiteBlock>> {
        if self.bytes.is_empty() {
            (self.first, self.end) = (site.0, site.0);
        }
        put_varint(&mut self.bytes, site.0 - self.end);
        put_varint(&mut self.bytes, site.1 - site.0 - 1);
        self.end = site.1;
        if self.bytes.len() + SITE_BYTES > BLOCK_BYTES {
            self.write_block(spill, extent)
        } else {
            Ok(None)
        }
    }

    /// Writes the sites added since the last block as a smaller block; `None` if there are none.
    pub fn write_block(&mut self, spill: &Spill, extent: &mut Extent) -> Result<Option<SiteBlock>> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let (at, bytes) = (extent.end, self.bytes.len() as u32);
        spill.append_bytes(extent, &self.bytes)?;
        self.bytes.clear();
        Ok(Some(SiteBlock { at, bytes, first: self.first, end: self.end }))
    }
}

impl SiteBlock {
    /// Reads the sites of the block into `sites`.
    ///
    /// # Errors
    /// Fails if the spill cannot be read, or if its bytes have changed, which shows when the last
    /// site does not end where it should.
    pub fn read_sites(&self, spill: &Spill, extent: &Extent, sites: &mut Vec<Site>) -> Result<()> {
        let mut buffer = [0; BLOCK_BYTES];
        let into = &mut buffer[..self.bytes as usize];
        spill.read_bytes(extent, self.at, into)?;
        let mut bytes = &*into;
        sites.clear();
        sites.reserve(self.bytes as usize / 2);
        let mut end = self.first;
        while !bytes.is_empty() {
            let (gap, more) = match *bytes {
                [gap, more, ref rest @ ..] if (gap | more) < 0x80 => {
                    bytes = rest; // most sites
                    (gap.into(), more.into())
                }
                _ => (take_varint(&mut bytes), take_varint(&mut bytes)),
            };
            let start = end.saturating_add(gap);
            end = start.saturating_add(more).saturating_add(1);
            sites.push((start, end));
        }
        if end == self.end { Ok(()) } else { Err(damaged_spill_error("sites")) }
    }
}

fn put_varint(bytes: &mut Vec<u8>, mut n: u32) {
    while n >= 0x80 {
        bytes.push(n as u8 | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
}

/// Reads a number that [`put_varint`] wrote from the start of `bytes`. On damaged bytes the result
/// is arbitrary, which the caller notices at the end of the block.
fn take_varint(bytes: &mut &[u8]) -> u32 {
    let (mut n, mut shift) = (0, 0);
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        n |= u32::from(byte & 0x7f).wrapping_shl(shift);
        shift += 7;
        if byte < 0x80 {
            break;
        }
    }
    n
}

pub(super) struct SiteIndex {
    pub spill: Arc<Spill>,
    pub extent: Extent,
    pub blocks: Vec<SiteBlock>,
    pub contigs: Vec<Range<usize>>,
    pub charge: Charge,
}

impl SiteIndex {
    pub fn memory_bytes(&self) -> usize {
        self.blocks.capacity() * size_of::<SiteBlock>()
            + self.contigs.capacity() * size_of::<Range<usize>>()
    }
}
