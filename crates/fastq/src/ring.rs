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
//!
//! *Waiting.* [`reach`] provides the text that a thread needs: it sums up present blocks, waits for blocks that other
//! threads are about to fill, fills them itself if that takes long, and claims free blocks. No thread waits forever. The
//! next block to sum up is published, claimed, or free. Any thread can sum up a published block. A claimed block is filled
//! again by a thread that has lost patience, if the kind of file allows that; otherwise it comes from a thread that holds
//! the file's lock and waits only for the file. A free block is claimed, unless all slots are taken, and then the caller
//! gets [`Reach::Full`].

use std::sync::PoisonError;

use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering, spin_loop, yield_now};

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

/// The result of asking for text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The text is there.
    Enough,
    /// The text ends before.
    End,
    /// The slots are full until earlier text is released.
    Full,
}

/// A source of blocks.
pub(crate) trait Supply {
    /// The content of a block.
    type Content: Clone;

    /// The blocks.
    fn ring(&self) -> &Ring<Self::Content>;

    /// Claims and fills the next block, unless block `wanted` has been claimed meanwhile; false if it has not, and
    /// there is no slot.
    fn claim(&self, wanted: u64) -> bool;

    /// A guess of the number of lines in a block, while none is known.
    fn guess(&self) -> u64;

    /// Fills block `number`, which another thread claimed, or waits until that is done.
    fn help(&self, number: u64);
}

/// The amount of text that is needed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// This many lines must end in it.
    Lines(u64),
    /// This many blocks.
    Blocks(u64),
}

impl Goal {
    fn is_met(self, blocks: u64, lines: u64) -> bool {
        match self {
            Goal::Lines(wanted) => lines >= wanted,
            Goal::Blocks(wanted) => blocks >= wanted,
        }
    }

    /// Whether more blocks are needed than `claimed`; the first `blocks` of them have `lines` lines and the others
    /// about as many each. Without any count a block has `guess` lines.
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

/// Fills blocks until the goal is reached. Checks `patience` times whether another thread has filled the needed
/// block, before it fills that block itself.
pub(crate) fn reach(supply: &impl Supply, patience: u32, goal: Goal) -> Reach {
    loop {
        let (blocks, lines) = supply.ring().summed();
        if goal.is_met(blocks, lines) {
            return Reach::Enough;
        }
        if supply.ring().ends_at(blocks) {
            return Reach::End;
        }
        if !bring(supply, patience, goal, blocks, lines) {
            return Reach::Full;
        }
    }
}

/// Sums up block `number`, before which `before` lines end; false if there is no slot for it.
///
/// While other threads fill it, this one claims the blocks after it, as far as the goal needs them: many threads
/// read at once.
fn bring(supply: &impl Supply, patience: u32, goal: Goal, number: u64, before: u64) -> bool {
    let ring = supply.ring();
    let mut left = patience;
    loop {
        if ring.sum(number, before) || ring.is_published(number) {
            return true;
        }
        let claimed = ring.claimed();
        if claimed <= number {
            return supply.claim(number);
        }
        let more = goal.needs_more(claimed, number, before, supply.guess());
        if more && !ring.ends_at(claimed) && supply.claim(claimed) {
            continue;
        }
        match left {
            0 => {
                supply.help(number);
                yield_now();
            }
            _ if left.is_multiple_of(16) => yield_now(),
            _ => spin_loop(),
        }
        left = left.saturating_sub(1);
    }
}
