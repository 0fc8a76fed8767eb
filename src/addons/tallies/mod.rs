//! Tallies of reads whose results are files: flagstat, idxstats, stats, checksums, adapters.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_engine::Crew;
use readmill_format::region::{ContigPart, Region};
use readmill_record::{Error, Header, OrderedTally, Result, SharedOrderedTally};
use readmill_stats::stats::{StatsOptions, StatsOrder, StatsSettings};
use readmill_stats::{TallyContext, TallySpec, stats};

use super::add_on::{AddOn, AddOnNeeds, AddOnSetup, MemoryShare, OrderedCount, RunFacts, RunningAddOn};
use super::planned_file::PlannedFile;
use super::reported_tally::ReportedTally;
use crate::pipeline::tap::Tap;

/// One of [`TALLIES`](readmill_stats::TALLIES) and its file.
///
/// A new tally needs only a [`TallySpec`]; this type serves all of them. Statistics are the only
/// tally that also counts in output order, so their options are stored here.
#[derive(Clone, Debug)]
pub struct ReadTally {
    spec: &'static TallySpec,
    file: PathBuf,
    stats: StatsOptions,
}

impl ReadTally {
    /// The name of the add-on's row in [`ADD_ONS`](super::ADD_ONS).
    pub const NAME: &'static str = "read tallies";

    /// Creates a request for a tally. Statistics have default options.
    pub fn new(spec: &'static TallySpec, file: impl Into<PathBuf>) -> Self {
        ReadTally { spec, file: file.into(), stats: StatsOptions::default() }
    }

    /// Creates a request for samtools-style statistics with `options`, written to `file`.
    pub fn with_stats(options: StatsOptions, file: impl Into<PathBuf>) -> Self {
        ReadTally { spec: &stats::SPEC, file: file.into(), stats: options }
    }

    fn is_stats(&self) -> bool {
        self.spec.name == stats::SPEC.name
    }

    /// Returns the part of the statistics that depends on the order of reads.
    fn new_stats_order(&self, setup: &AddOnSetup<'_>) -> Result<Arc<StatsOrder>> {
        let regions = setup.regions.filter(|_| self.stats.within_regions);
        let regions = regions.map(|texts| contig_parts(texts, setup.header)).transpose()?;
        let settings = StatsSettings::new(&self.stats, regions.as_deref(), setup.header, setup.ledger)?;
        Ok(Arc::new(StatsOrder::new(settings)))
    }
}

impl AddOn for ReadTally {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> AddOnNeeds {
        AddOnNeeds { sample: self.spec.names_sample, ..AddOnNeeds::default() }
    }

    fn output_files(&self) -> Vec<PlannedFile<'_>> {
        vec![PlannedFile::new(self.spec.name, &self.file)]
    }

    fn shown_output(&self) -> Option<&Path> {
        Some(&self.file)
    }

    fn thread_memory(&self) -> Option<MemoryShare> {
        let counts = self.spec.memory?;
        Some(MemoryShare { name: counts.name, bytes: (counts.bytes)() as u64 })
    }

    fn memory_shares(&self, _: &RunFacts, crew: Crew) -> Vec<MemoryShare> {
        let pieces = self.is_stats().then(|| MemoryShare {
            name: StatsOrder::MEMORY,
            bytes: StatsOrder::USUAL_PIECE_BYTES * crew.in_flight as u64,
        });
        pieces.into_iter().collect()
    }

    fn order(&self) -> Option<OrderedCount> {
        let order = OrderedCount { memory: StatsOrder::MEMORY, sorted_count: None };
        self.is_stats().then_some(order)
    }

    fn stage_identity(&self) -> String {
        format!("{} {:?} {:?}", self.spec.name, self.file, self.stats)
    }

    fn start(&self, setup: &AddOnSetup<'_>) -> Result<Box<dyn RunningAddOn>> {
        let order = self.is_stats().then(|| self.new_stats_order(setup)).transpose()?;
        let report = (self.spec.make)(&TallyContext {
            header: setup.header,
            sorted: setup.is_sorted,
            stats: order.as_ref(),
            ledger: setup.ledger,
        });
        let tap = if self.spec.of_input { Tap::Input } else { Tap::MainOutput };
        let unknown = order.as_ref().and_then(|order| order.unknown_contig());
        let warn = |name: &str| {
            format!("regions on {name} are ignored, because this contig is not in the header")
        };
        let ordered = order.iter().map(|order| SharedOrderedTally::new_shared(order, setup.ledger));
        Ok(Box::new(ReportedTally {
            warnings: unknown.map(warn).into_iter().collect(),
            ordered: ordered.collect(),
            ..ReportedTally::new(tap, report)
        }))
    }
}

/// Parses `texts` as regions of contigs.
fn contig_parts(texts: &[String], header: &Header) -> Result<Vec<ContigPart>> {
    let mut parts = Vec::new();
    for text in texts {
        if let Region::Part(part) = Region::parse(text, header).map_err(Error::usage)? {
            parts.push(part);
        }
    }
    Ok(parts)
}
