//! Blocks of a text, numbered from 0: claimed by any thread, their lines summed up without a lock, released in order.
//!
//! A block goes through *claimed*, *counted* (its own lines are known), *summed* (the lines of all blocks up to it
//! are known) and *released*. Slot `b mod slots` belongs to block `b`; its word holds, in one atomic value, the
//! round of the ring, the state of the block, and the number of lines.
//!
//! *Permissions.* Any thread may claim, publish and sum up. One thread at a time releases, and only blocks that are
//! summed. So the slot of the last summed block stays unchanged until another block is summed, and a thread that
//! finds another block's word knows that its own block has been released.
//!
//! *Publishing twice is harmless.* The content of a block depends on the input alone. A waiting thread may fill and
//! publish the block in place of its claimer: the first one is kept, and the other is returned to its thread.
//!
//! *Locks.* The lock of a slot is held to move a pointer in or out, never while a block is read, inflated, counted or parsed.

use std::sync::PoisonError;

use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// The number of blocks while it is not known.
const UNKNOWN: u64 = u64::MAX;

/// Bits of a word that hold the number of lines; two above hold the state, the rest the round of the ring.
const LINES_BITS: u32 = 46;

/// The result of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The caller must fill this block.
    Block(u64),
    /// All slots are taken: a block must be released first.
    Full,
    /// There are no more blocks.
    End,
}

/// The state of a slot's block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The slot has another block, or none.
    Absent,
    /// This many lines end in the block.
    Counted(u64),
    /// This many lines end in the block and in all before it.
    Summed(u64),
}

struct Slot<T> {
    word: AtomicU64,
    held: Mutex<Held<T>>,
}

struct Held<T> {
    /// The next block that may be published here.
    expected: u64,
    /// The block published last, until it is released.
    block: Option<T>,
}

/// The blocks of one text in flight.
pub(crate) struct Ring<T> {
    slots: Box<[Slot<T>]>,
    /// Blocks claimed so far.
    claimed: AtomicU64,
    /// Blocks summed up so far: all below this number.
    summed: AtomicU64,
    /// Blocks released so far: all below this number.
    released: AtomicU64,
    /// Blocks there are in all.
    end: AtomicU64,
}

impl<T: Clone> Ring<T> {
    /// A ring of `slots` slots, at least two, for a text of `blocks` blocks, if that is known.
    pub fn new(slots: usize, blocks: Option<u64>) -> Self {
        let slot = |expected| Slot {
            word: AtomicU64::new(0),
            held: Mutex::new(Held { expected, block: None }),
        };
        Ring {
            slots: (0..slots.max(2) as u64).map(slot).collect(),
            claimed: AtomicU64::new(0),
            summed: AtomicU64::new(0),
            released: AtomicU64::new(0),
            end: AtomicU64::new(blocks.unwrap_or(UNKNOWN)),
        }
    }

    /// Takes the next block, if there is one and a slot for it.
    pub fn claim(&self) -> Claim {
        let mut next = self.claimed.load(Ordering::Relaxed);
        loop {
            if next >= self.end.load(Ordering::Acquire) {
                return Claim::End;
            }
            if next >= self.released.load(Ordering::Acquire) + self.slots.len() as u64 {
                return Claim::Full;
            }
            let taken =
                self.claimed.compare_exchange_weak(next, next + 1, Ordering::AcqRel, Ordering::Relaxed);
            match taken {
                Ok(_) => return Claim::Block(next),
                Err(now) => next = now,
            }
        }
    }

    /// Blocks claimed so far.
    pub fn claimed(&self) -> u64 {
        self.claimed.load(Ordering::Acquire)
    }

    /// Sets the number of blocks to `blocks`.
    pub fn end_at(&self, blocks: u64) {
        self.end.fetch_min(blocks, Ordering::AcqRel);
    }

    /// Whether there are at most `blocks` blocks.
    pub fn ends_at(&self, blocks: u64) -> bool {
        self.end.load(Ordering::Acquire) <= blocks
    }

    /// Publishes block `number` and the number of lines that end in it; returns the block if another thread has
    /// published it before.
    pub fn publish(&self, number: u64, lines: u64, block: T) -> Option<T> {
        let slot = self.slot(number);
        let mut held = lock(&slot.held);
        if held.expected != number {
            return Some(block);
        }
        held.expected = number + self.slots.len() as u64;
        held.block = Some(block);
        slot.word.store(self.word(number, State::Counted(lines)), Ordering::Release);
        None
    }

    /// The number of blocks that are summed up, and how many lines end in them.
    pub fn summed(&self) -> (u64, u64) {
        loop {
            let blocks = self.summed.load(Ordering::Acquire);
            let Some(last) = blocks.checked_sub(1) else { return (0, 0) };
            if let Some(lines) = self.lines_through(last) {
                return (blocks, lines);
            } // otherwise others are far ahead by now
        }
    }

    /// Number of lines that end in the blocks up to and including `number`; `None` if it is not summed up, or
    /// released.
    pub fn lines_through(&self, number: u64) -> Option<u64> {
        match self.state(number) {
            State::Summed(lines) => Some(lines),
            State::Absent | State::Counted(_) => None,
        }
    }

    /// Sums up block `number`, before which `before` lines end. Returns false if the block has not been published,
    /// or has been released.
    pub fn sum(&self, number: u64, before: u64) -> bool {
        match self.state(number) {
            State::Absent => return false,
            State::Summed(_) => {}
            State::Counted(lines) => {
                let counted = self.word(number, State::Counted(lines));
                let summed = self.word(number, State::Summed(before + lines));
                // If another thread did this, it wrote the same number.
                let _ = self.slot(number).word.compare_exchange(
                    counted,
                    summed,
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                );
            }
        }
        self.summed.fetch_max(number + 1, Ordering::AcqRel);
        true
    }

    /// Whether block `number` has been published; it may have been released since.
    pub fn is_published(&self, number: u64) -> bool {
        lock(&self.slot(number).held).expected > number
    }

    /// The content of block `number`; `None` if it has not been published, or has been released.
    pub fn get(&self, number: u64) -> Option<T> {
        let held = lock(&self.slot(number).held);
        let is_here = held.expected == number + self.slots.len() as u64;
        held.block.as_ref().filter(|_| is_here).cloned()
    }

    /// Releases all blocks below `number`, in order, to `keep`. Block `number` itself must be summed up: the slot
    /// of the last summed block holds the number of lines. One thread at a time may do this.
    pub fn release_below(&self, number: u64, mut keep: impl FnMut(T)) {
        let first = self.released.load(Ordering::Relaxed);
        debug_assert!(number <= first || number < self.summed.load(Ordering::Relaxed));
        for old in first..number {
            lock(&self.slot(old).held).block.take().into_iter().for_each(&mut keep);
        }
        self.released.fetch_max(number, Ordering::AcqRel);
    }

    fn slot(&self, number: u64) -> &Slot<T> {
        &self.slots[(number % self.slots.len() as u64) as usize]
    }

    fn word(&self, number: u64, state: State) -> u64 {
        let (kind, lines) = match state {
            State::Absent => (0, 0),
            State::Counted(lines) => (1, lines),
            State::Summed(lines) => (2, lines),
        };
        // Modulo 2^16: a thread would have to sleep through 65,536 rounds to mistake one block for another, while
        // its own ticket keeps all but the first of them from being claimed.
        let round = number / self.slots.len() as u64;
        round << (LINES_BITS + 2) | kind << LINES_BITS | lines
    }

    fn state(&self, number: u64) -> State {
        let word = self.slot(number).word.load(Ordering::Acquire);
        let lines = word & ((1 << LINES_BITS) - 1);
        [State::Counted(lines), State::Summed(lines)]
            .into_iter()
            .find(|&state| self.word(number, state) == word)
            .unwrap_or(State::Absent)
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
