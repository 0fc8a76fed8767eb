//! The only read of the input: chunks in, reads into the arena, until the memory is full.
//!
//! Room is reserved when a chunk is claimed, in claim order, for the most it can need; what it turns out not to
//! need is given back when it is committed. A chunk that finds no room ends the pass and waits for
//! the next one, so a run is a contiguous range of chunks and no chunk waits inside a pass.

use readmill_engine::{Budget, Crew, Pass, Pool};
use readmill_format::bgzf::Chunk;
use readmill_format::chain::{Link, Linked, Opened};
use readmill_format::source::{self, Claim, Opener, Source};
use readmill_record::{Arena, Batch, Error, Header, Result};
use readmill_steps::markdup::{DuplicateEnds, EndsPart};
use readmill_steps::sort::{Entry, RunSort, run};
use readmill_steps::{Step, markdup};

use super::Steps;
use super::held::Held;
use crate::report::Report;

/// Bytes of the smallest possible record (one without a name), for bounds on their number.
const SMALLEST_RECORD: usize = 37;

/// What ingest works with, shared by all threads.
pub struct Ingest<'a> {
    /// The header of the input, before any step changed it.
    pub input_header: &'a Header,
    /// The steps.
    pub steps: &'a [Box<dyn Step>],
    /// How reads are sorted.
    pub sort: RunSort,
    /// What is noted for duplicates.
    pub ends: Option<&'a DuplicateEnds>,
    /// Whether reads of one template must stand together.
    pub must_be_grouped: bool,
    /// Room for waiting reads.
    pub budget: &'a Budget,
    /// Progress.
    pub report: &'a Report,
    /// Buffers that tickets hand on.
    pub pools: Pools,
}

/// Buffers that tickets hand on.
pub struct Pools {
    batches: Pool<Batch>,
    chunks: Pool<Chunk>,
    entries: Pool<Vec<Entry>>,
}

impl Pools {
    /// As many of each as tickets are under way.
    pub fn new(crew: Crew) -> Self {
        let n = crew.in_flight;
        Pools { batches: Pool::new(n), chunks: Pool::new(n), entries: Pool::new(n) }
    }
}

/// What is carried from one pass to the next.
pub struct Feed {
    source: Source,
    link: Link,
    /// A chunk that found no room.
    waiting: Option<Claim>,
    /// Room reserved for records the link holds back.
    held: u64,
    ended: bool,
}

impl Feed {
    /// Begins reading; `first` was taken already.
    pub fn new(source: Source, first: Option<Claim>, max_record: usize) -> Self {
        Feed { source, link: Link::new(max_record), waiting: first, held: 0, ended: false }
    }

    /// Whether everything has been read.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Records read so far, before any filter.
    pub fn records(&self) -> u64 {
        self.link.records()
    }

    /// Room that records held back take.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// Whether some template was too long to be kept together.
    pub fn cut_templates(&self) -> bool {
        self.link.was_cut()
    }
}

/// A claim, or the end of the input.
pub enum Input {
    Claim(Claim, u64),
    End,
}

/// An opened chunk, or the end.
pub enum Open {
    Chunk(Opened, u64),
    End,
}

/// Records with whole templates, and the room they may take.
pub struct Ready {
    linked: Linked,
    reserved: u64,
    held: u64,
}

/// What a ticket leaves behind.
pub struct Done {
    entries: Vec<Entry>,
    ends: EndsPart,
    used: u64,
    reserved: u64,
    held: u64,
}

/// A thread's scratch.
pub struct Worker {
    opener: Opener,
    steps: Steps,
    ends: Option<markdup::Scratch>,
}

struct Filling<'a> {
    ingest: &'a Ingest<'a>,
    arena: &'a Arena,
}

impl Ingest<'_> {
    /// Room needed for `bytes` of records, at most.
    fn bound(&self, bytes: u64) -> u64 {
        let growth: usize = self.steps.iter().map(|step| step.growth()).sum();
        let ends = if self.ends.is_some() { markdup::MOST_BYTES } else { 0 };
        let each = (run::OVERHEAD + growth + ends) as u64;
        bytes + bytes.div_ceil(SMALLEST_RECORD as u64) * each
    }

    /// Room that the next chunk waits for.
    pub fn waiting_for(&self, feed: &Feed) -> u64 {
        feed.waiting.as_ref().map_or(0, |claim| self.bound(claim.bound() as u64))
    }

    /// Reads until the input ends or the memory is full.
    pub fn fill(&self, crew: Crew, feed: &mut Feed, waits: &mut Held) -> Result<()> {
        let Held { arena, run, ends, counts, .. } = waits;
        let filling = Filling { ingest: self, arena };
        let Feed { source, link, waiting, held, ended } = feed;
        let (mut full, mut last_held) = (false, *held);
        let workers = readmill_engine::run(
            crew,
            &filling,
            |_| {
                if *ended || full {
                    return Ok(None);
                }
                let next = match waiting.take() {
                    Some(claim) => Some(claim),
                    None => source.claim(self.pools.chunks.take().unwrap_or_default())?,
                };
                let Some(claim) = next else {
                    *ended = true;
                    return Ok(Some(Input::End));
                };
                let room = self.bound(claim.bound() as u64);
                if !self.budget.try_reserve(room) {
                    *waiting = Some(claim);
                    full = true;
                    return Ok(None);
                }
                self.report.advance(claim.read_bytes() as u64);
                Ok(Some(Input::Claim(claim, room)))
            },
            |_, open| {
                let (linked, reserved) = match open {
                    Open::Chunk(opened, reserved) => (link.link(opened), reserved),
                    Open::End => (link.finish(self.pools.batches.take().unwrap_or_default()), 0),
                };
                *held = self.bound(link.waiting_bytes());
                Ok(Ready { linked, reserved, held: *held })
            },
            |_, done: Done| {
                run.push(&done.entries);
                ends.push(&done.ends);
                if self.must_be_grouped && ends.grouping.is_scattered() {
                    return Err(super::duplicates::not_grouped());
                }
                // What the ticket took, and what its link holds back more than the one before.
                let (needs, had) = (done.used + done.held, done.reserved + last_held);
                last_held = done.held;
                if needs > had {
                    self.budget.settle(0, needs - had);
                } else {
                    self.budget.release(had - needs);
                }
                self.pools.entries.put(done.entries);
                Ok(())
            },
        )?;
        super::count(counts, workers.iter().map(|worker| &worker.steps));
        Ok(())
    }
}

impl Pass for Filling<'_> {
    type Input = Input;
    type Opened = Open;
    type Linked = Ready;
    type Output = Done;
    type Worker = Worker;
    type Error = Error;

    fn worker(&self) -> Worker {
        Worker {
            opener: Opener::new(self.ingest.input_header),
            steps: super::fork(self.ingest.steps),
            ends: self.ingest.ends.map(DuplicateEnds::scratch),
        }
    }

    fn open(&self, worker: &mut Worker, input: Input) -> Result<Open> {
        let Input::Claim(claim, reserved) = input else { return Ok(Open::End) };
        let mut opened = Opened::reuse(self.ingest.pools.batches.take().unwrap_or_default());
        self.ingest.pools.chunks.put(worker.opener.open(claim, &mut opened)?);
        Ok(Open::Chunk(opened, reserved))
    }

    fn work(&self, worker: &mut Worker, ready: Ready) -> Result<Done> {
        let Ready { linked: Linked { mut batch, first, fault }, reserved, held } = ready;
        source::check(&batch, first, self.ingest.input_header.n_ref())?;
        fault.map_or(Ok(()), Err)?;
        batch.stamp(first);
        let mut ends = EndsPart::default();
        if let Some(scratch) = &mut worker.ends {
            scratch.judge(&batch, &mut ends);
        }
        super::apply(&mut worker.steps, &mut batch)?;
        if let (Some(noted), Some(scratch)) = (self.ingest.ends, &mut worker.ends) {
            noted.accept(scratch, &batch, &mut ends);
        }
        let mut entries = self.ingest.pools.entries.take().unwrap_or_default();
        entries.clear();
        if !self.ingest.sort.accept(self.arena, &batch, &mut entries) {
            return Err(Error::usage("the reads at hand do not fit into the memory").hint("raise -m"));
        }
        let used = batch.record_bytes() + (run::OVERHEAD * batch.len()) as u64 + ends.bytes();
        self.ingest.pools.batches.put(batch);
        Ok(Done { entries, ends, used, reserved, held })
    }
}
