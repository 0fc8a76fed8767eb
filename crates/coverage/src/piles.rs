//! Finds the deepest windows of 1,000 bases, for the list of pileups in the run description.
//!
//! Only windows that are deeper than both neighbours are listed, so that one deep region does not
//! fill the list.

use readmill_record::Result;

use crate::join::{DepthReceiver, DepthRun};

pub const PEAK_WINDOW_BASES: u32 = 1000;

pub const MAX_WINDOWS: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepthPeak {
    pub contig: u32,
    pub start: u32,
    pub end: u32,
    pub bases: u64,
    pub max_depth: u32,
}

impl DepthPeak {
    pub fn mean_depth(&self) -> f64 {
        self.bases as f64 / f64::from(self.end - self.start)
    }

    /// Compares mean depths without rounding, by cross-multiplication.
    fn is_deeper(&self, other: &DepthPeak) -> bool {
        let weighed = |own: &DepthPeak, other: &DepthPeak| {
            u128::from(own.bases) * u128::from(other.end - other.start)
        };
        weighed(self, other) > weighed(other, self)
    }
}

/// A [`DepthReceiver`] that finds the deepest windows. If windows are equally deep, the first one
/// is preferred.
///
/// ```
/// use readmill_coverage::{DepthReceiver, DepthRun, Piles};
///
/// let mut piles = Piles::default();
/// piles.begin_contig(0)?;
/// piles.add_run(DepthRun { start: 0, end: 1500, depth: 3 })?;
/// piles.add_run(DepthRun { start: 1500, end: 2000, depth: 90 })?;
/// piles.add_run(DepthRun { start: 2000, end: 9000, depth: 3 })?;
/// piles.end_contig()?;
/// let deepest = piles.deepest()[0];
/// assert_eq!((deepest.start, deepest.end, deepest.mean_depth()), (1000, 2000, 46.5));
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Default)]
pub struct Piles {
    deepest: Vec<DepthPeak>,
    contig: u32,
    open: Option<DepthPeak>,
    last: Option<(DepthPeak, bool)>,
}

impl Piles {
    /// Returns at most [`MAX_WINDOWS`] windows, sorted by decreasing mean depth.
    pub fn deepest(&self) -> &[DepthPeak] {
        &self.deepest
    }

    /// Ends the open window. The window before it is kept if it is deeper than both neighbours.
    fn complete_window(&mut self) {
        let Some(pile) = self.open.take() else { return };
        let rises = match self.last.take() {
            Some((last, rises)) => {
                let is_deeper = pile.is_deeper(&last);
                if rises && !is_deeper {
                    self.keep_if_deep(last);
                }
                is_deeper
            }
            None => true,
        };
        self.last = Some((pile, rises));
    }

    fn keep_if_deep(&mut self, pile: DepthPeak) {
        if pile.bases == 0 {
            return;
        }
        let at = self.deepest.partition_point(|other| !pile.is_deeper(other));
        if at < MAX_WINDOWS {
            self.deepest.truncate(MAX_WINDOWS - 1);
            self.deepest.insert(at, pile);
        }
    }
}

impl DepthReceiver for Piles {
    fn begin_contig(&mut self, contig: u32) -> Result<()> {
        self.contig = contig;
        Ok(())
    }

    fn add_run(&mut self, run: DepthRun) -> Result<()> {
        let depth = run.depth.max(0).unsigned_abs();
        let mut from = run.start;
        while from < run.end {
            let start = from - from % PEAK_WINDOW_BASES;
            if self.open.is_some_and(|open| open.start != start) {
                self.complete_window();
            }
            let to = run.end.min(start.saturating_add(PEAK_WINDOW_BASES));
            let empty = DepthPeak { contig: self.contig, start, end: from, bases: 0, max_depth: 0 };
            let open = self.open.get_or_insert(empty);
            open.end = to;
            open.bases += u64::from(depth) * u64::from(to - from);
            open.max_depth = open.max_depth.max(depth);
            from = to;
        }
        Ok(())
    }

    fn end_contig(&mut self) -> Result<()> {
        self.complete_window();
        if let Some((last, true)) = self.last.take() {
            self.keep_if_deep(last);
        }
        Ok(())
    }

    fn skip_contig(&mut self, _: u32) -> Result<()> {
        Ok(())
    }
}

/// Passes depths to two receivers, for example a report and the search for deep windows, in one
/// pass.
pub struct BothReceivers<'a, A, B>(pub &'a mut A, pub &'a mut B);

impl<A: DepthReceiver, B: DepthReceiver> DepthReceiver for BothReceivers<'_, A, B> {
    fn begin_contig(&mut self, contig: u32) -> Result<()> {
        self.0.begin_contig(contig)?;
        self.1.begin_contig(contig)
    }

    fn add_run(&mut self, run: DepthRun) -> Result<()> {
        self.0.add_run(run)?;
        self.1.add_run(run)
    }

    fn end_contig(&mut self) -> Result<()> {
        self.0.end_contig()?;
        self.1.end_contig()
    }

    fn skip_contig(&mut self, contig: u32) -> Result<()> {
        self.0.skip_contig(contig)?;
        self.1.skip_contig(contig)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the windows found on contigs with these runs, each given as its end and depth.
    fn found(contigs: &[&[(u32, i32)]]) -> Vec<(u32, u32, u32, u64, u32)> {
        let mut piles = Piles::default();
        for (contig, runs) in contigs.iter().enumerate() {
            piles.begin_contig(contig as u32).unwrap();
            let mut start = 0;
            for &(end, depth) in *runs {
                piles.add_run(DepthRun { start, end, depth }).unwrap();
                start = end;
            }
            piles.end_contig().unwrap();
        }
        let list = piles.deepest().iter();
        list.map(|it| (it.contig, it.start, it.end, it.bases, it.max_depth)).collect()
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
