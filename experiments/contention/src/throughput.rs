//! Measures threads that read, work and write in turns for a while: reads per second of CPU time.
//!
//! With more threads than cores this shows the cost of waiting. It cannot show how reading scales,
//! for which a machine with many cores is needed.
#![allow(clippy::disallowed_methods, reason = "threads are measured here")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};
use std::{io, thread};

use crate::clock::{Work, of_process};
use crate::files::Files;
use crate::locks::{Kind, Lock};
use crate::ours;
use crate::parsing::{Batch, Source, Way};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Threads only work; input is free.
    Free,
    /// Under a lock. What was read is written under locks of the same kind; the number is that of
    /// outputs, 0 for none.
    Locked(Way, Kind, usize),
    Ours,
}

#[derive(Clone, Copy, Debug)]
pub struct Scene {
    pub access: Access,
    pub threads: usize,
    pub work: f64,
    pub time: Duration,
}

/// Nodes that threads are divided into for the locks that know about nodes. The machine itself may
/// have only one.
const NODES: usize = 2;

const FREE_BATCH: u64 = 64;

/// Bytes after which an output starts over.
const STRIPE: usize = 1 << 20;

pub struct Crowd<'a> {
    pub files: &'a Files,
    pub work: Work,
}

/// Reads that were processed, and CPU time of all threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passed {
    pub reads: u64,
    pub cpu: Duration,
}

impl Passed {
    pub fn rate(&self) -> f64 {
        self.reads as f64 / self.cpu.as_secs_f64().max(1e-9)
    }
}

impl Crowd<'_> {
    /// Runs one measurement.
    ///
    /// # Errors
    ///
    /// If files cannot be read, or if a lock lets two threads in at the same time.
    pub fn watch(&self, scene: Scene) -> io::Result<Passed> {
        match scene.access {
            Access::Free => Ok(self.free(scene)),
            Access::Ours => self.ours(scene),
            Access::Locked(way, kind, stripes) => self.locked(scene, way, kind, stripes),
        }
    }

    fn free(&self, scene: Scene) -> Passed {
        let count = AtomicU64::new(0);
        let done = together(scene, |_, go_on| {
            while go_on() {
                (0..FREE_BATCH).for_each(|_| self.work.spend(scene.work));
                count.fetch_add(FREE_BATCH, Ordering::Relaxed);
            }
        });
        Passed { reads: count.into_inner(), cpu: done }
    }

    fn ours(&self, scene: Scene) -> io::Result<Passed> {
        let end = Instant::now() + scene.time;
        let mut passed = Passed::default();
        let [one, two] = &self.files.plain;
        let work = |reads: &readmill_record::ReadBatch| {
            (0..reads.len()).for_each(|_| self.work.spend(scene.work))
        };
        while Instant::now() < end {
            let done = ours::run([one, two], scene.threads, work, || Instant::now() < end)?;
            passed.reads += done.reads;
            passed.cpu += done.cpu;
        }
        Ok(passed)
    }

    fn locked(&self, scene: Scene, way: Way, kind: Kind, stripes: usize) -> io::Result<Passed> {
        let shared = Shared {
            input: (kind.lock(scene.threads, NODES), Mutex::new(self.files.open(way)?)),
            outputs: (0..stripes).map(|_| (kind.lock(scene.threads, NODES), Mutex::default())).collect(),
            failed: Mutex::new(None),
            stop: AtomicBool::new(false),
        };
        let count = AtomicU64::new(0);
        let cpu = together(scene, |thread, go_on| {
            let mut batch = Batch::default();
            while go_on() && !shared.stop.load(Ordering::Relaxed) {
                if let Err(error) = shared.read(thread, way, &mut batch) {
                    return shared.fail(error);
                }
                (0..batch.reads.len()).for_each(|_| self.work.spend(scene.work));
                if let Err(error) = shared.write(thread, &batch) {
                    return shared.fail(error);
                }
                count.fetch_add(batch.reads.len() as u64, Ordering::Relaxed);
            }
        });
        match shared.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(Passed { reads: count.into_inner(), cpu }),
        }
    }
}

/// Runs `act` on all threads for the time of the scene, and returns the CPU time of all.
fn together(scene: Scene, act: impl Fn(usize, &dyn Fn() -> bool) + Sync) -> Duration {
    let (start, stop) = (of_process(), AtomicBool::new(false));
    thread::scope(|scope| {
        for number in 0..scene.threads {
            let (act, stop) = (&act, &stop);
            scope.spawn(move || act(number, &|| !stop.load(Ordering::Relaxed)));
        }
        thread::sleep(scene.time);
        stop.store(true, Ordering::Relaxed);
    });
    of_process() - start
}

/// A lock and the data that it guards. The mutex is always free for the holder of the lock; if it
/// is not, the lock is broken.
type Guarded<T> = (Box<dyn Lock + Send>, Mutex<T>);

struct Shared {
    input: Guarded<[Source; 2]>,
    outputs: Vec<Guarded<Vec<u8>>>,
    failed: Mutex<Option<io::Error>>,
    stop: AtomicBool,
}

impl Shared {
    fn read(&self, thread: usize, way: Way, batch: &mut Batch) -> io::Result<()> {
        let mut taken = Ok(false);
        hold(&self.input, thread, |files| taken = way.take(files, batch))?;
        taken?;
        way.parse(batch)
    }

    fn write(&self, thread: usize, batch: &Batch) -> io::Result<()> {
        let Some(stripe) = self.outputs.get(thread % self.outputs.len().max(1)) else { return Ok(()) };
        hold(stripe, thread, |text| {
            if text.len() > STRIPE {
                text.clear();
            }
            text.extend_from_slice(batch.reads.text());
        })
    }

    fn fail(&self, error: io::Error) {
        self.stop.store(true, Ordering::Relaxed);
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

fn hold<T>((lock, guarded): &Guarded<T>, thread: usize, with: impl FnOnce(&mut T)) -> io::Result<()> {
    let (mut with, mut free) = (Some(with), true);
    lock.hold(thread, &mut || {
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
