//! Passes with only one parallel phase, which is what most commands need.

use std::marker::PhantomData;

use super::pass::{Crew, Pass, run_pass};

struct MapPass<I, O, M, N>(N, M, PhantomData<fn(I) -> O>);

impl<I, O, W, E, M, N> Pass for MapPass<I, O, M, N>
where
    I: Send,
    O: Send,
    W: Send,
    E: Send,
    M: Fn(&mut W, I) -> Result<O, E> + Sync,
    N: Fn() -> W + Sync,
{
    type Input = I;
    type Opened = O;
    type Linked = O;
    type Output = O;
    type Worker = W;
    type Error = E;

    fn make_worker(&self) -> W {
        self.0()
    }

    fn open(&self, worker: &mut W, input: I) -> Result<O, E> {
        self.1(worker, input)
    }

    fn work(&self, _: &mut W, output: O) -> Result<O, E> {
        Ok(output)
    }
}

/// Runs a pass with one parallel phase: `claim` takes inputs one after the other, `map` processes them
/// on all threads, and `commit` receives the results in input order. `worker` creates the scratch memory
/// of each thread.
///
/// ```
/// use readmill_engine::{Crew, map_ordered};
///
/// let (mut inputs, mut out) = (["a", "b", "c"].into_iter(), Vec::new());
/// let commit = |text| {
///     out.push(text);
///     Ok::<(), ()>(())
/// };
/// let crew = Crew { threads: 2, in_flight: 4 };
/// map_ordered(crew, || Ok(inputs.next()), || (), |_, text| Ok(text.to_uppercase()), commit)?;
/// assert_eq!(out, ["A", "B", "C"]);
/// # Ok::<(), ()>(())
/// ```
///
/// # Errors
/// Returns the error of the first input, in input order, for which a closure fails (see [`run_pass`]).
pub fn map_ordered<I: Send, O: Send, W: Send, E: Send>(
    crew: Crew,
    mut claim: impl FnMut() -> Result<Option<I>, E> + Send,
    worker: impl Fn() -> W + Sync,
    map: impl Fn(&mut W, I) -> Result<O, E> + Sync,
    mut commit: impl FnMut(O) -> Result<(), E> + Send,
) -> Result<Vec<W>, E> {
    let pass = MapPass(worker, map, PhantomData);
    run_pass(crew, &pass, |_| claim(), |_, output| Ok(output), |_, output| commit(output))
}
