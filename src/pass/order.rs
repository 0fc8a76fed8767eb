//! Sorting many lists, each on some thread.

use readmill_engine::{Crew, Pass};
use readmill_record::{Error, Result};
use readmill_steps::sort::{Run, run};

struct SortLists<F>(F);

impl<T, F> Pass for SortLists<(F, std::marker::PhantomData<fn() -> T>)>
where
    T: Send,
    F: Fn(&mut Vec<T>, &mut Vec<T>) + Sync,
{
    type Input = Vec<T>;
    type Opened = Vec<T>;
    type Linked = Vec<T>;
    type Output = Vec<T>;
    type Worker = Vec<T>;
    type Error = Error;

    fn worker(&self) -> Vec<T> {
        Vec::new()
    }

    fn open(&self, _: &mut Vec<T>, list: Vec<T>) -> Result<Vec<T>> {
        Ok(list)
    }

    fn work(&self, scratch: &mut Vec<T>, mut list: Vec<T>) -> Result<Vec<T>> {
        self.0.0(&mut list, scratch);
        Ok(list)
    }
}

/// Sorts every list with `sort`, which may use a second list as scratch.
fn lists<T: Send>(
    crew: Crew,
    lists: &mut Vec<Vec<T>>,
    sort: impl Fn(&mut Vec<T>, &mut Vec<T>) + Sync,
) -> Result<()> {
    let mut unsorted = std::mem::take(lists).into_iter();
    readmill_engine::run(
        crew,
        &SortLists((sort, std::marker::PhantomData)),
        |_| Ok(unsorted.next()),
        |_, list| Ok(list),
        |_, list| {
            lists.push(list);
            Ok(())
        },
    )?;
    Ok(())
}

/// Sorts the entries of a run.
pub fn entries(crew: Crew, run: &mut Run) -> Result<()> {
    lists(crew, run.lists_mut(), run::sort_list)
}

/// Sorts the chunks of packed items.
pub fn items<const N: usize>(crew: Crew, chunks: &mut Vec<Vec<[u64; N]>>) -> Result<()> {
    lists(crew, chunks, |chunk, _| chunk.sort_unstable())
}
