//! Joins pieces in order to depths by target.

use readmill_record::Result;

use super::piece::{TargetCounts, TargetPiece, UnitPart, UnitPiece};
use super::rules::TargetRules;
use crate::counts::{KeyCounts, add_each};
use crate::depth::depths::{PAGE, end_of};
use crate::depth::open_pages::{OpenPage, OpenPages};
use crate::depth::reads::MAX_QUAL;
use crate::depth::runs::DepthRuns;
use crate::unsorted::unsorted_error;

/// The sum of the pieces so far, separately for each program and each row of its table. Pieces are
/// added in read order. The join keeps the pages that later reads may still cover.
pub(super) struct TargetJoin {
    /// The contig and start of the last read.
    last: (u32, u32),
    by_rules: Vec<Vec<TargetUnitJoin>>,
}

struct TargetUnitJoin {
    /// Pages that later reads may cover.
    pages: OpenPages,
    totals: TargetTotals,
}

/// The totals of the reads of one row.
#[derive(Clone, Debug, Default)]
pub(crate) struct TargetTotals {
    pub counts: TargetCounts,
    /// Number of positions by their number of counted bases, without positions that have none.
    pub good: KeyCounts,
    pub deepest: u32,
    /// Number of positions by their number of bases above noise, up to the cap, without positions
    /// that have none.
    pub called: Vec<u64>,
    /// Histograms of the qualities of bases above noise: up to the cap at each position, and of all
    /// bases.
    pub quals: Vec<u64>,
    pub all_quals: Vec<u64>,
    pub targets: Vec<TargetDepths>,
    /// Number of reads with a counted base on each target. Empty if PER_TARGET_COVERAGE is not
    /// written.
    pub reads: Vec<u64>,
    pub(super) runs: Option<DepthRuns>,
}

/// The counted bases on one target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TargetDepths {
    pub bases: u64,
    /// Number of positions with at least one counted base, and the minimum and maximum number of
    /// bases at these positions.
    pub covered: u32,
    pub min: u32,
    pub max: u32,
}

impl TargetJoin {
    pub fn new(rules: &[TargetRules], units: usize) -> Self {
        let unit = |rules: &TargetRules| TargetUnitJoin {
            pages: OpenPages::default(),
            totals: TargetTotals::new(rules),
        };
        let by_rules = rules.iter().map(|rules| (0..units).map(|_| unit(rules)).collect()).collect();
        TargetJoin { last: (0, 0), by_rules }
    }

    pub fn add_piece(&mut self, piece: TargetPiece, rules: &[TargetRules]) -> Result<()> {
        if let Some([first, last]) = piece.ends {
            if first < self.last {
                return Err(unsorted_error());
            }
            self.last = last;
        }
        let (contig, at) = self.last;
        for ((rules, joins), units) in rules.iter().zip(&mut self.by_rules).zip(piece.by_rules) {
            let done = rules.targets.base_number(contig, at);
            for (join, unit) in joins.iter_mut().zip(units) {
                join.add_unit(unit, done, rules)?;
            }
        }
        Ok(())
    }

    pub fn into_totals(self, rules: &[TargetRules]) -> Vec<Vec<TargetTotals>> {
        let finish = |(mut join, rules): (TargetUnitJoin, &TargetRules)| {
            for (number, page) in std::mem::take(&mut join.pages).into_all() {
                // Cannot fail: the memory of these counts was charged before.
                let _ = join.totals.add_page(number, &page, rules);
            }
            if let Some(runs) = &mut join.totals.runs {
                runs.finish();
            }
            join.totals
        };
        let by_rules = self.by_rules.into_iter().zip(rules);
        by_rules
            .map(|(joins, rules)| joins.into_iter().map(|join| finish((join, rules))).collect())
            .collect()
    }

    /// Returns the maximum number of further bytes in use while a piece is added.
    pub fn max_growth_bytes(piece: &TargetPiece) -> u64 {
        let parts = piece.by_rules.iter().flatten().flat_map(|unit| &unit.parts);
        let each = |part: &UnitPart| {
            let pages = part.depths.pages.len();
            let depths = part.reads.list.len().min(pages * PAGE) as u64;
            OpenPages::bytes_of(pages) + 128 * depths + DepthRuns::CHUNK_BYTES
        };
        parts.map(each).sum()
    }

    /// Returns the memory in bytes of open pages, and of results that grow with the depth.
    pub fn heap_bytes(&self) -> u64 {
        let units = self.by_rules.iter().flatten();
        units.map(|unit| unit.pages.heap_bytes() as u64 + unit.totals.grown_bytes()).sum()
    }
}

impl TargetUnitJoin {
    /// Adds the contribution of a piece. `done` is the number of the first position that later
    /// reads can cover; positions before it are complete.
    fn add_unit(&mut self, unit: UnitPiece, done: u32, rules: &TargetRules) -> Result<()> {
        let TargetUnitJoin { pages, totals } = self;
        totals.counts.add(&unit.counts);
        add_each(&mut totals.all_quals, &unit.quals);
        for (target, reads) in unit.reads {
            if let Some(sum) = totals.reads.get_mut(target as usize) {
                *sum += u64::from(reads);
            }
        }
        for part in unit.parts {
            add_each(&mut totals.quals, &part.depths.quals);
            pages.take_back_quals(&part.reads, &part.depths.pages, rules.cap, &mut totals.quals);
            for page in &part.depths.pages {
                match pages.get_mut(page.number) {
                    Some(sum) => sum.add_page(page),
                    None => pages.insert_page(page),
                }
            }
        }
        while let Some((number, page)) = pages.pop_before(done) {
            totals.add_page(number, &page, rules)?;
        }
        Ok(())
    }
}

impl TargetTotals {
    fn new(rules: &TargetRules) -> Self {
        let targets = rules.targets.intervals().len();
        TargetTotals {
            called: vec![0; rules.cap as usize + 1],
            quals: vec![0; usize::from(MAX_QUAL) + 1],
            all_quals: vec![0; usize::from(MAX_QUAL) + 1],
            targets: vec![TargetDepths::default(); targets],
            reads: vec![0; if rules.per_target { targets } else { 0 }],
            runs: rules.per_base.then(DepthRuns::default),
            ..TargetTotals::default()
        }
    }

    /// Adds the positions of a page. Must be called in page order.
    fn add_page(&mut self, number: u32, page: &OpenPage, rules: &TargetRules) -> Result<()> {
        let room = crate::room::counting_room(u64::MAX);
        let first = (end_of(number) - PAGE as u64) as u32;
        let mut target = rules.targets.interval_at_offset(first);
        let depths = page.called.iter().zip(&page.good);
        for (position, (&called, &good)) in (first..).zip(depths).filter(|(_, it)| *it.0 > 0) {
            while rules.targets.base_offset(target + 1) <= position {
                target += 1;
            }
            self.called[called.min(rules.cap) as usize] += 1;
            if good == 0 {
                continue;
            }
            self.good.count_key(good, &room)?;
            self.deepest = self.deepest.max(good);
            let depths = &mut self.targets[target];
            depths.bases += u64::from(good);
            depths.min = if depths.covered == 0 { good } else { depths.min.min(good) };
            depths.max = depths.max.max(good);
            depths.covered += 1;
            if let Some(runs) = &mut self.runs {
                runs.push_depth(position, good);
            }
        }
        Ok(())
    }

    /// Returns the memory in bytes of results that grow with the depth, including their text.
    fn grown_bytes(&self) -> u64 {
        128 * u64::from(self.deepest) + self.runs.as_ref().map_or(0, DepthRuns::heap_bytes) as u64
    }
}
