//! How a thread gets the text it needs: by summing up what is there, waiting for what others are about to bring, doing
//! their work if that takes long, and claiming what nobody has claimed.
//!
//! Nobody waits for ever. The block that is to be summed up next has been published, or claimed, or neither. What has been
//! published can be summed up by anybody; what has been claimed is done again by whoever has lost patience, where the kind
//! of file allows that, and else comes from a thread that holds the file's lock and waits for nothing but the file; what
//! has not been claimed is claimed, unless all slots are taken, and then the caller is told.

use super::ring::Ring;
use super::sync::{spin_loop, yield_now};

/// How far the text could be brought in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// As far as was asked for.
    Enough,
    /// Up to its end, before that.
    End,
    /// No further before earlier text is released.
    Full,
}

/// Where blocks come from.
pub(crate) trait Supply {
    /// What a block holds.
    type Content: Clone;

    /// The blocks.
    fn ring(&self) -> &Ring<Self::Content>;

    /// Brings in the next block, unless block `wanted` has been claimed by now; false if it has not, and there is no slot.
    fn claim(&self, wanted: u64) -> bool;

    /// How many lines a block may have, while none is known.
    fn guess(&self) -> u64;

    /// Does the work of whoever claimed block `number`, or waits for that to be done.
    fn help(&self, number: u64);
}

/// How much text is needed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    /// So many lines have to end in it.
    Lines(u64),
    /// So many blocks.
    Blocks(u64),
}

impl Goal {
    fn is_met(self, blocks: u64, lines: u64) -> bool {
        match self {
            Goal::Lines(wanted) => lines >= wanted,
            Goal::Blocks(wanted) => blocks >= wanted,
        }
    }

    /// Whether more has to be claimed than `claimed` blocks, of which the first `blocks` have `lines` lines and the others
    /// about as many each. Without an inkling a block has `guess`.
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

/// Brings in text until there is enough. Looks `patience` times whether another thread has brought what is needed, before
/// it does that one's work.
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

/// Has block `number`, before which `before` lines end, summed up; false if there is no slot for it.
///
/// While others bring it, the blocks behind it are claimed, as far as the goal needs them: many threads read at once.
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
