//! How a thread gets the text it needs: by summing up what is there, waiting for what others are about to bring, doing
//! their work if that takes long, and claiming what nobody has claimed.
//!
//! Nobody waits for ever. The block that is to be summed up next has been published, or claimed, or neither. What has been
//! published can be summed up by anybody; what has been claimed is done again by whoever has lost patience, where the kind
//! of file allows that, and else comes from a thread that holds the file's lock and waits for nothing but the file; what
//! has not been claimed is claimed, unless all slots are taken, and then the caller is told.

use crate::ring::Ring;
use crate::sync::{spin_loop, yield_now};

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

    /// Does the work of whoever claimed block `number`, or waits for that to be done.
    fn help(&self, number: u64);
}

/// Brings in text until `is_enough` of the number of blocks that are there, and of the number of lines that end in them.
/// Looks `patience` times whether another thread has brought what is needed, before it does that one's work.
pub(crate) fn reach(supply: &impl Supply, patience: u32, is_enough: impl Fn(u64, u64) -> bool) -> Reach {
    loop {
        let (blocks, lines) = supply.ring().summed();
        if is_enough(blocks, lines) {
            return Reach::Enough;
        }
        if supply.ring().ends_at(blocks) {
            return Reach::End;
        }
        if !bring(supply, patience, blocks, lines) {
            return Reach::Full;
        }
    }
}

/// Has block `number`, before which `before` lines end, summed up; false if there is no slot for it.
fn bring(supply: &impl Supply, patience: u32, number: u64, before: u64) -> bool {
    let mut left = patience;
    loop {
        if supply.ring().sum(number, before) || supply.ring().is_published(number) {
            return true;
        }
        if supply.ring().claimed() <= number {
            return supply.claim(number);
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
