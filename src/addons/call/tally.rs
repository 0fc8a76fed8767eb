//! Calls variants of the records of an output, as an ordered tally.
//!
//! ```text
//! pieces, in order ─► ContigsWalk ─► tasks ─► RegionCaller ─► CallJoin ─► pages ─► VcfFile
//!                     one thread at  a        any thread      in order    any      in order
//!                     a time         queue                                thread
//! ```
//!
//! If only variants are reported, GATK draws random numbers for calls and for reads from one generator in
//! turn. The output has the generator, and draws for calls in their order. Where more reads start than are
//! kept, the walk waits for all calls before, takes the generator for the reads, and gives it back.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use readmill_caller::{CallJoin, CalledRegions, CallerOptions, DrawLimit, RegionCaller, RunTables};
use readmill_engine::Crew;
use readmill_format::bam::index::IndexScheme;
use readmill_format::reference::Reference;
use readmill_genotypes::vcf::{HeaderContig, VcfHeader, VcfMode, VcfRecord};
use readmill_jmath::JavaRandom;
use readmill_process::atomic_file::AtomicFile;
use readmill_record::{
    Batch, Charge, Error, Header, Ledger, OrderedTally, PieceMaker, RecordRef, Result, ledger::UserName,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::counts::VariantCounts;
use super::request::CallRequest;
use super::vcf_file::{MIN_PAGE_BYTES, PAGE_BYTES, TextPage, VcfFile};
use super::walk::{CallTask, ContigsWalk};
use crate::addons::add_on::AddOnSetup;

/// The name of calling in the ledger and in `--explain`.
pub(super) const CALLING: UserName = "variant calling";

/// Memory of one thread in bytes: graphs, alignments and likelihoods of a region.
const THREAD_BYTES: u64 = 24 << 20;

/// Usual memory in bytes of a piece and of the tasks that it gives.
const USUAL_PIECE_BYTES: u64 = 3 << 20;

/// Returns the memory for calling in bytes, without the bases of contigs.
pub(super) fn usual_bytes(crew: Crew) -> u64 {
    USUAL_PIECE_BYTES * crew.in_flight as u64 + (THREAD_BYTES + PAGE_BYTES) * crew.threads as u64
}

/// The limit of calls that may be emitted at any time.
const NO_LIMIT: DrawLimit = (usize::MAX, i32::MAX);

/// The records of a batch that are on a contig, as in BAM.
#[derive(Serialize, Deserialize)]
pub(super) struct CallPiece(Vec<u8>);

/// Makes pieces. It keeps no memory.
pub(super) struct CallPieceMaker;

impl PieceMaker for CallPieceMaker {
    type Piece = CallPiece;

    fn make(&mut self, batch: &Batch, _: &mut Charge) -> Result<CallPiece> {
        let mut bytes = Vec::with_capacity(batch.record_bytes() as usize);
        let records = batch.records().filter(|(_, record)| record.ref_id() >= 0);
        records.for_each(|(_, record)| bytes.extend_from_slice(record.raw()));
        Ok(CallPiece(bytes))
    }
}

impl CallPiece {
    fn records(&self) -> impl Iterator<Item = RecordRef<'_>> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let size = u32::from_le_bytes(*rest.first_chunk()?) as usize + 4;
            let (record, after) = rest.split_at_checked(size)?;
            rest = after;
            Some(RecordRef::new(record))
        })
    }
}

/// The calls of an output. Threads share it.
pub(super) struct CallTally {
    request: CallRequest,
    tables: RunTables,
    header: Header,
    /// The name of the sample.
    sample: Vec<u8>,
    reference: Reference,
    ledger: Ledger,
    max_waiting: usize,
    walk: Mutex<ContigsWalk>,
    tasks: Mutex<VecDeque<CallTask>>,
    /// Memory in bytes of tasks that are not joined.
    task_bytes: AtomicU64,
    /// `None` before the files are opened, and after they are complete, as is `file`.
    output: Mutex<Option<CallOutput>>,
    /// Told when tasks are joined.
    joined: Condvar,
    file: Mutex<Option<VcfFile>>,
    /// Pays for the bases of two contigs, because regions of one can wait when the next begins.
    _contigs: Charge,
}

/// Joins the results of tasks to text.
struct CallOutput {
    join: CallJoin,
    /// The number of the next task, and results that wait for it, with their memory in bytes.
    next: u64,
    ready: BTreeMap<u64, (CalledRegions, u64)>,
    /// The generator from which calls draw, and the place up to which they may; `None` while the walk has
    /// the generator. With reference confidence, calls draw nothing.
    random: Option<JavaRandom>,
    limit: DrawLimit,
    /// The error of a task that failed, so that later ones are never joined.
    failure: Option<Error>,
    records: Vec<VcfRecord>,
    /// Lines of the next page, which is full when it has a number of bytes, so that pages and their
    /// compressed bytes do not depend on threads.
    text: Vec<u8>,
    full: Vec<TextPage>,
    pages: u64,
    counts: VariantCounts,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn no_file_error() -> Error {
    Error::bug("variants were called without a file")
}

/// GATK drops all reads of such a file, because their read groups are not in the header.
fn no_sample_error() -> Error {
    Error::input("no read group in the header has a sample name (SM), which variant calling needs")
        .hint(r"set it: readmill prep IN -o OUT --read-group '@RG\tID:1\tSM:NAME'")
}

impl CallTally {
    /// Creates the tally of a run.
    ///
    /// # Errors
    /// Fails if the header has no sample or several samples, if intervals or the reference do not fit it, if a
    /// contig is too long for an index, or if there is too little memory for the bases of contigs.
    pub(super) fn new(request: &CallRequest, setup: &AddOnSetup<'_>) -> Result<Self> {
        let (header, ledger) = (setup.header, setup.ledger);
        let sample = header.lines_of_kind(b"RG").find_map(|group| group.get(b"SM"));
        let sample = sample.ok_or_else(no_sample_error)?.to_vec();
        let reference = setup.reference.ok_or_else(|| Error::bug("variants need a reference"))?;
        let reference = reference.open(ledger)?;
        let mut lengths = Vec::from_iter(header.references().iter().map(|contig| contig.length));
        lengths.sort_unstable();
        let longest = lengths.last().copied().unwrap_or(0);
        if request.index.is_some() && u64::from(longest) > IndexScheme::tbi().max_bases() {
            let what = format!("an index (.tbi) cannot hold a contig of {longest} bases");
            return Err(Error::usage(what).hint("write plain text, with a name that ends in .vcf"));
        }
        let bases = lengths.iter().rev().take(2).map(|&length| u64::from(length)).sum();
        let charge = ledger.charge(CALLING, bases)?;
        let tables = RunTables::new(&request.options);
        let walk = new_walk(request, &tables, &reference, header, ledger)?;
        Ok(CallTally {
            request: request.clone(),
            tables,
            header: header.clone(),
            sample,
            reference,
            ledger: ledger.clone(),
            max_waiting: setup.crew.in_flight,
            walk: Mutex::new(walk),
            tasks: Mutex::default(),
            task_bytes: AtomicU64::new(0),
            output: Mutex::default(),
            joined: Condvar::new(),
            file: Mutex::default(),
            _contigs: charge,
        })
    }

    /// Takes the opened files: the VCF file, then its index if there is one.
    pub(super) fn open_files(&self, mut files: impl Iterator<Item = AtomicFile>) -> Result<()> {
        let target = files.next().ok_or_else(no_file_error)?;
        *lock(&self.file) = Some(VcfFile::new(target, files.next()));
        *lock(&self.output) = Some(self.new_output()?);
        Ok(())
    }

    /// Calls the remaining regions and completes the files under their temporary names. Returns them with the
    /// numbers of variants, or `None` if no files were opened.
    pub(super) fn complete(&self) -> Result<Option<(Vec<AtomicFile>, Value)>> {
        if lock(&self.output).is_none() {
            return Ok(None);
        }
        let mut walk = lock(&self.walk);
        self.return_generator(&mut walk);
        walk.finish(|task| self.add_task(task))?;
        self.write_pending()?;
        let Some(mut output) = lock(&self.output).take() else { return Ok(None) };
        output.limit = NO_LIMIT;
        output.emit()?;
        output.join.finish(&mut output.records);
        output.append_records(&self.header);
        output.end_page();
        self.write_pages(output.full)?;
        let file = lock(&self.file).take().ok_or_else(no_file_error)?;
        Ok(Some((file.complete()?, output.counts.to_value(walk.counts()))))
    }

    /// Returns whether calls draw random numbers.
    fn draws_for_calls(&self) -> bool {
        self.options().mode == VcfMode::Variants
    }

    fn options(&self) -> &CallerOptions {
        &self.request.options
    }

    fn new_caller(&self) -> RegionCaller<'_> {
        RegionCaller::new(self.options(), &self.tables.caller)
    }

    /// Returns an output whose text is the header.
    fn new_output(&self) -> Result<CallOutput> {
        let (header, mode) = (&self.header, self.options().mode);
        let draws = self.draws_for_calls();
        let mut random = JavaRandom::new(0);
        if draws {
            std::mem::swap(lock(&self.walk).random(), &mut random);
        }
        let join = CallJoin::new(self.options())?;
        let contigs = Vec::from_iter(header.references().iter().map(|contig| HeaderContig {
            name: &contig.name,
            length: contig.length,
            assembly: None,
        }));
        let mut text = Vec::new();
        VcfHeader {
            mode,
            bands: join.bands(),
            contigs: &contigs,
            samples: &[&self.sample[..]],
            has_phases: mode != VcfMode::Variants,
            lines: &[concat!("readmillVersion=", env!("CARGO_PKG_VERSION"))],
        }
        .append_text(&mut text);
        Ok(CallOutput {
            join,
            next: 0,
            ready: BTreeMap::new(),
            random: Some(random),
            limit: if draws { (0, i32::MIN) } else { NO_LIMIT },
            failure: None,
            records: Vec::new(),
            text,
            full: Vec::new(),
            pages: 0,
            counts: VariantCounts::default(),
        })
    }

    /// Adds a task to the queue. If many wait, this thread calls them.
    fn add_task(&self, task: CallTask) -> Result<()> {
        self.task_bytes.fetch_add(task.bytes, Ordering::Relaxed);
        lock(&self.tasks).push_back(task);
        while lock(&self.tasks).len() > self.max_waiting {
            self.call_next_task()?;
        }
        Ok(())
    }

    /// Calls the first task that waits. Returns whether there was one.
    fn call_next_task(&self) -> Result<bool> {
        let next = lock(&self.tasks).pop_front();
        let Some(task) = next else { return Ok(false) };
        let watch = PanicWatch(self);
        let called = self.call_task(task);
        std::mem::forget(watch);
        let pages = called.inspect_err(|error| self.record_failure(error.clone()))?;
        self.joined.notify_all();
        self.write_pages(pages)?;
        Ok(true)
    }

    /// Calls the regions of a task, and joins the results that are next in order. Returns full pages.
    fn call_task(&self, task: CallTask) -> Result<Vec<TextPage>> {
        let CallTask { number, contig, regions, bytes } = task;
        let mut caller = self.new_caller();
        let called = caller.call_regions(contig, regions)?;
        let mut output = lock(&self.output);
        let output = output.as_mut().ok_or_else(no_file_error)?;
        output.ready.insert(number, (called, bytes));
        let joined = output.join_ready(&mut caller, &self.header)?;
        self.task_bytes.fetch_sub(joined, Ordering::Relaxed);
        Ok(std::mem::take(&mut output.full))
    }

    /// Keeps the first error of a task, and wakes the thread that waits for it.
    fn record_failure(&self, error: Error) {
        if let Some(output) = &mut *lock(&self.output) {
            output.failure.get_or_insert(error);
        }
        self.joined.notify_all();
    }

    /// Gives the generator to whoever draws next: the walk if it may draw for this record, otherwise the
    /// output.
    fn hand_over_generator(&self, walk: &mut ContigsWalk, record: RecordRef<'_>) -> Result<()> {
        if !walk.may_draw_for(record) {
            if walk.has_generator {
                self.return_generator(walk);
            }
            return Ok(());
        }
        if walk.has_generator {
            return Ok(());
        }
        walk.pass_regions(|task| self.add_task(task))?;
        while self.call_next_task()? {}
        let pages = {
            let is_waiting = |output: &mut Option<CallOutput>| {
                output.as_ref().is_some_and(|it| it.failure.is_none() && it.next < walk.task_count())
            };
            // Other threads call these tasks now, and wait for nothing that this thread has.
            let waited = self.joined.wait_while(lock(&self.output), is_waiting);
            let mut output = waited.unwrap_or_else(PoisonError::into_inner);
            let output = output.as_mut().ok_or_else(no_file_error)?;
            if let Some(error) = &output.failure {
                return Err(error.clone());
            }
            output.limit = walk.draw_limit();
            output.emit()?;
            output.append_records(&self.header);
            output.random.take().into_iter().for_each(|random| *walk.random() = random);
            walk.has_generator = true;
            std::mem::take(&mut output.full)
        };
        self.write_pages(pages)
    }

    /// Raises the limit of calls, and returns the generator to the output if the walk has it.
    fn return_generator(&self, walk: &mut ContigsWalk) {
        if let Some(output) = lock(&self.output).as_mut().filter(|_| self.draws_for_calls()) {
            output.limit = walk.draw_limit();
            if std::mem::take(&mut walk.has_generator) {
                output.random = Some(walk.random().clone());
            }
        }
    }

    fn write_pages(&self, pages: Vec<TextPage>) -> Result<()> {
        for page in pages {
            let is_compressed = lock(&self.file).as_ref().is_some_and(VcfFile::is_compressed);
            let encoded = page.encode(is_compressed);
            lock(&self.file).as_mut().ok_or_else(no_file_error)?.add_page(encoded)?;
        }
        Ok(())
    }
}

fn new_walk(
    request: &CallRequest,
    tables: &RunTables,
    reference: &Reference,
    header: &Header,
    ledger: &Ledger,
) -> Result<ContigsWalk> {
    ContigsWalk::new(&request.options, tables, reference, header, (&request.intervals, ledger))
}

/// Records a failure when it is dropped, which happens only if a task panics.
struct PanicWatch<'a>(&'a CallTally);

impl Drop for PanicWatch<'_> {
    fn drop(&mut self) {
        self.0.record_failure(Error::bug("a thread panicked while it called variants"));
    }
}

impl CallOutput {
    /// Joins the results that are next in order. Returns their memory in bytes.
    fn join_ready(&mut self, caller: &mut RegionCaller<'_>, header: &Header) -> Result<u64> {
        let mut joined = 0;
        while let Some((called, bytes)) = self.ready.remove(&self.next) {
            self.next += 1;
            joined += bytes;
            self.join.add_regions(called, caller)?;
            self.emit()?;
            self.append_records(header);
        }
        Ok(joined)
    }

    /// Makes the records of the calls that may draw now.
    fn emit(&mut self) -> Result<()> {
        let Some(random) = &mut self.random else { return Ok(()) };
        self.join.emit_before(self.limit, random, &mut self.records)
    }

    fn append_records(&mut self, header: &Header) {
        for record in std::mem::take(&mut self.records) {
            self.counts.add(&record);
            let name = header.references().get(record.contig).map_or(&[][..], |contig| &contig.name);
            record.append_line(name, &mut self.text);
            if self.text.len() >= MIN_PAGE_BYTES {
                self.end_page();
            }
        }
    }

    /// Ends the page of the last lines.
    fn end_page(&mut self) {
        let (number, text) = (self.pages, std::mem::take(&mut self.text));
        self.pages += 1;
        self.full.push(TextPage { number, text });
    }
}

impl OrderedTally for CallTally {
    const MEMORY: UserName = CALLING;
    type Piece = CallPiece;
    type Maker = CallPieceMaker;

    fn new_maker(self: &Arc<Self>) -> CallPieceMaker {
        CallPieceMaker
    }

    fn usual_piece_bytes(&self) -> u64 {
        USUAL_PIECE_BYTES
    }

    fn piece_bytes(piece: &CallPiece) -> u64 {
        piece.0.capacity() as u64
    }

    fn heap_bytes(&self) -> u64 {
        let text = lock(&self.output).as_ref().map_or(0, |output| output.text.capacity() as u64);
        let file = lock(&self.file).as_ref().map_or(0, VcfFile::heap_bytes);
        lock(&self.walk).heap_bytes() + self.task_bytes.load(Ordering::Relaxed) + text + file
    }

    fn restart(&self) -> Result<()> {
        let (request, header) = (&self.request, &self.header);
        *lock(&self.walk) = new_walk(request, &self.tables, &self.reference, header, &self.ledger)?;
        lock(&self.tasks).clear();
        self.task_bytes.store(0, Ordering::Relaxed);
        if let Some(file) = &mut *lock(&self.file) {
            file.restart()?;
            *lock(&self.output) = Some(self.new_output()?);
        }
        Ok(())
    }

    fn add(&self, piece: CallPiece) -> Result<()> {
        let mut walk = lock(&self.walk);
        for record in piece.records() {
            if self.draws_for_calls() {
                self.hand_over_generator(&mut walk, record)?;
            }
            walk.add_record(record, |task| self.add_task(task))?;
        }
        if !walk.has_generator {
            self.return_generator(&mut walk);
        }
        Ok(())
    }

    fn write_pending(&self) -> Result<()> {
        while self.call_next_task()? {}
        Ok(())
    }
}
