//! Measures threads that read, work and write in turns for a while: reads per second of CPU time.
//!
//! With more threads than cores this shows the cost of waiting. It cannot show how reading scales,
//! for which a machine with many cores is needed.
#![allow(clippy::disallowed_methods, reason = "threads are measured here")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::clock::{Work, process_cpu_time};
use crate::files::Files;
use crate::locks::{Lock, LockKind};
use crate::ours;
use crate::parsing::{FastqSource, PairBatch, ReadingWay};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Threads only work; input is free.
    Free,
    /// Under a lock. What was read is written under locks of the same kind; the number is that of
    /// outputs, 0 for none.
    Locked(ReadingWay, LockKind, usize),
    Ours,
}

#[derive(Clone, Copy, Debug)]
pub struct Trial {
    pub access: Access,
    pub threads: usize,
    pub work: f64,
    pub time: Duration,
}

/// Nodes that threads are divided into for the locks that know about nodes. The machine itself may
/// have only one.
const NODES: usize = 2;

const FREE_BATCH_READS: u64 = 64;

/// Bytes after which an output starts over.
const MAX_OUTPUT_BYTES: usize = 1 << 20;

pub struct TrialRunner<'a> {
    pub files: &'a Files,
    pub work: Work,
}

/// Reads that were processed, and CPU time of all threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrialResult {
    pub reads: u64,
    pub cpu: Duration,
}

impl TrialResult {
    pub fn rate(&self) -> f64 {
        self.reads as f64 / self.cpu.as_secs_f64().max(1e-9)
    }
}

impl TrialRunner<'_> {
    /// Runs one measurement.
    ///
    /// # Errors
    ///
    /// If files cannot be read, or if a lock lets two threads in at the same time.
    pub fn run_trial(&self, scene: Trial) -> io::Result<TrialResult> {
        match scene.access {
            Access::Free => Ok(self.run_free(scene)),
            Access::Ours => self.run_ours(scene),
            Access::Locked(way, kind, stripes) => self.run_locked(scene, way, kind, stripes),
        }
    }

    fn run_free(&self, scene: Trial) -> TrialResult {
        let count = AtomicU64::new(0);
        let done = run_threads(scene, |_, go_on| {
            while go_on() {
                (0..FREE_BATCH_READS).for_each(|_| self.work.spend(scene.work));
                count.fetch_add(FREE_BATCH_READS, Ordering::Relaxed);
            }
        });
        TrialResult { reads: count.into_inner(), cpu: done }
    }

    fn run_ours(&self, scene: Trial) -> io::Result<TrialResult> {
        let end = Instant::now() + scene.time;
        let mut passed = TrialResult::default();
        let [one, two] = &self.files.plain;
        let work = |reads: &readmill_record::ReadBatch| {
            (0..reads.len()).for_each(|_| self.work.spend(scene.work))
        };
        while Instant::now() < end {
            let done = ours::read_pairs([one, two], scene.threads, work, || Instant::now() < end)?;
            passed.reads += done.reads;
            passed.cpu += done.cpu;
        }
        Ok(passed)
    }

    fn run_locked(
        &self,
        scene: Trial,
        way: ReadingWay,
        kind: LockKind,
        stripes: usize,
    ) -> io::Result<TrialResult> {
        let shared = Shared {
            input: (kind.make_lock(scene.threads, NODES), Mutex::new(self.files.open_for(way)?)),
            outputs: (0..stripes)
                .map(|_| (kind.make_lock(scene.threads, NODES), Mutex::default()))
                .collect(),
            failed: Mutex::new(None),
            stop: AtomicBool::new(false),
        };
        let count = AtomicU64::new(0);
        let cpu = run_threads(scene, |thread, go_on| {
            let mut batch = PairBatch::default();
            while go_on() && !shared.stop.load(Ordering::Relaxed) {
                if let Err(error) = shared.read_batch(thread, way, &mut batch) {
                    return shared.record_failure(error);
                }
                (0..batch.reads.len()).for_each(|_| self.work.spend(scene.work));
                if let Err(error) = shared.write_batch(thread, &batch) {
                    return shared.record_failure(error);
                }
                count.fetch_add(batch.reads.len() as u64, Ordering::Relaxed);
            }
        });
        match shared.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(TrialResult { reads: count.into_inner(), cpu }),
        }
    }
}

/// Runs `act` on all threads for the time of the scene, and returns the CPU time of all.
fn run_threads(scene: Trial, act: impl Fn(usize, &dyn Fn() -> bool) + Sync) -> Duration {
    let (start, stop) = (process_cpu_time(), AtomicBool::new(false));
    thread::scope(|scope| {
        for number in 0..scene.threads {
            let (act, stop) = (&act, &stop);
            scope.spawn(move || act(number, &|| !stop.load(Ordering::Relaxed)));
        }
        thread::sleep(scene.time);
        stop.store(true, Ordering::Relaxed);
    });
    process_cpu_time() - start
}

/// A lock and the data that it guards. The mutex is always free for the holder of the lock; if it
/// is not, the lock is broken.
type Guarded<T> = (Box<dyn Lock + Send>, Mutex<T>);

struct Shared {
    input: Guarded<[FastqSource; 2]>,
    outputs: Vec<Guarded<Vec<u8>>>,
    failed: Mutex<Option<io::Error>>,
    stop: AtomicBool,
}

impl Shared {
    fn read_batch(&self, thread: usize, way: ReadingWay, batch: &mut PairBatch) -> io::Result<()> {
        let mut taken = Ok(false);
        hold_exclusively(&self.input, thread, |files| taken = way.take_text(files, batch))?;
        taken?;
        way.parse_text(batch)
    }

    fn write_batch(&self, thread: usize, batch: &PairBatch) -> io::Result<()> {
        let Some(stripe) = self.outputs.get(thread % self.outputs.len().max(1)) else { return Ok(()) };
        hold_exclusively(stripe, thread, |text| {
            if text.len() > MAX_OUTPUT_BYTES {
                text.clear();
            }
            text.extend_from_slice(batch.reads.text());
        })
    }

    fn record_failure(&self, error: io::Error) {
        self.stop.store(true, Ordering::Relaxed);
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

fn hold_exclusively<T>(
    (lock, guarded): &Guarded<T>,
    thread: usize,
    with: impl FnOnce(&mut T),
) -> io::Result<()> {
    let (mut with, mut free) = (Some(with), true);
    lock.run_critical(thread, &mut || {
        let mut inside = match guarded.try_lock() {
            Ok(inside) => inside,
            Err(TryLockError::Poisoned(inside)) => inside.into_inner(),
            Err(TryLockError::WouldBlock) => {
                free = false;
                return;
            }
        };
        if let Some(with) = with.take() {
            with(&mut inside);
        }
    });
    if free { Ok(()) } else { Err(io::Error::other("two threads hold a lock at once")) }
}
