//! What is done to a ticket, as its user states it.

/// Number of an input in claim order, from 0 in each pass.
pub type Ticket = u64;

/// What is done to each ticket in the two parallel phases, and the types that travel between the phases.
///
/// A result must depend on its arguments alone, not on the worker's past: which thread gets which ticket is a matter of timing.
/// What is merely counted may be kept in the worker, because [`run`](crate::run) returns all of them.
pub trait Pass: Sync {
    /// What a claim takes, serially, in order.
    type Input: Send;
    /// After the first parallel phase.
    type Opened: Send;
    /// After the serial, in-order link.
    type Linked: Send;
    /// After the second parallel phase.
    type Output: Send;
    /// One thread's scratch: made on that thread, returned to the caller at the end.
    type Worker: Send;
    /// Why a ticket failed.
    type Error: Send;

    /// Makes the scratch of the thread that calls it; once per thread.
    fn worker(&self) -> Self::Worker;

    /// The first parallel phase: all that can be done for an input without knowing its predecessors.
    fn open(&self, worker: &mut Self::Worker, input: Self::Input) -> Result<Self::Opened, Self::Error>;

    /// The second parallel phase.
    fn work(&self, worker: &mut Self::Worker, linked: Self::Linked)
    -> Result<Self::Output, Self::Error>;
}
