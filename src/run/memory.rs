//! Divides the memory limit `-m`.
//!
//! Peak resident memory stays within `-m`, code and stacks included. The division depends on the plan
//! alone, so it can be shown before anything is read. What is left after the fixed shares holds waiting
//! reads and duplicate ends; when it is full, it is spilled.

use std::sync::Arc;

use readmill_bqsr::covariate_worker::WORKER_BYTES;
use readmill_cram as cram;
use readmill_engine::Crew;
use readmill_format::bgzf::DEFAULT_LEVEL;
use readmill_process::limit::{self, PROGRAM};
use readmill_process::used;
use readmill_record::{Charge, Error, Ledger, Result, ledger::UserName};
use readmill_sort::{Entry, Order};

use crate::addons::{MemoryShare, RoomShare};
use crate::aligning;
use crate::formats::LargeParts;
use crate::merging;
use crate::outputs::extra_writer;
use crate::pipeline::feed::TicketUse;
use crate::pipeline::open_input;
use crate::plan::{self, Aligning, Plan};
use crate::run::align_scope::AlignScope;
use crate::run::recal_setup;

const MIB: u64 = 1 << 20;

/// A thread's stack as far as it is used, and its codecs up to level 9.
const THREAD: u64 = MIB;

/// A compressor of level 10 to 12 keeps large match tables.
const THREAD_HIGH_LEVEL: u64 = 10 * MIB;

/// The name of what recalibration takes.
pub const RECALIBRATION: UserName = "recalibration";

/// The name of the share of tickets under way.
const BATCHES: UserName = "batches in progress";

/// A ticket under way. Reading: its compressed chunk, its records and their next form, and, where all are
/// as small as they can be, 27,000 spans, entries and ends. Merging: its records, their compressed
/// form and the frames they come from.
const TICKET: u64 = 9 * MIB / 2;

/// Extra memory of a ticket whose partition is as large as the smallest of CRAM; a larger one takes more.
const LARGE_TICKET: u64 = 2 * MIB;

/// How many copies of the counts of a read group a thread holds: while they grow, both forms, and those of the next
/// read group when the others are full.
const COUNTS: u64 = 2;

/// The least memory for reads; with less, a run would spill all the time.
const MIN_ROOM: u64 = 16 * MIB;

/// An entry has 39 bits for a place in the arena.
const MAX_ROOM: u64 = (1 << 39) - 1;

/// About how many lists of entries fill the room: few enough to be merged at once.
const LISTS: u64 = 64;

/// About how many bytes a read takes while it waits, for the length of lists.
const READ_BYTES: u64 = 400;

/// Sizes that follow from the room. No output depends on them.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Entries that are sorted together. (Longer lists leave the cache while they are sorted, shorter ones
    /// make more of them to merge.)
    pub list: usize,
    /// Bytes of records in a frame of a run on disk.
    pub frame: usize,
}

impl Sizes {
    fn of(room: u64) -> Self {
        let list = (room / (LISTS * READ_BYTES)).clamp(1 << 14, 1 << 20);
        // A hundred runs, of each of which two frames and a half are in memory, take a quarter of the room at
        // most. Larger frames than these are compressed hardly better.
        let frame = (room / 1000).clamp(16 << 10, 64 << 10);
        Sizes { list: 1 << list.ilog2(), frame: 1 << frame.ilog2() }
    }

    /// Scratch to sort a list in.
    fn scratch(self) -> u64 {
        (self.list * size_of::<Entry>()) as u64
    }
}

/// How one total is divided among named shares.
pub struct Division {
    total: u64,
    shares: Vec<(UserName, u64)>,
}

impl Division {
    fn new(total: u64) -> Self {
        Division { total, shares: Vec::new() }
    }

    /// Adds a share, which need not fit.
    fn take(&mut self, name: UserName, bytes: u64) {
        self.shares.push((name, bytes));
    }

    /// The bytes that no share has; none where the shares exceed the total.
    fn remainder(&self) -> u64 {
        self.total.saturating_sub(self.needed())
    }

    fn needed(&self) -> u64 {
        self.shares.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// The shares, in the order in which they were taken.
    pub fn shares(&self) -> &[(UserName, u64)] {
        &self.shares
    }
}

/// The division of a plan's memory.
pub struct Memory {
    /// Threads, and tickets under way.
    pub crew: Crew,
    /// Bytes for waiting reads and duplicate ends.
    pub room: u64,
    /// Sizes of lists and frames.
    pub sizes: Sizes,
    /// Memory of reads while they are aligned; `None` if none are.
    pub aligning: Option<aligning::AlignRoom>,
    /// Bytes that each add-on of the plan may take for unusual reads, in the order of the plan.
    pub for_unusual_reads: Vec<u64>,
    /// Bytes that are kept for what is counted of reads in order, where they wait before.
    for_counts: u64,
    /// Whether the shares include CRAM decoders. If not, and an input turns out to be CRAM, their memory is charged when it is
    /// opened (`RunState::reserve`).
    pub decoders: bool,
    /// The shares, for `--explain`.
    pub division: Division,
    /// The ledger for everything else. The shares are charged already.
    pub ledger: Ledger,
    /// The charges of the shares.
    pub shares: Vec<Charge>,
    /// How much of the share of batches under way is used.
    pub tickets: Arc<TicketUse>,
}

/// Returns the least memory with which this plan can be carried out, in steps of 1 MiB from what it has.
pub fn min_of(plan: &Plan) -> u64 {
    let mut plan = plan.clone();
    while Memory::divide(&plan).is_err() && plan.resources.memory < MAX_MIN_MEMORY {
        plan.resources.memory += MIB;
    }
    plan.resources.memory
}

/// Returns the part of `for_reads` that is kept for counts where reads wait for each other, but not of `least_room`.
fn keep_for_counts(plan: &Plan, for_reads: u64, least_room: u64) -> u64 {
    if !waits_and_counts(plan) {
        return 0;
    }
    (for_reads / IN_ORDER_PART).min(for_reads.saturating_sub(least_room))
}

/// Where [`least_of`] gives up: what is refused with so much memory is refused for another reason.
const MAX_MIN_MEMORY: u64 = 16 << 30;

impl Memory {
    /// Divides the plan's memory, or returns an error that names the least memory.
    pub fn divide(plan: &Plan) -> Result<Self> {
        Memory::divide_for(plan, &AlignScope::Whole)
    }

    /// The same for a run that opens so much of the reads that are to be aligned.
    pub(crate) fn divide_for(plan: &Plan, scope: &AlignScope) -> Result<Self> {
        let needs = match (&plan.aligning, scope) {
            (None, _) | (_, AlignScope::Header) => None,
            (Some(wanted), AlignScope::Scan) => {
                Some(aligning::estimate_needs(wanted)?.without_aligning())
            }
            (Some(wanted), _) => Some(aligning::estimate_needs(wanted)?),
        };
        let threads = plan.resources.threads.max(1);
        limit::check_address_space(plan.resources.memory, threads)?;
        let wide = if needs.is_some() || plan.merging.is_some() {
            aligning_crew(threads)
        } else {
            crew(threads)
        };
        Memory::among(plan, needs, wide).or_else(|_| Memory::among(plan, needs, min_crew(threads)))
    }

    /// Divides the memory for this crew.
    fn among(plan: &Plan, needs: Option<aligning::AlignNeeds>, crew: Crew) -> Result<Self> {
        let threads = crew.threads;
        let mut division = Division::new(plan.resources.memory);
        let level = plan.destination.main().and_then(|output| output.level).unwrap_or(DEFAULT_LEVEL);
        let thread = if level > 9 { THREAD_HIGH_LEVEL } else { THREAD };
        division.take("program", PROGRAM);
        division.take("threads and codecs", thread * threads as u64);
        division.take(BATCHES, TICKET * crew.in_flight as u64);
        if let Some(needs) = &needs {
            division.take("the aligner's index", needs.index);
            division.take("aligners", needs.thread * threads as u64);
            division.take("reads to align", needs.read_memory_bytes(crew));
        }
        if let Some(wanted) = &plan.merging {
            division.take("reads and alignments to merge", merging::waiting_memory_bytes(wanted, crew));
        }
        if let Some(parts) = plan.destination.formats().find_map(|format| format.large_parts()) {
            let LargeParts { bytes, encoder_bytes, shares: [encoders, under_way], .. } = parts;
            division.take(encoders, (encoder_bytes + 2 * bytes) * threads as u64);
            // The batches under way have room for partitions of BAM.
            let more = LARGE_TICKET + 2 * bytes.saturating_sub(LARGE_TICKET);
            division.take(under_way, more * crew.in_flight as u64);
        }
        let decoders = open_input::is_any_cram(&plan.inputs);
        if decoders {
            division.take("CRAM decoders", (cram::DECODER_BYTES * threads) as u64);
        }
        if let Some(wanted) = plan.steps.recalibration.as_ref().and_then(|it| it.table_request()) {
            let counts = COUNTS * recal_setup::max_counter_bytes(&wanted.counting);
            division.take(RECALIBRATION, (WORKER_BYTES as u64 + counts) * threads as u64);
        }
        for (name, bytes) in plan.steps.filters.facts().filter_map(|facts| facts.thread_memory) {
            division.take(name, bytes * threads as u64);
        }
        let extra_files = plan.destination.max_extra_files();
        if extra_files > 0 {
            // What tickets bring, and buffers.
            let tickets = MIB * (crew.in_flight * plan.destination.max_copies()) as u64;
            division.take("other outputs", extra_writer::memory(extra_files) + tickets);
        }
        take_for_add_ons(&mut division, plan, crew);
        let sizes = Sizes::of(division.remainder());
        division.take("sorting", sizes.scratch() * threads as u64);
        let least_room = MIN_ROOM.max(plan.max_optical_bytes());
        // Candidates of short or repetitive reads take more than is usual, and so do long reads while they are aligned; a
        // quarter of what is left is for that.
        let left = division.remainder();
        let more = needs.map_or(0, |_| (left / 4).min(left.saturating_sub(least_room)));
        if more > 0 {
            division.take("long reads and many candidate alignments", more);
        }
        let for_unusual_reads = take_for_unusual_reads(&mut division, plan, least_room);
        let aligning = needs.map(|needs| aligning::AlignRoom {
            reads: needs.batch_memory_bytes(crew.in_flight).saturating_add(more),
            long: more,
            // With more memory, more tickets are under way.
            others: plan.resources.memory.saturating_sub(left).saturating_add(
                (TICKET + needs.ticket) * (aligning_crew(threads).in_flight - crew.in_flight) as u64,
            ),
            left: least_room,
        });
        let for_counts = keep_for_counts(plan, division.remainder(), least_room);
        let room = (division.remainder() - for_counts).min(MAX_ROOM);
        if room < least_room {
            let least = division.needed().saturating_add(least_room).div_ceil(MIB);
            return Err(Error::usage(format!(
                "this command needs at least -m {least}M with {threads} threads, but -m is {}M",
                plan.resources.memory / MIB
            ))
            .hint("raise -m, or use fewer threads"));
        }
        let ledger = Ledger::with_capacity(division.total);
        let charges = division.shares.iter().map(|&(name, bytes)| ledger.charge(name, bytes));
        let shares = charges.collect::<Result<_>>()?;
        if waits_and_counts(plan) {
            let ordered = plan.reports.add_ons.iter().filter_map(|add_on| add_on.order());
            let keepers = ordered.map(|ordered| ordered.memory).collect();
            ledger.keep_free_for(for_counts, IN_ORDER_PART, keepers);
        }
        ledger.record_used("program", used::peak_resident_bytes().unwrap_or(PROGRAM));
        let tickets = Arc::new(TicketUse::new(&ledger, BATCHES, crew.in_flight));
        Ok(Memory {
            crew,
            room,
            sizes,
            aligning,
            for_unusual_reads,
            for_counts,
            decoders,
            division,
            ledger,
            shares,
            tickets,
        })
    }
}

/// The part of what is left for reads that is kept for what is counted of them in order, where they wait before: they would
/// take it all.
const IN_ORDER_PART: u64 = 8;

/// Whether reads wait, and are counted in order behind that.
fn waits_and_counts(plan: &Plan) -> bool {
    let waits = plan.order() != Order::Input || plan.steps.duplicates.is_some();
    waits && plan.reports.counts_in_order()
}

/// Takes the shares that add-ons state: first what each thread counts, then the others in the order of their turns.
fn take_for_add_ons(division: &mut Division, plan: &Plan, crew: Crew) {
    let (add_ons, facts) = (&plan.reports.add_ons, plan.run_facts());
    for MemoryShare { name, bytes } in add_ons.iter().filter_map(|add_on| add_on.thread_memory()) {
        division.take(name, bytes * (crew.threads as u64 + 1));
    }
    for (_, add_on) in add_ons.by_turn() {
        for MemoryShare { name, bytes } in add_on.memory_shares(&facts, crew) {
            division.take(name, bytes);
        }
    }
}

/// Takes what add-ons may need for unusual reads from the memory for reads, and leaves at least `least_room` for these.
/// Returns the bytes of each add-on, in the order of the plan.
fn take_for_unusual_reads(division: &mut Division, plan: &Plan, least_room: u64) -> Vec<u64> {
    let add_ons = &plan.reports.add_ons;
    let mut all = vec![0; add_ons.iter().count()];
    for (number, add_on) in add_ons.by_turn() {
        let Some(RoomShare { name, parts }) = add_on.room_share() else { continue };
        let free = division.remainder();
        let bytes = (free / parts).min(free.saturating_sub(least_room));
        if bytes > 0 {
            division.take(name, bytes);
        }
        all[number] = bytes;
    }
    all
}

/// The usual crew: enough tickets that no thread waits for the oldest one, if all take about as long; more would only
/// take memory.
fn crew(threads: usize) -> Crew {
    Crew { threads, in_flight: (2 * threads).min((threads + 4).max(threads + threads / 2)) }
}

/// The smallest crew, where memory is short.
fn min_crew(threads: usize) -> Crew {
    Crew { threads, in_flight: (2 * threads).min(threads + 4) }
}

/// The crew for aligning, where some tickets take much longer than others.
fn aligning_crew(threads: usize) -> Crew {
    Crew { threads, in_flight: 4 * threads }
}

/// Returns by how much `-m` must grow to give reads `bytes` more: counts in order and add-ons take a part of the memory for
/// reads, or less where too little would remain.
pub fn for_more_room(plan: &Plan, memory: &Memory, bytes: u64) -> u64 {
    let with_share = |bytes: u64, parts: u64| bytes.saturating_mul(parts).div_ceil(parts - 1);
    let mut wanted = memory.room.saturating_add(bytes);
    if waits_and_counts(plan) {
        wanted = with_share(wanted, IN_ORDER_PART);
    }
    for (_, add_on) in plan.reports.add_ons.by_turn().into_iter().rev() {
        wanted = add_on.room_share().map_or(wanted, |share| with_share(wanted, share.parts));
    }
    let unusual: u64 = memory.for_unusual_reads.iter().sum();
    wanted.saturating_sub(memory.room + memory.for_counts + unusual)
}

/// Returns the bytes that aligning takes on `threads` threads, beside the steps.
pub fn of_aligning(wanted: &Aligning, threads: usize) -> Result<u64> {
    let (needs, crew) = (aligning::estimate_needs(wanted)?, aligning_crew(threads.max(1)));
    let beside = needs.index + needs.thread * threads as u64 + TICKET * crew.in_flight as u64;
    Ok(needs.read_memory_bytes(crew).saturating_add(beside))
}

/// Returns the bytes that merging alignments takes on `threads` threads, beside the steps.
pub fn of_merging(wanted: &plan::Merging, threads: usize) -> u64 {
    let crew = aligning_crew(threads.max(1));
    merging::waiting_memory_bytes(wanted, crew) + TICKET * crew.in_flight as u64
}
