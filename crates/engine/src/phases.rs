//! The phases of a ticket, as the user of this crate defines them.

/// Number of an input in claim order, from 0 in each pass.
pub type Ticket = u64;

/// The work done for each ticket in the two parallel phases, and the types that travel between the phases.
///
/// A result must depend on its arguments alone, not on the worker's past: timing decides which thread gets which
/// ticket. The worker may keep counts, because [`run`](crate::run) returns all workers.
pub trait Pass: Sync {
    /// The result of a claim.
    type Input: Send;
    /// The result of the first parallel phase, [`Self::open`].
    type Opened: Send;
    /// The result of the serial link.
    type Linked: Send;
    /// The result of the second parallel phase, [`Self::work`].
    type Output: Send;
    /// The scratch memory of one thread: made on that thread, returned to the caller at the end.
    type Worker: Send;
    /// The reason why a ticket failed.
    type Error: Send;

    /// Makes the scratch memory of the calling thread; called once per thread.
    fn worker(&self) -> Self::Worker;

    /// The first parallel phase: everything that can be done for an input without its predecessors.
    fn open(&self, worker: &mut Self::Worker, input: Self::Input) -> Result<Self::Opened, Self::Error>;

    /// The second parallel phase: everything else, before the commit.
    fn work(&self, worker: &mut Self::Worker, linked: Self::Linked)
    -> Result<Self::Output, Self::Error>;
}
