//! The traits of an add-on: [`AddOn`] describes it to the plan, and [`RunningAddOn`] counts and
//! reports in a run.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use readmill_engine::Crew;
use readmill_format::reference::LazyReference;
use readmill_format::report::{DescribedReport, RunNames};
use readmill_record::ledger::UserName;
use readmill_record::{Charge, DynOrderedTally, DynTally, Header, Ledger, Result};
use serde_json::Value;

use super::input_counter::InputCounter;
use super::planned_file::{PlannedFile, WriteReport};
use crate::pipeline::tap::Tap;
use readmill_process::atomic_file::AtomicFile;
use readmill_process::console::Console;

/// A request for an add-on, with its options for one run.
///
/// A plan holds the request in [`AddOns`](super::AddOns) and asks for its needs before any file is
/// opened. The run [starts](Self::start) it when the inputs are open, and the [`RunningAddOn`]
/// counts and reports:
///
/// ```text
///  plan    check, needs, input_files, output_files ─► errors, names
///          thread_memory, memory_shares, room_share ─► the division of -m
///          order ─► refusal of reads in a different order
///  open    input_counter ─► InputCounter          before the inputs are opened
///          start ─► RunningAddOn                  when the header is final
///  count   tally            any thread, any order, totals added at the end
///          ordered tallies  pieces on any thread, added in the order of the output
///  end     write_reports, complete_files ─► report files, values of --json
///          text_of_run ─► a file that is made of the description
/// ```
///
/// In a job in stages, each process starts the add-ons again. The totals of tallies and the pieces
/// of ordered tallies are stored in the stage files, and only the last stage opens report files.
///
/// An add-on is a file or a folder in `src/addons`, and a row of [`ADD_ONS`](super::ADD_ONS). Its
/// flags are in `src/cli/addons`. This complete example writes the number of output reads:
///
/// ```
/// use readmill::addons::{AddOn, AddOnSetup, PlannedFile, ReportedTally, RunningAddOn, Tap};
/// use readmill_process::console::Console;
/// use readmill::plan::{Plan, Verbosity};
/// use readmill_stats::TallyReport;
/// use readmill_format::report::DescribedReport;
/// use readmill_record::{Batch, Result, Tally};
/// use serde_json::{Value, json};
/// use std::path::PathBuf;
///
/// /// What the plan knows: the file.
/// #[derive(Debug)]
/// struct CountReads {
///     file: PathBuf,
/// }
///
/// impl AddOn for CountReads {
///     fn name(&self) -> &'static str {
///         "count reads"
///     }
///     fn output_files(&self) -> Vec<PlannedFile<'_>> {
///         vec![PlannedFile::new("reads", &self.file)]
///     }
///     fn start(&self, _: &AddOnSetup<'_>) -> Result<Box<dyn RunningAddOn>> {
///         let report = TallyReport::new(Reads, |reads, _| ReadCount(reads));
///         Ok(Box::new(ReportedTally::new(Tap::MainOutput, report)))
///     }
/// }
///
/// /// What counts.
/// struct Reads;
///
/// impl Tally for Reads {
///     type Partial = u64;
///     type Total = u64;
///     fn observe(&self, reads: &mut u64, batch: &Batch) -> Result<()> {
///         *reads += batch.len() as u64;
///         Ok(())
///     }
///     fn merge(&self, into: &mut u64, from: u64) {
///         *into += from;
///     }
///     fn finish(&self, total: u64) -> Result<u64> {
///         Ok(total)
///     }
/// }
///
/// /// What is written, and what `--json` has of it.
/// struct ReadCount(u64);
///
/// impl DescribedReport for ReadCount {
///     fn format_text(&self) -> Vec<u8> {
///         format!("{}\n", self.0).into_bytes()
///     }
///     fn to_value(&self) -> Value {
///         json!(self.0)
///     }
/// }
///
/// # let directory = tempfile::tempdir().unwrap();
/// # let [input, output, file] = ["in.sam", "out.sam", "reads.txt"].map(|it| directory.path().join(it));
/// std::fs::write(&input, "@SQ\tSN:c\tLN:9\nr1\t0\tc\t3\t60\t1M\t*\t0\t0\tA\t#\n").unwrap();
/// let mut plan = Plan::new([&input], &output);
/// plan.resources.verbosity = Verbosity::Quiet;
/// plan.reports.add_ons.push(CountReads { file: file.clone() });
/// readmill::run(&plan, &Console::new(Verbosity::Quiet))?;
/// assert_eq!(std::fs::read_to_string(file).unwrap(), "1\n");
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub trait AddOn: Debug + Send + Sync + 'static {
    /// Returns the name of the add-on's row in [`ADD_ONS`](super::ADD_ONS).
    fn name(&self) -> &'static str;

    /// Checks that the options fit the run. Called before any file is opened.
    ///
    /// # Errors
    /// Fails if the options do not fit.
    fn check(&self, _run: &RunFacts) -> Result<()> {
        Ok(())
    }

    /// Returns what the add-on needs from a run.
    fn needs(&self) -> AddOnNeeds {
        AddOnNeeds::default()
    }

    /// Returns the files that the add-on reads, so that no output overwrites one of them.
    fn input_files(&self) -> Vec<&Path> {
        Vec::new()
    }

    /// Returns the files that the add-on writes.
    fn output_files(&self) -> Vec<PlannedFile<'_>>;

    /// Returns the common prefix of the add-on's files, if they have one. It is also the sample
    /// name if nothing else determines the name.
    fn prefix(&self) -> Option<&Path> {
        None
    }

    /// Returns the path that the log shows as the output of a run that writes no reads.
    fn shown_output(&self) -> Option<&Path> {
        None
    }

    /// Returns the memory for the counts of one thread. The sum of the counts needs the same amount
    /// again.
    fn thread_memory(&self) -> Option<MemoryShare> {
        None
    }

    /// Returns other memory that the add-on needs for `_crew`, regardless of the reads, in the
    /// order in which `--explain` shows it.
    fn memory_shares(&self, _run: &RunFacts, _crew: Crew) -> Vec<MemoryShare> {
        Vec::new()
    }

    /// Returns the share of the memory for reads that the add-on may use if unusual reads need more
    /// than [`AddOn::memory_shares`].
    fn room_share(&self) -> Option<RoomShare> {
        None
    }

    /// Returns how the add-on counts reads in output order; `None` if it counts in any order.
    fn order(&self) -> Option<OrderedCount> {
        None
    }

    /// Returns the flag of the add-on and the reason why a job with it cannot run in stages; `None`
    /// if it can.
    fn stage_refusal(&self) -> Option<&'static str> {
        None
    }

    /// Returns a string that differs whenever the stage files would differ, or an empty string if
    /// the add-on never affects them. Only a command with the same text can continue a job in
    /// stages.
    fn stage_identity(&self) -> String {
        format!("{self:?}")
    }

    /// Returns the counter of the input files before any step, if the add-on needs one.
    /// `_unusual_bytes` is its [`AddOn::room_share`] in bytes. At most one add-on of a run may
    /// return a counter.
    fn input_counter(&self, _unusual_bytes: u64) -> Option<Arc<dyn InputCounter>> {
        None
    }

    /// Starts the add-on in a run: reads its files and creates its tallies.
    ///
    /// # Errors
    /// Fails if a file is invalid or does not fit the header, or if there is too little memory.
    fn start(&self, setup: &AddOnSetup<'_>) -> Result<Box<dyn RunningAddOn>>;
}

/// An add-on in a run.
///
/// Each process counts with [`tally`](Self::tally) and the [ordered
/// tallies](Self::take_ordered_tallies). The process that writes the output also calls
/// [`open_files`](Self::open_files) before the first read is written,
/// [`write_reports`](Self::write_reports) and [`complete_files`](Self::complete_files) after the
/// last one, and [`text_of_run`](Self::text_of_run) when all other files are complete.
pub trait RunningAddOn: Send + Sync {
    /// Returns warnings about the files that the add-on read.
    fn warnings(&self) -> &[String] {
        &[]
    }

    /// Returns the tally that counts in any order, and the tap at which it counts.
    fn tally(&self) -> Option<(Tap, &dyn DynTally)> {
        None
    }

    /// Takes the tallies that count the main output in order. Called once, after the start. The run
    /// drops them when the output is complete, which releases their memory.
    fn take_ordered_tallies(&mut self) -> Vec<Arc<dyn DynOrderedTally>> {
        Vec::new()
    }

    /// Takes the files that are [written while counting](super::FileTime::WhileCounting), each with
    /// its index in [`AddOn::output_files`].
    ///
    /// # Errors
    /// Fails if a file cannot be written, or if a file that is needed to write it is invalid.
    fn open_files(&self, _files: Vec<(usize, AtomicFile)>, _setup: &FileSetup<'_>) -> Result<()> {
        Ok(())
    }

    /// Passes the contents of the files that are written [at the end](super::FileTime::AtEnd) to
    /// `_write`, in order.
    ///
    /// # Errors
    /// Fails if the counts give no result, or if `_write` fails.
    fn write_reports(&self, _: &RunNames<'_>, _: &Console, _write: &mut WriteReport<'_>) -> Result<()> {
        Ok(())
    }

    /// Completes the files from [`open_files`](Self::open_files) under their temporary names, and
    /// returns them.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    fn complete_files(&self) -> Result<CompleteFiles> {
        Ok(CompleteFiles::default())
    }

    /// Returns the text of the file that is derived from the description of the run. Charges its
    /// memory to `_charge`.
    ///
    /// # Errors
    /// Fails if there is too little memory.
    fn text_of_run(&self, _run: &Value, _charge: &mut Charge) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }
}

/// The facts about a run that an add-on may use when it checks its options and states its memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunFacts {
    pub has_reference: bool,
    /// Whether alignments are merged into unaligned reads.
    pub merges_alignments: bool,
    /// Maximum number of input files whose reads are in one batch: two for pairs of FASTQ files.
    pub max_files_per_batch: usize,
}

/// What an add-on needs from a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct AddOnNeeds {
    /// A description of the run, as `--json` writes it.
    pub description: bool,
    /// The sample name, so that `--sample` has an effect.
    pub sample: bool,
    /// The sample (SM) of the read groups as the sample name, in preference to the name of the
    /// input.
    pub sample_of_read_groups: bool,
}

/// A named number of bytes of the memory of a run.
#[derive(Clone, Copy, Debug)]
pub struct MemoryShare {
    pub name: UserName,
    pub bytes: u64,
}

/// A share of the memory for reads, in case reads are unusual, for example very long.
///
/// Add-ons take their shares in the order of their turns, and each share is a part of the memory that
/// earlier add-ons left. A share is smaller if too little memory would remain for reads. If counts need
/// more than [`AddOn::memory_shares`] and this share together, the run ends with an error. In contrast,
/// a [`MemoryShare`] is a number of bytes, which is taken whatever the reads are.
#[derive(Clone, Copy, Debug)]
pub struct RoomShare {
    /// The name that `--explain` shows.
    pub name: UserName,
    /// The share is one part of this number of equal parts, at least 2: 8 means an eighth.
    pub parts: u64,
}

/// How an add-on counts reads in output order.
#[derive(Clone, Copy, Debug)]
pub struct OrderedCount {
    /// The ledger name of pending counts. Reads that wait to be sorted leave a part of the memory
    /// free for them.
    pub memory: UserName,
    /// The name of the counts, if the reads must be sorted by coordinate. The error about unsorted
    /// reads contains this name.
    pub sorted_count: Option<&'static str>,
}

/// What a run passes to an add-on when it starts.
pub struct AddOnSetup<'a> {
    /// The header of the output.
    pub header: &'a Header,
    /// Whether the output is in coordinate order, according to the header and the plan.
    pub is_sorted: bool,
    /// The input regions that are read, in samtools notation; `None` for the whole input.
    pub regions: Option<&'a [String]>,
    pub reference: Option<&'a LazyReference>,
    /// The number of threads, and of batches in progress.
    pub crew: Crew,
    /// The ledger for data from files and for pending counts.
    pub ledger: &'a Ledger,
    /// The [`AddOn::room_share`] of the add-on, in bytes.
    pub unusual_bytes: u64,
    /// The counter of the input files, if an add-on has one.
    pub input_counter: Option<&'a Arc<dyn InputCounter>>,
}

/// What a run passes to an add-on when its files are opened.
pub struct FileSetup<'a> {
    /// The header of the output.
    pub header: &'a Header,
    /// Whether the run is described, so that the add-on must provide values for the description.
    pub is_described: bool,
    /// The number of batches in progress.
    pub in_flight: usize,
    pub ledger: &'a Ledger,
    /// Receives warnings.
    pub console: &'a Console,
}

/// The complete files of an add-on, and its values for the description of the run.
#[derive(Default)]
pub struct CompleteFiles {
    /// The files, each with its index in [`AddOn::output_files`], in the order in which the
    /// description lists them.
    pub files: Vec<(usize, AtomicFile)>,
    /// The reports in these files, each with the index of its file, if the run is described.
    pub reports: Vec<(usize, Box<dyn DescribedReport>)>,
    /// Other values, with their names among the reports.
    pub values: Vec<(&'static str, Value)>,
    /// Pays for the reports until the run has their values.
    pub charge: Option<Charge>,
}
