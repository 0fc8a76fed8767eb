//! Statistics in the format of `samtools stats` 1.24, which MultiQC reads.
//!
//! Every row equals samtools' row, with these differences:
//! - `is sorted`, the distribution of depths (COV) and depth by GC (GCD) depend on the order of reads.
//!   [`StatsOrder`] counts them from pieces that are added in order. Without pieces, there are no such
//!   rows, and `is sorted` is given by the caller; it becomes 0 if a batch is not in order. (samtools
//!   compares positions within runs of one reference sequence only.)
//! - The depth of a position is exact. samtools counts depths in a ring buffer, where reads with long
//!   gaps, or longer than those before, wrap around onto other positions.
//! - The barcode sections (BCC, QTQ and others) are omitted: they depend on which read comes first.
//! - Memory is bounded: cycles after [`MAX_CYCLES`] have no rows of their own in FFQ, LFQ, GCC, GCT,
//!   FBC, LBC and IC (they are part of sums), nor have lengths above [`MAX_READ_LENGTH`] in RL, FRL and
//!   LRL. A comment in the output says so if it happens.
//! - Where samtools aborts (a mapped read without CIGAR, an insertion outside of its read), counting
//!   continues.
//!
//! Two counts run side by side, because only one of them may be merged in any order:
//!
//! ```text
//!  batch ─► Stats::observe ──────► StatsPartial ─┐ merged at the end, in any order
//!  batch ─► StatsPieceMaker ─► StatsPiece ─► StatsOrder (in order) ─┴─► StatsCounts ─► text
//! ```
//!
//! | subject | module |
//! |---|---|
//! | the options of the user, and what follows from them | `options`, `settings` |
//! | which reads and positions count | `selection`, `targets` |
//! | the counts of a thread | `partial`, `cycles`, `histograms` |
//! | the pieces of batches, and their join in order | `piece`, `join`, `ordered` |
//! | the result, its text and its value | `counts`, `text`, `output` |

mod counts;
mod cycles;
mod histograms;
mod join;
mod options;
mod ordered;
mod output;
mod partial;
mod piece;
mod selection;
mod settings;
mod targets;
mod text;

use std::sync::Arc;

use readmill_format::report::DescribedReport;
use readmill_record::{Batch, Error, Result, Tally};
use serde_json::Value;

use self::output::StatsValues;
use crate::spec::{CountMemory, TallyReport, TallySpec};

pub use counts::StatsCounts;
pub use cycles::MAX_CYCLES;
pub use options::{CoverageBins, MAX_INSERT_SIZE, StatsOptions};
pub use ordered::StatsOrder;
pub use partial::{MAX_READ_LENGTH, StatsPartial};
pub use piece::{StatsPiece, StatsPieceMaker};
pub use settings::StatsSettings;

pub const SPEC: TallySpec = TallySpec {
    flag_help: Some("Write statistics of the reads, as samtools stats does"),
    memory: Some(CountMemory { name: "statistics", bytes: StatsPartial::max_bytes }),
    ..TallySpec::new("stats", |context| {
        let stats = Stats::new(context.sorted);
        let stats = context.stats.map_or(stats, |order| Stats::in_order(context.sorted, order));
        TallyReport::new(stats, |counts, _| counts)
    })
};

/// Counts what `samtools stats` counts.
///
/// The tally of a run that writes reads, and of the command `readmill stats`. For rows that depend on
/// the order of reads, see [`Stats::in_order`].
///
/// ```
/// use readmill_stats::Stats;
/// use readmill_format::sam::LineParser;
/// use readmill_record::{Batch, Header, Stamp, Tally};
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:100\n")?;
/// let (mut raw, mut batch) = (Vec::new(), Batch::default());
/// LineParser::new(&header).parse(b"a\t0\tchr1\t1\t60\t4M\t*\t0\t0\tACGT\tIIII", &mut raw)?;
/// batch.push(&raw, Stamp::default())?;
///
/// let stats = Stats::new(true); // sorted by coordinate
/// let mut partial = Default::default(); // the counts of one thread
/// stats.observe(&mut partial, &batch)?;
/// let text = stats.finish(partial)?.to_text();
/// assert!(text.contains("SN\traw total sequences:\t1\t"));
/// assert!(text.contains("SN\taverage quality:\t40.0\n"));
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stats {
    sorted: bool,
    settings: Arc<StatsSettings>,
    order: Option<Arc<StatsOrder>>,
}

impl Stats {
    /// Creates a tally that does not depend on the order of reads. `sorted` is the value of the row
    /// `is sorted`, unless a batch turns out to be unsorted.
    pub fn new(sorted: bool) -> Self {
        Stats { sorted, settings: Arc::default(), order: None }
    }

    /// Creates a tally with the settings of `order`. If pieces were added to `order` by the end,
    /// COV and GCD are written, and the pieces decide whether reads are sorted; otherwise `sorted`
    /// does.
    pub fn in_order(sorted: bool, order: &Arc<StatsOrder>) -> Self {
        let settings = Arc::clone(order.settings());
        Stats { sorted, settings, order: Some(Arc::clone(order)) }
    }

    pub fn partial_bytes() -> usize {
        StatsPartial::max_bytes()
    }
}

impl StatsCounts {
    /// Formats the counts as `samtools stats` does. The first line names readmill.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        text::write_sections(self, &mut text);
        text
    }
}

impl DescribedReport for StatsCounts {
    fn format_text(&self) -> Vec<u8> {
        self.to_text().into_bytes()
    }

    /// Returns the numbers of section SN by their names, and each other section as a list of rows, each
    /// a list of its cells.
    fn to_value(&self) -> Value {
        let mut values = StatsValues::default();
        text::write_sections(self, &mut values);
        values.into_value()
    }
}

impl Tally for Stats {
    type Partial = StatsPartial;
    type Total = StatsCounts;

    fn memory_bytes(&self, threads: u64) -> u64 {
        StatsPartial::extra_bytes(&self.settings.options) * (threads + 1)
    }

    fn observe(&self, partial: &mut StatsPartial, batch: &Batch) -> Result<()> {
        partial.begin_batch();
        for (_, record) in batch.records() {
            partial.count_read(record, &self.settings);
        }
        Ok(())
    }

    fn merge(&self, into: &mut StatsPartial, from: StatsPartial) {
        into.merge(from);
    }

    fn finish(&self, total: StatsPartial) -> Result<StatsCounts> {
        let mut order = self.order.as_ref().and_then(|order| order.take_totals());
        if let Some(order) = &mut order {
            text::sort_gc_bins(&mut order.bins);
        }
        let sorted = match &order {
            Some(order) => order.is_sorted,
            None => self.sorted && total.is_sorted(),
        };
        if !sorted && self.settings.targets.is_some() {
            let what =
                "statistics of regions need reads sorted by coordinate, but these reads are not sorted";
            return Err(Error::input(what).hint("sort the file first: readmill sort IN -o OUT.bam"));
        }
        Ok(StatsCounts { counted: total, sorted, settings: Arc::clone(&self.settings), order })
    }
}
