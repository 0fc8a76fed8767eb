//! Unions and differences of intervals on one contig.

/// First base, and the base after the last, 0-based.
pub(super) type Interval = (u32, u32);

/// The same bases as sorted intervals that neither overlap nor touch.
pub(super) fn unite(mut list: Vec<Interval>) -> Vec<Interval> {
    list.retain(|interval| interval.0 < interval.1);
    list.sort_unstable();
    list.dedup_by(|next, interval| {
        let one = next.0 <= interval.1;
        interval.1 = if one { interval.1.max(next.1) } else { interval.1 };
        one
    });
    list
}

/// The bases of `from` that are not in `without`, both of which [`unite`] made.
pub(super) fn subtract(from: &[Interval], without: &[Interval]) -> Vec<Interval> {
    let (mut left, mut holes) = (Vec::new(), without.iter().peekable());
    for &(mut start, end) in from {
        while let Some(&&(hole_start, hole_end)) = holes.peek() {
            if hole_start >= end {
                break;
            }
            if hole_start > start {
                left.push((start, hole_start));
            }
            start = start.max(hole_end);
            if hole_end > end {
                break; // it reaches into the next one
            }
            holes.next();
        }
        if start < end {
            left.push((start, end));
        }
    }
    left
}
