//! The pieces that batches of sorted reads contribute to the metrics of targets.

use serde::{Deserialize, Serialize};

use super::rules::TargetRules;
use crate::depth::depths::Depths;
use crate::depth::reads::Reads;

/// The contribution of one batch of sorted reads to the target metrics. Pieces are made on any
/// thread and added in read order; a job in stages stores them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct TargetPiece {
    /// The contig and start of the first and of the last read with a position. `None` if no read
    /// has one.
    pub(super) ends: Option<[(u32, u32); 2]>,
    /// Indexed by program, then by row of the table.
    pub(super) by_rules: Vec<Vec<UnitPiece>>,
}

/// The contribution of the reads of one row of the table.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct UnitPiece {
    pub counts: TargetCounts,
    /// Histogram of the qualities of bases above noise on targets.
    pub quals: Vec<u64>,
    /// Targets with the number of reads that have a counted base there. A target may be repeated.
    pub reads: Vec<(u32, u32)>,
    pub parts: Vec<UnitPart>,
}

/// Some of the reads of a row and their depths. Positions are numbered through all targets.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct UnitPart {
    pub reads: Reads,
    pub depths: Depths,
}

/// Numbers of reads and bases, for the columns of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TargetCounts {
    /// All records, including secondary ones.
    pub records: u64,
    pub reads: u64,
    pub pf_reads: u64,
    pub pf_unique_reads: u64,
    pub pf_unique_aligned_reads: u64,
    pub pf_bases: u64,
    pub pf_aligned_bases: u64,
    pub pf_unique_aligned_bases: u64,
    pub selected_pairs: u64,
    pub selected_unique_pairs: u64,
    pub on_probe: u64,
    pub near_probe: u64,
    pub off_probe: u64,
    pub duplicates: u64,
    pub adapters: u64,
    pub low_mapq: u64,
    pub overlaps: u64,
    pub low_quals: u64,
    pub off_target: u64,
    pub on_target: u64,
    pub on_target_from_pairs: u64,
}

impl TargetCounts {
    pub fn add(&mut self, more: &TargetCounts) {
        let TargetCounts {
            records,
            reads,
            pf_reads,
            pf_unique_reads,
            pf_unique_aligned_reads,
            pf_bases,
            pf_aligned_bases,
            pf_unique_aligned_bases,
            selected_pairs,
            selected_unique_pairs,
            on_probe,
            near_probe,
            off_probe,
            duplicates,
            adapters,
            low_mapq,
            overlaps,
            low_quals,
            off_target,
            on_target,
            on_target_from_pairs,
        } = more;
        self.records += records;
        self.reads += reads;
        self.pf_reads += pf_reads;
        self.pf_unique_reads += pf_unique_reads;
        self.pf_unique_aligned_reads += pf_unique_aligned_reads;
        self.pf_bases += pf_bases;
        self.pf_aligned_bases += pf_aligned_bases;
        self.pf_unique_aligned_bases += pf_unique_aligned_bases;
        self.selected_pairs += selected_pairs;
        self.selected_unique_pairs += selected_unique_pairs;
        self.on_probe += on_probe;
        self.near_probe += near_probe;
        self.off_probe += off_probe;
        self.duplicates += duplicates;
        self.adapters += adapters;
        self.low_mapq += low_mapq;
        self.overlaps += overlaps;
        self.low_quals += low_quals;
        self.off_target += off_target;
        self.on_target += on_target;
        self.on_target_from_pairs += on_target_from_pairs;
    }
}

impl TargetPiece {
    /// Removes reads that cannot overlap a read of an earlier piece, if no read of the job spans
    /// more than `span` bases of the reference.
    pub fn trim(&mut self, span: u32, rules: &[TargetRules]) {
        let Some([(contig, start), _]) = self.ends else { return };
        for (rules, units) in rules.iter().zip(&mut self.by_rules) {
            let border = rules.targets.base_number(contig, start.saturating_add(span));
            for part in units.iter_mut().flat_map(|unit| &mut unit.parts) {
                let mut kept = part.reads.copy_first(0);
                let near = part.reads.views().filter(|view| view.read.start < border);
                near.for_each(|view| kept.push_copy(view));
                part.reads = kept;
            }
        }
    }

    pub fn heap_bytes(&self) -> u64 {
        let units = self.by_rules.iter().flatten();
        let bytes = |unit: &UnitPiece| {
            let parts = unit.parts.iter().map(|it| it.reads.heap_bytes() + it.depths.heap_bytes() + 256);
            size_of::<UnitPiece>()
                + 8 * (unit.quals.len() + unit.reads.capacity())
                + parts.sum::<usize>()
        };
        units.map(|unit| bytes(unit) as u64).sum()
    }
}
