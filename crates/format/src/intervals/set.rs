//! Unions and differences of intervals, and sets of intervals with lookup by position.

use std::sync::Arc;

use readmill_record::{Charge, Ledger, Result, make_room};

/// Contig index, first base, and the base after the last, 0-based.
pub(super) type Interval = (u32, u32, u32);

/// Intervals in any order, which grow while they are read.
pub struct List {
    intervals: Vec<Interval>,
    charge: Charge,
    /// The number of those that did not fit, counted for the message.
    missing: u64,
}

impl List {
    /// An empty list.
    pub fn new(ledger: &Ledger) -> Self {
        List { intervals: Vec::new(), charge: ledger.empty("regions"), missing: 0 }
    }

    /// Adds an interval: its contig, its first base and the base after its last, 0-based.
    pub fn push(&mut self, contig: u32, start: u32, end: u32) {
        if self.missing == 0 && make_room(&mut self.intervals, 1, &mut self.charge).is_ok() {
            self.intervals.push((contig, start, end));
        } else {
            self.missing += 1;
        }
    }

    /// Checks that there was memory for all of them.
    ///
    /// # Errors
    /// There was not; the message names the memory that they need.
    pub fn check(&self) -> Result<()> {
        let ledger = self.charge.ledger();
        match self.missing * size_of::<Interval>() as u64 {
            0 => Ok(()),
            // What is free now was not when they came: the list was united since.
            bytes => Err(ledger.shortage("regions", ledger.free() + bytes)),
        }
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Removes intervals without bases.
    pub(super) fn drop_empty(&mut self) {
        self.intervals.retain(|interval| interval.1 < interval.2);
    }

    /// Sorts and merges the intervals, so that none overlap or touch. Intervals without bases stay if no other
    /// touches them.
    pub(super) fn unite(&mut self) {
        self.intervals.sort_unstable();
        self.intervals.dedup_by(|next, interval| {
            let one = next.0 == interval.0 && next.1 <= interval.2;
            interval.2 = if one { interval.2.max(next.2) } else { interval.2 };
            one
        });
    }

    /// The bases that are not in `without`. Both lists are merged.
    pub(super) fn subtract(self, without: &List) -> Result<List> {
        self.check()?;
        without.check()?;
        if without.is_empty() {
            return Ok(self);
        }
        let (mut left, mut holes) =
            (List::new(self.charge.ledger()), without.intervals.iter().peekable());
        for &(contig, mut start, end) in &self.intervals {
            while let Some(&&(on, from, to)) = holes.peek() {
                if (on, from) >= (contig, end) {
                    break;
                }
                if on == contig {
                    if from > start {
                        left.push(contig, start, from);
                    }
                    start = start.max(to);
                    if to > end {
                        break; // it extends into the next one
                    }
                }
                holes.next();
            }
            if start < end {
                left.push(contig, start, end);
            }
        }
        Ok(left)
    }

    /// The set of these intervals, on this many contigs.
    ///
    /// # Errors
    /// The memory is not free.
    pub fn into_set(mut self, contigs: usize) -> Result<Set> {
        self.check()?;
        self.unite();
        let List { mut intervals, mut charge, .. } = self;
        intervals.shrink_to_fit();
        charge.resize((intervals.len() * size_of::<Interval>()) as u64);
        let (mut ends, mut end) = (Vec::new(), 0);
        make_room(&mut ends, contigs, &mut charge)?;
        for contig in 0..contigs as u32 {
            end += intervals[end..].partition_point(|interval| interval.0 <= contig);
            ends.push(end);
        }
        Ok(Set(Arc::new(SetData { intervals, ends, _charge: charge })))
    }
}

/// Separate intervals in order. Clones share them.
#[derive(Clone, Debug)]
pub struct Set(Arc<SetData>);

#[derive(Debug)]
struct SetData {
    intervals: Vec<Interval>,
    /// The end of each contig's intervals.
    ends: Vec<usize>,
    _charge: Charge,
}

impl Set {
    /// The intervals: contig, first base, and the base after the last.
    pub fn intervals(&self) -> &[(u32, u32, u32)] {
        &self.0.intervals
    }

    /// The first interval on contig `contig` that ends after base `start`: its first base, and the base after its
    /// last.
    #[inline]
    pub fn first_behind(&self, contig: usize, start: i64) -> Option<(u32, u32)> {
        let end = *self.0.ends.get(contig)?;
        let begin = contig.checked_sub(1).map_or(0, |before| self.0.ends[before]);
        let list = &self.0.intervals[begin..end];
        let next = list.partition_point(|interval| i64::from(interval.2) <= start);
        list.get(next).map(|&(_, first, end)| (first, end))
    }
}
