//! Positions of a contig.

/// Positions of a contig, 1-based, both ends included.
///
/// ```
/// use readmill_pairwise::ContigSpan;
///
/// let span = ContigSpan { start: 50, end: 149 };
/// assert_eq!(span.len(), 100);
/// assert_eq!(span.pad(100, 200), ContigSpan { start: 1, end: 200 }); // a contig of 200 bases
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContigSpan {
    /// First position.
    pub start: i32,
    /// Last position.
    pub end: i32,
}

impl ContigSpan {
    /// Returns the number of positions.
    pub fn len(self) -> usize {
        (i64::from(self.end) - i64::from(self.start) + 1).max(0) as usize
    }

    /// Returns whether the span has no position.
    pub fn is_empty(self) -> bool {
        self.end < self.start
    }

    /// Returns whether both spans have a position in common.
    pub fn overlaps(self, other: ContigSpan) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// Returns the positions that both spans have, if there are any.
    pub fn intersect(self, other: ContigSpan) -> Option<ContigSpan> {
        let (start, end) = (self.start.max(other.start), self.end.min(other.end));
        (start <= end).then_some(ContigSpan { start, end })
    }

    /// Returns the span with `padding` more positions at both ends, as far as the contig goes.
    pub fn pad(self, padding: i32, contig_length: i32) -> ContigSpan {
        ContigSpan {
            start: self.start.saturating_sub(padding).max(1),
            end: self.end.saturating_add(padding).min(contig_length),
        }
    }
}
