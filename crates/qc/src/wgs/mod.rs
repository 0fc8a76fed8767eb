//! CollectWgsMetrics, CollectRawWgsMetrics and CollectWgsMetricsWithNonZeroCoverage: the depths of
//! the positions of the reference, and the reasons why bases are excluded.
//!
//! | task | module |
//! |---|---|
//! | the rules of each program for reads and bases | `rules` |
//! | count a batch of sorted reads, on any thread | `maker`, `piece` |
//! | join pieces in order to a histogram of depths | `counting`, `join` |
//! | leave out reads above LOCUS_ACCUMULATION_CAP | `locus_cap` |
//! | count the positions of the reference that are not N | `territory` |
//! | write the files | `table` |
//!
//! ```text
//! batch ─► WgsMaker ─► WgsPiece ─┐ any thread
//!                                ▼ in order
//!                             WgsJoin ─► WgsTotals ─► files
//! ```
//!
//! A piece has its reads in addition to their depths, because the bases that count at a position
//! deeper than COVERAGE_CAP, and at a position shared with a mate, depend on the reads of earlier
//! pieces. The results do not depend on where pieces begin.

mod counting;
mod join;
mod locus_cap;
mod maker;
pub(crate) mod options;
mod piece;
mod rules;
mod table;
mod territory;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use readmill_format::report::ReportContents;
use readmill_record::{DynOrderedTally, Ledger, Result, SharedOrderedTally};

use self::counting::WgsCounting;
use self::rules::{NON_ZERO, RAW, WGS, WgsRules};
use crate::{
    MetricProgram, MetricSelection, MetricSetup, PicardProgram, ProgramNeeds, QcOptions, RunEnd,
    RunningProgram,
};

/// The three programs for whole genomes. They share one pass over the reads, and pieces are counted
/// once for all programs with equal rules.
pub(crate) struct WgsPrograms;

impl MetricProgram for WgsPrograms {
    fn programs(&self) -> &'static [PicardProgram] {
        &[WGS, RAW, NON_ZERO]
    }

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds { reference: true, order: true, ..ProgramNeeds::NOTHING }
    }

    fn min_bytes(&self, selection: &MetricSelection, threads: u64) -> u64 {
        let results: u64 = rules_of(selection).iter().map(WgsRules::result_bytes).sum();
        results + WgsCounting::THREAD_BYTES * threads
    }

    fn usual_piece_bytes(&self, _: &MetricSelection) -> u64 {
        WgsCounting::USUAL_PIECE_BYTES
    }

    fn start_run(&self, setup: &MetricSetup<'_>) -> Result<Box<dyn RunningProgram>> {
        let contigs = setup.header.references().len() as u32;
        let reference = setup.needed_reference()?.clone();
        let rules = rules_of(setup.selection);
        Ok(Box::new(WgsRun {
            programs: setup.selection.wanted_of(self.programs()).collect(),
            options: setup.options().clone(),
            counting: WgsCounting::new(rules, reference, setup.intervals.clone(), contigs),
        }))
    }
}

/// Returns the rules of the selected programs, each only once.
fn rules_of(selection: &MetricSelection) -> Vec<WgsRules> {
    let mut all = Vec::new();
    for program in selection.wanted_of(WgsPrograms.programs()) {
        let rules = WgsRules::for_program(program, &selection.options);
        if !all.contains(&rules) {
            all.push(rules);
        }
    }
    all
}

struct WgsRun {
    programs: Vec<&'static PicardProgram>,
    options: QcOptions,
    counting: Arc<WgsCounting>,
}

impl RunningProgram for WgsRun {
    fn ordered_tally(&self, ledger: &Ledger) -> Option<Arc<dyn DynOrderedTally>> {
        Some(SharedOrderedTally::new_shared(&self.counting, ledger))
    }

    fn make_reports(&self, end: &RunEnd<'_>) -> Result<Vec<ReportContents>> {
        let territory = self.counting.territory().count_positions(end.threads)?;
        let totals = self.counting.take_totals();
        let mut reports = Vec::new();
        for program in &self.programs {
            let rules = WgsRules::for_program(program, &self.options);
            let totals = self.counting.rules.iter().zip(&totals).find(|(it, _)| **it == rules);
            reports.extend(end.make_files(program, |[file]| {
                if let Some((_, totals)) = totals {
                    table::fill(file, program, totals, territory, &self.options);
                }
            }));
        }
        Ok(reports)
    }
}
