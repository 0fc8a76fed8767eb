//! Unions and differences of intervals, and sets of them in which a place is looked up.

use std::sync::Arc;

use readmill_record::{Charge, Ledger, Result, make_room};

/// Number of the contig, first base, and the base after the last, 0-based.
pub(super) type Interval = (u32, u32, u32);

/// Intervals in no order, which grow with what is read.
pub struct List {
    intervals: Vec<Interval>,
    charge: Charge,
    /// Those that did not fit, which are counted for the message.
    missing: u64,
}

impl List {
    /// None yet.
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

    /// Says whether there was memory for all of them.
    ///
    /// # Errors
    /// There was not: the message says how much they need.
    pub fn check(&self) -> Result<()> {
        match self.missing {
            0 => Ok(()),
            n => Err(self.charge.ledger().shortage("regions", n * size_of::<Interval>() as u64)),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Removes intervals without bases.
    pub(super) fn drop_empty(&mut self) {
        self.intervals.retain(|interval| interval.1 < interval.2);
    }

    /// Makes of them the same bases as sorted intervals that neither overlap nor touch. Those without bases stay if nothing
    /// touches them.
    pub(super) fn unite(&mut self) {
        self.intervals.sort_unstable();
        self.intervals.dedup_by(|next, interval| {
            let one = next.0 == interval.0 && next.1 <= interval.2;
            interval.2 = if one { interval.2.max(next.2) } else { interval.2 };
            one
        });
    }

    /// The bases that are not in `without`. Both are united.
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
                        break; // it reaches into the next one
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

    /// A set of them on so many contigs.
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

/// Intervals in order, apart from each other. Clones share them.
#[derive(Clone, Debug)]
pub struct Set(Arc<SetData>);

#[derive(Debug)]
struct SetData {
    intervals: Vec<Interval>,
    /// Where those of each contig end.
    ends: Vec<usize>,
    _charge: Charge,
}

impl Set {
    /// The intervals: contig, first base, and the base after the last.
    pub fn intervals(&self) -> &[(u32, u32, u32)] {
        &self.0.intervals
    }

    /// The first interval of contig number `contig` that ends behind base `start`: its first base, and the base after its
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
