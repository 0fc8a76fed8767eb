//! What a program of Picard is to a run.

use std::cell::{OnceCell, RefCell};
use std::path::PathBuf;
use std::sync::Arc;

use readmill_format::intervals::{Intervals, NamedIntervals};
use readmill_format::reference::Reference;
use readmill_record::{DynOrderedTally, Error, Header, Ledger, ReportText, Result};

use crate::collector::ReadCollector;
use crate::levels::Levels;
use crate::options::QcOptions;
use crate::reference::ReferenceContigs;
use crate::run_end::RunEnd;
use crate::selection::{MetricSelection, PicardProgram};
use crate::substitutions::Libraries;

/// What a program needs from a run.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// It counts nothing without a reference.
    pub reference: bool,
    /// It compares each read with the reference, if there is one, in pages that all programs of a thread share.
    pub compares: bool,
    /// It counts reads that are sorted by coordinate.
    pub order: bool,
    /// The reason why it refuses `--intervals`, as the predicate of a message: "counts reads anywhere".
    pub refuses_intervals: Option<&'static str>,
}

impl Needs {
    /// It only needs reads.
    pub const NOTHING: Needs =
        Needs { reference: false, compares: false, order: false, refuses_intervals: None };
}

/// A program of Picard whose files a run writes.
///
/// A program is one file of this crate, or a folder: its options (a struct of flags, which [`QcOptions`] lists), its
/// counts, and its text. [`PROGRAMS`](crate::PROGRAMS) has its row, and nothing else names it. Several programs of
/// Picard that differ only in limits, such as CollectWgsMetrics and CollectRawWgsMetrics, share one count and are one
/// `MetricProgram` with several names.
///
/// ```text
///  plan   programs, needs, check, files, min_bytes ─► flags, messages, memory
///  run    start ─► RunningProgram ─┬─ any order:  collector ─► ReadCollector::add, for each read on each thread
///                                  └─ in order:   ordered_tally ─► OrderedTally
///  end    RunningProgram::texts ─► files
/// ```
///
/// A program that counts reads in any order implements [`ReadMetric`](crate::ReadMetric) instead, which is less to write
/// and has an example. This one writes the name of the first contig. It shows what every
/// program has:
///
/// ```
/// use readmill_qc::{MetricProgram, MetricSetup, PicardProgram, RunEnd, RunningProgram};
/// use readmill_record::{ReportText, Result};
///
/// const FIRST_CONTIG: PicardProgram =
///     PicardProgram { name: "NameFirstContig", endings: &[".first_contig"] };
///
/// /// What `--metrics` and the plan know.
/// struct NameFirstContig;
///
/// impl MetricProgram for NameFirstContig {
///     fn programs(&self) -> &'static [PicardProgram] {
///         &[FIRST_CONTIG]
///     }
///     fn start(&self, setup: &MetricSetup<'_>) -> Result<Box<dyn RunningProgram>> {
///         let contig = setup.header.references().first();
///         Ok(Box::new(FirstContig(contig.map(|it| it.name.clone()).unwrap_or_default())))
///     }
/// }
///
/// /// What works in a run.
/// struct FirstContig(Vec<u8>);
///
/// impl RunningProgram for FirstContig {
///     fn texts(&self, end: &RunEnd<'_>) -> Result<Vec<ReportText>> {
///         Ok(end.files(&FIRST_CONTIG, |[text]| text.extend_from_slice(&self.0)))
///     }
/// }
///
/// assert!(!NameFirstContig.needs().order);
/// ```
pub trait MetricProgram: Sync {
    /// Returns the names and files of the programs of Picard that it counts: one, or several that share a count.
    fn programs(&self) -> &'static [PicardProgram];

    /// Returns what it needs from a run.
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    /// Whether the file of this number among [`PicardProgram::endings`] is written.
    fn writes_file(&self, _number: usize, _options: &QcOptions) -> bool {
        true
    }

    /// Returns the files of its options that it reads, so that no output overwrites one.
    fn files<'a>(&self, _options: &'a QcOptions) -> Vec<&'a PathBuf> {
        Vec::new()
    }

    /// Checks its options. Called even if none of its programs is wanted, so that it can refuse options that need one.
    ///
    /// # Errors
    /// Options contradict each other, or lack the program or a file.
    fn check(&self, _selection: &MetricSelection, _has_reference: bool) -> Result<()> {
        Ok(())
    }

    /// Returns the bytes of memory that it takes on `threads` threads, whatever the header and the reads are. Counts of
    /// usual reads and the shared pages of the reference are paid for all programs together.
    fn min_bytes(&self, _selection: &MetricSelection, _threads: u64) -> u64 {
        0
    }

    /// Returns the bytes of a usual piece, if it counts in order.
    fn usual_piece_bytes(&self) -> u64 {
        0
    }

    /// Starts the count of a run: reads its files, and makes what counts.
    ///
    /// # Errors
    /// A file is wrong, or does not fit the header.
    fn start(&self, setup: &MetricSetup<'_>) -> Result<Box<dyn RunningProgram>>;
}

/// A program in a run. Those that count in any order are [`ReadMetric`](crate::ReadMetric)s; those that count in order
/// have an [`OrderedTally`](readmill_record::OrderedTally) and need only two methods.
pub trait RunningProgram: Send + Sync {
    /// Returns one thread's counts, if it counts reads in any order.
    fn collector(&self) -> Option<Box<dyn ReadCollector + '_>> {
        None
    }

    /// Returns its tally, charged to `ledger`, if it counts reads in order.
    fn ordered_tally(&self, _ledger: &Ledger) -> Option<Arc<dyn DynOrderedTally>> {
        None
    }

    /// Returns the bytes of results and their text that grow with the header and the files of the options.
    fn result_bytes(&self) -> u64 {
        0
    }

    /// Resets the counts of reads in any order.
    fn reset(&self) {}

    /// Returns these counts, to be added to those of another stage.
    ///
    /// # Errors
    /// They cannot be encoded.
    fn save(&self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Adds the counts of another stage.
    ///
    /// # Errors
    /// The bytes are not counts of this program.
    fn add(&self, _saved: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Writes the files of its wanted programs, in the order of their endings, and resets the counts.
    ///
    /// # Errors
    /// What they need of the reference cannot be read.
    fn texts(&self, end: &RunEnd<'_>) -> Result<Vec<ReportText>>;
}

/// What a run gives to a program that starts.
pub struct MetricSetup<'a> {
    /// The wanted programs, and all options.
    pub selection: &'a MetricSelection,
    /// The header under which reads leave.
    pub header: &'a Header,
    /// Pays for what is read from files.
    pub ledger: &'a Ledger,
    /// INTERVALS: where depths and sites are counted; everywhere if there are none.
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

    /// Returns the contigs of the header in the reference, if the run has one.
    ///
    /// # Errors
    /// They are not those of the reference.
    pub(crate) fn reference(&self) -> Result<Option<&ReferenceContigs>> {
        if let (None, Some(reference)) = (self.contigs.get(), &self.reference) {
            let contigs = ReferenceContigs::new(reference.clone(), self.header)?;
            return Ok(Some(self.contigs.get_or_init(|| contigs)));
        }
        Ok(self.contigs.get())
    }

    /// Returns the reference, for programs that are not selected without one.
    pub(crate) fn needed_reference(&self) -> Result<&ReferenceContigs> {
        self.reference()?
            .ok_or_else(|| Error::bug("metrics are counted that need a reference, and there is none"))
    }

    /// Returns the libraries of the header, which programs share.
    pub(crate) fn libraries(&self) -> &Arc<Libraries> {
        self.libraries.get_or_init(|| Arc::new(Libraries::new(self.header)))
    }

    /// Returns the bytes of the libraries, or 0 if no program has asked for them.
    pub(crate) fn library_bytes(&self) -> u64 {
        self.libraries.get().map_or(0, |libraries| libraries.bytes())
    }

    /// Reads files of intervals with names; `None` if there are none.
    ///
    /// # Errors
    /// A file is wrong, or the memory is not free.
    pub(crate) fn named_intervals(&self, paths: &[PathBuf]) -> Result<Option<NamedIntervals>> {
        let read = || NamedIntervals::read_files(paths, self.header, self.ledger);
        (!paths.is_empty()).then(read).transpose()
    }

    /// Warns the user of what a file holds.
    pub fn warn(&self, warning: String) {
        self.warnings.borrow_mut().push(warning);
    }

    /// Returns all warnings so far, and forgets them.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        self.warnings.take()
    }
}
