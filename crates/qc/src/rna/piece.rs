//! The pieces that batches of sorted reads contribute to the metrics of RNA.

use serde::{Deserialize, Serialize};

use crate::depth::depths::Depths;

/// The contribution of one batch of sorted reads to the RNA metrics. Pieces are made on any thread
/// and added in read order; a job in stages stores them.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct RnaPiece {
    /// The contig and start of the first and of the last read with a position. `None` if no read
    /// has one.
    pub(super) ends: Option<[(u32, u32); 2]>,
    /// Indexed by row of the table.
    pub(super) units: Vec<RnaUnit>,
}

/// The contribution of the reads of one row of the table.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct RnaUnit {
    pub counts: RnaCounts,
    /// The depths of exons, in one or more parts, because a part has a maximum number of reads.
    pub depths: Vec<Depths>,
}

/// Numbers of reads and bases, for the columns of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RnaCounts {
    /// All records, including those that fail vendor quality checks.
    pub records: u64,
    pub bases: u64,
    pub aligned: u64,
    pub ribosomal: u64,
    /// Numbers of aligned bases that are intergenic, intronic, untranslated and coding, in this
    /// order.
    pub by_function: [u64; 4],
    pub ignored_reads: u64,
    pub correct_strand: u64,
    pub incorrect_strand: u64,
    pub r1_transcript_strand: u64,
    pub r2_transcript_strand: u64,
    pub unexplained: u64,
}

impl RnaCounts {
    pub fn add(&mut self, more: &RnaCounts) {
        self.records += more.records;
        self.bases += more.bases;
        self.aligned += more.aligned;
        self.ribosomal += more.ribosomal;
        for (sum, more) in self.by_function.iter_mut().zip(more.by_function) {
            *sum += more;
        }
        self.ignored_reads += more.ignored_reads;
        self.correct_strand += more.correct_strand;
        self.incorrect_strand += more.incorrect_strand;
        self.r1_transcript_strand += more.r1_transcript_strand;
        self.r2_transcript_strand += more.r2_transcript_strand;
        self.unexplained += more.unexplained;
    }
}

impl RnaPiece {
    pub fn heap_bytes(&self) -> u64 {
        let bytes = |unit: &RnaUnit| {
            let depths: usize = unit.depths.iter().map(|it| it.heap_bytes() + 64).sum();
            (depths + size_of::<RnaUnit>()) as u64
        };
        self.units.iter().map(bytes).sum()
    }
}
