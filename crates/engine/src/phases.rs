//! The trait by which a user of this crate defines the work of a pass.

/// The number of an input in claim order, from 0 in each pass.
pub type Ticket = u64;

/// The work for each ticket in the two parallel phases, and the types that pass from one phase to the
/// next.
///
/// ```text
/// claim ──Input──► open ──Opened──► link ──Linked──► work ──Output──► commit
/// ```
///
/// The three serial phases are closures that [`run_pass`](crate::run_pass) gets; its documentation
/// has an example. A result must depend on the arguments only, not on what the worker did before,
/// because timing decides which thread gets which ticket. A worker may keep counts:
/// [`run_pass`](crate::run_pass) returns all workers.
pub trait Pass: Sync {
    type Input: Send;
    type Opened: Send;
    type Linked: Send;
    type Output: Send;
    /// The scratch memory of one thread. It is made on that thread and returned to the caller at the
    /// end.
    type Worker: Send;
    type Error: Send;

    /// Makes the scratch memory of the calling thread. Called once for each thread.
    fn make_worker(&self) -> Self::Worker;

    /// The first parallel phase: everything that can be done for an input without its predecessors, such
    /// as inflating.
    fn open(&self, worker: &mut Self::Worker, input: Self::Input) -> Result<Self::Opened, Self::Error>;

    /// The second parallel phase: everything that needs the result of `link`, such as filtering or
    /// compressing.
    fn work(&self, worker: &mut Self::Worker, linked: Self::Linked)
    -> Result<Self::Output, Self::Error>;
}
