//! Divides the memory limit `-m`.
//!
//! Peak resident memory, including code and stacks, stays within `-m`. The division depends only on
//! the plan, so it can be shown before anything is read. The memory that remains after the fixed
//! shares holds buffered reads and duplicate ends, which are spilled when it is full.

use std::sync::Arc;

use readmill_bqsr::covariate_worker::WORKER_BYTES;
use readmill_cram as cram;
use readmill_engine::Crew;
use readmill_format::bgzf::DEFAULT_LEVEL;
use readmill_process::limit::{self, PROGRAM_BYTES};
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

/// Memory of a thread: the used part of its stack, and codecs up to level 9.
const THREAD: u64 = MIB;

/// Memory of a thread at levels 10 to 12, whose compressors keep large match tables.
const THREAD_HIGH_LEVEL: u64 = 10 * MIB;

/// The ledger name of recalibration.
pub const RECALIBRATION: UserName = "recalibration";

/// The ledger name of the tickets in progress.
const BATCHES: UserName = "batches in progress";

/// Memory of a ticket in progress. While reading: its compressed chunk, its records and their next
/// form, and, if all records have the minimum size, 27,000 spans, entries and ends. While merging:
/// its records, their compressed form, and the frames that contain them.
const TICKET: u64 = 9 * MIB / 2;

/// Additional memory of a ticket if the partition has the minimum size of CRAM partitions. Larger
/// partitions take more.
const LARGE_TICKET: u64 = 2 * MIB;

/// Copies of the counts of a read group in each thread. While the counts grow, both their old and
/// new form exist; when they are full, the counts of the next read group also exist.
const COUNTS: u64 = 2;

/// Minimum memory for reads. With less, a run would spill all the time.
const MIN_ROOM: u64 = 16 * MIB;

/// Maximum memory for reads, because an entry has 39 bits for a place in the arena.
const MAX_ROOM: u64 = (1 << 39) - 1;

/// Approximate number of entry lists that fill the memory for reads: few enough to merge at once.
const LISTS: u64 = 64;

/// Approximate memory of a buffered read, from which the list length is derived.
const READ_BYTES: u64 = 400;

/// Sizes that depend on the memory for reads. They do not affect the output.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Number of entries that are sorted together. Longer lists do not fit into the cache while
    /// they are sorted; shorter lists make the merge larger.
    pub list: usize,
    /// Bytes of records in each frame of a run on disk.
    pub frame: usize,
}

impl Sizes {
    fn of(room: u64) -> Self {
        let list = (room / (LISTS * READ_BYTES)).clamp(1 << 14, 1 << 20);
        // A hundred runs, each with two and a half frames in memory, take at most a quarter of the
        // room. Larger frames hardly improve compression.
        let frame = (room / 1000).clamp(16 << 10, 64 << 10);
        Sizes { list: 1 << list.ilog2(), frame: 1 << frame.ilog2() }
    }

    /// Returns the scratch memory for sorting one list, in bytes.
    fn scratch_bytes(self) -> u64 {
        (self.list * size_of::<Entry>()) as u64
    }
}

/// The division of a total into named shares.
pub struct Division {
    total: u64,
    shares: Vec<(UserName, u64)>,
}

impl Division {
    fn new(total: u64) -> Self {
        Division { total, shares: Vec::new() }
    }

    /// Adds a share. The shares may exceed the total.
    fn add_share(&mut self, name: UserName, bytes: u64) {
        self.shares.push((name, bytes));
    }

    /// Returns the bytes that no share takes; 0 if the shares exceed the total.
    fn remainder(&self) -> u64 {
        self.total.saturating_sub(self.needed())
    }

    fn needed(&self) -> u64 {
        self.shares.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// Returns the shares, in the order in which they were added.
    pub fn shares(&self) -> &[(UserName, u64)] {
        &self.shares
    }
}

/// The division of a plan's memory.
pub struct Memory {
    /// The number of threads and of tickets in progress.
    pub crew: Crew,
    /// Memory for buffered reads and duplicate ends, in bytes.
    pub room: u64,
    pub sizes: Sizes,
    /// Memory for reads while they are aligned; `None` if no reads are aligned.
    pub aligning: Option<aligning::AlignRoom>,
    /// Bytes that each add-on may use for unusual reads, in plan order.
    pub for_unusual_reads: Vec<u64>,
    /// Bytes reserved for add-ons that count reads in output order, if reads are buffered.
    for_counts: u64,
    /// Whether the shares include CRAM decoders. If not, and an input turns out to be CRAM, their
    /// memory is charged when it is opened (`RunState::charge_fixed_memory`).
    pub decoders: bool,
    pub division: Division,
    /// The ledger, to which the shares are already charged.
    pub ledger: Ledger,
    pub shares: Vec<Charge>,
    /// How much of the share for batches in progress is used.
    pub tickets: Arc<TicketUse>,
}

/// Returns the minimum memory that the plan needs: the first value that suffices, in steps of 1 MiB
/// from its current limit.
pub fn min_memory_bytes(plan: &Plan) -> u64 {
    let mut plan = plan.clone();
    while Memory::divide(&plan).is_err() && plan.resources.memory < MAX_MIN_MEMORY {
        plan.resources.memory += MIB;
    }
    plan.resources.memory
}

/// Returns the part of `for_reads` that is reserved for counts if reads are buffered. At least
/// `min_room` bytes remain for reads.
fn reserved_count_bytes(plan: &Plan, for_reads: u64, min_room: u64) -> u64 {
    if !waits_and_counts(plan) {
        return 0;
    }
    (for_reads / IN_ORDER_PART).min(for_reads.saturating_sub(min_room))
}

/// The limit at which [`min_memory_bytes`] gives up: a plan that is refused with this much memory is refused
/// for another reason.
const MAX_MIN_MEMORY: u64 = 16 << 30;

impl Memory {
    /// Divides the plan's memory.
    ///
    /// # Errors
    /// Returns a usage error with the minimum memory if the limit is too small.
    pub fn divide(plan: &Plan) -> Result<Self> {
        Memory::divide_for(plan, &AlignScope::Whole)
    }

    /// Divides the plan's memory for a run that opens only `scope` of the reads to be aligned.
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
            usual_crew(threads)
        };
        Memory::divide_among(plan, needs, wide)
            .or_else(|_| Memory::divide_among(plan, needs, min_crew(threads)))
    }

    /// Divides the plan's memory for `crew`.
    fn divide_among(plan: &Plan, needs: Option<aligning::AlignNeeds>, crew: Crew) -> Result<Self> {
        let threads = crew.threads;
        let mut division = Division::new(plan.resources.memory);
        let level =
            plan.destination.main_output().and_then(|output| output.level).unwrap_or(DEFAULT_LEVEL);
        let thread = if level > 9 { THREAD_HIGH_LEVEL } else { THREAD };
        division.add_share("program", PROGRAM_BYTES);
        division.add_share("threads and codecs", thread * threads as u64);
        division.add_share(BATCHES, TICKET * crew.in_flight as u64);
        if let Some(needs) = &needs {
            division.add_share("the aligner's index", needs.index);
            division.add_share("aligners", needs.thread * threads as u64);
            division.add_share("reads to align", needs.read_memory_bytes(crew));
        }
        if let Some(wanted) = &plan.merging {
            division
                .add_share("reads and alignments to merge", merging::waiting_memory_bytes(wanted, crew));
        }
        if let Some(parts) = plan.destination.formats().find_map(|format| format.large_parts()) {
            let LargeParts { bytes, encoder_bytes, shares: [encoders, under_way], .. } = parts;
            division.add_share(encoders, (encoder_bytes + 2 * bytes) * threads as u64);
            // The share of batches in progress includes partitions of BAM.
            let more = LARGE_TICKET + 2 * bytes.saturating_sub(LARGE_TICKET);
            division.add_share(under_way, more * crew.in_flight as u64);
        }
        let decoders = open_input::is_any_cram(&plan.inputs);
        if decoders {
            division.add_share("CRAM decoders", (cram::DECODER_BYTES * threads) as u64);
        }
        if let Some(wanted) = plan.steps.recalibration.as_ref().and_then(|it| it.table_request()) {
            let counts = COUNTS * recal_setup::max_counter_bytes(&wanted.counting);
            division.add_share(RECALIBRATION, (WORKER_BYTES as u64 + counts) * threads as u64);
        }
        for (name, bytes) in plan.steps.filters.facts().filter_map(|facts| facts.thread_memory) {
            division.add_share(name, bytes * threads as u64);
        }
        let extra_files = plan.destination.max_extra_files();
        if extra_files > 0 {
            // The batches of the tickets, and buffers.
            let tickets = MIB * (crew.in_flight * plan.destination.max_copies()) as u64;
            division.add_share("other outputs", extra_writer::max_buffer_bytes(extra_files) + tickets);
        }
        take_for_add_ons(&mut division, plan, crew);
        let sizes = Sizes::of(division.remainder());
        division.add_share("sorting", sizes.scratch_bytes() * threads as u64);
        let min_room = MIN_ROOM.max(plan.max_optical_bytes());
        // Short or repetitive reads with many candidate alignments, and long reads, need more
        // memory than usual while they are aligned. A quarter of the remaining memory is reserved
        // for them.
        let left = division.remainder();
        let more = needs.map_or(0, |_| (left / 4).min(left.saturating_sub(min_room)));
        if more > 0 {
            division.add_share("long reads and many candidate alignments", more);
        }
        let for_unusual_reads = take_for_unusual_reads(&mut division, plan, min_room);
        let aligning = needs.map(|needs| aligning::AlignRoom {
            reads: needs.batch_memory_bytes(crew.in_flight).saturating_add(more),
            long: more,
            // With more memory, more tickets are in progress.
            others: plan.resources.memory.saturating_sub(left).saturating_add(
                (TICKET + needs.ticket) * (aligning_crew(threads).in_flight - crew.in_flight) as u64,
            ),
            left: min_room,
        });
        let for_counts = reserved_count_bytes(plan, division.remainder(), min_room);
        let room = (division.remainder() - for_counts).min(MAX_ROOM);
        if room < min_room {
            let min_mib = division.needed().saturating_add(min_room).div_ceil(MIB);
            return Err(Error::usage(format!(
                "this command needs at least -m {min_mib}M with {}, but -m is {}M",
                count_threads(threads),
                plan.resources.memory / MIB
            ))
            .hint(if threads == 1 { "raise -m" } else { "raise -m, or use fewer threads" }));
        }
        let ledger = Ledger::with_capacity(division.total);
        let charges = division.shares.iter().map(|&(name, bytes)| ledger.charge(name, bytes));
        let shares = charges.collect::<Result<_>>()?;
        if waits_and_counts(plan) {
            let ordered = plan.reports.add_ons.iter().filter_map(|add_on| add_on.order());
            let keepers = ordered.map(|ordered| ordered.memory).collect();
            ledger.keep_free_for(for_counts, IN_ORDER_PART, keepers);
        }
        ledger.record_used("program", used::peak_resident_bytes().unwrap_or(PROGRAM_BYTES));
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

/// Divisor for the memory reserved for counts in output order, as a part of the memory for reads.
/// Without the reservation, buffered reads would take all of it.
const IN_ORDER_PART: u64 = 8;

/// Returns whether reads are buffered and then counted in output order.
fn waits_and_counts(plan: &Plan) -> bool {
    let waits = plan.order() != Order::Input || plan.steps.duplicates.is_some();
    waits && plan.reports.counts_in_order()
}

/// Adds the shares of add-ons: first those for the counts of each thread, then the others in the
/// order of their turns.
fn take_for_add_ons(division: &mut Division, plan: &Plan, crew: Crew) {
    let (add_ons, facts) = (&plan.reports.add_ons, plan.run_facts());
    for MemoryShare { name, bytes } in add_ons.iter().filter_map(|add_on| add_on.thread_memory()) {
        division.add_share(name, bytes * (crew.threads as u64 + 1));
    }
    for (_, add_on) in add_ons.by_turn() {
        for MemoryShare { name, bytes } in add_on.memory_shares(&facts, crew) {
            division.add_share(name, bytes);
        }
    }
}

/// Takes the memory that add-ons may need for unusual reads from the memory for reads, but leaves
/// at least `min_room` bytes. Returns the bytes for each add-on, in plan order.
fn take_for_unusual_reads(division: &mut Division, plan: &Plan, min_room: u64) -> Vec<u64> {
    let add_ons = &plan.reports.add_ons;
    let mut all = vec![0; add_ons.iter().count()];
    for (number, add_on) in add_ons.by_turn() {
        let Some(RoomShare { name, parts }) = add_on.room_share() else { continue };
        let free = division.remainder();
        let bytes = (free / parts.max(2)).min(free.saturating_sub(min_room));
        if bytes > 0 {
            division.add_share(name, bytes);
        }
        all[number] = bytes;
    }
    all
}

/// Returns the usual crew: enough tickets that no thread waits for the oldest one if all take about
/// the same time. More tickets would only use memory.
fn usual_crew(threads: usize) -> Crew {
    Crew { threads, in_flight: (2 * threads).min((threads + 4).max(threads + threads / 2)) }
}

/// Returns the smallest crew, for when memory is short.
fn min_crew(threads: usize) -> Crew {
    Crew { threads, in_flight: (2 * threads).min(threads + 4) }
}

/// Returns the crew for aligning, in which some tickets take much longer than others.
fn aligning_crew(threads: usize) -> Crew {
    Crew { threads, in_flight: 4 * threads }
}

/// Returns the number of threads in words: `1 thread`, `2 threads`.
pub fn count_threads(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

/// Returns by how much `-m` must grow to give reads `bytes` more memory. The result may be larger
/// than `bytes`, because counts in output order and add-ons take a part of the memory for reads.
pub fn extra_memory_for_room(plan: &Plan, memory: &Memory, bytes: u64) -> u64 {
    let with_share = |bytes: u64, parts: u64| bytes.saturating_mul(parts).div_ceil(parts.max(2) - 1);
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

/// Returns the memory for aligning on `threads` threads in bytes, excluding the steps.
pub fn aligning_bytes(wanted: &Aligning, threads: usize) -> Result<u64> {
    let (needs, crew) = (aligning::estimate_needs(wanted)?, aligning_crew(threads.max(1)));
    let beside = needs.index + needs.thread * threads as u64 + TICKET * crew.in_flight as u64;
    Ok(needs.read_memory_bytes(crew).saturating_add(beside))
}

/// Returns the memory for merging alignments on `threads` threads in bytes, excluding the steps.
pub fn merging_bytes(wanted: &plan::Merging, threads: usize) -> u64 {
    let crew = aligning_crew(threads.max(1));
    merging::waiting_memory_bytes(wanted, crew) + TICKET * crew.in_flight as u64
}
