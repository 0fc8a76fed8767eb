//! The hidden subcommand `serial-once`: a sort on one thread, with a clock around each phase that
//! readmill runs on one thread at a time.
//!
//! It makes the same calls as the passes in `src/pipeline`, on the same types and with the same
//! sizes, ticket by ticket:
//!
//! ```text
//! reading   claim* ─ open ─ link* ─ check, accept ─ commit*      * clocked
//! spilling  claim* ─ pack ─ commit*                              each time memory is full
//! merging   claim* ─ order ─ link* ─ gather, encode ─ commit*
//! ```
//!
//! The runner and the progress display are omitted; their cost is per ticket, not per record.
//! Merging runs early, which readmill does if there are very many, is also omitted.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result};
use readmill::memory::Memory;
use readmill::plan::{Destination, Output, Plan, Steps};
use readmill_format::bam::BamEncoder;
use readmill_format::bam::index::{IndexBuilder, IndexScheme};
use readmill_format::bgzf::{Chunk, Codec};
use readmill_format::chain::{ChunkLinker, LinkedRecords, OpenedChunk};
use readmill_format::spill::Spill;
use readmill_format::spill_codec::SpillCodec;
use readmill_input::{MAX_CLAIM_BYTES, Opener, Source};
use readmill_peers::usage;
use readmill_process::limit;
use readmill_record::{Arena, Batch, Charge, Header, Ledger, Limit, RecordRef};
use readmill_sort as sort;
use readmill_sort::{
    Cutter, FrameWriter, Frames, Framing, Keyer, List, Merge, OrderedRange, Partition, Run, RunSort,
    Sources, SpilledRun,
};

use crate::data;
use crate::options::Order;

#[derive(clap::Args)]
pub struct ClockedSortArgs {
    input: PathBuf,
    /// Output, written without the BAM header and the BGZF EOF block
    to: PathBuf,
    /// Compression level
    level: u8,
    /// Order of the output
    order: Order,
    /// MiB of memory that readmill would be given [default: readmill's own]
    memory: Option<u64>,
    /// Threads that readmill would be given; they take a part of the memory
    #[arg(short = '@', long, default_value_t = 2)]
    threads: usize,
}

impl ClockedSortArgs {
    fn divide_memory(&self) -> Result<Memory> {
        let memory = self.memory.map_or_else(limit::default_limit, |mib| mib << 20);
        Ok(Memory::divide(&sort_plan(memory, self.threads, self.level))?)
    }
}

/// Returns the plan of a sort with the settings that determine the division of memory: threads,
/// memory and compression level.
fn sort_plan(memory: u64, threads: usize, level: u8) -> Plan {
    let mut plan = Plan::new(Vec::<PathBuf>::new(), "");
    plan.steps = Steps { sort: Some(sort::Order::Coordinate), ..Steps::default() };
    let output = Output { level: Some(level), ..Output::new("") };
    plan.destination = Destination::Main(output, Vec::new());
    (plan.resources.threads, plan.resources.memory) = (threads, memory);
    plan
}

struct ClockedSort {
    header: Header,
    order: Order,
    sort: RunSort,
    spill: Arc<Spill>,
    memory: Memory,
    charge: Charge,
    arena: Arena,
    run: Run,
    runs: Vec<SpilledRun>,
}

/// Sorts once. Prints the number of records, and the phases of reading, writing runs and merging.
pub fn clock_sort(args: &ClockedSortArgs) -> Result<()> {
    let source = data::open_bam(&args.input)?;
    let header = source.header().clone();
    let directory = args.to.parent().unwrap_or(&args.to);
    let mut drive = ClockedSort::new(args.divide_memory()?, args.order, header, directory)?;
    let (records, reading, spilling) = drive.read_input(source)?;
    let file = File::create(&args.to).with_context(|| format!("cannot write {}", args.to.display()))?;
    let merging = drive.merge_into(file, args.level)?;
    println!("{records}\n{reading}\n{spilling}\n{merging}");
    Ok(())
}

fn own_cpu_time() -> Result<std::time::Duration> {
    Ok(usage::own_usage()?.cpu)
}

impl ClockedSort {
    fn new(memory: Memory, order: Order, header: Header, directory: &Path) -> Result<Self> {
        let keys = sort::Order::parse(order.name()).map_err(anyhow::Error::msg)?;
        Ok(ClockedSort {
            sort: RunSort::new(Keyer::new(keys, &header)),
            order,
            spill: Arc::new(Spill::new(&[directory.to_path_buf()])),
            charge: Ledger::unlimited().empty_charge("reads that wait"),
            arena: Arena::empty(),
            run: Run::new(memory.sizes.list),
            runs: Vec::new(),
            memory,
            header,
        })
    }

    fn framing(&self) -> Framing {
        Framing { size: self.memory.sizes.frame, codec: SpillCodec::default() }
    }

    /// Creates an arena for all reserved reads and one more claim.
    fn new_arena(&self) -> Result<Arena> {
        Ok(Arena::new(self.memory.room as usize + 4 * MAX_CLAIM_BYTES)?)
    }

    /// Reads the whole input, and writes a run whenever memory is full. Returns the number of
    /// records, and the phases of reading and of writing runs.
    fn read_input(&mut self, mut source: Source) -> Result<(u64, Phases, Phases)> {
        let (mut reading, mut spilling, before) =
            (Phases::default(), Phases::default(), own_cpu_time()?);
        let (mut link, mut opener) =
            (ChunkLinker::new(Limit::of_bytes(1 << 30)), Opener::new(&self.header, None));
        let (mut chunk, mut batch) = (Chunk::default(), Batch::default());
        let mut entries = Vec::new();
        self.arena = self.new_arena()?;
        loop {
            if self.is_nearly_full() {
                self.write_run(&mut spilling)?;
            }
            let claim = add_duration(&mut reading.claim, || {
                let claim = source.claim(std::mem::take(&mut chunk))?;
                let bound = claim.as_ref().map_or(0, |claim| claim.max_bam_bytes() as u64);
                anyhow::Ok((claim, self.charge.ledger().charge("reads that wait", bound)?))
            });
            let (claim, mut bound) = claim?;
            let ended = claim.is_none();
            let opened = match claim {
                Some(claim) => {
                    let mut opened = OpenedChunk::reuse(std::mem::take(&mut batch));
                    chunk = opener.open(claim, &mut opened)?;
                    Some(opened)
                }
                None => None,
            };
            let linked = add_duration(&mut reading.link, || {
                let linked = match opened {
                    Some(opened) => link.link_chunk(opened),
                    None => link.finish_input(std::mem::take(&mut batch)),
                };
                let first = linked.batch.records().next();
                first.into_iter().for_each(|read| self.sort.keyer().set_anchor(read.name()));
                linked
            });
            let LinkedRecords { batch: unchecked, first, number, fault } = linked;
            let mut records = unchecked.check(number, self.header.n_ref())?;
            fault.map_or(Ok(()), Err)?;
            records.stamp_templates(first);
            entries.clear();
            self.sort.copy_batch(&self.arena, &records, &mut entries)?;
            let needs = records.record_bytes() + (sort::run::RECORD_OVERHEAD * records.len()) as u64;
            add_duration(&mut reading.commit, || {
                self.run.push(&entries);
                let reads = self.charge.bytes() + needs;
                bound.move_to(&mut self.charge, reads);
            });
            reading.tickets += 1;
            batch = records;
            if ended {
                break;
            }
        }
        reading.cpu = own_cpu_time()? - before - spilling.cpu;
        Ok((link.record_count(), reading, spilling))
    }

    /// Returns whether a run must be written before reading continues. Like readmill, it reserves
    /// memory for claims in flight.
    fn is_nearly_full(&self) -> bool {
        let (room, in_flight) = (self.memory.room, self.memory.crew.in_flight as u64);
        let pieces = 2 * MAX_CLAIM_BYTES as u64 * in_flight; // bytes of claims, and bookkeeping
        self.charge.bytes() >= room - pieces.max(room / 8).min(room / 2)
    }

    /// Takes and sorts everything in memory, to merge it with `runs`.
    fn take_sources(&mut self, runs: Vec<SpilledRun>) -> Sources {
        let arena = std::mem::replace(&mut self.arena, Arena::empty());
        let sealed = Arc::new(arena.seal());
        let (keyer, mut scratch) = (Arc::clone(self.sort.keyer()), Vec::new());
        let unsorted = self.run.take_lists().into_iter();
        let lists =
            unsorted.map(|list| List::sort(list, sealed.bytes(), &keyer, &mut scratch)).collect();
        let (spill, charges) = (Arc::clone(&self.spill), Vec::new());
        Sources { spill, keyer, runs, lists, sealed, charges }
    }

    fn write_run(&mut self, phases: &mut Phases) -> Result<()> {
        let before = own_cpu_time()?;
        let mut merge = Merge::new(Arc::new(self.take_sources(Vec::new())));
        let index = self.charge.ledger().empty_charge("indexes of runs on disk");
        let mut run = SpilledRun::new(self.spill.begin_extent(self.runs.len())?, self.framing(), index);
        let (mut writer, mut frames) = (FrameWriter::new(self.framing()), Frames::default());
        while let Some(range) = add_duration(&mut phases.claim, || merge.next_range()) {
            self.pack_range(range.order_records()?, &mut writer, &mut frames)?;
            add_duration(&mut phases.commit, || run.append_frames(&self.spill, &mut frames))?;
            phases.tickets += 1;
        }
        self.runs.push(run.shrink_index());
        self.charge.resize(0);
        self.arena = self.new_arena()?;
        phases.cpu += own_cpu_time()? - before;
        Ok(())
    }

    fn pack_range(
        &self,
        range: OrderedRange,
        writer: &mut FrameWriter,
        frames: &mut Frames,
    ) -> Result<()> {
        let mut rest = Vec::new();
        Partition::from(range).gather(|stamp, raw| {
            let record = RecordRef::new(raw);
            let key = self.sort.keyer().key(record)?;
            rest.clear();
            if !key.is_decided() {
                self.sort.keyer().write_tail(record, &mut rest);
            }
            writer.push(key, &rest, stamp, raw, frames);
            Ok(())
        })?;
        writer.close_frame(frames);
        Ok(())
    }

    fn merge_into(mut self, mut file: File, level: u8) -> Result<Phases> {
        let (mut phases, before) = (Phases::default(), own_cpu_time()?);
        let runs = std::mem::take(&mut self.runs);
        let mut merge = Merge::new(Arc::new(self.take_sources(runs)));
        let scheme = (self.order == Order::Coordinate).then(|| IndexScheme::for_header(&self.header));
        let mut index = scheme.map(|scheme| IndexBuilder::new(scheme, &self.header));
        let mut encoder = BamEncoder::new(Codec::default(), level, scheme);
        let (mut cutter, mut offset, mut ended) = (Cutter::default(), 0, false);
        let (mut batch, mut bytes) = (Batch::default(), Vec::new());
        while !ended {
            let range = add_duration(&mut phases.claim, || merge.next_range());
            ended = range.is_none();
            let ordered = range.map(sort::Range::order_records).transpose()?;
            let partitions = add_duration(&mut phases.link, || match ordered {
                Some(ordered) => cutter.cut(ordered),
                None => Vec::from_iter(cutter.take_rest()),
            });
            for partition in partitions {
                partition.gather_into(&mut batch)?;
                bytes.clear();
                let fragment = encoder.encode_partition(&batch, &mut bytes);
                file.write_all(&bytes)?;
                add_duration(&mut phases.commit, || {
                    if let (Some(index), Some(fragment)) = (&mut index, fragment) {
                        index.add_fragment(fragment, offset);
                    }
                    offset += bytes.len() as u64;
                });
            }
            phases.tickets += 1;
        }
        phases.cpu = own_cpu_time()? - before;
        Ok(phases)
    }
}

/// Times of the serial phases of one pass. They are printed as five numbers on one line, which
/// `serial` parses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    pub tickets: u64,
    pub claim: Duration,
    pub link: Duration,
    pub commit: Duration,
    /// CPU time of the whole pass, including parallel phases.
    pub cpu: Duration,
}

impl Phases {
    pub fn serial_time(&self) -> Duration {
        self.claim + self.link + self.commit
    }

    /// Adds another pass whose tickets are claimed, linked and committed by the same code.
    pub fn combined_with(self, other: Phases) -> Phases {
        Phases {
            tickets: self.tickets + other.tickets,
            claim: self.claim + other.claim,
            link: self.link + other.link,
            commit: self.commit + other.commit,
            cpu: self.cpu + other.cpu,
        }
    }
}

fn add_duration<T>(time: &mut Duration, todo: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let done = todo();
    *time += started.elapsed();
    done
}

/// Writes the number of tickets, then nanoseconds.
impl fmt::Display for Phases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [claim, link, commit, cpu] =
            [self.claim, self.link, self.commit, self.cpu].map(|time| time.as_nanos());
        write!(f, "{} {claim} {link} {commit} {cpu}", self.tickets)
    }
}

impl FromStr for Phases {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers: Option<Vec<u64>> = text.split(' ').map(|word| word.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[tickets, claim, link, commit, cpu]) => {
                let [claim, link, commit, cpu] = [claim, link, commit, cpu].map(Duration::from_nanos);
                Ok(Phases { tickets, claim, link, commit, cpu })
            }
            _ => None.with_context(|| format!("no phases: {text:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_phases_are_seen_with_and_without_a_spill() {
        let directory = tempfile::tempdir().unwrap();
        let (input, to) = (directory.path().join("in.bam"), directory.path().join("out.bam"));
        let profile = readmill_simulate::Profile::small().with_pairs(100_000);
        let crew = readmill_engine::Crew { threads: 1, in_flight: 1 };
        let sample = readmill_simulate::Sample::new(profile);
        readmill::sample::write_sample_bam(&sample, &input, 1, crew).unwrap();
        let mut sizes = Vec::new();
        for mib in [1024, 64] {
            let source = data::open_bam(&input).unwrap();
            let (header, memory) =
                (source.header().clone(), Memory::divide(&sort_plan(mib << 20, 2, 1)));
            let drive = ClockedSort::new(memory.unwrap(), Order::Natural, header, directory.path());
            let mut drive = drive.unwrap();
            let (records, reading, spilling) = drive.read_input(source).unwrap();
            assert!(
                records >= 200_000 && reading.cpu > reading.claim && !reading.serial_time().is_zero()
            );
            assert_eq!(drive.runs.is_empty(), mib == 1024);
            assert_eq!(spilling.tickets == 0, mib == 1024);
            let merging = drive.merge_into(File::create(&to).unwrap(), 1).unwrap();
            assert!(merging.tickets > 9 && merging.cpu > merging.serial_time());
            sizes.push(std::fs::metadata(&to).unwrap().len());
        }
        assert_eq!(sizes[0], sizes[1]);
    }

    #[test]
    fn phases_are_read_as_they_are_written() {
        let mut phases: Phases = "3 70 5 6 1000".parse().unwrap();
        assert_eq!(phases.serial_time(), Duration::from_nanos(81));
        assert_eq!(phases.to_string().parse::<Phases>().unwrap(), phases);
        add_duration(&mut phases.link, || std::thread::sleep(Duration::from_millis(2)));
        assert!(phases.link > Duration::from_millis(1));
        assert!("3 70 5 6".parse::<Phases>().is_err() && "a b c d e".parse::<Phases>().is_err());
    }
}
