//! Pages of depths to which later reads may still add.

use std::collections::BTreeMap;

use super::depths::{DepthPage, PAGE, each_numbered, end_of};
use super::reads::Reads;

/// The open pages, by page number. Depths have 32 bits here, because many pieces may add to a page.
#[derive(Default)]
pub(crate) struct OpenPages(BTreeMap<u32, OpenPage>);

pub(crate) struct OpenPage {
    /// Number of bases above noise, by position.
    pub called: Vec<u32>,
    /// Number of bases that count, by position.
    pub good: Vec<u32>,
}

impl OpenPage {
    pub fn add_page(&mut self, page: &DepthPage) {
        self.called.iter_mut().zip(&page.called).for_each(|(sum, &more)| *sum += u32::from(more));
        self.good.iter_mut().zip(&page.good).for_each(|(sum, &more)| *sum += u32::from(more));
    }
}

impl OpenPages {
    pub fn get_mut(&mut self, number: u32) -> Option<&mut OpenPage> {
        self.0.get_mut(&number)
    }

    pub fn insert_page(&mut self, page: &DepthPage) {
        let wide = |depths: &[u16]| depths.iter().map(|&depth| depth.into()).collect();
        self.0.insert(page.number, OpenPage { called: wide(&page.called), good: wide(&page.good) });
    }

    /// Removes and returns the first page if it ends at or before position `last`, so that no later
    /// read can reach it.
    pub fn pop_before(&mut self, last: u32) -> Option<(u32, OpenPage)> {
        let entry = self.0.first_entry().filter(|entry| end_of(*entry.key()) <= last.into())?;
        Some(entry.remove_entry())
    }

    pub fn into_all(self) -> impl Iterator<Item = (u32, OpenPage)> {
        self.0.into_iter()
    }

    /// Subtracts qualities of a piece from `counts`. The piece applied the cap to its own bases
    /// only; this removes the bases that are above the cap because of the bases of earlier pieces.
    pub fn take_back_quals(&self, reads: &Reads, pages: &[DepthPage], cap: u32, counts: &mut [u64]) {
        let is_deep = |page: &DepthPage| {
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

    /// Returns the memory in bytes of this number of further pages.
    pub fn bytes_of(pages: usize) -> u64 {
        (pages * (8 * PAGE + 96)) as u64
    }

    pub fn heap_bytes(&self) -> usize {
        self.0.len() * (8 * PAGE + 96)
    }
}
