//! The traits that a Picard program implements: one for the plan, one for the run.

use std::cell::{OnceCell, RefCell};
use std::path::PathBuf;
use std::sync::Arc;

use readmill_format::intervals::{Intervals, NamedIntervals};
use readmill_format::reference::Reference;
use readmill_format::report::ReportContents;
use readmill_record::{DynOrderedTally, Error, Header, Ledger, Result};

use crate::collector::ReadCollector;
use crate::levels::Levels;
use crate::options::QcOptions;
use crate::reference::ReferenceContigs;
use crate::run_end::RunEnd;
use crate::selection::{MetricSelection, PicardProgram};
use crate::substitutions::Libraries;

/// What a program needs from a run. The plan checks it before the run starts.
#[derive(Clone, Copy, Debug)]
pub struct ProgramNeeds {
    /// Whether the program cannot run without a reference.
    pub reference: bool,
    /// Whether the program compares each read with the reference, if the run has one. All such
    /// programs of a thread share one window of the reference.
    pub compares: bool,
    /// Whether the program needs reads in coordinate order.
    pub order: bool,
    /// Why the program cannot be combined with `--intervals`, as the predicate of an error message,
    /// such as "counts reads anywhere". `None` if it can be.
    pub refuses_intervals: Option<&'static str>,
}

impl ProgramNeeds {
    /// The needs of a program that counts reads in any order and without a reference.
    pub const NOTHING: ProgramNeeds =
        ProgramNeeds { reference: false, compares: false, order: false, refuses_intervals: None };
}

/// One or more of Picard's programs whose files a run can write.
///
/// Each program is one file or folder of this crate, with its options (a struct of flags that
/// [`QcOptions`] includes), its counts, and its output. Its only other mention is its row in
/// [`PROGRAMS`](crate::PROGRAMS). If several of Picard's programs differ only in thresholds, such
/// as CollectWgsMetrics and CollectRawWgsMetrics, they share one implementation with several names.
///
/// ```text
///  plan   programs, needs, check_options, input_files, min_bytes ─► flags, messages, memory
///  run    start_run ─► RunningProgram ─┬─ any order:  make_collector ─► ReadCollector::count_reads, for a few reads on each thread
///                                      └─ in order:   ordered_tally ─► OrderedTally
///  end    RunningProgram::make_reports ─► files
/// ```
///
/// A program that counts reads in any order should implement [`ReadMetric`](crate::ReadMetric)
/// instead, which is shorter and has its own example. The following program writes the name of the
/// first contig. It has the parts that every program needs:
///
/// ```
/// use readmill_qc::{MetricProgram, MetricSetup, PicardProgram, RunEnd, RunningProgram};
/// use readmill_format::metrics::MetricsRow;
/// use readmill_format::report::ReportContents;
/// use readmill_record::Result;
///
/// const FIRST_CONTIG: PicardProgram =
///     PicardProgram { name: "NameFirstContig", endings: &[".first_contig"] };
///
///
/// /// Known to the command line and the plan.
/// struct NameFirstContig;
///
/// impl MetricProgram for NameFirstContig {
///     fn programs(&self) -> &'static [PicardProgram] {
///         &[FIRST_CONTIG]
///     }
///     fn start_run(&self, setup: &MetricSetup<'_>) -> Result<Box<dyn RunningProgram>> {
///         let contig = setup.header.references().first();
///         Ok(Box::new(FirstContig(contig.map(|it| it.name.clone()).unwrap_or_default())))
///     }
/// }
///
///
/// /// Exists while a run counts.
/// struct FirstContig(Vec<u8>);
///
/// impl RunningProgram for FirstContig {
///     fn make_reports(&self, end: &RunEnd<'_>) -> Result<Vec<ReportContents>> {
///         let mut row = MetricsRow::default();
///         row.push_text(&self.0);
///         Ok(end.make_files(&FIRST_CONTIG, |[file]| file.set_table("FirstContig", &["CONTIG"], [row])))
///     }
/// }
///
/// assert!(!NameFirstContig.needs().order);
/// ```
pub trait MetricProgram: Sync {
    /// Returns the Picard programs that this implementation counts, with the endings of their
    /// files.
    fn programs(&self) -> &'static [PicardProgram];

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::NOTHING
    }

    /// Returns whether the file at this index of [`PicardProgram::endings`] is written with these
    /// options.
    fn writes_file(&self, _number: usize, _options: &QcOptions) -> bool {
        true
    }

    /// Returns the input files that the options name. The plan refuses to overwrite them.
    fn input_files<'a>(&self, _options: &'a QcOptions) -> Vec<&'a PathBuf> {
        Vec::new()
    }

    /// Checks the options of the program. It is called for every program, also for those that the
    /// user did not select, so that an option without its program can be refused.
    ///
    /// # Errors
    /// Options contradict each other, or a required option or program is missing.
    fn check_options(&self, _selection: &MetricSelection, _has_reference: bool) -> Result<()> {
        Ok(())
    }

    /// Returns the memory in bytes that the program takes on this number of threads, independent of
    /// the header and the reads. The window of the reference and the counts of typical reads are
    /// not included; the tally adds them once for all programs.
    fn min_bytes(&self, _selection: &MetricSelection, _threads: u64) -> u64 {
        0
    }

    /// Returns the usual memory in bytes of the piece of one batch, for programs that count in
    /// order.
    fn usual_piece_bytes(&self, _selection: &MetricSelection) -> u64 {
        0
    }

    /// Starts the program for one run: reads its input files and creates its counts.
    ///
    /// # Errors
    /// An input file is malformed, or does not match the header.
    fn start_run(&self, setup: &MetricSetup<'_>) -> Result<Box<dyn RunningProgram>>;
}

/// A program while a run counts.
///
/// Programs that count in any order get this implementation from [`ReadMetric`](crate::ReadMetric).
/// Programs that count in order have an [`OrderedTally`](readmill_record::OrderedTally) and
/// implement only `ordered_tally` and `make_reports`.
pub trait RunningProgram: Send + Sync {
    /// Returns new counts for one thread. `None` if the program counts reads in order.
    fn make_collector(&self) -> Option<Box<dyn ReadCollector + '_>> {
        None
    }

    /// Returns the ordered tally of the program, which charges its memory to the ledger. `None` if
    /// the program counts reads in any order.
    fn ordered_tally(&self, _ledger: &Ledger) -> Option<Arc<dyn DynOrderedTally>> {
        None
    }

    /// Returns the memory in bytes of the results and their text that depends on the header and on
    /// the input files.
    fn result_bytes(&self) -> u64 {
        0
    }

    /// Resets the counts. Called if the run starts again from the first read.
    fn reset_counts(&self) {}

    /// Serializes the counts, so that another stage of the job can add them.
    ///
    /// # Errors
    /// The counts cannot be encoded.
    fn serialize_state(&self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Adds the serialized counts of another stage.
    ///
    /// # Errors
    /// The bytes are not counts of this program.
    fn add_serialized_state(&self, _saved: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Returns the contents of the files of the selected programs, in the order of their endings,
    /// and resets the counts. Called once, at the end of the run.
    ///
    /// # Errors
    /// The reference cannot be read.
    fn make_reports(&self, end: &RunEnd<'_>) -> Result<Vec<ReportContents>>;
}

/// What a run passes to a program that starts: options, header, reference and shared data.
pub struct MetricSetup<'a> {
    /// The selected programs and the options of all programs.
    pub selection: &'a MetricSelection,
    /// The header of the output, after all changes to read groups and contigs.
    pub header: &'a Header,
    /// Charged for the contents of input files.
    pub ledger: &'a Ledger,
    /// The intervals of `--intervals` (Picard's INTERVALS) in which depths and sites are counted.
    /// `None` means the whole reference.
    pub(crate) intervals: Option<Intervals>,
    pub(crate) levels: Arc<Levels>,
    reference: Option<Reference>,
    contigs: OnceCell<ReferenceContigs>,
    libraries: OnceCell<Arc<Libraries>>,
    warnings: RefCell<Vec<String>>,
}

impl<'a> MetricSetup<'a> {
    /// Reads the intervals, and keeps `reference` for programs that ask for it.
    pub(crate) fn new(
        selection: &'a MetricSelection,
        header: &'a Header,
        reference: Option<Reference>,
        ledger: &'a Ledger,
    ) -> Result<Self> {
        let intervals = selection.options.intervals.iter().map(|path| {
            let file = [path.to_string_lossy().into_owned()];
            Intervals::parse_union(&file, header, ledger)
        });
        let levels = Levels::new(header, &selection.options.levels());
        Ok(MetricSetup {
            selection,
            header,
            ledger,
            intervals: intervals.collect::<Result<Vec<_>>>()?.pop(),
            levels: Arc::new(levels),
            reference,
            contigs: OnceCell::new(),
            libraries: OnceCell::new(),
            warnings: RefCell::default(),
        })
    }

    pub fn options(&self) -> &'a QcOptions {
        &self.selection.options
    }

    /// Returns the reference with the contigs of the header, or `None` if the run has no reference.
    /// The contigs are matched at the first call.
    ///
    /// # Errors
    /// A contig of the header differs from the contig of the reference.
    pub(crate) fn reference(&self) -> Result<Option<&ReferenceContigs>> {
        if let (None, Some(reference)) = (self.contigs.get(), &self.reference) {
            let contigs = ReferenceContigs::new(reference.clone(), self.header)?;
            return Ok(Some(self.contigs.get_or_init(|| contigs)));
        }
        Ok(self.contigs.get())
    }

    /// Returns the reference for a program that requires one. The plan has checked that there is
    /// one.
    pub(crate) fn needed_reference(&self) -> Result<&ReferenceContigs> {
        self.reference()?
            .ok_or_else(|| Error::bug("metrics are counted that need a reference, and there is none"))
    }

    /// Returns the libraries of the header. Programs that count by library share them.
    pub(crate) fn libraries(&self) -> &Arc<Libraries> {
        self.libraries.get_or_init(|| Arc::new(Libraries::new(self.header)))
    }

    /// Returns the memory in bytes of the libraries, or 0 if no program has asked for them.
    pub(crate) fn library_bytes(&self) -> u64 {
        self.libraries.get().map_or(0, |libraries| libraries.memory_bytes())
    }

    /// Reads the named intervals in the files at `paths`. Returns `None` if there are no paths.
    ///
    /// # Errors
    /// A file is malformed, or the memory limit does not allow it.
    pub(crate) fn named_intervals(&self, paths: &[PathBuf]) -> Result<Option<NamedIntervals>> {
        let read = || NamedIntervals::read_files(paths, self.header, self.ledger);
        (!paths.is_empty()).then(read).transpose()
    }

    /// Adds a warning about an input file, which the run shows to the user.
    pub fn add_warning(&self, warning: String) {
        self.warnings.borrow_mut().push(warning);
    }

    /// Returns all warnings so far and clears the list.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        self.warnings.take()
    }
}
