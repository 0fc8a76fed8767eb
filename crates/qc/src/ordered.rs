//! The programs that count reads in their order, by coordinate: depths, sites of CollectOxoGMetrics, targets, genes.
//! Each is an [`OrderedTally`] of its own.

use std::sync::Arc;

use readmill_format::intervals::Intervals;
use readmill_record::{
    DynOrderedTally, Error, Header, Ledger, OrderedTally, Result, SharedOrderedTally,
};

use crate::artifacts::Libraries;
use crate::levels::Levels;
use crate::options::{Options, Program};
use crate::oxog::OxoGCounting;
use crate::reference::ReferenceContigs;
use crate::rna::{RnaCounting, RnaFiles};
use crate::targets::{TargetCounting, TargetFiles};
use crate::wgs::{WgsCounting, WgsRules};

/// The name of the memory of all of them.
pub const MEMORY: &str = "depths of quality metrics";

/// Bytes of memory of a usual piece of one of them: most of the bytes of its reads, for each that keeps reads.
pub(crate) const USUAL_PIECE_BYTES: u64 = 1 << 20;

/// The regions that programs look at.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    /// INTERVALS: where depths and sites are counted; everywhere if there are none.
    pub within: Option<Intervals>,
    /// Baits, amplicons and targets.
    pub targets: TargetFiles,
    /// Genes and ribosomal RNA.
    pub rna: RnaFiles,
}

/// The counts in order that the programs of a run need.
#[derive(Default)]
pub(crate) struct OrderedCounts {
    pub wgs: Option<Arc<WgsCounting>>,
    pub oxog: Option<Arc<OxoGCounting>>,
    pub targets: Option<Arc<TargetCounting>>,
    pub rna: Option<Arc<RnaCounting>>,
}

/// Returns the kinds of counts that the programs need: whether each is needed, the bytes of its usual piece, and the bytes
/// that it takes on `threads` threads whatever the reads are.
fn kinds(options: &Options, threads: u64) -> [(bool, u64, u64); 4] {
    let counts_depths = !WgsRules::all(options).is_empty();
    let counts_targets = options.programs.iter().any(|it| it.counts_targets());
    [
        (counts_depths, WgsCounting::USUAL_PIECE_BYTES, WgsCounting::THREAD_BYTES * threads),
        (
            options.has(Program::CollectOxoGMetrics),
            OxoGCounting::USUAL_PIECE_BYTES,
            OxoGCounting::THREAD_BYTES * (threads + 1),
        ),
        (counts_targets, TargetCounting::USUAL_PIECE_BYTES, TargetCounting::THREAD_BYTES * threads),
        (
            options.has(Program::CollectRnaSeqMetrics),
            RnaCounting::USUAL_PIECE_BYTES,
            RnaCounting::THREAD_BYTES * threads,
        ),
    ]
}

/// Returns the bytes that the pieces of one batch usually take, for the programs that are wanted.
pub fn usual_piece_bytes(options: &Options) -> u64 {
    kinds(options, 0).into_iter().map(|(is_needed, piece, _)| if is_needed { piece } else { 0 }).sum()
}

impl OrderedCounts {
    /// Creates the counts for reads under `header`, within these regions if there are any.
    ///
    /// # Errors
    /// A program counts by the libraries of read groups, and the header has none; or a contig to be ignored is not in
    /// the header.
    pub fn new(
        options: &Options,
        header: &Header,
        reference: Option<&ReferenceContigs>,
        regions: Regions,
        libraries: &Libraries,
        levels: &Arc<Levels>,
    ) -> Result<Self> {
        if options.has(Program::CollectOxoGMetrics) && header.lines_of(b"RG").next().is_none() {
            let what =
                "CollectOxoGMetrics counts by the libraries of read groups, and the header has none";
            return Err(Error::input(what).hint("add read groups, or leave this program out"));
        }
        let contigs = header.references().len() as u32;
        let Regions { within, targets, rna } = regions;
        Ok(OrderedCounts {
            rna: RnaCounting::new(options, &rna, header, levels)?,
            targets: TargetCounting::new(options, &targets, levels),
            wgs: WgsCounting::new(options, reference, within.clone(), contigs),
            oxog: OxoGCounting::new(options, reference, within, libraries).map(Arc::new),
        })
    }

    /// Returns the bytes that the programs take on `threads` threads, whatever the header, the reads and the files of
    /// the options are.
    pub fn min_bytes(options: &Options, threads: u64) -> u64 {
        let results: u64 = WgsRules::all(options).iter().map(WgsRules::result_bytes).sum();
        let on_threads = kinds(options, threads);
        results
            + on_threads
                .into_iter()
                .map(|(is_needed, _, all)| if is_needed { all } else { 0 })
                .sum::<u64>()
    }

    /// Returns the bytes of results and their text that grow with the header and the files of the options.
    pub fn result_bytes(&self) -> u64 {
        self.targets.as_ref().map_or(0, |it| it.result_bytes())
            + self.rna.as_ref().map_or(0, |it| it.result_bytes())
    }

    /// Returns the counts as ordered tallies that are charged to `ledger`.
    pub fn tallies(&self, ledger: &Ledger) -> Vec<Arc<dyn DynOrderedTally>> {
        let all = [
            self.wgs.as_ref().map(|it| SharedOrderedTally::shared(it, ledger)),
            self.oxog.as_ref().map(|it| SharedOrderedTally::shared(it, ledger)),
            self.targets.as_ref().map(|it| SharedOrderedTally::shared(it, ledger)),
            self.rna.as_ref().map(|it| SharedOrderedTally::shared(it, ledger)),
        ];
        all.into_iter().flatten().collect()
    }
}
