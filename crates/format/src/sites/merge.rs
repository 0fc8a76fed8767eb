//! Makes one list of each contig's layers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::Arc;

use readmill_record::Result;

use super::block::{Block, Site, Writer};
use super::gather::Layer;
use super::shared::Shared;
use crate::spill::{Extent, Spill};

/// The sites of all layers, which are given by contig. What is merged is written behind them.
pub(super) fn merge(spill: Arc<Spill>, mut extent: Extent, layers: Vec<Vec<Layer>>) -> Result<Shared> {
    let (mut blocks, mut contigs) = (Vec::new(), Vec::with_capacity(layers.len()));
    for mut layers in layers {
        let start = blocks.len();
        match layers.len() {
            0 => {}
            1 => blocks.append(&mut layers[0].blocks),
            _ => merge_layers(&layers, &spill, &mut extent, &mut blocks)?,
        }
        contigs.push(start..blocks.len());
    }
    blocks.shrink_to_fit();
    Ok(Shared { spill, extent, blocks, contigs })
}

fn merge_layers(
    layers: &[Layer],
    spill: &Spill,
    extent: &mut Extent,
    out: &mut Vec<Block>,
) -> Result<()> {
    let mut writer = Writer::default();
    let mut readers: Vec<Reader<'_>> = layers.iter().map(Reader::new).collect();
    let mut heads = BinaryHeap::with_capacity(readers.len());
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
                    out.extend(writer.push(done, spill, extent)?);
                }
            }
        }
    }
    if let Some(done) = current {
        out.extend(writer.push(done, spill, extent)?);
    }
    out.extend(writer.close(spill, extent)?);
    Ok(())
}

/// Reads a layer from its start to its end.
struct Reader<'a> {
    blocks: std::slice::Iter<'a, Block>,
    sites: Vec<Site>,
    at: usize,
}

impl<'a> Reader<'a> {
    fn new(layer: &'a Layer) -> Self {
        Reader { blocks: layer.blocks.iter(), sites: Vec::new(), at: 0 }
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
