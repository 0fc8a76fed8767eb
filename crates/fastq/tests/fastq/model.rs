//! Checks `src/ring.rs` under simulated schedules: the file itself is compiled against shuttle's
//! scheduler.
//!
//! At every lock and every atomic operation, the scheduler can switch to another thread, without
//! limit. So the schedules include a thread that claims a block and does not run again until all
//! others are done.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::{Arc, Mutex};
use shuttle::{Config, Runner, thread};

#[path = "../../src/ring.rs"]
mod ring;

use ring::{Claim, Goal, Reach, Ring, Supply, fill_until};

/// Replaces `src/sync.rs`.
mod sync {
    pub(crate) use shuttle::hint::spin_loop;
    pub(crate) use shuttle::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use shuttle::sync::{Mutex, MutexGuard};
    pub(crate) use shuttle::thread::yield_now;
}

/// A text that consists only of the number of lines in each block. The content of a block is its
/// number.
struct Text {
    ring: Ring<u64>,
    counts: Vec<u64>,
}

impl Supply for Text {
    type Content = u64;

    fn ring(&self) -> &Ring<u64> {
        &self.ring
    }

    fn claim(&self, wanted: u64) -> bool {
        match self.ring.claim() {
            Claim::Block(number) => self.fill_or_wait(number),
            Claim::Full => return self.ring.claimed() > wanted,
            Claim::End => {}
        }
        true
    }

    fn estimate_lines(&self) -> u64 {
        1
    }

    fn fill_or_wait(&self, number: u64) {
        self.ring.publish(number, self.counts[number as usize], number);
    }
}

impl Text {
    /// Returns the number of lines that end before block `number`.
    fn before(&self, number: u64) -> u64 {
        self.counts[..number as usize].iter().sum()
    }

    /// Returns the block in which line `line` (1-based) ends; block 0 for line 0.
    fn of_line(&self, line: u64) -> u64 {
        (0..self.counts.len() as u64).find(|&b| self.before(b + 1) >= line).unwrap()
    }

    /// Does the work of a thread for a ticket, which needs the lines from `from` to `to`. Returns
    /// whether it got them.
    fn take(&self, from: u64, to: u64) -> bool {
        let far = fill_until(self, 0, Goal::Lines(to));
        let (blocks, lines) = self.ring.summed();
        assert_eq!(lines, self.before(blocks), "the sum of the lines");
        match far {
            Reach::Full => return false,
            Reach::End => assert!(self.before(self.counts.len() as u64) < to),
            Reach::Enough => assert!(lines >= to),
        }
        // The text of this ticket has not been released, because the ticket has not been linked.
        let last = if far == Reach::End { self.counts.len() as u64 - 1 } else { self.of_line(to) };
        for block in self.of_line(from)..=last {
            assert_eq!(self.ring.get(block), Some(block), "block {block} of lines {from} to {to}");
            assert_eq!(self.ring.lines_through(block), Some(self.before(block + 1)));
        }
        true
    }

    /// Does the work for a ticket whose lines were not available: reads and releases the blocks one
    /// by one.
    fn read(&self, from: u64, to: u64) {
        let last = if to > self.before(self.counts.len() as u64) {
            self.counts.len() as u64 - 1
        } else {
            self.of_line(to)
        };
        for block in self.of_line(from)..=last {
            assert_eq!(fill_until(self, 0, Goal::Blocks(block + 1)), Reach::Enough);
            self.ring.release_below(block, |_| {});
            assert_eq!(self.ring.get(block), Some(block));
        }
    }
}

/// The finished tickets, which wait to be linked in order.
#[derive(Default)]
struct Board {
    next: u64,
    linked: u64,
    taken: BTreeSet<(u64, bool)>,
}

fn play(counts: &[u64], slots: usize, threads: usize, lines: u64) {
    let ring = Ring::new(slots, None);
    ring.end_at(counts.len() as u64);
    let text = Arc::new(Text { ring, counts: counts.to_vec() });
    let board = Arc::new(Mutex::new(Board::default()));
    let tickets = counts.iter().sum::<u64>() / lines + 1;
    let work = move |text: &Text, board: &Mutex<Board>| {
        loop {
            let mut now = board.lock().unwrap();
            let ticket = now.next;
            now.next += 1;
            drop(now);
            if ticket >= tickets {
                return;
            }
            let found = text.take(ticket * lines, (ticket + 1) * lines);
            let mut now = board.lock().unwrap();
            now.taken.insert((ticket, found));
            while let Some(&(ticket, found)) = now.taken.first().filter(|(t, _)| *t == now.linked) {
                now.taken.pop_first();
                let (from, to) = (ticket * lines, (ticket + 1) * lines);
                if !found {
                    text.read(from, to);
                } else if to <= text.before(text.counts.len() as u64) {
                    text.ring.release_below(text.of_line(to), |_| {});
                }
                now.linked += 1;
            }
        }
    };
    let handles: Vec<_> = (0..threads)
        .map(|_| {
            let (text, board) = (text.clone(), board.clone());
            thread::spawn(move || work(&text, &board))
        })
        .collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    assert_eq!(board.lock().unwrap().linked, tickets);
}

fn simulate(
    scheduler: impl Scheduler + 'static,
    counts: &'static [u64],
    slots: usize,
    threads: usize,
    lines: u64,
) {
    let mut config = Config::new();
    config.stack_size = 128 << 10;
    Runner::new(scheduler, config).run(move || play(counts, slots, threads, lines));
}

const TEXTS: [&[u64]; 4] = [&[1], &[2, 0, 3, 1], &[0, 0, 5, 0, 1, 1], &[1, 1, 1, 1, 1, 1, 1]];

#[test]
fn random_schedules() {
    for counts in TEXTS {
        for slots in [2, 3, 8] {
            for threads in [2, 3] {
                for lines in [1, 2, 4] {
                    simulate(RandomScheduler::new_from_seed(1, 400), counts, slots, threads, lines);
                    simulate(PctScheduler::new_from_seed(1, 3, 400), counts, slots, threads, lines);
                }
            }
        }
    }
}

#[test]
fn every_schedule_of_a_tiny_text() {
    simulate(DfsScheduler::new(Some(100_000), false), &[1, 1], 2, 2, 1);
    simulate(DfsScheduler::new(Some(100_000), false), &[0, 2, 1], 2, 2, 2);
}
