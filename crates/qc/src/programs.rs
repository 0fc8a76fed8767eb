//! The table of all programs, and what follows from it for the programs that a run wants.

use std::path::PathBuf;

use readmill_record::{Error, Result};

use crate::options::QcOptions;
use crate::program::{MetricProgram, Needs};
use crate::read_metric::in_any_order;
use crate::selection::{MetricSelection, PicardProgram};
use crate::{alignment, artifacts, cycles, gc_bias, insert_size, oxog, qualities, quality_yield};
use crate::{rna, targets, wgs};

/// All programs, in the order of their files and of the help. A new program is a file of its own and a row here.
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
];

/// The programs that CollectMultipleMetrics runs by default.
pub const DEFAULT_PROGRAMS: &[&dyn MetricProgram] = PROGRAMS.split_at(5).0;

impl PicardProgram {
    /// Returns all programs, in the order of [`PROGRAMS`].
    pub fn all() -> impl Iterator<Item = &'static PicardProgram> {
        PROGRAMS.iter().flat_map(|program| program.programs())
    }

    /// Returns the program of this name, whatever the case of its letters.
    pub fn named(name: &str) -> Option<&'static PicardProgram> {
        Self::all().find(|program| program.name.eq_ignore_ascii_case(name))
    }
}

impl MetricSelection {
    /// Selects the programs of these names, without a check of their options. Unknown names are ignored.
    pub fn named(names: &[&str], options: QcOptions) -> Self {
        let wanted = PicardProgram::all().filter(|program| names.contains(&program.name)).collect();
        MetricSelection { options, wanted, is_all: false }
    }

    /// Selects programs, and checks that they and the options fit. `None` in the list stands for all programs that need no
    /// order and, without a reference, no reference. An empty list stands for [`DEFAULT_PROGRAMS`].
    ///
    /// # Errors
    /// A program lacks an option, options contradict each other, or an option is for a program that is not wanted.
    pub fn choose(
        programs: &[Option<&'static PicardProgram>],
        options: QcOptions,
        has_reference: bool,
    ) -> Result<Self> {
        let is_chosen = |needs: Needs, program: &PicardProgram| {
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
        PROGRAMS.iter().try_for_each(|it| it.check(&selection, has_reference))?;
        selection.options.substitutions.check(selection.has(&oxog::PROGRAM))?;
        Ok(selection)
    }

    /// Refuses `--intervals` if no program counts within them, or one counts elsewhere, too.
    fn check_intervals(&self) -> Result<()> {
        if self.options.intervals.is_none() {
            return Ok(());
        }
        if let Some((program, reason)) = self.find(|needs| needs.refuses_intervals) {
            let what = format!("{} {reason}, and --intervals are given", program.name);
            return Err(Error::usage(what).hint("count it in a run of its own, without --intervals"));
        }
        if !self.needs_order() {
            return Err(self.lacks_program("--intervals", "CollectWgsMetrics or CollectOxoGMetrics"));
        }
        Ok(())
    }

    /// Returns the rows of [`PROGRAMS`] that have a wanted program.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &'static dyn MetricProgram> {
        PROGRAMS.iter().copied().filter(|it| it.programs().iter().any(|program| self.has(program)))
    }

    /// Returns the first wanted program for whose needs `find` returns something, with what it returned.
    fn find<T>(&self, find: impl Fn(Needs) -> Option<T>) -> Option<(&'static PicardProgram, T)> {
        self.programs().find_map(|it| {
            let found = find(it.needs())?;
            Some((self.wanted_of(it.programs()).next()?, found))
        })
    }

    /// Returns the first program that counts reads sorted by coordinate.
    pub fn ordered_program(&self) -> Option<&'static PicardProgram> {
        self.find(|needs| needs.order.then_some(())).map(|(program, ())| program)
    }

    /// Whether a program compares each read with the reference.
    pub(crate) fn compares_reads(&self) -> bool {
        self.find(|needs| needs.compares.then_some(())).is_some()
    }

    /// Whether a program counts reads that are sorted by coordinate.
    pub fn needs_order(&self) -> bool {
        self.ordered_program().is_some()
    }

    /// Checks that there is a reference for each program that needs one.
    ///
    /// # Errors
    /// There is none.
    pub fn check_reference(&self, has_reference: bool) -> Result<()> {
        match self.find(|needs| (needs.reference && !has_reference).then_some(())) {
            None => Ok(()),
            Some((program, ())) => {
                let what = format!("{} counts nothing without a reference", program.name);
                Err(Error::usage(what).hint("give the FASTA file of the reads by --reference"))
            }
        }
    }

    /// Returns the endings of the files that are written, in the order of their texts.
    pub fn endings(&self) -> impl Iterator<Item = &'static str> {
        self.programs().flat_map(move |it| {
            self.wanted_of(it.programs()).flat_map(move |program| {
                let endings = program.endings.iter().enumerate();
                let written = endings.filter(move |(number, _)| it.writes_file(*number, &self.options));
                written.map(|(_, ending)| *ending)
            })
        })
    }

    /// Returns the files that are read beside the reads and the reference.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.options.intervals.iter().chain(PROGRAMS.iter().flat_map(|it| it.files(&self.options)))
    }

    /// Returns the bytes that the pieces of one batch usually take, for the programs that count in order.
    pub fn usual_piece_bytes(&self) -> u64 {
        self.programs().map(|it| it.usual_piece_bytes()).sum()
    }
}
