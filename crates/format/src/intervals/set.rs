//! Unions and differences of intervals, and interval sets with lookup by position.

use std::sync::Arc;

use readmill_record::{Charge, Ledger, Result, make_room};

/// Contig index, first base, and the base after the last (0-based).
pub(super) type ContigInterval = (u32, u32, u32);

/// Collects intervals in any order, for example while files are read.
/// [`IntervalCollector::into_set`] merges them.
///
/// ```
/// use readmill_format::intervals::IntervalCollector;
/// use readmill_record::Ledger;
///
/// let mut list = IntervalCollector::new(&Ledger::unlimited());
/// list.push_interval(0, 50, 60);
/// list.push_interval(0, 10, 20);
/// list.push_interval(0, 15, 30);
/// let set = list.into_set(1)?;
/// assert_eq!(set.intervals(), [(0, 10, 30), (0, 50, 60)]);
/// assert_eq!(set.first_ending_after(0, 30), Some((50, 60)));
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct IntervalCollector {
    intervals: Vec<ContigInterval>,
    charge: Charge,
    /// Number of intervals that did not fit into memory, for the error message.
    missing: u64,
}

impl IntervalCollector {
    pub fn new(ledger: &Ledger) -> Self {
        IntervalCollector { intervals: Vec::new(), charge: ledger.empty_charge("regions"), missing: 0 }
    }

    /// Adds an interval: its contig, its first base, and the base after its last one (0-based). If
    /// there is no memory for it, [`IntervalCollector::check_memory`] reports this later.
    pub fn push_interval(&mut self, contig: u32, start: u32, end: u32) {
        if self.missing == 0 && make_room(&mut self.intervals, 1, &mut self.charge).is_ok() {
            self.intervals.push((contig, start, end));
        } else {
            self.missing += 1;
        }
    }

    /// Checks that there was memory for all intervals.
    ///
    /// # Errors
    /// Fails if there was too little. The message says how much memory the intervals need.
    pub fn check_memory(&self) -> Result<()> {
        let ledger = self.charge.ledger();
        match self.missing * size_of::<ContigInterval>() as u64 {
            0 => Ok(()),
            // Memory that is free now was not free when the intervals were added: the list has been
            // merged since.
            bytes => Err(ledger.shortage_error("regions", ledger.free() + bytes)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    pub(super) fn drop_empty(&mut self) {
        self.intervals.retain(|interval| interval.1 < interval.2);
    }

    /// Sorts and merges the intervals, so that none overlap or touch. Empty intervals remain if no
    /// other interval touches them.
    pub(super) fn merge_overlaps(&mut self) {
        self.intervals.sort_unstable();
        self.intervals.dedup_by(|next, interval| {
            let one = next.0 == interval.0 && next.1 <= interval.2;
            interval.2 = if one { interval.2.max(next.2) } else { interval.2 };
            one
        });
    }

    pub(super) fn subtract(self, without: &IntervalCollector) -> Result<IntervalCollector> {
        self.check_memory()?;
        without.check_memory()?;
        if without.is_empty() {
            return Ok(self);
        }
        let (mut left, mut holes) =
            (IntervalCollector::new(self.charge.ledger()), without.intervals.iter().peekable());
        for &(contig, mut start, end) in &self.intervals {
            while let Some(&&(on, from, to)) = holes.peek() {
                if (on, from) >= (contig, end) {
                    break;
                }
                if on == contig {
                    if from > start {
                        left.push_interval(contig, start, from);
                    }
                    start = start.max(to);
                    if to > end {
                        break; // the hole extends into the next interval
                    }
                }
                holes.next();
            }
            if start < end {
                left.push_interval(contig, start, end);
            }
        }
        Ok(left)
    }

    /// Merges the intervals and returns them as a set on `contigs` contigs.
    ///
    /// # Errors
    /// Fails if the memory is not available.
    pub fn into_set(mut self, contigs: usize) -> Result<IntervalSet> {
        self.check_memory()?;
        self.merge_overlaps();
        let IntervalCollector { mut intervals, mut charge, .. } = self;
        intervals.shrink_to_fit();
        charge.resize((intervals.len() * size_of::<ContigInterval>()) as u64);
        let (mut ends, mut end) = (Vec::new(), 0);
        make_room(&mut ends, contigs, &mut charge)?;
        for contig in 0..contigs as u32 {
            end += intervals[end..].partition_point(|interval| interval.0 <= contig);
            ends.push(end);
        }
        Ok(IntervalSet(Arc::new(IntervalSetData { intervals, ends, _charge: charge })))
    }
}

/// Disjoint intervals in order, with a lookup by position. Clones share the data.
#[derive(Clone, Debug)]
pub struct IntervalSet(Arc<IntervalSetData>);

#[derive(Debug)]
struct IntervalSetData {
    intervals: Vec<ContigInterval>,
    ends: Vec<usize>,
    _charge: Charge,
}

impl IntervalSet {
    pub fn intervals(&self) -> &[(u32, u32, u32)] {
        &self.0.intervals
    }

    /// Returns the first interval on a contig that ends after base `start`: its first base, and the
    /// base after its last.
    #[inline]
    pub fn first_ending_after(&self, contig: usize, start: i64) -> Option<(u32, u32)> {
        let end = *self.0.ends.get(contig)?;
        let begin = contig.checked_sub(1).map_or(0, |before| self.0.ends[before]);
        let list = &self.0.intervals[begin..end];
        let next = list.partition_point(|interval| i64::from(interval.2) <= start);
        list.get(next).map(|&(_, first, end)| (first, end))
    }
}
