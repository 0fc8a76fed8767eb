//! Pages of depths to which later reads may add.

use std::collections::BTreeMap;

use super::depths::{PAGE, Page, each_numbered, end_of};
use super::reads::Reads;

/// The pages, by their numbers.
#[derive(Default)]
pub(crate) struct OpenPages(BTreeMap<u32, OpenPage>);

/// The depths of a page so far.
pub(crate) struct OpenPage {
    /// Bases above noise.
    pub called: Vec<u32>,
    /// Bases that count.
    pub good: Vec<u32>,
}

impl OpenPage {
    /// Adds the depths of more reads.
    pub fn add(&mut self, page: &Page) {
        self.called.iter_mut().zip(&page.called).for_each(|(sum, &more)| *sum += u32::from(more));
        self.good.iter_mut().zip(&page.good).for_each(|(sum, &more)| *sum += u32::from(more));
    }
}

impl OpenPages {
    /// The page of this number.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut OpenPage> {
        self.0.get_mut(&number)
    }

    /// Adds a page that is not there yet.
    pub fn insert(&mut self, page: &Page) {
        let wide = |depths: &[u16]| depths.iter().map(|&depth| depth.into()).collect();
        self.0.insert(page.number, OpenPage { called: wide(&page.called), good: wide(&page.good) });
    }

    /// Removes the first page, with its number, if it ends at position `last` or before.
    pub fn pop_before(&mut self, last: u32) -> Option<(u32, OpenPage)> {
        let entry = self.0.first_entry().filter(|entry| end_of(*entry.key()) <= last.into())?;
        Some(entry.remove_entry())
    }

    /// All pages, with their numbers.
    pub fn into_all(self) -> impl Iterator<Item = (u32, OpenPage)> {
        self.0.into_iter()
    }

    /// Takes qualities back from `counts`: those of bases of a piece that are above the cap because of the reads before it.
    pub fn take_back_quals(&self, reads: &Reads, pages: &[Page], cap: u32, counts: &mut [u64]) {
        let is_deep = |page: &Page| {
            self.0.get(&page.number).is_some_and(|before| {
                let mut depths = before.called.iter().zip(&page.called);
                depths.any(|(&before, &more)| before > 0 && more > 0 && before + u32::from(more) > cap)
            })
        };
        if !pages.iter().any(is_deep) {
            return;
        }
        each_numbered(
            reads,
            |number| {
                let page = pages.binary_search_by_key(&number, |page| page.number).ok()?;
                let before = self.0.get(&number).filter(|_| is_deep(&pages[page]))?;
                let known = |&before: &u32| (before > 0).then_some((before, 0));
                Some(before.called.iter().map(known).collect())
            },
            |qual, seen: Option<&mut (u32, u32)>| {
                let Some((before, number)) = seen else { return };
                if *number < cap && before.saturating_add(*number) >= cap {
                    counts[usize::from(qual)] -= 1;
                }
                *number += 1;
            },
        );
    }

    /// Bytes of memory of so many more pages.
    pub fn bytes_of(pages: usize) -> u64 {
        (pages * (8 * PAGE + 96)) as u64
    }

    /// Bytes of memory in use.
    pub fn heap_bytes(&self) -> usize {
        self.0.len() * (8 * PAGE + 96)
    }
}
