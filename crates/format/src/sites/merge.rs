//! Merges the layers of each contig into one list.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

use readmill_record::{Charge, Ledger, Result, make_room};

use super::block::{BLOCK_BYTES, BLOCK_SITES, NAME, Site, SiteBlock, Writer};
use super::gather::{Gathered, Layer};
use super::site_index::SiteIndex;
use crate::spill::{Extent, Spill};

/// Merges the sites of all layers, which are given by contig, and writes them after the layers.
pub(super) fn merge(spill: Arc<Spill>, gathered: Gathered, ledger: &Ledger) -> Result<SiteIndex> {
    let Gathered { mut extent, layers, charge: of_layers } = gathered;
    let (mut blocks, mut contigs) = (Vec::new(), Vec::new());
    let mut charge = ledger.empty(NAME);
    make_room(&mut contigs, layers.len(), &mut charge)?;
    // Allocated at once, as far as the number is known, to avoid copies.
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
    shared.charge.resize(shared.memory() as u64);
    Ok(shared)
}

fn merge_layers(
    layers: &[Layer],
    spill: &Spill,
    extent: &mut Extent,
    out: &mut Vec<SiteBlock>,
    charge: &mut Charge,
) -> Result<()> {
    let readers = layers.len() * (size_of::<LayerReader<'_>>() + BLOCK_SITES * size_of::<Site>());
    let heads = layers.len() * size_of::<Head>() + BLOCK_BYTES;
    let _working = charge.ledger().charge(NAME, (readers + heads) as u64)?;
    let mut writer = Writer::default();
    let mut readers: Vec<LayerReader<'_>> = layers.iter().map(LayerReader::new).collect();
    let mut heads: BinaryHeap<Head> = BinaryHeap::with_capacity(readers.len());
    for (number, reader) in readers.iter_mut().enumerate() {
        heads.extend(reader.next(spill, extent)?.map(|site| Reverse((site, number))));
    }
    let mut current: Option<Site> = None;
    while let Some(mut head) = heads.peek_mut() {
        let Reverse((site, number)) = *head;
        match readers[number].next(spill, extent)? {
            Some(next) => *head = Reverse((next, number)),
            None => drop(PeekMut::pop(head)),
        }
        match &mut current {
            Some(current) if site.0 < current.1 => current.1 = current.1.max(site.1),
            _ => {
                if let Some(done) = current.replace(site) {
                    make_room(out, 1, charge)?;
                    out.extend(writer.push(done, spill, extent)?);
                }
            }
        }
    }
    make_room(out, 2, charge)?;
    if let Some(done) = current {
        out.extend(writer.push(done, spill, extent)?);
    }
    out.extend(writer.close(spill, extent)?);
    Ok(())
}

/// The next site of a layer, and the number of the layer.
type Head = Reverse<(Site, usize)>;

/// Reads a layer from its start to its end.
struct LayerReader<'a> {
    blocks: std::slice::Iter<'a, SiteBlock>,
    sites: Vec<Site>,
    at: usize,
}

impl<'a> LayerReader<'a> {
    fn new(layer: &'a Layer) -> Self {
        LayerReader { blocks: layer.blocks.iter(), sites: Vec::new(), at: 0 }
    }

    fn next(&mut self, spill: &Spill, extent: &Extent) -> Result<Option<Site>> {
        if self.at == self.sites.len() {
            let Some(block) = self.blocks.next() else { return Ok(None) };
            block.read(spill, extent, &mut self.sites)?;
            self.at = 0;
        }
        self.at += 1;
        Ok(Some(self.sites[self.at - 1]))
    }
}
