//! Provides the text that a thread needs: sums up present blocks, waits for blocks that other threads are about to
//! fill, fills them itself if that takes long, and claims free blocks.
//!
//! No thread waits forever. The next block to sum up is published, claimed, or free. Any thread can sum up a
//! published block. A claimed block is filled again by a thread that has lost patience, if the kind of file allows
//! that; otherwise it comes from a thread that holds the file's lock and waits only for the file. A free block is
//! claimed, unless all slots are taken, and then the caller gets [`Reach::Full`].

use super::ring::Ring;
use super::sync::{spin_loop, yield_now};

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
