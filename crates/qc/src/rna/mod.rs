//! CollectRnaSeqMetrics: the numbers of bases in exons, introns and ribosomal RNA, the strand of
//! the reads, and the evenness of coverage along transcripts.
//!
//! | task | module |
//! |---|---|
//! | read genes, transcripts and exons from a refFlat file | `genes` |
//! | count a batch of sorted reads, on any thread | `maker`, `piece` |
//! | join pieces in order to the depths of exons | `counting` |
//! | compute how evenly the best-covered transcripts are covered | `evenness` |
//! | write the file | `table` |
//!
//! Depths are counted only at positions in exons. These positions are numbered one after the other,
//! and transcripts that share an exon share its depths.

mod counting;
mod evenness;
mod genes;
mod maker;
pub(crate) mod options;
mod piece;
mod table;

use std::path::PathBuf;
use std::sync::Arc;

use readmill_format::report::ReportContents;
use readmill_record::{DynOrderedTally, Error, Ledger, Result, SharedOrderedTally};

use self::counting::RnaCounting;
use self::genes::{Genes, RnaFiles};
use self::options::RnaOptions;
use crate::depth::USUAL_PIECE_BYTES;
use crate::{
    MetricProgram, MetricSelection, MetricSetup, PicardProgram, ProgramNeeds, QcOptions, RunEnd,
    RunningProgram,
};

const PROGRAM: PicardProgram =
    PicardProgram { name: "CollectRnaSeqMetrics", endings: &[".rna_metrics"] };

pub(crate) struct RnaSeq;

impl MetricProgram for RnaSeq {
    fn programs(&self) -> &'static [PicardProgram] {
        &[PROGRAM]
    }

    fn needs(&self) -> ProgramNeeds {
        let refuses_intervals = Some("counts reads anywhere");
        ProgramNeeds { order: true, refuses_intervals, ..ProgramNeeds::NOTHING }
    }

    fn input_files<'a>(&self, options: &'a QcOptions) -> Vec<&'a PathBuf> {
        options.rna.ref_flat.iter().chain(&options.rna.ribosomal_intervals).collect()
    }

    /// Refuses the program if a required option is missing, and `--ref-flat` if the program is not
    /// selected.
    fn check_options(&self, selection: &MetricSelection, _: bool) -> Result<()> {
        let (options, is_wanted) = (&selection.options.rna, selection.is_selected(&PROGRAM));
        if options.ref_flat.is_some() && !is_wanted {
            return Err(selection.lacks_program("--ref-flat", PROGRAM.name));
        }
        if is_wanted && (options.ref_flat.is_none() || options.strand_specificity.is_none()) {
            let what = "CollectRnaSeqMetrics needs --ref-flat and --strand-specificity";
            return Err(Error::usage(what)
                .hint("give the genes in refFlat, and NONE if reads are of either strand"));
        }
        Ok(())
    }

    fn min_bytes(&self, _: &MetricSelection, threads: u64) -> u64 {
        RnaCounting::THREAD_BYTES * threads
    }

    fn usual_piece_bytes(&self, _: &MetricSelection) -> u64 {
        USUAL_PIECE_BYTES
    }

    fn start_run(&self, setup: &MetricSetup<'_>) -> Result<Box<dyn RunningProgram>> {
        let options = &setup.options().rna;
        let (Some(ref_flat), Some(strand)) = (&options.ref_flat, options.strand_specificity) else {
            return Err(Error::bug("RNA metrics are requested without a gene file or strand"));
        };
        let files = RnaFiles {
            genes: Genes::read_ref_flat(ref_flat, setup.header, setup.ledger)?,
            ribosomal: setup.named_intervals(options.ribosomal_intervals.as_slice())?,
        };
        files.genes.warnings().iter().for_each(|warning| setup.add_warning(warning.clone()));
        let counting = RnaCounting::new(options, strand, files, setup.header, &setup.levels)?;
        Ok(Box::new(RnaRun { counting, ref_flat: ref_flat.clone(), options: options.clone() }))
    }
}

struct RnaRun {
    counting: Arc<RnaCounting>,
    ref_flat: PathBuf,
    options: RnaOptions,
}

impl RunningProgram for RnaRun {
    fn ordered_tally(&self, ledger: &Ledger) -> Option<Arc<dyn DynOrderedTally>> {
        Some(SharedOrderedTally::new_shared(&self.counting, ledger))
    }

    fn result_bytes(&self) -> u64 {
        self.counting.result_bytes()
    }

    fn make_reports(&self, end: &RunEnd<'_>) -> Result<Vec<ReportContents>> {
        let rows = self.counting.take_totals();
        if let Some([bases, 0, 0, 0]) = rows.first().map(|totals| totals.counts.by_function)
            && bases > 0
        {
            (end.warn)(&format!(
                "{}: none of {bases} aligned bases lies in a gene; is it the refFlat of this genome?",
                self.ref_flat.display()
            ));
        }
        let units = self.counting.levels.units.iter().zip(&rows);
        let units: Vec<_> =
            units.filter(|(unit, totals)| !unit.is_found || totals.counts.records > 0).collect();
        let RnaCounting { genes, ribosomal, .. } = &*self.counting;
        Ok(end.make_files(&PROGRAM, |[file]| {
            table::fill(file, genes, ribosomal.is_some(), &units, &self.options);
        }))
    }
}
