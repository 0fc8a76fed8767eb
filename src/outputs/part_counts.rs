//! What is counted of parts of the output, in their order: coverage, what quality metrics need in order (depths, sites), and what
//! statistics do.

use std::sync::Arc;

use readmill_filters::tally::stats::{StatsOrder, StatsPiece, StatsPieceMaker};
use readmill_qc::{Options, OrderedCounting, OrderedMaker, OrderedPiece};
use readmill_record::{Batch, Charge, Error, Ledger, Result};

use super::coverage::{PartCoverage, PartCoverageMaker, PieceSettings};

/// How parts are counted.
#[derive(Clone)]
pub struct CountSettings {
    /// Coverage.
    pub coverage: Option<PieceSettings>,
    /// Depths of quality metrics.
    pub depths: Option<Arc<OrderedCounting>>,
    /// Statistics that depend on the order of reads.
    pub stats: Option<Arc<StatsOrder>>,
    /// The ledger that pays for large parts.
    pub ledger: Ledger,
    /// Bases of the reference that the longest read spans: parts that are stored leave out what no other part reaches. None
    /// where parts are not stored.
    pub span: Option<u32>,
}

/// What a part of the output adds.
#[derive(Default)]
pub struct PartCounts {
    /// To the coverage.
    pub coverage: Option<PartCoverage>,
    /// To the depths of quality metrics.
    pub depths: Option<PartDepths>,
    /// To the statistics.
    pub stats: Option<PartStats>,
}

/// The counts of a part for statistics that depend on the order of reads.
pub struct PartStats {
    piece: StatsPiece,
    /// Charge of what it takes beyond what is usual.
    _charge: Charge,
}

/// What a part adds to the depths of quality metrics.
pub struct PartDepths {
    piece: OrderedPiece,
    /// Charge of what it takes beyond what is usual.
    _charge: Charge,
}

/// Counts parts, one for each thread.
pub struct PartCounter {
    coverage: Option<PartCoverageMaker>,
    depths: Option<OrderedMaker>,
    stats: Option<StatsPieceMaker>,
    ledger: Ledger,
    span: Option<u32>,
}

/// Depths of quality metrics of the whole output, as far as it is written.
pub struct DepthOutput {
    counting: Arc<OrderedCounting>,
    /// Charge of reads that wait for those behind them.
    charge: Charge,
}

/// Statistics that depend on the order of reads, of the output so far.
pub struct StatsOutput {
    order: Arc<StatsOrder>,
    /// Charge of the counts.
    charge: Charge,
}

/// Returns the bytes that statistics take where so many tickets are under way, beside what grows with the reads.
pub fn stats_memory(in_flight: usize) -> u64 {
    StatsOrder::USUAL_PIECE * in_flight as u64
}

/// Returns the bytes that depths take where so many tickets are under way, beside what grows with the reads.
pub fn depth_memory(options: &Options, in_flight: usize) -> u64 {
    OrderedCounting::usual_piece(options) * in_flight as u64
}

impl CountSettings {
    /// One thread's counter; none if nothing is counted.
    pub fn counter(&self) -> Option<PartCounter> {
        let is_wanted = self.coverage.is_some() || self.depths.is_some() || self.stats.is_some();
        is_wanted.then(|| PartCounter {
            coverage: self.coverage.as_ref().map(PieceSettings::maker),
            depths: self.depths.as_ref().map(|depths| depths.maker()),
            stats: self.stats.as_ref().map(|stats| stats.maker()),
            ledger: self.ledger.clone(),
            span: self.span,
        })
    }
}

impl PartCounter {
    /// Counts a batch.
    ///
    /// # Errors
    /// The reads are not sorted by coordinate.
    pub fn count(&mut self, batch: &Batch) -> Result<PartCounts> {
        let coverage = self.coverage.as_mut().map(|maker| maker.make(batch)).transpose()?;
        let depths = self.depths.as_mut().map(|maker| {
            let mut charge = self.ledger.empty(OrderedCounting::NAME);
            let mut piece = maker.make(batch, &mut charge)?;
            self.span.iter().for_each(|&span| maker.trim(&mut piece, span));
            PartDepths::charged(piece, charge)
        });
        let stats = self.stats.as_mut().map(|maker| PartStats::charged(maker.make(batch), &self.ledger));
        Ok(PartCounts { coverage, depths: depths.transpose()?, stats: stats.transpose()? })
    }
}

impl PartDepths {
    /// A piece whose making was paid by `charge`, which pays from now on for what is left.
    fn charged(piece: OrderedPiece, mut charge: Charge) -> Result<Self> {
        let bytes = piece.unusual_bytes();
        charge.around(bytes, || Ok(((), bytes)))?;
        Ok(PartDepths { piece, _charge: charge })
    }
}

impl PartStats {
    fn charged(piece: StatsPiece, ledger: &Ledger) -> Result<Self> {
        let bytes = piece.heap_bytes().saturating_sub(StatsOrder::USUAL_PIECE);
        let charge = ledger.charge(StatsOrder::NAME, bytes)?;
        Ok(PartStats { piece, _charge: charge })
    }
}

impl PartCounts {
    /// Appends it to `bytes`; returns how many they are.
    pub fn store(&self, bytes: &mut Vec<u8>) -> Result<u64> {
        let before = bytes.len();
        if let Some(coverage) = &self.coverage {
            coverage.store(bytes)?;
        }
        if let Some(depths) = &self.depths {
            *bytes = postcard::to_extend(&depths.piece, std::mem::take(bytes))
                .map_err(|error| Error::bug(format!("depths cannot be stored: {error}")))?;
        }
        if let Some(stats) = &self.stats {
            *bytes = postcard::to_extend(&stats.piece, std::mem::take(bytes))
                .map_err(|error| Error::bug(format!("statistics cannot be stored: {error}")))?;
        }
        Ok((bytes.len() - before) as u64)
    }

    /// Reads what [`PartCounts::store`] has written, of a part that was counted by these settings.
    pub fn load(bytes: &[u8], settings: &CountSettings) -> Result<Self> {
        let mut counts = PartCounts::default();
        let mut rest = bytes;
        if settings.coverage.is_some() {
            let (coverage, more) = PartCoverage::load(rest, &settings.ledger)?;
            counts.coverage = Some(coverage);
            rest = more;
        }
        if settings.depths.is_some() {
            let (piece, more) = postcard::take_from_bytes(rest)
                .map_err(|error| Error::bug(format!("stored depths cannot be read: {error}")))?;
            let charge = settings.ledger.empty(OrderedCounting::NAME);
            counts.depths = Some(PartDepths::charged(piece, charge)?);
            rest = more;
        }
        if settings.stats.is_some() {
            let piece = postcard::from_bytes(rest)
                .map_err(|error| Error::bug(format!("stored statistics cannot be read: {error}")))?;
            counts.stats = Some(PartStats::charged(piece, &settings.ledger)?);
        }
        Ok(counts)
    }
}

impl StatsOutput {
    /// Counts what is written; the counts are charged to `ledger`.
    pub fn new(order: Arc<StatsOrder>, ledger: &Ledger) -> Self {
        order.begin();
        StatsOutput { order, charge: ledger.empty(StatsOrder::NAME) }
    }

    /// How it is counted.
    pub fn order(&self) -> Arc<StatsOrder> {
        Arc::clone(&self.order)
    }

    /// Takes those of the next part.
    ///
    /// # Errors
    /// The memory of what waits is not free.
    pub fn take(&mut self, part: PartStats) -> Result<()> {
        self.order.take(part.piece, &mut self.charge)
    }

    /// Forgets all parts.
    pub fn restart(&self) {
        self.order.begin();
    }
}

impl DepthOutput {
    /// Counts depths; what waits is charged to `ledger`.
    pub fn new(counting: Arc<OrderedCounting>, ledger: &Ledger) -> Self {
        DepthOutput { counting, charge: ledger.empty(OrderedCounting::NAME) }
    }

    /// How they are counted.
    pub fn counting(&self) -> Arc<OrderedCounting> {
        Arc::clone(&self.counting)
    }

    /// Takes those of the next part.
    ///
    /// # Errors
    /// Its reads lie before those of the part ahead of it, or the memory of what waits is not free.
    pub fn take(&mut self, part: PartDepths) -> Result<()> {
        self.counting.take(part.piece, &mut self.charge)
    }

    /// Forgets all parts.
    pub fn restart(&self) {
        self.counting.restart();
    }
}
