//! CollectHsMetrics and CollectTargetedPcrMetrics: how well a capture or an amplicon panel selects
//! its targets, and how deeply the targets are covered.
//!
//! | task | module |
//! |---|---|
//! | the rules of each program for reads and bases | `rules` |
//! | find the bases that overlap the mate | `clip` |
//! | count a batch of sorted reads, on any thread | `maker`, `piece` |
//! | join pieces in order to depths by target | `counting`, `join` |
//! | compute HS_PENALTY | `penalty` |
//! | write the files | `table`, `coverage_files` |
//!
//! Positions are numbered through all targets, one after the other, so that depths outside targets
//! take no memory. All results but one are sums that do not depend on the order of the reads. The
//! exception is HET_SNP_SENSITIVITY: at positions deeper than COVERAGE_CAP, it uses the qualities
//! of the first bases.

mod clip;
mod counting;
mod coverage_files;
mod join;
mod maker;
pub(crate) mod options;
mod penalty;
mod piece;
mod rules;
mod table;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use readmill_format::report::ReportContents;
use readmill_record::{DynOrderedTally, Error, Ledger, Result, SharedOrderedTally};

use self::counting::TargetCounting;
use self::rules::{HS, PCR, TargetFiles, TargetRules};
use self::table::TargetGc;
use crate::depth::USUAL_PIECE_BYTES;
use crate::levels::Level;
use crate::{
    MetricProgram, MetricSelection, MetricSetup, PicardProgram, ProgramNeeds, QcOptions, RunEnd,
    RunningProgram,
};

/// CollectHsMetrics and CollectTargetedPcrMetrics. Without a reference, the GC content of targets
/// is unknown, and AT_DROPOUT and GC_DROPOUT are 0.
pub(crate) struct TargetPrograms;

impl MetricProgram for TargetPrograms {
    fn programs(&self) -> &'static [PicardProgram] {
        &[HS, PCR]
    }

    fn needs(&self) -> ProgramNeeds {
        let refuses_intervals = Some("counts reads anywhere");
        ProgramNeeds { order: true, refuses_intervals, ..ProgramNeeds::NOTHING }
    }

    fn writes_file(&self, number: usize, options: &QcOptions) -> bool {
        [true, options.targets.per_target_coverage, options.targets.per_base_coverage][number]
    }

    fn input_files<'a>(&self, options: &'a QcOptions) -> Vec<&'a PathBuf> {
        let options = &options.targets;
        let probes = options.bait_intervals.iter().chain(&options.amplicon_intervals);
        probes.chain(&options.target_intervals).collect()
    }

    /// Refuses programs without their interval files, and interval files without a program that
    /// uses them.
    fn check_options(&self, selection: &MetricSelection, has_reference: bool) -> Result<()> {
        let options = &selection.options.targets;
        let needed = [
            (HS, "--bait-intervals", !options.bait_intervals.is_empty()),
            (PCR, "--amplicon-intervals", options.amplicon_intervals.is_some()),
        ];
        for (program, flag, is_given) in needed {
            let is_wanted = selection.is_selected(&program);
            if is_wanted && (!is_given || options.target_intervals.is_empty()) {
                let what = format!("{} needs {flag} and --target-intervals", program.name);
                return Err(
                    Error::usage(what).hint("give both, as interval lists of Picard or BED files")
                );
            }
            if is_given && !is_wanted {
                return Err(selection.lacks_program(flag, program.name));
            }
        }
        if !options.target_intervals.is_empty()
            && !selection.is_selected(&HS)
            && !selection.is_selected(&PCR)
        {
            let programs = "CollectHsMetrics or CollectTargetedPcrMetrics";
            return Err(selection.lacks_program("--target-intervals", programs));
        }
        if options.per_target_coverage && !has_reference {
            let what = "--per-target-coverage includes GC content, which needs a reference";
            return Err(Error::usage(what).hint("give the FASTA file of the reads with --reference"));
        }
        let is_all = selection.options.levels() == [Level::AllReads];
        if (options.per_target_coverage || options.per_base_coverage) && !is_all {
            let what = "--per-target-coverage and --per-base-coverage support only the level ALL_READS";
            return Err(Error::usage(what).hint("omit --metric-accumulation-level"));
        }
        Ok(())
    }

    fn min_bytes(&self, _: &MetricSelection, threads: u64) -> u64 {
        TargetCounting::THREAD_BYTES * threads
    }

    /// Each program keeps each read once for each level.
    fn usual_piece_bytes(&self, selection: &MetricSelection) -> u64 {
        let programs = selection.wanted_of(self.programs()).count();
        (programs * selection.options.levels().len()) as u64 * USUAL_PIECE_BYTES
    }

    fn start_run(&self, setup: &MetricSetup<'_>) -> Result<Box<dyn RunningProgram>> {
        let options = &setup.options().targets;
        let files = TargetFiles {
            baits: setup.named_intervals(&options.bait_intervals)?,
            amplicons: setup.named_intervals(options.amplicon_intervals.as_slice())?,
            targets: setup.named_intervals(&options.target_intervals)?,
        };
        let rules = |program| TargetRules::for_program(program, setup.options(), &files);
        let rules = setup.selection.wanted_of(self.programs()).filter_map(rules).collect();
        Ok(Box::new(TargetRun {
            gc: files.targets.zip(setup.reference()?.cloned()).map(TargetGc::new),
            contigs: setup.header.references().iter().map(|it| (it.name.clone(), it.length)).collect(),
            sample_size: setup.options().sample_size(),
            counting: TargetCounting::new(rules, &setup.levels),
        }))
    }
}

struct TargetRun {
    counting: Arc<TargetCounting>,
    /// Computes the GC content of the targets. `None` without a reference.
    gc: Option<TargetGc>,
    /// The names and lengths of the contigs of the header.
    contigs: Vec<(Vec<u8>, u32)>,
    sample_size: u32,
}

impl RunningProgram for TargetRun {
    fn ordered_tally(&self, ledger: &Ledger) -> Option<Arc<dyn DynOrderedTally>> {
        Some(SharedOrderedTally::new_shared(&self.counting, ledger))
    }

    fn result_bytes(&self) -> u64 {
        self.counting.result_bytes()
    }

    fn make_reports(&self, end: &RunEnd<'_>) -> Result<Vec<ReportContents>> {
        let gc = self.gc.as_ref().map(TargetGc::gc_shares).transpose()?;
        let genome = self.contigs.iter().map(|(_, length)| u64::from(*length)).sum();
        let units = &self.counting.levels.units;
        let mut reports = Vec::new();
        for (rules, mut rows) in self.counting.rules.iter().zip(self.counting.take_totals()) {
            let named = units.iter().zip(&rows);
            let named: Vec<_> =
                named.filter(|(unit, totals)| !unit.is_found || totals.counts.records > 0).collect();
            reports.extend(end.make_files(rules.program, |[file]| {
                table::fill(file, rules, &named, gc.as_deref(), genome, self.sample_size);
            }));
            let Some(totals) = rows.first_mut() else { continue };
            if rules.per_target {
                let (mut text, gc) = (Vec::new(), gc.as_deref().unwrap_or_default());
                coverage_files::put_per_target(&mut text, rules, totals, gc, &self.contigs);
                reports.push(text.into());
            }
            if rules.per_base {
                let text = coverage_files::per_base_text(rules, totals, &self.contigs);
                reports.push(ReportContents::Parts(Box::new(text)));
            }
        }
        Ok(reports)
    }
}
