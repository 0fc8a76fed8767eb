//! readmill's way of reading: any thread takes any batch of [`PAIRS_PER_BATCH`] pairs, from files that are
//! not padded, and holds no lock while it reads, counts lines or parses.
//!
//! Only two things are serial: the engine's work for a ticket (a lock for a few instructions
//! between two phases of a batch), and the linking of each batch to the previous one.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use readmill_engine::{Crew, Pass, Pool, Ticket};
use readmill_fastq::{BatchLinker, BatchOptions, Claims, FastqLayout, TakenBatch};
use readmill_record::{Error, ReadBatch, Result};

use crate::clock::{process_cpu_time, thread_cpu_time};
use crate::files::{Files, ReadCost};
use crate::project;

pub const PAIRS_PER_BATCH: usize = 1024;

/// Number of times that a thread enters the engine's lock for a batch: claim, open, link, work,
/// commit.
pub const LOCK_VISITS: usize = 5;

/// The result of reading the files once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    pub reads: u64,
    pub cpu: Duration,
    /// Time spent linking batches, which is serial.
    pub linked: Duration,
}

/// Reads both files and calls `work` with every batch, until the files end or `go_on` returns
/// false.
///
/// # Errors
///
/// If the files cannot be read, or are not FASTQ.
pub fn read_pairs(
    files: [&Path; 2],
    threads: usize,
    work: impl Fn(&ReadBatch) + Sync,
    go_on: impl Fn() -> bool + Sync,
) -> io::Result<Done> {
    let start = process_cpu_time();
    let in_flight = 2 * threads.max(2);
    let [one, two] = files.map(Into::into);
    let options =
        BatchOptions { templates: PAIRS_PER_BATCH, max_in_flight: in_flight, ..BatchOptions::default() };
    let claims =
        Arc::new(Claims::open(FastqLayout::Paired(one, two), options).map_err(io::Error::other)?);
    let taking = TakePass { claims: claims.clone(), pool: Pool::new(in_flight), work };
    let (mut order, mut done) = (BatchLinker::new(&claims), Done::default());
    readmill_engine::run_pass(
        Crew { threads, in_flight },
        &taking,
        |ticket| Ok((!claims.has_ended() && go_on()).then_some(ticket)),
        |_, (taken, mut reads)| {
            let start = Instant::now();
            order.link(taken, &mut reads)?;
            done.linked += start.elapsed();
            Ok(reads)
        },
        |_, reads| {
            done.reads += reads.len() as u64;
            taking.pool.put(reads);
            Ok(())
        },
    )
    .map_err(io::Error::other)?;
    done.cpu = process_cpu_time() - start;
    Ok(done)
}

struct TakePass<W> {
    claims: Arc<Claims>,
    pool: Pool<ReadBatch>,
    work: W,
}

impl<W: Fn(&ReadBatch) + Sync> Pass for TakePass<W> {
    type Input = Ticket;
    type Opened = (TakenBatch, ReadBatch);
    type Linked = ReadBatch;
    type Output = ReadBatch;
    type Worker = ();
    type Error = Error;

    fn make_worker(&self) {}

    fn open(&self, (): &mut (), ticket: Ticket) -> Result<(TakenBatch, ReadBatch)> {
        let mut reads = self.pool.take().unwrap_or_default();
        let taken = self.claims.take(ticket, &mut reads);
        Ok((taken, reads))
    }

    fn work(&self, (): &mut (), reads: ReadBatch) -> Result<ReadBatch> {
        (self.work)(&reads);
        Ok(reads)
    }
}

/// A pass that does nothing, to measure the engine alone.
struct EmptyPass;

impl Pass for EmptyPass {
    type Input = ();
    type Opened = ();
    type Linked = ();
    type Output = ();
    type Worker = ();
    type Error = Infallible;

    fn make_worker(&self) {}

    fn open(&self, (): &mut (), (): ()) -> Result<(), Infallible> {
        Ok(())
    }

    fn work(&self, (): &mut (), (): ()) -> Result<(), Infallible> {
        Ok(())
    }
}

fn ns_per_ticket(tickets: Ticket) -> f64 {
    let start = thread_cpu_time();
    let claim = |ticket| Ok((ticket < tickets).then_some(()));
    let crew = Crew { threads: 1, in_flight: 4 };
    let done = readmill_engine::run_pass(crew, &EmptyPass, claim, |_, ()| Ok(()), |_, ()| Ok(()));
    done.map(drop).unwrap_or_else(|never| match never {});
    (thread_cpu_time() - start).as_nanos() as f64 / tickets.max(1) as f64
}

/// Measures readmill's way on one thread. All of the engine's time for a ticket counts as serial,
/// and the linking.
///
/// # Errors
///
/// If the files cannot be read.
pub fn measure_our_way(files: &Files) -> io::Result<project::WayCost> {
    let batch = 2.0 * PAIRS_PER_BATCH as f64;
    let done = read_pairs([&files.plain[0], &files.plain[1]], 1, |_| (), || true)?;
    let per_read = |time: Duration| time.as_nanos() as f64 / done.reads.max(1) as f64;
    let held = ns_per_ticket(50_000) / batch + per_read(done.linked);
    let section = ReadCost { held, all: per_read(done.cpu) };
    Ok(project::WayCost { name: "U, unpadded (ours)".into(), batch, visits: LOCK_VISITS, section })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use super::*;
    use crate::parsing::tests::pairs;
    use crate::parsing::{PairBatch, ReadingWay};

    #[test]
    fn ours_gives_the_pairs_that_the_others_give() {
        let directory = tempfile::tempdir().unwrap();
        let files = Files::simulate_files(directory.path(), 2500).unwrap();
        let (way, mut batch) = (ReadingWay::Batches(100), PairBatch::default());
        let (mut sources, mut expected) = (files.open_for(way).unwrap(), BTreeSet::new());
        while expected.len() < 2500 {
            assert!(way.take_text(&mut sources, &mut batch).unwrap());
            way.parse_text(&mut batch).unwrap();
            expected.extend(pairs(&batch.reads));
        }
        for threads in [1, 4] {
            let found = Mutex::new(BTreeSet::new());
            let work = |reads: &ReadBatch| found.lock().unwrap().extend(pairs(reads));
            let done = read_pairs([&files.plain[0], &files.plain[1]], threads, work, || true).unwrap();
            assert_eq!(done.reads, 5000);
            assert!(found.into_inner().unwrap() == expected);
        }
    }
}
