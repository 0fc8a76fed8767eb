//! Options of counting and of the reports.

use readmill_record::{Error, RecordRef, Result};

/// Which reads count, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Reads of a lower mapping quality do not count.
    pub mapq: u8,
    /// Reads with any of these flags do not count.
    pub exclude_flags: u16,
    /// Only reads with any of these flags count; 0 for all.
    pub include_flags: u16,
    /// Only reads of these read groups count; empty for all.
    pub read_groups: Vec<Vec<u8>>,
    /// Count all bases from the first to the last aligned one, and those of overlapping mates twice.
    pub fast_mode: bool,
}

impl ReadOptions {
    /// Flags of reads that do not count, if not said otherwise: unmapped, secondary, failed, duplicate.
    pub const EXCLUDED: u16 = 1796;

    /// Whether a read counts.
    #[inline]
    pub(crate) fn counts(&self, record: RecordRef<'_>) -> bool {
        let flags = record.flags().0;
        record.mapq() >= self.mapq
            && flags & self.exclude_flags == 0
            && (self.include_flags == 0 || flags & self.include_flags != 0)
            && (self.read_groups.is_empty() || self.is_of_group(record))
    }

    fn is_of_group(&self, record: RecordRef<'_>) -> bool {
        record.read_group().is_some_and(|group| self.read_groups.iter().any(|wanted| wanted == group))
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            mapq: 0,
            exclude_flags: ReadOptions::EXCLUDED,
            include_flags: 0,
            read_groups: Vec::new(),
            fast_mode: false,
        }
    }
}

/// The options of the reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportOptions {
    /// Leave out the depth of each base.
    pub no_per_base: bool,
    /// The regions of which the mean or median depth is written.
    pub by: Option<By>,
    /// Write the median in place of the mean.
    pub use_median: bool,
    /// Depths; the bases of each region that are at least so deep are counted. In ascending order.
    pub thresholds: Vec<i32>,
    /// Borders of depths that are written as one; empty for none.
    pub quantize: Quantize,
}

/// Regions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// Windows of so many bases.
    Window(u32),
    /// The regions of a BED file.
    Bed,
}

/// Borders of depths, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantize(Vec<i64>);

impl Quantize {
    /// Reads borders that are separated by colons. Without a number before the first colon, the first is 0; without one
    /// after the last, the last is infinite.
    ///
    /// # Errors
    /// They are not numbers.
    pub fn parse(text: &str) -> Result<Self> {
        let mut text = text.to_owned();
        if !text.contains(':') {
            text = format!(":{text}:");
        }
        if text.starts_with(':') {
            text.insert(0, '0');
        }
        if text.ends_with(':') {
            text.push_str(&i64::MAX.to_string());
        }
        let borders: std::result::Result<Vec<i64>, _> = text.split(':').map(str::parse).collect();
        let mut borders = borders.map_err(|_| {
            Error::usage("the borders of depths must be numbers, separated by colons")
                .hint("write them as 0:1:4:100:200:")
        })?;
        borders.sort_unstable();
        Ok(Quantize(borders))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of the segment of a depth; none where it is outside.
    pub(crate) fn segment(&self, depth: i32) -> Option<usize> {
        let depth = i64::from(depth);
        if depth < *self.0.first()? || depth > *self.0.last()? {
            return None;
        }
        match self.0.iter().position(|&border| border >= depth) {
            Some(at) if self.0[at] == depth => Some(at),
            Some(at) => Some(at - 1),
            None => None,
        }
    }

    /// The name of a segment; none for that behind the last border.
    pub(crate) fn label(&self, segment: usize) -> Option<String> {
        let (from, to) = (self.0.get(segment)?, self.0.get(segment + 1)?);
        Some(if *to == i64::MAX { format!("{from}:inf") } else { format!("{from}:{to}") })
    }

    /// Whether bases without reads have a segment that begins at 0.
    pub(crate) fn begins_at_zero(&self) -> bool {
        self.0.first() == Some(&0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_of_depths() {
        let segments = |text: &str, depths: &[i32]| {
            let quantize = Quantize::parse(text).unwrap();
            let label = |&depth: &i32| quantize.segment(depth).and_then(|it| quantize.label(it));
            depths.iter().map(|depth| label(depth).unwrap_or_default()).collect::<Vec<_>>()
        };
        assert_eq!(segments("0:1:4:", &[0, 1, 3, 4, 900]), ["0:1", "1:4", "1:4", "4:inf", "4:inf"]);
        assert_eq!(segments(":5", &[0, 4, 5, 6]), ["0:5", "0:5", "", ""]);
        assert_eq!(segments("3", &[0, 3]), ["0:3", "3:inf"]);
        assert_eq!(segments("2:4:8", &[0, 1, 2, 7, 8]), ["", "", "2:4", "4:8", ""]);
        assert!(Quantize::parse("1:x").is_err());
    }
}
