//! Sites that no file names: they are found one by one.

use std::sync::Arc;

use readmill_record::Result;

use super::gather::Gather;
use super::{Sites, merge};
use crate::spill::Spill;

/// Sites under way. Nothing else may append to the spill until they are complete.
pub struct Found {
    gather: Gather,
    spill: Arc<Spill>,
    sites: u64,
}

impl Found {
    /// None yet, on so many contigs.
    pub fn new(contigs: usize, spill: &Arc<Spill>) -> Result<Self> {
        Ok(Found { gather: Gather::new(contigs, spill)?, spill: Arc::clone(spill), sites: 0 })
    }

    /// Takes a site from `start` to `end` (0-based, half-open), of at least one base.
    pub fn push(&mut self, contig: u32, start: u32, end: u32) -> Result<()> {
        self.sites += 1;
        self.gather.push(contig, start, end)
    }

    /// All of them, and how many there are.
    pub fn finish(self) -> Result<(Sites, u64)> {
        let (extent, layers) = self.gather.finish()?;
        let shared = merge::merge(self.spill, extent, layers)?;
        Ok((Sites { shared: Arc::new(shared), files: Arc::default() }, self.sites))
    }
}
