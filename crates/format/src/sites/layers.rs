//! Sorts sites into layers, which are sorted lists of sites, and merges the layers of each contig.
//!
//! 2^18 sites are sorted at a time, and appended to the first layer of their contig that ends
//! before them. A sorted file, the usual case, makes one layer per contig; less sorted files make
//! more.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

use readmill_record::{Charge, Ledger, Result, make_room};

use super::block::{BLOCK_BYTES, BLOCK_SITES, LEDGER_NAME, Site, SiteBlock, SiteBlockWriter, SiteIndex};
use crate::spill::{Extent, Spill};

const SITES_PER_SORT: usize = 1 << 18;

type Raw = (u32, u32, u32);

#[derive(Default)]
pub(super) struct SiteLayer {
    pub blocks: Vec<SiteBlock>,
}

impl SiteLayer {
    fn end(&self) -> u32 {
        self.blocks.last().map_or(0, |block| block.end)
    }
}

pub(super) struct LayerBuilder {
    spill: Arc<Spill>,
    extent: Extent,
    writer: SiteBlockWriter,
    waiting: Vec<Raw>,
    is_sorted: bool,
    layers: Vec<Vec<SiteLayer>>,
    charge: Charge,
    _of_waiting: Charge,
}

pub(super) struct SiteLayers {
    pub extent: Extent,
    pub layers: Vec<Vec<SiteLayer>>,
    pub charge: Charge,
}

impl LayerBuilder {
    pub fn working_bytes() -> u64 {
        (SITES_PER_SORT * size_of::<Raw>() + BLOCK_BYTES) as u64
    }

    pub fn new(contigs: usize, spill: &Arc<Spill>, ledger: &Ledger) -> Result<Self> {
        let extent = spill.begin_extent(0)?;
        let (mut layers, mut charge) = (Vec::new(), ledger.empty_charge(LEDGER_NAME));
        make_room(&mut layers, contigs, &mut charge)?;
        layers.resize_with(contigs, Vec::new);
        let of_waiting = ledger.charge(LEDGER_NAME, LayerBuilder::working_bytes())?;
        let (spill, waiting) = (Arc::clone(spill), Vec::with_capacity(SITES_PER_SORT));
        let writer = SiteBlockWriter::default();
        Ok(LayerBuilder {
            spill,
            extent,
            writer,
            waiting,
            is_sorted: true,
            layers,
            charge,
            _of_waiting: of_waiting,
        })
    }

    pub fn push_site(&mut self, contig: u32, start: u32, end: u32) -> Result<()> {
        let site = (contig, start, end);
        match self.waiting.last_mut() {
            Some(last) if last.0 == contig && (last.1..last.2).contains(&start) => {
                last.2 = last.2.max(end);
                return Ok(());
            }
            Some(last) => self.is_sorted &= *last <= site,
            None => {}
        }
        self.waiting.push(site);
        if self.waiting.len() == SITES_PER_SORT { self.write_waiting(true) } else { Ok(()) }
    }

    pub fn finish(mut self) -> Result<SiteLayers> {
        self.write_waiting(false)?;
        let LayerBuilder { extent, layers, charge, .. } = self;
        Ok(SiteLayers { extent, layers, charge })
    }

    /// Sorts, merges and writes the waiting sites. If `more` sites follow, the last one is kept,
    /// because the next site may overlap it.
    fn write_waiting(&mut self, more: bool) -> Result<()> {
        let mut sites = std::mem::take(&mut self.waiting);
        if !self.is_sorted {
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
        (self.waiting, self.is_sorted) = (sites, true);
        Ok(())
    }

    fn write_list(&mut self, list: &[Raw]) -> Result<()> {
        let layers = &mut self.layers[list[0].0 as usize];
        let place = layers.iter().position(|layer| layer.end() <= list[0].1).unwrap_or(layers.len());
        if place == layers.len() {
            make_room(layers, 1, &mut self.charge)?;
            layers.push(SiteLayer::default());
        }
        let blocks = &mut layers[place].blocks;
        for &(_, start, end) in list {
            let site: Site = (start, end);
            make_room(blocks, 1, &mut self.charge)?;
            blocks.extend(self.writer.push_site(site, &self.spill, &mut self.extent)?);
        }
        make_room(blocks, 1, &mut self.charge)?;
        blocks.extend(self.writer.write_block(&self.spill, &mut self.extent)?);
        Ok(())
    }
}

/// Merges the layers of each contig, and writes the merged sites after the layers. A contig with a
/// single layer keeps its blocks.
pub(super) fn merge_by_contig(
    spill: Arc<Spill>,
    gathered: SiteLayers,
    ledger: &Ledger,
) -> Result<SiteIndex> {
    let SiteLayers { mut extent, layers, charge: of_layers } = gathered;
    let (mut blocks, mut contigs) = (Vec::new(), Vec::new());
    let mut charge = ledger.empty_charge(LEDGER_NAME);
    make_room(&mut contigs, layers.len(), &mut charge)?;
    // Allocated once for the known number of blocks, to avoid copies.
    let single = layers.iter().filter_map(|layers| layers.first()).map(|layer| layer.blocks.len());
    make_room(&mut blocks, single.sum(), &mut charge)?;
    for mut layers in layers {
        let start = blocks.len();
        match layers.len() {
            0 => {}
            1 => {
                make_room(&mut blocks, layers[0].blocks.len(), &mut charge)?;
                blocks.append(&mut layers[0].blocks);
            }
            _ => merge_layers(&layers, &spill, &mut extent, &mut blocks, &mut charge)?,
        }
        contigs.push(start..blocks.len());
    }
    drop(of_layers);
    blocks.shrink_to_fit();
    let mut shared = SiteIndex { spill, extent, blocks, contigs, charge };
    shared.charge.resize(shared.memory_bytes() as u64);
    Ok(shared)
}

fn merge_layers(
    layers: &[SiteLayer],
    spill: &Spill,
    extent: &mut Extent,
    out: &mut Vec<SiteBlock>,
    charge: &mut Charge,
) -> Result<()> {
    let readers = layers.len() * (size_of::<LayerReader<'_>>() + BLOCK_SITES * size_of::<Site>());
    let heads = layers.len() * size_of::<Head>() + BLOCK_BYTES;
    let _working = charge.ledger().charge(LEDGER_NAME, (readers + heads) as u64)?;
    let mut writer = SiteBlockWriter::default();
    let mut readers: Vec<LayerReader<'_>> = layers.iter().map(LayerReader::new).collect();
    let mut heads: BinaryHeap<Head> = BinaryHeap::with_capacity(readers.len());
    for (number, reader) in readers.iter_mut().enumerate() {
        heads.extend(reader.next_site(spill, extent)?.map(|site| Reverse((site, number))));
    }
    let mut current: Option<Site> = None;
    while let Some(mut head) = heads.peek_mut() {
        let Reverse((site, number)) = *head;
        match readers[number].next_site(spill, extent)? {
            Some(next) => *head = Reverse((next, number)),
            None => drop(PeekMut::pop(head)),
        }
        match &mut current {
            Some(current) if site.0 < current.1 => current.1 = current.1.max(site.1),
            _ => {
                if let Some(done) = current.replace(site) {
                    make_room(out, 1, charge)?;
                    out.extend(writer.push_site(done, spill, extent)?);
                }
            }
        }
    }
    make_room(out, 2, charge)?;
    if let Some(done) = current {
        out.extend(writer.push_site(done, spill, extent)?);
    }
    out.extend(writer.write_block(spill, extent)?);
    Ok(())
}

type Head = Reverse<(Site, usize)>;

struct LayerReader<'a> {
    blocks: std::slice::Iter<'a, SiteBlock>,
    sites: Vec<Site>,
    at: usize,
}

impl<'a> LayerReader<'a> {
    fn new(layer: &'a SiteLayer) -> Self {
        LayerReader { blocks: layer.blocks.iter(), sites: Vec::new(), at: 0 }
    }

    fn next_site(&mut self, spill: &Spill, extent: &Extent) -> Result<Option<Site>> {
        if self.at == self.sites.len() {
            let Some(block) = self.blocks.next() else { return Ok(None) };
            block.read_sites(spill, extent, &mut self.sites)?;
            self.at = 0;
        }
        self.at += 1;
        Ok(Some(self.sites[self.at - 1]))
    }
}
