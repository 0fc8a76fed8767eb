//! Sorts many lists in parallel.

use std::marker::PhantomData;

use readmill_engine::{Crew, Pass};
use readmill_markdup::{Item, Sorting};
use readmill_record::{Error, Result};

struct SortPass<F, T, U>(F, PhantomData<fn(T) -> U>);

impl<F, T, U> Pass for SortPass<F, T, U>
where
    T: Send,
    U: Send,
    F: Fn(Vec<T>, &mut Vec<T>) -> U + Sync,
{
    type Input = Vec<T>;
    type Opened = Vec<T>;
    type Linked = Vec<T>;
    type Output = U;
    type Worker = Vec<T>;
    type Error = Error;

    fn worker(&self) -> Vec<T> {
        Vec::new()
    }

    fn open(&self, _: &mut Vec<T>, list: Vec<T>) -> Result<Vec<T>> {
        Ok(list)
    }

    fn work(&self, scratch: &mut Vec<T>, list: Vec<T>) -> Result<U> {
        Ok(self.0(list, scratch))
    }
}

/// Sorts every list with `sort`, which may use a second list as scratch.
pub fn sort_lists<T: Send, U: Send>(
    crew: Crew,
    lists: Vec<Vec<T>>,
    sort: impl Fn(Vec<T>, &mut Vec<T>) -> U + Sync,
) -> Result<Vec<U>> {
    let (mut unsorted, mut sorted) = (lists.into_iter(), Vec::new());
    readmill_engine::run(
        crew,
        &SortPass(sort, PhantomData),
        |_| Ok(unsorted.next()),
        |_, list| Ok(list),
        |_, list| {
            sorted.push(list);
            Ok(())
        },
    )?;
    Ok(sorted)
}

/// Sorts the chunks of packed items on the crew's threads.
pub struct ThreadedSort(pub Crew);

impl Sorting for ThreadedSort {
    fn sort<T: Item>(&self, chunks: &mut Vec<Vec<T>>) -> Result<()> {
        *chunks = sort_lists(self.0, std::mem::take(chunks), |mut chunk, _| {
            chunk.sort_unstable();
            chunk
        })?;
        Ok(())
    }
}
