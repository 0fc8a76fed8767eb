//! Sorts sites into layers, the sorted lists that [`super::merge`] merges.
//!
//! A quarter of a million sites are sorted at a time. A file in order, as nearly all are, makes one layer for each
//! contig; more disorder makes more layers.

use std::sync::Arc;

use readmill_record::{Charge, Ledger, Result, make_room};

use super::block::{BLOCK_BYTES, NAME, Site, SiteBlock, Writer};
use crate::spill::{Extent, Spill};

/// Sites sorted at a time.
const TOGETHER: usize = 1 << 18;

/// Contig, start and end of a site.
type Raw = (u32, u32, u32);

/// A sorted list of the sites of a contig, none of which share a base.
#[derive(Default)]
pub(super) struct Layer {
    pub blocks: Vec<SiteBlock>,
}

impl Layer {
    fn end(&self) -> u32 {
        self.blocks.last().map_or(0, |block| block.end)
    }
}

/// Builds layers.
pub(super) struct Gather {
    spill: Arc<Spill>,
    extent: Extent,
    writer: Writer,
    waiting: Vec<Raw>,
    /// Whether the waiting sites are in order.
    sorted: bool,
    /// The layers of each contig.
    layers: Vec<Vec<Layer>>,
    /// The charge for the layers.
    charge: Charge,
    /// The charge for the waiting sites.
    _of_waiting: Charge,
}

/// The complete layers.
pub(super) struct Gathered {
    pub extent: Extent,
    /// The layers of each contig.
    pub layers: Vec<Vec<Layer>>,
    /// The charge for the layers.
    pub charge: Charge,
}

impl Gather {
    /// Memory besides the layers.
    pub fn bytes() -> u64 {
        (TOGETHER * size_of::<Raw>() + BLOCK_BYTES) as u64
    }

    /// For sites on this many contigs.
    pub fn new(contigs: usize, spill: &Arc<Spill>, ledger: &Ledger) -> Result<Self> {
        let extent = spill.begin(0)?;
        let (mut layers, mut charge) = (Vec::new(), ledger.empty(NAME));
        make_room(&mut layers, contigs, &mut charge)?;
        layers.resize_with(contigs, Vec::new);
        let of_waiting = ledger.charge(NAME, Gather::bytes())?;
        let (spill, waiting) = (Arc::clone(spill), Vec::with_capacity(TOGETHER));
        let writer = Writer::default();
        Ok(Gather {
            spill,
            extent,
            writer,
            waiting,
            sorted: true,
            layers,
            charge,
            _of_waiting: of_waiting,
        })
    }

    /// Adds a site of at least one base.
    pub fn push(&mut self, contig: u32, start: u32, end: u32) -> Result<()> {
        let site = (contig, start, end);
        match self.waiting.last_mut() {
            Some(last) if last.0 == contig && (last.1..last.2).contains(&start) => {
                last.2 = last.2.max(end);
                return Ok(());
            }
            Some(last) => self.sorted &= *last <= site,
            None => {}
        }
        self.waiting.push(site);
        if self.waiting.len() == TOGETHER { self.write(true) } else { Ok(()) }
    }

    /// Returns all layers, by contig.
    pub fn finish(mut self) -> Result<Gathered> {
        self.write(false)?;
        let Gather { extent, layers, charge, .. } = self;
        Ok(Gathered { extent, layers, charge })
    }

    /// Writes the waiting sites; if `more` follow, keeps the last one, which the next may overlap.
    fn write(&mut self, more: bool) -> Result<()> {
        let mut sites = std::mem::take(&mut self.waiting);
        if !self.sorted {
            sites.sort_unstable();
        }
        sites.dedup_by(|next, site| {
            let one = next.0 == site.0 && next.1 < site.2;
            site.2 = if one { site.2.max(next.2) } else { site.2 };
            one
        });
        let kept = if more { sites.pop() } else { None };
        for list in sites.chunk_by(|a, b| a.0 == b.0) {
            self.write_list(list)?;
        }
        sites.clear();
        sites.extend(kept);
        (self.waiting, self.sorted) = (sites, true);
        Ok(())
    }

    /// Adds sites of one contig to the first layer that ends before them.
    fn write_list(&mut self, list: &[Raw]) -> Result<()> {
        let layers = &mut self.layers[list[0].0 as usize];
        let place = layers.iter().position(|layer| layer.end() <= list[0].1).unwrap_or(layers.len());
        if place == layers.len() {
            make_room(layers, 1, &mut self.charge)?;
            layers.push(Layer::default());
        }
        let blocks = &mut layers[place].blocks;
        for &(_, start, end) in list {
            let site: Site = (start, end);
            make_room(blocks, 1, &mut self.charge)?;
            blocks.extend(self.writer.push(site, &self.spill, &mut self.extent)?);
        }
        make_room(blocks, 1, &mut self.charge)?;
        blocks.extend(self.writer.close(&self.spill, &mut self.extent)?);
        Ok(())
    }
}
