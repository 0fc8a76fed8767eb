//! Numbers about reads in the text of `samtools stats` (1.24), as MultiQC reads it.
//!
//! Every row is equal to that of samtools, with these differences:
//! - `is sorted` is an argument, because a tally sees batches in any order; it becomes 0 where a batch is not in
//!   order. (samtools looks at positions within runs of one reference sequence only.)
//! - The sections of coverage (COV), GC and depth (GCD) and barcodes (BCC, QTQ and their like) are left out: they need
//!   the order of reads, or depend on which read comes first.
//! - Memory is bounded: cycles after [`MOST_CYCLES`] have no rows of their own in FFQ, LFQ, GCC, GCT, FBC, LBC and IC
//!   (sums count them), nor have lengths above [`LONGEST_READ`] in RL, FRL and LRL. A comment says so where it happens.
//! - Where samtools stops (a mapped read without CIGAR, an insertion outside of its read), counting goes on.

mod cycles;
mod histograms;
mod partial;
mod text;

use readmill_record::{Batch, Result, Tally};

use super::spec::{CountMemory, Report, TallySpec};

pub use cycles::MOST_CYCLES;
pub use partial::{LONGEST_READ, StatsPartial};

/// The specification of the tally.
pub const SPEC: TallySpec = TallySpec {
    flag_help: Some("Write statistics of the reads, as samtools stats does"),
    command_help: Some("Statistics of reads, as samtools stats"),
    memory: Some(CountMemory { name: "statistics", bytes: StatsPartial::bytes }),
    ..TallySpec::new("stats", |context| {
        Report::new(Stats::new(context.sorted), |counts, _| counts.to_text().into_bytes())
    })
};

/// Counts what `samtools stats` counts.
#[derive(Clone, Copy, Debug)]
pub struct Stats {
    sorted: bool,
}

impl Stats {
    /// Creates the tally for reads that are `sorted` by coordinate, or not.
    pub fn new(sorted: bool) -> Self {
        Stats { sorted }
    }

    /// Returns the most bytes of one partial count.
    pub fn bytes() -> usize {
        StatsPartial::bytes()
    }
}

/// The counts.
#[derive(Debug)]
pub struct StatsCounts {
    counted: StatsPartial,
    sorted: bool,
}

impl StatsCounts {
    /// Returns the text of `samtools stats`; its first line names the program.
    pub fn to_text(&self) -> String {
        text::of(&self.counted, self.sorted)
    }
}

impl Tally for Stats {
    type Partial = StatsPartial;
    type Total = StatsCounts;

    fn observe(&self, partial: &mut StatsPartial, batch: &Batch) -> Result<()> {
        partial.begin_batch();
        for (_, record) in batch.records() {
            partial.observe(record);
        }
        Ok(())
    }

    fn merge(&self, into: &mut StatsPartial, from: StatsPartial) {
        into.merge(from);
    }

    fn finish(&self, total: StatsPartial) -> Result<StatsCounts> {
        let sorted = self.sorted && total.in_order();
        Ok(StatsCounts { counted: total, sorted })
    }
}
