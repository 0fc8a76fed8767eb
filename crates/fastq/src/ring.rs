//! Blocks of a text, numbered from 0: claimed by any thread, their lines summed up without a lock, released in order.
//!
//! A block goes through *claimed*, *counted* (its own lines are known), *summed* (the lines of all blocks up to it are
//! known) and *released*. Slot `b mod slots` belongs to block `b`; its word says in one piece whose it is, how far that
//! block has come, and the number.
//!
//! *Who may do what.* Any thread may claim, publish and sum up. One thread at a time releases, and only blocks that are
//! summed. So the slot of the last summed block stays as it is until another block is summed, and whoever reads a word of
//! another block than he asked for knows that his has been released.
//!
//! *Publishing twice is harmless.* What a block holds is a function of the input alone. A thread that waits may fill and
//! publish the block in the claimer's place: the first to come is kept, and the claimer's own is handed back to him.
//!
//! *Locks.* The lock of a slot is held to move a pointer in or out, never while a block is read, inflated, counted or parsed.

use std::sync::PoisonError;

use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// Stands for "not known yet" where the number of blocks is asked for.
const UNKNOWN: u64 = u64::MAX;

/// Bits of a word that hold the number of lines; two above hold the state, the rest the round of the ring.
const LINES_BITS: u32 = 46;

/// What became of a wish to claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// This block is the caller's to fill.
    Block(u64),
    /// All slots are taken: nothing can be claimed before something is released.
    Full,
    /// There are no more blocks.
    End,
}

/// How far the block of a slot has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The slot has another block, or none.
    Absent,
    /// So many lines end in the block.
    Counted(u64),
    /// So many lines end in the block and in all before it.
    Summed(u64),
}

struct Slot<T> {
    word: AtomicU64,
    held: Mutex<Held<T>>,
}

struct Held<T> {
    /// The block that may be published here next.
    expected: u64,
    /// What was published last, until it is released.
    block: Option<T>,
}

/// The blocks of one text that are under way.
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
    /// A ring of so many slots, at least two, for a text of `blocks` blocks, if that is known.
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

    /// Says that there are `blocks` blocks and no more.
    pub fn end_at(&self, blocks: u64) {
        self.end.fetch_min(blocks, Ordering::AcqRel);
    }

    /// Whether there are just `blocks` blocks.
    pub fn ends_at(&self, blocks: u64) -> bool {
        self.end.load(Ordering::Acquire) <= blocks
    }

    /// Says what block `number` holds, and how many lines end in it; gives the block back if somebody else has said so
    /// before.
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
            } // else others are far ahead by now
        }
    }

    /// How many lines end in the blocks up to `number`, itself included; nothing if it is not summed up, or released.
    pub fn lines_through(&self, number: u64) -> Option<u64> {
        match self.state(number) {
            State::Summed(lines) => Some(lines),
            State::Absent | State::Counted(_) => None,
        }
    }

    /// Sums up block `number`, before which `before` lines end, and says whether that could be done: not if nobody has
    /// published the block, or all have done with it.
    pub fn sum(&self, number: u64, before: u64) -> bool {
        match self.state(number) {
            State::Absent => return false,
            State::Summed(_) => {}
            State::Counted(lines) => {
                let counted = self.word(number, State::Counted(lines));
                let summed = self.word(number, State::Summed(before + lines));
                // Whoever else did this wrote the same number.
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

    /// What block `number` holds; nothing if it has not been published, or has been released.
    pub fn get(&self, number: u64) -> Option<T> {
        let held = lock(&self.slot(number).held);
        let is_here = held.expected == number + self.slots.len() as u64;
        held.block.as_ref().filter(|_| is_here).cloned()
    }

    /// Releases all blocks below `number`, in order, to `keep`. Block `number` itself must be summed up: the slot of the
    /// last one that is, says how many lines there are. One thread at a time may do this.
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
        // Modulo 2^16: a thread would have to sleep through 65,536 rounds to take one block for another, while what it
        // is there for keeps all but the first of them from being claimed.
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
