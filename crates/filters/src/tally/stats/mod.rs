//! Numbers about reads in the text of `samtools stats` (1.24), as MultiQC reads it.
//!
//! Every row is equal to that of samtools, with these differences:
//! - `is sorted`, the distribution of depths (COV) and the depth by GC (GCD) depend on the order of reads: [`StatsOrder`] has
//!   pieces of it, which are taken in order. Without any, `is sorted` is an argument, which becomes 0 where a batch is not in
//!   order, and there are no such rows. (samtools looks at positions within runs of one reference sequence only.)
//! - Depths are those of positions. samtools counts them in a ring, where those of reads with long gaps, or longer than those
//!   before, get mixed up.
//! - The sections of barcodes (BCC, QTQ and their like) are left out: they depend on which read comes first.
//! - Memory is bounded: cycles after [`MOST_CYCLES`] have no rows of their own in FFQ, LFQ, GCC, GCT, FBC, LBC and IC
//!   (sums count them), nor have lengths above [`LONGEST_READ`] in RL, FRL and LRL. A comment says so where it happens.
//! - Where samtools stops (a mapped read without CIGAR, an insertion outside of its read), counting goes on.
//!
//! | subject | module |
//! |---|---|
//! | what is asked for | `options`, `settings` |
//! | which reads count, and where | `selection`, `targets` |
//! | what a thread counts, in any order | `partial`, `cycles`, `histograms` |
//! | what a batch adds in order, and how that is joined | `piece`, `join`, `ordered` |
//! | the result, and its text | `counts`, `text` |

mod counts;
mod cycles;
mod histograms;
mod join;
mod options;
mod ordered;
mod partial;
mod piece;
mod selection;
mod settings;
mod targets;
mod text;

use std::sync::Arc;

use readmill_record::{Batch, Error, Result, Tally};

use super::spec::{CountMemory, Report, TallySpec};

pub use counts::StatsCounts;
pub use cycles::MOST_CYCLES;
pub use options::{CoverageBins, MOST_INSERT, StatsOptions};
pub use ordered::StatsOrder;
pub use partial::{LONGEST_READ, StatsPartial};
pub use piece::{StatsPiece, StatsPieceMaker};
pub use settings::StatsSettings;

/// The specification of the tally.
pub const SPEC: TallySpec = TallySpec {
    flag_help: Some("Write statistics of the reads, as samtools stats does"),
    memory: Some(CountMemory { name: "statistics", bytes: StatsPartial::bytes }),
    ..TallySpec::new("stats", |context| {
        let stats = Stats::new(context.sorted);
        let stats = context.stats.map_or(stats, |order| Stats::in_order(context.sorted, order));
        Report::new(stats, |counts, _| counts.into_text().into_bytes())
    })
};

/// Counts what `samtools stats` counts.
#[derive(Clone, Debug)]
pub struct Stats {
    sorted: bool,
    settings: Arc<StatsSettings>,
    order: Option<Arc<StatsOrder>>,
}

impl Stats {
    /// Creates the tally for reads that are `sorted` by coordinate, or not, whose order is not looked at.
    pub fn new(sorted: bool) -> Self {
        Stats { sorted, settings: Arc::default(), order: None }
    }

    /// Creates the tally, by the settings of `order`. If that has pieces, these tell whether reads are sorted; if not, `sorted`
    /// does.
    pub fn in_order(sorted: bool, order: &Arc<StatsOrder>) -> Self {
        let settings = Arc::clone(order.settings());
        Stats { sorted, settings, order: Some(Arc::clone(order)) }
    }

    /// Returns the most bytes of one partial count, with the usual options.
    pub fn bytes() -> usize {
        StatsPartial::bytes()
    }
}

impl StatsCounts {
    /// Returns the text of `samtools stats`; its first line names the program.
    pub fn into_text(self) -> String {
        text::of(self)
    }
}

impl Tally for Stats {
    type Partial = StatsPartial;
    type Total = StatsCounts;

    fn bytes(&self, threads: u64) -> u64 {
        StatsPartial::more_bytes(&self.settings.options) * (threads + 1)
    }

    fn observe(&self, partial: &mut StatsPartial, batch: &Batch) -> Result<()> {
        partial.begin_batch();
        for (_, record) in batch.records() {
            partial.observe(record, &self.settings);
        }
        Ok(())
    }

    fn merge(&self, into: &mut StatsPartial, from: StatsPartial) {
        into.merge(from);
    }

    fn finish(&self, total: StatsPartial) -> Result<StatsCounts> {
        let order = self.order.as_ref().and_then(|order| order.finish());
        let sorted = match &order {
            Some(order) => order.is_sorted,
            None => self.sorted && total.in_order(),
        };
        if !sorted && self.settings.targets.is_some() {
            let what = "statistics of regions are counted of reads that are sorted by coordinate, and these are not";
            return Err(Error::input(what).hint("sort the file first: readmill sort IN -o OUT.bam"));
        }
        Ok(StatsCounts { counted: total, sorted, settings: Arc::clone(&self.settings), order })
    }
}
