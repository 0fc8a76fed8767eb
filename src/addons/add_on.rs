//! What an add-on is: what it states to the plan, and what it does in a run.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use readmill_engine::Crew;
use readmill_filters::tally::RunNames;
use readmill_format::reference::LazyReference;
use readmill_record::ledger::UserName;
use readmill_record::{Charge, DynOrderedTally, DynTally, Header, Ledger, Result};
use serde_json::Value;

use super::input_counter::InputCounter;
use super::planned_file::{PlannedFile, WriteText};
use crate::pipeline::tap::Tap;
use readmill_process::atomic_file::AtomicFile;
use readmill_process::console::Console;

/// A request to an add-on: its options for one run.
///
/// A plan holds it in [`AddOns`](super::AddOns). The plan asks it what it needs, before anything is opened; the run
/// [starts](Self::start) it when the inputs are open, and the [`RunningAddOn`] counts and reports:
///
/// ```text
///  plan    check, needs, input_files, output_files ─► errors, names
///          thread_memory, memory_shares, room_share ─► the division of -m
///          order ─► refusal of reads in another order
///  open    input_counter ─► InputCounter          before the inputs are opened
///          start ─► RunningAddOn                  when the header is final
///  count   tally            any thread, any order, totals added at the end
///          ordered tallies  pieces on any thread, added in the order of the output
///  end     write_texts, complete_files ─► report files, values of --json
///          text_of_run ─► a file that is made of the description
/// ```
///
/// In a job in stages each process starts the add-ons anew: the totals of tallies and the pieces of ordered tallies
/// travel in the files of the stages, and only the last stage opens report files.
///
/// An add-on is a file or a folder of `src/addons`, and a row of [`ADD_ONS`](super::ADD_ONS). Its flags are in
/// `src/cli/addons`. This one writes the number of reads of the output, and is complete:
///
/// ```
/// use readmill::addons::{AddOn, AddOnSetup, PlannedFile, ReportedTally, RunningAddOn, Tap};
/// use readmill_process::console::Console;
/// use readmill::plan::{Plan, Verbosity};
/// use readmill_filters::tally::TallyReport;
/// use readmill_record::{Batch, Result, Tally};
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
///         let file = PlannedFile::new("reads", &self.file);
///         vec![file.with_json(|text| text.trim_end().parse::<u64>().ok().into())]
///     }
///     fn start(&self, _: &AddOnSetup<'_>) -> Result<Box<dyn RunningAddOn>> {
///         let report = TallyReport::new(Reads, |reads, _| format!("{reads}\n").into_bytes());
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
    /// Returns the name of its row in [`ADD_ONS`](super::ADD_ONS).
    fn name(&self) -> &'static str;

    /// Checks that its options fit the run. Called before any file is opened.
    ///
    /// # Errors
    /// They do not fit.
    fn check(&self, _run: &RunFacts) -> Result<()> {
        Ok(())
    }

    /// Returns what it needs from a run.
    fn needs(&self) -> AddOnNeeds {
        AddOnNeeds::default()
    }

    /// Returns the files that it reads, so that no output overwrites one.
    fn input_files(&self) -> Vec<&Path> {
        Vec::new()
    }

    /// Returns the files that it writes.
    fn output_files(&self) -> Vec<PlannedFile<'_>>;

    /// Returns the beginning of the names of its files, if they share one. The sample is called so if nothing else names
    /// it.
    fn prefix(&self) -> Option<&Path> {
        None
    }

    /// Returns what the log shows as the output of a run that writes no reads.
    fn shown_output(&self) -> Option<&Path> {
        None
    }

    /// Returns the memory that each thread needs for its counts, which is taken once more for their sum.
    fn thread_memory(&self) -> Option<MemoryShare> {
        None
    }

    /// Returns other memory that it takes on these threads, whatever the reads are, in the order in which `--explain`
    /// shows it.
    fn memory_shares(&self, _run: &RunFacts, _crew: Crew) -> Vec<MemoryShare> {
        Vec::new()
    }

    /// Returns its share of the memory for reads, if unusual reads take more than [`AddOn::memory_shares`].
    fn room_share(&self) -> Option<RoomShare> {
        None
    }

    /// Returns how it counts reads in the order of the output; `None` if it counts in any order.
    fn order(&self) -> Option<OrderedCount> {
        None
    }

    /// Returns why a job with it cannot run in stages, and its flag.
    fn stage_refusal(&self) -> Option<&'static str> {
        None
    }

    /// Returns a text that differs if the files of stages would differ, or an empty text if it never changes them. A job
    /// in stages is continued only by a command with the same text.
    fn stage_identity(&self) -> String {
        format!("{self:?}")
    }

    /// Returns what counts the input files before any step, if it does that. `unusual_bytes` are its
    /// [`AddOn::room_share`]. At most one add-on of a run counts so.
    fn input_counter(&self, _unusual_bytes: u64) -> Option<Arc<dyn InputCounter>> {
        None
    }

    /// Starts it in a run: reads its files, and makes what counts.
    ///
    /// # Errors
    /// A file is wrong or does not fit the header, or the memory is not free.
    fn start(&self, setup: &AddOnSetup<'_>) -> Result<Box<dyn RunningAddOn>>;
}

/// An add-on in a run.
///
/// In each process, the run counts with [`tally`](Self::tally) and the [ordered tallies](Self::take_ordered_tallies). In
/// the process that writes the output it also calls [`open_files`](Self::open_files) before the first
/// read is written, [`write_texts`](Self::write_texts) and [`complete_files`](Self::complete_files) after the last one,
/// and [`text_of_run`](Self::text_of_run) when all other files are complete.
pub trait RunningAddOn: Send + Sync {
    /// Returns warnings about the files that it has read.
    fn warnings(&self) -> &[String] {
        &[]
    }

    /// Returns the tally of reads in any order, and which reads it counts.
    fn tally(&self) -> Option<(Tap, &dyn DynTally)> {
        None
    }

    /// Hands over the tallies of the main output that count in its order. Called once, after the start. The run drops them
    /// when the output is complete, which ends their charges.
    fn take_ordered_tallies(&mut self) -> Vec<Arc<dyn DynOrderedTally>> {
        Vec::new()
    }

    /// Takes the files that are [written while counting](super::FileTime::WhileCounting), each with its number in
    /// [`AddOn::output_files`].
    ///
    /// # Errors
    /// They cannot be written, or a file that is needed for them is wrong.
    fn open_files(&self, _files: Vec<(usize, AtomicFile)>, _setup: &FileSetup<'_>) -> Result<()> {
        Ok(())
    }

    /// Passes the texts of the files that are written [at the end](super::FileTime::AtEnd) to `write`, in their order.
    ///
    /// # Errors
    /// The counts give no result, or `write` fails.
    fn write_texts(&self, _: &RunNames<'_>, _: &Console, _write: &mut WriteText<'_>) -> Result<()> {
        Ok(())
    }

    /// Completes the files of [`open_files`](Self::open_files) under their temporary names, and returns them.
    ///
    /// # Errors
    /// A file cannot be written.
    fn complete_files(&self) -> Result<CompleteFiles> {
        Ok(CompleteFiles::default())
    }

    /// Returns the text of its file that is made of the description of the run. `charge` pays for it.
    ///
    /// # Errors
    /// The memory is not free.
    fn text_of_run(&self, _run: &Value, _charge: &mut Charge) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }
}

/// What an add-on may know of the run when it checks its options and states its memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunFacts {
    /// Whether the run has a reference.
    pub has_reference: bool,
    /// Whether alignments are merged into unaligned reads.
    pub merges_alignments: bool,
    /// Maximum number of input files whose reads are in one batch: two for pairs of FASTQ files.
    pub max_files_per_batch: usize,
}

/// What an add-on needs from a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct AddOnNeeds {
    /// The description of the run, as `--json` writes it.
    pub description: bool,
    /// The name of the sample, which it writes: `--sample` has an effect.
    pub sample: bool,
    /// The sample of the read groups as the name of the sample, before the name of the input.
    pub sample_of_read_groups: bool,
}

/// A named share of the memory of a run.
#[derive(Clone, Copy, Debug)]
pub struct MemoryShare {
    pub name: UserName,
    pub bytes: u64,
}

/// A share of the memory that is left for reads.
#[derive(Clone, Copy, Debug)]
pub struct RoomShare {
    /// The name that `--explain` shows.
    pub name: UserName,
    /// The share is one part of this number of equal parts.
    pub parts: u64,
}

/// How an add-on counts reads in the order of the output.
#[derive(Clone, Copy, Debug)]
pub struct OrderedCount {
    /// The name of the memory for what waits. Reads that wait to be sorted leave a part of the memory free for it.
    pub memory: UserName,
    /// What is counted, if the reads must be sorted by coordinate: the subject of the refusal of other reads.
    pub sorted_count: Option<&'static str>,
}

/// What a run gives to an add-on that starts.
pub struct AddOnSetup<'a> {
    /// The header under which reads leave.
    pub header: &'a Header,
    /// Whether reads leave in the order of coordinates, as far as the header and the plan say.
    pub is_sorted: bool,
    /// The regions of the input that are read, in the notation of samtools, if not all of it is.
    pub regions: Option<&'a [String]>,
    pub reference: Option<&'a LazyReference>,
    /// The threads, and the number of batches in progress.
    pub crew: Crew,
    /// Pays for what is read from files and for what waits.
    pub ledger: &'a Ledger,
    /// Bytes of its [`AddOn::room_share`].
    pub unusual_bytes: u64,
    /// What counts the input files, if an add-on does.
    pub input_counter: Option<&'a Arc<dyn InputCounter>>,
}

/// What a run gives to an add-on whose files are open.
pub struct FileSetup<'a> {
    /// The header that is written.
    pub header: &'a Header,
    /// Whether the run is described, so that the add-on adds values to the description.
    pub is_described: bool,
    /// The number of batches in progress.
    pub in_flight: usize,
    pub ledger: &'a Ledger,
    /// Takes warnings.
    pub console: &'a Console,
}

/// The complete files of an add-on, and what it adds to the description of the run.
#[derive(Default)]
pub struct CompleteFiles {
    /// The files, each with its number in [`AddOn::output_files`], in the order in which the description lists them.
    pub files: Vec<(usize, AtomicFile)>,
    /// Values by their names among the reports.
    pub values: Vec<(&'static str, Value)>,
}
