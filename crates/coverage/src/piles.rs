//! The deepest places: windows of 1,000 bases that are deeper than those beside them.

use readmill_record::Result;

use crate::join::{Depths, Run};

/// Bases of a window; the last one of a contig may have fewer.
pub const WINDOW: u32 = 1000;

/// Windows that are kept.
pub const MOST: usize = 20;

/// A window, and how deep it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pile {
    /// The contig, in the order of the header.
    pub contig: u32,
    /// The first position, 0-based.
    pub start: u32,
    /// The position after the last one.
    pub end: u32,
    /// The sum of the depths of its bases.
    pub bases: u64,
    /// The depth of its deepest base.
    pub most: u32,
}

impl Pile {
    /// The mean depth.
    pub fn mean(&self) -> f64 {
        self.bases as f64 / f64::from(self.end - self.start)
    }

    /// Whether it is deeper than another window, by the exact means.
    fn is_deeper(&self, other: &Pile) -> bool {
        let weighed =
            |own: &Pile, other: &Pile| u128::from(own.bases) * u128::from(other.end - other.start);
        weighed(self, other) > weighed(other, self)
    }
}

/// Finds the deepest windows. Of windows of one depth, the first counts as deeper.
#[derive(Default)]
pub struct Piles {
    /// The deepest ones so far, deepest first.
    deepest: Vec<Pile>,
    contig: u32,
    /// The window that is not complete.
    open: Option<Pile>,
    /// The last complete one, and whether it is deeper than the one before it.
    last: Option<(Pile, bool)>,
}

impl Piles {
    /// The deepest windows, deepest first.
    pub fn deepest(&self) -> &[Pile] {
        &self.deepest
    }

    /// Completes the open window.
    fn complete(&mut self) {
        let Some(pile) = self.open.take() else { return };
        let rises = match self.last.take() {
            Some((last, rises)) => {
                let is_deeper = pile.is_deeper(&last);
                if rises && !is_deeper {
                    self.keep(last);
                }
                is_deeper
            }
            None => true,
        };
        self.last = Some((pile, rises));
    }

    /// Keeps a window, if it is one of the deepest.
    fn keep(&mut self, pile: Pile) {
        if pile.bases == 0 {
            return;
        }
        let at = self.deepest.partition_point(|other| !pile.is_deeper(other));
        if at < MOST {
            self.deepest.truncate(MOST - 1);
            self.deepest.insert(at, pile);
        }
    }
}

impl Depths for Piles {
    fn begin(&mut self, contig: u32) -> Result<()> {
        self.contig = contig;
        Ok(())
    }

    fn run(&mut self, run: Run) -> Result<()> {
        let depth = run.depth.max(0).unsigned_abs();
        let mut from = run.start;
        while from < run.end {
            let start = from - from % WINDOW;
            if self.open.is_some_and(|open| open.start != start) {
                self.complete();
            }
            let to = run.end.min(start.saturating_add(WINDOW));
            let empty = Pile { contig: self.contig, start, end: from, bases: 0, most: 0 };
            let open = self.open.get_or_insert(empty);
            open.end = to;
            open.bases += u64::from(depth) * u64::from(to - from);
            open.most = open.most.max(depth);
            from = to;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        self.complete();
        if let Some((last, true)) = self.last.take() {
            self.keep(last);
        }
        Ok(())
    }

    fn pass(&mut self, _: u32) -> Result<()> {
        Ok(())
    }
}

/// Hands depths to two takers.
pub struct Both<'a, A, B>(pub &'a mut A, pub &'a mut B);

impl<A: Depths, B: Depths> Depths for Both<'_, A, B> {
    fn begin(&mut self, contig: u32) -> Result<()> {
        self.0.begin(contig)?;
        self.1.begin(contig)
    }

    fn run(&mut self, run: Run) -> Result<()> {
        self.0.run(run)?;
        self.1.run(run)
    }

    fn end(&mut self) -> Result<()> {
        self.0.end()?;
        self.1.end()
    }

    fn pass(&mut self, contig: u32) -> Result<()> {
        self.0.pass(contig)?;
        self.1.pass(contig)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The windows found of contigs with these runs: ends and depths.
    fn found(contigs: &[&[(u32, i32)]]) -> Vec<(u32, u32, u32, u64, u32)> {
        let mut piles = Piles::default();
        for (contig, runs) in contigs.iter().enumerate() {
            piles.begin(contig as u32).unwrap();
            let mut start = 0;
            for &(end, depth) in *runs {
                piles.run(Run { start, end, depth }).unwrap();
                start = end;
            }
            piles.end().unwrap();
        }
        let list = piles.deepest().iter();
        list.map(|it| (it.contig, it.start, it.end, it.bases, it.most)).collect()
    }

    #[test]
    fn of_neighbouring_windows_the_deepest_is_listed() {
        let runs = [(1500, 0), (1600, 50), (2100, 4), (4000, 1), (4200, 3)];
        assert_eq!(found(&[&runs]), [(0, 1000, 2000, 6600, 50), (0, 4000, 4200, 600, 3)]);
    }

    #[test]
    fn of_equal_windows_the_first_is_listed() {
        assert_eq!(found(&[&[(3000, 2)], &[(1000, 2)]]), [(0, 0, 1000, 2000, 2), (1, 0, 1000, 2000, 2)]);
        assert_eq!(found(&[&[(5000, 0)]]), []);
    }

    #[test]
    fn the_last_window_is_compared_by_its_own_length() {
        assert_eq!(found(&[&[(1000, 5), (1010, 6)]]), [(0, 1000, 1010, 60, 6)]);
    }

    #[test]
    fn the_deepest_are_kept() {
        let runs: Vec<(u32, i32)> =
            (0..60).map(|i| ((i + 1) * 1000, if i % 2 == 0 { i as i32 } else { 0 })).collect();
        let list = found(&[&runs]);
        assert_eq!((list.len(), list[0].1, list[19].1), (20, 58_000, 20_000));
    }
}
