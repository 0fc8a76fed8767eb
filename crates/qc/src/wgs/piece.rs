//! The pieces that batches of sorted reads contribute to the depths of the genome.

use serde::{Deserialize, Serialize};

use super::rules::WgsRules;
use crate::depth::depths::{DepthPage, Depths};
use crate::depth::reads::Reads;

/// The contribution of one batch of sorted reads to the depths. Pieces are made on any thread and
/// added in read order; a job in stages stores them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct WgsPiece {
    /// One piece for each of the rules, in the order of `WgsCounting::rules`.
    pub(super) by_rules: Vec<RulesPiece>,
}

/// The contribution of a batch according to the rules of one program.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct RulesPiece {
    pub contigs: Vec<ContigPiece>,
    pub excluded: Excluded,
}

/// Numbers of aligned bases of reads that do not count, by the first reason that applies.
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

/// The counted reads of one contig, and their depths.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ContigPiece {
    pub contig: u32,
    /// The number of reads at the beginning that may overlap reads of earlier pieces, or that may
    /// overlap other reads that do. [`ContigPiece::trim`] removes later reads unless they reach the
    /// last read of the piece.
    pub head: u32,
    pub reads: Reads,
    pub depths: Depths,
}

impl ContigPiece {
    /// Removes reads that cannot overlap a read of another piece, if no read of the job spans more
    /// than `span` bases. Keeps all reads if a cap may be reached within the piece, because the
    /// capped bases depend on all reads.
    pub fn trim(&mut self, span: u32, rules: &WgsRules) {
        let (Some(first), Some(last)) = (self.reads.list.first(), self.reads.list.last()) else {
            return;
        };
        let (first, last) = (first.start, last.start);
        let is_deep = |page: &DepthPage| page.called.iter().any(|&depth| u32::from(depth) > rules.cap);
        let is_capped = self.reads.list.len() >= rules.locus_cap as usize;
        if is_capped || self.depths.pages.iter().any(is_deep) {
            return;
        }
        let border = first.saturating_add(span.saturating_mul(2));
        self.head = self.reads.list.partition_point(|read| read.start < border) as u32;
        let mut kept = self.reads.copy_first(0);
        for (number, view) in self.reads.views().enumerate() {
            if number < self.head as usize || view.read.end >= last {
                kept.push_copy(view);
            }
        }
        self.reads = kept;
    }
}

impl WgsPiece {
    pub fn heap_bytes(&self) -> u64 {
        let contigs = self.by_rules.iter().flat_map(|it| &it.contigs);
        contigs.map(|it| (it.reads.heap_bytes() + it.depths.heap_bytes() + 256) as u64).sum()
    }
}
