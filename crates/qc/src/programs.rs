//! The table of all programs, and the questions that a run asks about its selected programs.

use std::path::PathBuf;

use readmill_record::{Error, Result};

use crate::options::QcOptions;
use crate::program::{MetricProgram, ProgramNeeds};
use crate::read_metric::in_any_order;
use crate::selection::{MetricSelection, PicardProgram};
use crate::{alignment, artifacts, cycles, gc_bias, insert_size, jumping, oxog, qualities};
use crate::{quality_yield, rna, targets, wgs};

/// All programs, in the order in which the help lists them and a run writes their files. A new
/// program needs one row here.
pub const PROGRAMS: &[&dyn MetricProgram] = &[
    in_any_order::<alignment::AlignmentSummary>(),
    in_any_order::<cycles::BaseDistribution>(),
    in_any_order::<insert_size::InsertSize>(),
    in_any_order::<cycles::MeanQuality>(),
    in_any_order::<qualities::QualityScoreDistribution>(),
    in_any_order::<quality_yield::QualityYield>(),
    in_any_order::<gc_bias::GcBias>(),
    in_any_order::<artifacts::SequencingArtifacts>(),
    &wgs::WgsPrograms,
    &oxog::OxoG,
    &targets::TargetPrograms,
    &rna::RnaSeq,
    &jumping::JumpingLibrary,
];

/// The programs that Picard's CollectMultipleMetrics runs by default. They are counted if the user
/// names no program.
pub const DEFAULT_PROGRAMS: &[&dyn MetricProgram] = PROGRAMS.split_at(5).0;

impl PicardProgram {
    /// Returns all Picard programs, in the order of [`PROGRAMS`].
    pub fn all() -> impl Iterator<Item = &'static PicardProgram> {
        PROGRAMS.iter().flat_map(|program| program.programs())
    }

    /// Returns the program with this name, ignoring the case of letters.
    pub fn find_by_name(name: &str) -> Option<&'static PicardProgram> {
        Self::all().find(|program| program.name.eq_ignore_ascii_case(name))
    }
}

impl MetricSelection {
    /// Selects programs by name without checking their options. Unknown names are ignored. For
    /// tests and callers that have no command line.
    pub fn select_by_name(names: &[&str], options: QcOptions) -> Self {
        let wanted = PicardProgram::all().filter(|program| names.contains(&program.name)).collect();
        MetricSelection { options, wanted, is_all: false }
    }

    /// Selects `programs` and checks that the options fit them.
    ///
    /// `None` in the list stands for `all`: every program that does not need sorted reads and,
    /// without a reference, does not need a reference. An empty list selects [`DEFAULT_PROGRAMS`].
    ///
    /// # Errors
    /// A program lacks a required option, options contradict each other, or an option belongs to a
    /// program that is not selected.
    pub fn select_programs(
        programs: &[Option<&'static PicardProgram>],
        options: QcOptions,
        has_reference: bool,
    ) -> Result<Self> {
        let is_chosen = |needs: ProgramNeeds, program: &PicardProgram| {
            let is_in_all = (has_reference || !needs.reference) && !needs.order;
            programs.iter().any(|it| it.map_or(is_in_all, |it| it == program))
        };
        let chosen = |it: &&'static dyn MetricProgram| {
            let needs = it.needs();
            it.programs().iter().filter(move |program| is_chosen(needs, program))
        };
        let wanted = if programs.is_empty() {
            DEFAULT_PROGRAMS.iter().flat_map(|it| it.programs()).collect()
        } else {
            PROGRAMS.iter().flat_map(chosen).collect()
        };
        let selection = MetricSelection { options, wanted, is_all: programs.contains(&None) };
        selection.check_intervals()?;
        PROGRAMS.iter().try_for_each(|it| it.check_options(&selection, has_reference))?;
        selection.options.substitutions.check_insert_sizes(selection.is_selected(&oxog::PROGRAM))?;
        Ok(selection)
    }

    /// Refuses `--intervals` if no selected program counts within intervals, or if one of them
    /// cannot be limited to intervals.
    fn check_intervals(&self) -> Result<()> {
        if self.options.intervals.is_none() {
            return Ok(());
        }
        if let Some((program, reason)) = self.find_by_need(|needs| needs.refuses_intervals) {
            let what = format!("{} {reason}, and --intervals are given", program.name);
            return Err(Error::usage(what).hint("count it in a run of its own, without --intervals"));
        }
        if !self.needs_order() {
            return Err(self.lacks_program("--intervals", "CollectWgsMetrics or CollectOxoGMetrics"));
        }
        Ok(())
    }

    /// Returns the rows of [`PROGRAMS`] with at least one selected program.
    pub(crate) fn selected_programs(&self) -> impl Iterator<Item = &'static dyn MetricProgram> {
        PROGRAMS
            .iter()
            .copied()
            .filter(|it| it.programs().iter().any(|program| self.is_selected(program)))
    }

    /// Returns the first selected program for whose needs `find` returns a value, together with
    /// this value.
    fn find_by_need<T>(
        &self,
        find: impl Fn(ProgramNeeds) -> Option<T>,
    ) -> Option<(&'static PicardProgram, T)> {
        self.selected_programs().find_map(|it| {
            let found = find(it.needs())?;
            Some((self.wanted_of(it.programs()).next()?, found))
        })
    }

    /// Returns the first selected program that needs reads in coordinate order, for error messages.
    /// `None` if no program does.
    pub fn ordered_program(&self) -> Option<&'static PicardProgram> {
        self.find_by_need(|needs| needs.order.then_some(())).map(|(program, ())| program)
    }

    /// Returns whether a selected program compares each read with the reference, so that threads
    /// need a window of the reference.
    pub(crate) fn compares_reads(&self) -> bool {
        self.find_by_need(|needs| needs.compares.then_some(())).is_some()
    }

    /// Returns whether a selected program needs reads in coordinate order.
    pub fn needs_order(&self) -> bool {
        self.ordered_program().is_some()
    }

    /// Checks that the run has a reference if a selected program requires one.
    ///
    /// # Errors
    /// A selected program requires a reference, and there is none.
    pub fn check_reference(&self, has_reference: bool) -> Result<()> {
        match self.find_by_need(|needs| (needs.reference && !has_reference).then_some(())) {
            None => Ok(()),
            Some((program, ())) => {
                let what = format!("{} counts nothing without a reference", program.name);
                Err(Error::usage(what).hint("give the FASTA file of the reads with --reference"))
            }
        }
    }

    /// Returns the endings of all files that are written, in the order of
    /// [`QcTally::make_reports`](crate::QcTally::make_reports).
    pub fn endings(&self) -> impl Iterator<Item = &'static str> {
        self.selected_programs().flat_map(move |it| {
            self.wanted_of(it.programs()).flat_map(move |program| {
                let endings = program.endings.iter().enumerate();
                let written = endings.filter(move |(number, _)| it.writes_file(*number, &self.options));
                written.map(|(_, ending)| *ending)
            })
        })
    }

    /// Returns the paths of all files that the options name, except the reads and the reference.
    pub fn input_files(&self) -> impl Iterator<Item = &PathBuf> {
        self.options.intervals.iter().chain(PROGRAMS.iter().flat_map(|it| it.input_files(&self.options)))
    }

    /// Returns the usual memory in bytes of the pieces of one batch, summed over all programs that
    /// count in order.
    pub fn usual_piece_bytes(&self) -> u64 {
        self.selected_programs().map(|it| it.usual_piece_bytes(self)).sum()
    }
}
