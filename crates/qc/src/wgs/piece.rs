//! Pieces: what batches of sorted reads add to the depths.

use serde::{Deserialize, Serialize};

use super::rules::WgsRules;
use crate::depth::depths::{Depths, Page};
use crate::depth::reads::Reads;

/// The contribution of a batch of sorted reads to the depths.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct WgsPiece {
    /// By the rules of the programs.
    pub(super) by_rules: Vec<RulesPiece>,
}

/// The same, by the rules of one program.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct RulesPiece {
    pub contigs: Vec<ContigPiece>,
    pub excluded: Excluded,
}

/// Aligned bases of reads that do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Excluded {
    pub adapter: u64,
    pub mapq: u64,
    pub duplicates: u64,
    pub unpaired: u64,
}

impl Excluded {
    pub fn add(&mut self, more: &Excluded) {
        self.adapter += more.adapter;
        self.mapq += more.mapq;
        self.duplicates += more.duplicates;
        self.unpaired += more.unpaired;
    }
}

/// The reads of a contig that count.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ContigPiece {
    pub contig: u32,
    /// How many of the first reads may overlap reads before the piece, or reads of the piece that do. Behind them, reads that
    /// end before the last one begins may be left out.
    pub head: u32,
    pub reads: Reads,
    pub depths: Depths,
}

impl ContigPiece {
    /// Leaves reads out that cannot overlap a read of another piece, if no read spans more than `span` bases. Where a cap is
    /// reached within the piece, all stay.
    pub fn trim(&mut self, span: u32, rules: &WgsRules) {
        let (Some(first), Some(last)) = (self.reads.list.first(), self.reads.list.last()) else {
            return;
        };
        let (first, last) = (first.start, last.start);
        let is_deep = |page: &Page| page.called.iter().any(|&depth| u32::from(depth) > rules.cap);
        let is_capped = self.reads.list.len() >= rules.locus_cap as usize;
        if is_capped || self.depths.pages.iter().any(is_deep) {
            return;
        }
        let border = first.saturating_add(span.saturating_mul(2));
        self.head = self.reads.list.partition_point(|read| read.start < border) as u32;
        let mut kept = self.reads.first(0);
        for (number, view) in self.reads.views().enumerate() {
            if number < self.head as usize || view.read.end >= last {
                kept.push_copy(view);
            }
        }
        self.reads = kept;
    }
}

impl WgsPiece {
    /// Bytes of memory in use.
    pub fn heap_bytes(&self) -> u64 {
        let contigs = self.by_rules.iter().flat_map(|it| &it.contigs);
        contigs.map(|it| (it.reads.heap_bytes() + it.depths.heap_bytes() + 256) as u64).sum()
    }
}
