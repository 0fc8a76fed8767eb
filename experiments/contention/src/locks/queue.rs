//! The queueing lock of Mellor-Crummey and Scott 1991. Threads have places by their numbers instead of by pointers.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::exclusion::{Apart, Lock};
use super::patience::wait_until;

/// Nobody, or nothing yet.
const NONE: usize = 0;

/// The thing a holder passes to the next thread: its turn alone, or also the other lock that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    Turn = 1,
    More = 2,
}

/// Where one thread waits.
#[derive(Default)]
struct Place {
    /// Who comes next: its number and 1.
    next: AtomicUsize,
    /// The thing passed to this thread.
    left: AtomicUsize,
}

pub struct Queue {
    /// Who came last: its number and 1.
    last: Apart<AtomicUsize>,
    places: Vec<Apart<Place>>,
}

impl Queue {
    pub fn new(threads: usize) -> Self {
        Queue { last: Apart::default(), places: (0..threads).map(|_| Apart::default()).collect() }
    }

    /// Waits for its turn; says what was left.
    pub fn enter(&self, thread: usize) -> Left {
        let place = &self.places[thread].0;
        place.next.store(NONE, Ordering::Relaxed);
        place.left.store(NONE, Ordering::Relaxed);
        let before = self.last.0.swap(thread + 1, Ordering::AcqRel);
        if before == NONE {
            return Left::Turn;
        }
        self.places[before - 1].0.next.store(thread + 1, Ordering::Release);
        wait_until(|| place.left.load(Ordering::Acquire) != NONE);
        if place.left.load(Ordering::Relaxed) == Left::More as usize { Left::More } else { Left::Turn }
    }

    /// Whether somebody is known to wait behind the holder.
    pub fn is_followed(&self, thread: usize) -> bool {
        self.places[thread].0.next.load(Ordering::Acquire) != NONE
    }

    /// Gives the turn to the next; more than that only to one that [`Queue::is_followed`] has seen.
    pub fn leave(&self, thread: usize, left: Left) {
        let next = &self.places[thread].0.next;
        if next.load(Ordering::Acquire) == NONE {
            let alone = (thread + 1, NONE);
            if self
                .last
                .0
                .compare_exchange(alone.0, alone.1, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
            {
                return;
            }
            // Somebody has come, and is about to say so.
            wait_until(|| next.load(Ordering::Acquire) != NONE);
        }
        let next = next.load(Ordering::Acquire);
        self.places[next - 1].0.left.store(left as usize, Ordering::Release);
    }
}

impl Lock for Queue {
    fn hold(&self, thread: usize, critical: &mut dyn FnMut()) {
        self.enter(thread);
        critical();
        self.leave(thread, Left::Turn);
    }
}
