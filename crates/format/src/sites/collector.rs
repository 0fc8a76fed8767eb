//! Collects sites one by one, instead of reading them from a file.

use std::sync::Arc;

use readmill_record::{Ledger, Result};

use super::gather::Gather;
use super::{Sites, merge};
use crate::spill::Spill;

/// Sites under construction. Nothing else may append to the spill until they are complete.
pub struct SiteCollector {
    gather: Gather,
    spill: Arc<Spill>,
    sites: u64,
    ledger: Ledger,
}

impl SiteCollector {
    /// Memory for collecting up to twenty million sites on this many contigs, and their index.
    pub fn bytes(contigs: usize) -> u64 {
        Gather::bytes() + (1 << 20) + 192 * contigs as u64
    }

    /// An empty collector for this many contigs.
    pub fn new(contigs: usize, spill: &Arc<Spill>, ledger: &Ledger) -> Result<Self> {
        let (gather, spill) = (Gather::new(contigs, spill, ledger)?, Arc::clone(spill));
        Ok(SiteCollector { gather, spill, sites: 0, ledger: ledger.clone() })
    }

    /// Adds a site from `start` to `end` (0-based, half-open), of at least one base.
    pub fn push(&mut self, contig: u32, start: u32, end: u32) -> Result<()> {
        self.sites += 1;
        self.gather.push(contig, start, end)
    }

    /// Returns all sites, and their number.
    pub fn finish(self) -> Result<(Sites, u64)> {
        let shared = merge::merge(self.spill, self.gather.finish()?, &self.ledger)?;
        Ok((Sites { shared: Arc::new(shared), files: Arc::default() }, self.sites))
    }
}
