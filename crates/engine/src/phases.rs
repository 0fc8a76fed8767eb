//! The trait that defines the work of a pass.

/// The number of an input in claim order, from 0 in each pass.
pub type Ticket = u64;

/// The work on each ticket in the two parallel phases, and the types passed from one phase to the next.
///
/// ```text
/// claim ──Input──► open ──Opened──► link ──Linked──► work ──Output──► commit
/// ```
///
/// The three serial phases are closures passed to [`run_pass`](crate::run_pass), whose documentation has
/// an example. A result must depend only on the arguments, not on earlier work of the worker, because
/// timing decides which thread gets which ticket. A worker may keep counts:
/// [`run_pass`](crate::run_pass) returns all workers.
pub trait Pass: Sync {
    type Input: Send;
    type Opened: Send;
    type Linked: Send;
    type Output: Send;
    /// Scratch memory of one thread. It is created on that thread and returned to the caller at the end
    /// of the pass.
    type Worker: Send;
    type Error: Send;

    /// Creates the worker of the calling thread. Called once per thread.
    fn make_worker(&self) -> Self::Worker;

    /// Runs the first parallel phase: everything that does not depend on earlier inputs, such as
    /// inflating.
    fn open(&self, worker: &mut Self::Worker, input: Self::Input) -> Result<Self::Opened, Self::Error>;

    /// Runs the second parallel phase: everything that needs the result of `link`, such as filtering or
    /// compressing.
    fn work(&self, worker: &mut Self::Worker, linked: Self::Linked)
    -> Result<Self::Output, Self::Error>;
}
