//! Counts all selected programs together: each record is decoded once and passed to every program.

use std::sync::Arc;

use readmill_format::reference::Reference;
use readmill_format::report::ReportContents;
use readmill_record::{
    Batch, Detail, DynOrderedTally, DynTally, Error, Header, Ledger, RecordRef, Result, TallyWorker,
};

use crate::collector::{ReadCollector, ReadContext};
use crate::levels::{GroupFinder, Levels};
use crate::program::{MetricSetup, RunningProgram};
use crate::read::PreparedRead;
use crate::reference::ReferenceContigs;
use crate::room::{self, CountingRoom};
use crate::run_end::RunEnd;
use crate::selection::MetricSelection;

/// The quality metrics that a run counts.
///
/// Each thread makes a worker, which counts batches for all programs that take reads in any order,
/// and merges its counts at the end. Programs that need sorted reads count through
/// [`ordered_tallies`](Self::ordered_tallies) instead. When all reads are counted,
/// [`make_reports`](Self::make_reports) returns the contents of all files.
///
/// ```
/// use readmill_format::sam::LineParser;
/// use readmill_qc::{MetricSelection, QcOptions, QcTally};
/// use readmill_record::{Batch, DynTally, Header, Ledger, Stamp};
///
/// let header = Header::parse(b"@HD\tVN:1.6\n@SQ\tSN:chr1\tLN:1000\n")?;
/// let (mut batch, mut raw) = (Batch::default(), Vec::new());
/// LineParser::new(&header).parse(b"r1\t0\tchr1\t1\t60\t4M\t*\t0\t0\tACGT\tIIII", &mut raw)?;
/// batch.push(&raw, Stamp::default())?;
///
/// let selection = MetricSelection::select_by_name(&["CollectQualityYieldMetrics"], QcOptions::default());
/// let tally = QcTally::new(&selection, &header, None, &Ledger::unlimited(), 1, 0)?;
/// let mut worker = tally.make_worker(); // one for each thread
/// worker.observe(&batch)?;
/// worker.merge_into_total();
/// assert!(tally.ordered_tallies(&Ledger::unlimited()).is_empty());
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct QcTally {
    programs: Vec<Box<dyn RunningProgram>>,
    levels: Arc<Levels>,
    /// The reference, if a program compares each read with it.
    reference: Option<ReferenceContigs>,
    room: CountingRoom,
    /// Memory in bytes that depends on the header and on the programs' input files.
    bytes: u64,
    warnings: Vec<String>,
}

/// Memory of the counts of typical reads per thread, in bytes.
const THREAD_BYTES: u64 = 2 << 20;

impl QcTally {
    /// The name of this memory in messages about the memory limit.
    pub const NAME: &'static str = "quality metrics";

    /// Returns the memory in bytes that the selected programs take on this number of threads,
    /// independent of the header and the reads. The plan sets it aside before the run starts.
    pub fn min_bytes(selection: &MetricSelection, has_reference: bool, threads: u64) -> u64 {
        let has_pages = has_reference && selection.compares_reads();
        let pages = if has_pages { ReferenceContigs::THREAD_BYTES * threads } else { 0 };
        let programs: u64 =
            selection.selected_programs().map(|it| it.min_bytes(selection, threads)).sum();
        THREAD_BYTES * (threads + 1) + pages + programs
    }

    /// Starts the selected programs for reads with this header.
    ///
    /// `threads` is the number of threads that will count. `more` is the memory in bytes that
    /// counts may take in addition to [`QcTally::min_bytes`], for unusually long reads or many read
    /// groups. Without a reference, mismatches are not counted. `ledger` is charged for the
    /// contents of input files.
    ///
    /// # Errors
    /// An input file of a program is malformed, or the reference does not match the header.
    pub fn new(
        selection: &MetricSelection,
        header: &Header,
        reference: Option<Reference>,
        ledger: &Ledger,
        threads: u64,
        more: u64,
    ) -> Result<Self> {
        let setup = MetricSetup::new(selection, header, reference, ledger)?;
        // A wrong file of a program is reported before a wrong reference.
        let (with_files, others): (Vec<_>, Vec<_>) = selection
            .selected_programs()
            .enumerate()
            .partition(|(_, it)| !it.input_files(&selection.options).is_empty());
        let mut programs = Vec::new();
        for (at, program) in with_files.into_iter().chain(others) {
            programs.push((at, program.start_run(&setup)?));
        }
        programs.sort_by_key(|(at, _)| *at);
        let compares = selection.compares_reads();
        let reference = if compares || selection.needs_order() { setup.reference()? } else { None };
        let programs: Vec<_> = programs.into_iter().map(|(_, program)| program).collect();
        let results: u64 = programs.iter().map(|program| program.result_bytes()).sum();
        let levels = Levels::max_bytes(header, &selection.options.levels());
        Ok(QcTally {
            programs,
            levels: Arc::clone(&setup.levels),
            reference: reference.filter(|_| compares).cloned(),
            room: room::counting_room(THREAD_BYTES * (threads + 1) + more),
            bytes: results + setup.library_bytes() + levels,
            warnings: setup.take_warnings(),
        })
    }

    /// Returns warnings about the input files of the programs, for the user.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the ordered tallies of the programs that need sorted reads. The run passes them the
    /// reads in the order of the output. Their memory is charged to `ledger`.
    pub fn ordered_tallies(&self, ledger: &Ledger) -> Vec<Arc<dyn DynOrderedTally>> {
        self.programs.iter().filter_map(|program| program.ordered_tally(ledger)).collect()
    }

    /// Returns the contents of all files, in the order of [`MetricSelection::endings`], and resets
    /// the counts.
    ///
    /// # Errors
    /// The reference cannot be read.
    pub fn make_reports(&self, end: &RunEnd<'_>) -> Result<Vec<ReportContents>> {
        let mut reports = Vec::new();
        for program in &self.programs {
            reports.extend(program.make_reports(end)?);
        }
        Ok(reports)
    }
}

impl DynTally for QcTally {
    fn make_worker(&self) -> Box<dyn TallyWorker + '_> {
        let collectors: Vec<_> =
            self.programs.iter().filter_map(|program| program.make_collector()).collect();
        Box::new(QcWorker {
            counts_all: collectors.iter().any(|it| it.counts_all_records()),
            collectors,
            context: ReadContext::new(self.reference.as_ref(), &self.levels, &self.room),
            group: GroupFinder::default(),
            codes: Vec::new(),
        })
    }

    fn reset_total(&self) {
        self.programs.iter().for_each(|program| program.reset_counts());
    }

    fn save_total(&self) -> Result<Vec<u8>> {
        let counts =
            self.programs.iter().map(|program| program.serialize_state()).collect::<Result<Vec<_>>>()?;
        postcard::to_stdvec(&counts)
            .map_err(|error| Error::bug(format!("counts cannot be stored: {error}")))
    }

    fn add_saved(&self, saved: &[u8]) -> Result<()> {
        let counts: Vec<Vec<u8>> = postcard::from_bytes(saved).map_err(|error| {
            Error::input(format!("these are not the counts of such a tally: {error}"))
        })?;
        self.programs
            .iter()
            .zip(&counts)
            .try_for_each(|(program, counts)| program.add_serialized_state(counts))
    }

    fn memory_bytes(&self, _: u64) -> u64 {
        self.bytes
    }

    fn detail(&self) -> Detail {
        Detail::Whole
    }
}

/// The maximum number of records that are decoded before each program counts them, so that its
/// code and its tables stay in the processor's first cache for several records. With a reference,
/// `qc --metrics all` takes 2.5 % less CPU time than with one record at a time; without a
/// reference, the difference is below 1 %.
const MAX_DECODED_READS: usize = 16;

/// The maximum number of bases of these records, unless a single record has more.
const MAX_DECODED_BASES: usize = 1 << 14;

/// The counts of all programs on one thread. It decodes each record once and passes it to every
/// program.
struct QcWorker<'a> {
    collectors: Vec<Box<dyn ReadCollector + 'a>>,
    /// Whether any program counts secondary and supplementary records. Otherwise they are not
    /// decoded.
    counts_all: bool,
    context: ReadContext<'a>,
    group: GroupFinder,
    /// The bases of the decoded records, one code per byte. The buffer is reused.
    codes: Vec<u8>,
}

impl QcWorker<'_> {
    /// Decodes the records, and has every program count them.
    ///
    /// # Errors
    /// Fails if [`ReadCollector::count_reads`] fails.
    fn count_records(&mut self, records: &[RecordRef<'_>]) -> Result<()> {
        self.codes.resize(records.iter().map(|&it| PreparedRead::code_bytes(it)).sum(), 0);
        let mut free_codes = &mut self.codes[..];
        // Decoded in place, since a decoded read is large.
        let mut reads: Vec<_> = records
            .iter()
            .map(|&record| {
                let (codes, others) =
                    std::mem::take(&mut free_codes).split_at_mut(PreparedRead::code_bytes(record));
                free_codes = others;
                PreparedRead::decode(record, codes)
            })
            .collect();
        for read in &mut reads {
            read.group = self.group.find_by_name(self.context.levels, read.fields.read_group);
        }
        self.collectors.iter_mut().try_for_each(|it| it.count_reads(&reads, &mut self.context))
    }
}

impl TallyWorker for QcWorker<'_> {
    fn observe(&mut self, batch: &Batch) -> Result<()> {
        if self.collectors.is_empty() {
            return Ok(());
        }
        let (mut records, mut bases) = (Vec::with_capacity(MAX_DECODED_READS), 0);
        for (_, record) in batch.records() {
            if !record.flags().is_primary() && !self.counts_all {
                continue;
            }
            if records.len() == MAX_DECODED_READS || bases + record.l_seq() > MAX_DECODED_BASES {
                self.count_records(&records)?;
                records.clear();
                bases = 0;
            }
            records.push(record);
            bases += record.l_seq();
        }
        self.count_records(&records)?;
        self.collectors.iter_mut().for_each(|collector| collector.flush_sums());
        self.codes.shrink_to(1 << 16);
        Ok(())
    }

    fn merge_into_total(self: Box<Self>) {
        self.collectors.into_iter().for_each(|collector| collector.merge_into_total());
    }
}
