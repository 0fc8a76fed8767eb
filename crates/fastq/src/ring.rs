//! A ring of the text blocks, numbered from 0. Any thread can claim them, their lines are summed
//! without a lock, and they are released in order.
//!
//! A block passes through four states: *claimed*, *counted* (its own lines are known), *summed*
//! (the lines of all blocks up to it are known) and *released*. Block `b` uses slot `b mod slots`.
//! One atomic word in the slot holds the round of the ring, the state of the block and a line
//! count.
//!
//! ```text
//!        released        summed          claimed
//!           │              │                │
//! blocks  ..│ s   s   s  s │ c   -   c   -  │ free slots ...      c counted, s summed, - being filled
//! ```
//!
//! *Who may do what.* Any thread may claim, publish and sum. Only one thread at a time releases,
//! and only summed blocks. So the slot of the last summed block does not change until another block
//! is summed, and a thread that finds the word of a different block knows that its own block has
//! been released.
//!
//! *Publishing twice is harmless.* The content of a block depends only on the input. A waiting
//! thread may fill and publish a block in place of its claimer; the first result is kept and the
//! other one is returned to its thread.
//!
//! *Locks.* The lock of a slot is held to move a pointer in or out, never while a block is read,
//! inflated, counted or parsed.
//!
//! *Waiting.* [`fill_until`] provides the text that a thread needs. It sums published blocks, waits for
//! blocks that other threads are filling, fills them itself if that takes long, and claims free
//! blocks. No thread waits forever, because the next block to sum is in one of three states:
//!
//! 1. It is published. Any thread can sum it.
//! 2. It is claimed. A thread that has lost patience fills it again, if the file format allows
//!    that. Otherwise its claimer holds the lock of the file and waits only for the file.
//! 3. It is free. It is claimed, unless all slots are taken; then the caller gets
//!    [`Reach::Full`].

use std::sync::PoisonError;

use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering, spin_loop, yield_now};

const UNKNOWN_END: u64 = u64::MAX;

/// Number of bits of a word for the line count. The two bits above them hold the state, the rest
/// the round of the ring.
const LINES_BITS: u32 = 46;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    Block(u64),
    /// All slots are taken: an earlier block must be released first.
    Full,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Absent,
    Counted(u64),
    /// Number of lines that end in this block or an earlier one.
    Summed(u64),
}

struct Slot<T> {
    word: AtomicU64,
    held: Mutex<SlotContent<T>>,
}

struct SlotContent<T> {
    /// The only block that may be published here next.
    expected: u64,
    block: Option<T>,
}

pub(crate) struct Ring<T> {
    slots: Box<[Slot<T>]>,
    claimed: AtomicU64,
    summed: AtomicU64,
    released: AtomicU64,
    /// Number of blocks of the text; [`UNKNOWN_END`] until its end is found.
    end: AtomicU64,
}

impl<T: Clone> Ring<T> {
    /// Creates a ring of `slots` slots, at least two, for a text of `blocks` blocks, if their
    /// number is known. It is known for plain files; compressed text must first be read to its end.
    pub fn new(slots: usize, blocks: Option<u64>) -> Self {
        let slot = |expected| Slot {
            word: AtomicU64::new(0),
            held: Mutex::new(SlotContent { expected, block: None }),
        };
        Ring {
            slots: (0..slots.max(2) as u64).map(slot).collect(),
            claimed: AtomicU64::new(0),
            summed: AtomicU64::new(0),
            released: AtomicU64::new(0),
            end: AtomicU64::new(blocks.unwrap_or(UNKNOWN_END)),
        }
    }

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

    pub fn claimed(&self) -> u64 {
        self.claimed.load(Ordering::Acquire)
    }

    pub fn end_at(&self, blocks: u64) {
        self.end.fetch_min(blocks, Ordering::AcqRel);
    }

    /// Returns whether the text is known to have at most `blocks` blocks.
    pub fn ends_at(&self, blocks: u64) -> bool {
        self.end.load(Ordering::Acquire) <= blocks
    }

    /// Stores block `number` with the number of lines that end in it. If another thread has
    /// published it before, returns the block, so that its memory can be reused.
    pub fn publish(&self, number: u64, lines: u64, block: T) -> Option<T> {
        let slot = self.slot(number);
        let mut held = lock_slot(&slot.held);
        if held.expected != number {
            return Some(block);
        }
        held.expected = number + self.slots.len() as u64;
        held.block = Some(block);
        slot.word.store(self.pack_word(number, State::Counted(lines)), Ordering::Release);
        None
    }

    /// Returns the number of summed blocks and of the lines that end in them.
    pub fn summed(&self) -> (u64, u64) {
        loop {
            let blocks = self.summed.load(Ordering::Acquire);
            let Some(last) = blocks.checked_sub(1) else { return (0, 0) };
            if let Some(lines) = self.lines_through(last) {
                return (blocks, lines);
            } // otherwise the block was released meanwhile
        }
    }

    /// Returns the number of lines that end in the blocks up to and including `number`. `None` if
    /// that block is not summed yet, or is already released.
    pub fn lines_through(&self, number: u64) -> Option<u64> {
        match self.unpack_state(number) {
            State::Summed(lines) => Some(lines),
            State::Absent | State::Counted(_) => None,
        }
    }

    /// Sums block `number`, given that `before` lines end before it. Returns false if the block is
    /// not published or has been released.
    pub fn sum_block(&self, number: u64, before: u64) -> bool {
        match self.unpack_state(number) {
            State::Absent => return false,
            State::Summed(_) => {}
            State::Counted(lines) => {
                let counted = self.pack_word(number, State::Counted(lines));
                let summed = self.pack_word(number, State::Summed(before + lines));
                // If another thread does this concurrently, it writes the same number.
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

    pub fn is_published(&self, number: u64) -> bool {
        lock_slot(&self.slot(number).held).expected > number
    }

    /// Returns the content of block `number`. `None` if it is not published or has been released.
    pub fn get(&self, number: u64) -> Option<T> {
        let held = lock_slot(&self.slot(number).held);
        let is_here = held.expected == number + self.slots.len() as u64;
        held.block.as_ref().filter(|_| is_here).cloned()
    }

    /// Releases all blocks below `number`, in order, and passes them to `keep`. Only one thread at
    /// a time may do this. Block `number` itself must be summed, because the slot of the last
    /// summed block holds the line count.
    pub fn release_below(&self, number: u64, mut keep: impl FnMut(T)) {
        let first = self.released.load(Ordering::Relaxed);
        debug_assert!(number <= first || number < self.summed.load(Ordering::Relaxed));
        for old in first..number {
            lock_slot(&self.slot(old).held).block.take().into_iter().for_each(&mut keep);
        }
        self.released.fetch_max(number, Ordering::AcqRel);
    }

    fn slot(&self, number: u64) -> &Slot<T> {
        &self.slots[(number % self.slots.len() as u64) as usize]
    }

    fn pack_word(&self, number: u64, state: State) -> u64 {
        let (kind, lines) = match state {
            State::Absent => (0, 0),
            State::Counted(lines) => (1, lines),
            State::Summed(lines) => (2, lines),
        };
        // The round is stored modulo 2^16. To confuse two blocks, a thread would have to sleep
        // through 65,536 rounds, but its own ticket keeps all but the first of them from being
        // claimed.
        let round = number / self.slots.len() as u64;
        round << (LINES_BITS + 2) | kind << LINES_BITS | lines
    }

    /// Unpacks the state of block `number`; [`State::Absent`] if its slot holds a different block.
    fn unpack_state(&self, number: u64) -> State {
        let word = self.slot(number).word.load(Ordering::Acquire);
        let lines = word & ((1 << LINES_BITS) - 1);
        [State::Counted(lines), State::Summed(lines)]
            .into_iter()
            .find(|&state| self.pack_word(number, state) == word)
            .unwrap_or(State::Absent)
    }
}

fn lock_slot<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reason why [`fill_until`] stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The blocks or lines of the goal are in memory or have been released.
    Enough,
    /// The text ends before the goal.
    End,
    /// All slots are taken: an earlier block must be released first.
    Full,
}

/// A text that [`fill_until`] can fill: `FastqText`, or a simulated one in the tests.
pub(crate) trait Supply {
    type Content: Clone;

    fn ring(&self) -> &Ring<Self::Content>;

    /// Claims and fills the next block, unless another thread has claimed block `wanted` in the
    /// meantime. Returns false if that block is not claimed and there is no slot for it.
    fn claim(&self, wanted: u64) -> bool;

    /// Returns an estimate of the number of lines in a block, used until one block has been
    /// counted.
    fn estimate_lines(&self) -> u64;

    /// Fills block `number`, which another thread has claimed, or waits until that thread has
    /// filled it.
    fn fill_or_wait(&self, number: u64);
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    Lines(u64),
    Blocks(u64),
}

impl Goal {
    fn is_met(self, blocks: u64, lines: u64) -> bool {
        match self {
            Goal::Lines(wanted) => lines >= wanted,
            Goal::Blocks(wanted) => blocks >= wanted,
        }
    }

    /// Returns whether more than `claimed` blocks are needed. The first `blocks` blocks have
    /// `lines` lines, and the others are expected to have as many on average. If no block has been
    /// counted, each is expected to have `guess` lines.
    fn needs_more(self, claimed: u64, blocks: u64, lines: u64, guess: u64) -> bool {
        match self {
            Goal::Blocks(wanted) => claimed < wanted,
            Goal::Lines(wanted) => {
                let each = lines.checked_div(blocks).unwrap_or(guess);
                lines + (claimed - blocks) * each < wanted
            }
        }
    }
}

/// Fills blocks until the goal is reached. A thread checks `patience` times whether another thread
/// has filled the block that it needs, and then fills the block itself.
pub(crate) fn fill_until(supply: &impl Supply, patience: u32, goal: Goal) -> Reach {
    loop {
        let (blocks, lines) = supply.ring().summed();
        if goal.is_met(blocks, lines) {
            return Reach::Enough;
        }
        if supply.ring().ends_at(blocks) {
            return Reach::End;
        }
        if !load_and_sum_block(supply, patience, goal, blocks, lines) {
            return Reach::Full;
        }
    }
}

/// Brings block `number` into memory and sums it, given that `before` lines end before it. Returns
/// false if there is no slot for it.
///
/// While another thread fills the block, this one claims later blocks, as far as the goal needs
/// them. So many threads read concurrently.
fn load_and_sum_block(
    supply: &impl Supply,
    patience: u32,
    goal: Goal,
    number: u64,
    before: u64,
) -> bool {
    let ring = supply.ring();
    let mut left = patience;
    loop {
        if ring.sum_block(number, before) || ring.is_published(number) {
            return true;
        }
        let claimed = ring.claimed();
        if claimed <= number {
            return supply.claim(number);
        }
        let more = goal.needs_more(claimed, number, before, supply.estimate_lines());
        if more && !ring.ends_at(claimed) && supply.claim(claimed) {
            continue;
        }
        match left {
            0 => {
                supply.fill_or_wait(number);
                yield_now();
            }
            _ if left.is_multiple_of(16) => yield_now(),
            _ => spin_loop(),
        }
        left = left.saturating_sub(1);
    }
}
