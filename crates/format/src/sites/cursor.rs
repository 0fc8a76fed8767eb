//! One thread's reader of the sites, which keeps the blocks it used last.

use std::sync::Arc;

use readmill_record::Result;

use super::block::{BLOCK_SITES, Site, SiteIndex};

const BLOCK_SLOTS: usize = 16;

/// Maximum memory of a cursor in bytes: its blocks. The caller charges this to the ledger for each
/// thread.
pub const MAX_CURSOR_BYTES: usize =
    BLOCK_SLOTS * (BLOCK_SITES * size_of::<Site>() + size_of::<BlockSlot>());

const MAX_LINEAR_STEPS: usize = 8;

/// One thread's reader of [`super::KnownSites`].
///
/// Queries are fast if each is close to the previous one, as for reads in coordinate order. In
/// random order, most queries read a block of 1 KiB.
pub struct SiteCursor {
    shared: Arc<SiteIndex>,
    block: usize,
    slots: [BlockSlot; BLOCK_SLOTS],
}

#[derive(Default)]
struct BlockSlot {
    block: Option<usize>,
    sites: Vec<Site>,
    at: usize,
}

impl SiteCursor {
    pub(super) fn new(shared: Arc<SiteIndex>) -> Self {
        SiteCursor { shared, block: 0, slots: Default::default() }
    }

    /// Calls `found` with the start and end of each site that overlaps `start..end` on a contig of
    /// the reads, in order. All positions are 0-based and half-open. Sites do not overlap each
    /// other, and are reported in full even if they extend beyond the query.
    #[inline]
    pub fn for_each_overlap(
        &mut self,
        contig: u32,
        start: u32,
        end: u32,
        mut found: impl FnMut(u32, u32),
    ) -> Result<()> {
        let Some(range) = self.shared.contigs.get(contig as usize) else { return Ok(()) };
        let (range, first) = (range.clone(), self.first_block(range.clone(), start));
        self.block = first;
        for block in first..range.end {
            if self.shared.blocks[block].first >= end || start >= end {
                break;
            }
            let slot = self.load_block(block)?;
            slot.seek_site(start);
            for &(from, to) in slot.sites[slot.at..].iter().take_while(|site| site.0 < end) {
                found(from, to);
            }
        }
        Ok(())
    }

    /// Returns the first block of a contig that ends after `start`. It is usually the last block
    /// used or the next one.
    #[inline]
    fn first_block(&self, range: std::ops::Range<usize>, start: u32) -> usize {
        let blocks = &self.shared.blocks;
        let is_first = |block: usize| {
            let ends = |block: usize| blocks[block].end > start;
            range.contains(&block) && ends(block) && (block == range.start || !ends(block - 1))
        };
        match [self.block, self.block + 1].into_iter().find(|&block| is_first(block)) {
            Some(block) => block,
            None => range.start + blocks[range].partition_point(|block| block.end <= start),
        }
    }

    #[inline]
    fn load_block(&mut self, block: usize) -> Result<&mut BlockSlot> {
        let slot = &mut self.slots[block % BLOCK_SLOTS];
        if slot.block != Some(block) {
            slot.block = None;
            self.shared.blocks[block].read_sites(
                &self.shared.spill,
                &self.shared.extent,
                &mut slot.sites,
            )?;
            (slot.block, slot.at) = (Some(block), 0);
        }
        Ok(slot)
    }
}

impl BlockSlot {
    #[inline]
    fn seek_site(&mut self, start: u32) {
        let ends_before = |site: &Site| site.1 <= start;
        if self.at > 0 && !ends_before(&self.sites[self.at - 1]) {
            self.at = self.sites[..self.at].partition_point(ends_before);
            return;
        }
        let rest = &self.sites[self.at..];
        let passed = rest.iter().take(MAX_LINEAR_STEPS).take_while(|site| ends_before(site)).count();
        self.at += if passed < MAX_LINEAR_STEPS { passed } else { rest.partition_point(ends_before) };
    }
}
