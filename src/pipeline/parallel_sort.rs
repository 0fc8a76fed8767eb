//! Sorts lists on all threads of a crew.

use readmill_engine::{Crew, map_ordered};
use readmill_markdup::{ChunkSorter, Item};
use readmill_record::{Error, Result};

/// Sorts every list with `sort`, in parallel, and returns the results in the same order. The second
/// argument of `sort` is scratch memory, which is reused from list to list.
pub fn sort_lists<T: Send, U: Send>(
    crew: Crew,
    lists: Vec<Vec<T>>,
    sort: impl Fn(Vec<T>, &mut Vec<T>) -> U + Sync,
) -> Result<Vec<U>> {
    let (mut unsorted, mut sorted) = (lists.into_iter(), Vec::new());
    map_ordered(
        crew,
        || Ok::<_, Error>(unsorted.next()),
        Vec::new,
        |scratch, list| Ok(sort(list, scratch)),
        |list| {
            sorted.push(list);
            Ok(())
        },
    )?;
    Ok(sorted)
}

/// Implements [`ChunkSorter`] for duplicate marking: sorts chunks of packed items on the threads of a
/// crew.
pub struct ThreadedSort(pub Crew);

impl ChunkSorter for ThreadedSort {
    fn sort<T: Item>(&self, chunks: &mut Vec<Vec<T>>) -> Result<()> {
        *chunks = sort_lists(self.0, std::mem::take(chunks), |mut chunk, _| {
            chunk.sort_unstable();
            chunk
        })?;
        Ok(())
    }
}
