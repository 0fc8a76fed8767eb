//! The intervals that a run is restricted to.

use readmill_pairwise::ContigSpan;

/// Intervals of one contig in order, of which no two overlap or touch.
///
/// GATK merges the intervals of `-L` in this way (`IntervalMergingRule.ALL`), and again after it has
/// padded them.
///
/// ```
/// use readmill_regions::{Intervals, ContigSpan};
///
/// let intervals = Intervals::new([ContigSpan { start: 30, end: 40 }, ContigSpan { start: 1, end: 29 }]);
/// assert_eq!(intervals.spans(), [ContigSpan { start: 1, end: 40 }]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intervals(Vec<ContigSpan>);

impl Intervals {
    /// Sorts and merges spans of one contig. Empty spans are left out.
    pub fn new(spans: impl IntoIterator<Item = ContigSpan>) -> Self {
        let mut spans = Vec::from_iter(spans.into_iter().filter(|span| !span.is_empty()));
        spans.sort_unstable();
        spans.dedup_by(|next, merged| {
            let touches = next.start <= merged.end.saturating_add(1);
            if touches {
                merged.end = merged.end.max(next.end);
            }
            touches
        });
        Intervals(spans)
    }

    /// Returns the whole contig as one interval.
    pub fn of_contig(length: i32) -> Self {
        Intervals::new([ContigSpan { start: 1, end: length }])
    }

    /// Returns the merged spans in order.
    pub fn spans(&self) -> &[ContigSpan] {
        &self.0
    }

    /// Returns the intervals with `padding` more positions at both ends of each.
    pub fn pad(&self, padding: i32, contig_length: i32) -> Self {
        Intervals::new(self.0.iter().map(|span| span.pad(padding, contig_length)))
    }

    /// Returns whether an interval overlaps `span`.
    pub fn overlap(&self, span: ContigSpan) -> bool {
        let first = self.0.partition_point(|interval| interval.end < span.start);
        self.0.get(first).is_some_and(|interval| interval.overlaps(span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: i32, end: i32) -> ContigSpan {
        ContigSpan { start, end }
    }

    #[test]
    fn padded_intervals_that_touch_are_merged() {
        let intervals = Intervals::new([span(500, 500), span(299, 299), span(900, 950)]);
        assert_eq!(intervals.spans(), [span(299, 299), span(500, 500), span(900, 950)]);
        let padded = intervals.pad(100, 1000);
        assert_eq!(padded.spans(), [span(199, 600), span(800, 1000)]);
        let overlaps = [(1, 198), (100, 199), (601, 799), (799, 800), (1001, 1100)];
        let overlaps = overlaps.map(|(start, end)| padded.overlap(span(start, end)));
        assert_eq!(overlaps, [false, true, false, true, false]);
    }
}
