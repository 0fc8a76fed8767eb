//! Slices of a lane: whole cohorts of its templates, whose records are those that the whole lane has there.
//!
//! Insert sizes are inferred by cohort, so a slice starts where one starts. Reading may have to start before: where a
//! batch starts, or a piece of a file of records. bwa breaks ties by the number of a template in the lane, so a slice knows
//! the number of its first one. Which adapters are looked for depends on those found before, so it knows these, too.
//!
//! Where reads are trimmed, templates are dropped, and those that are left have numbers as if the others had never been there.

use std::io::Read;
use std::ops::Range;

use readmill_fastq::RestartPoint;
use readmill_filters::adapter::AdapterCounts;
use serde::{Deserialize, Serialize};

/// Where a slice of a lane starts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SliceStart {
    /// The number of its first template in the lane, 0-based, of those that trimming leaves.
    pub template: u64,
    /// Where it is read from.
    pub reading: ReadingStart,
}

/// A place in the files of a lane from which reads can be read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReadingStart {
    /// The number of the first template there, 0-based, as in the files.
    pub template: u64,
    /// Where it is.
    pub place: LanePlace,
    /// Adapters that were found in the templates before it.
    pub adapters: AdapterCounts,
    /// Templates before it that trimming has left.
    pub left: u64,
    /// Whether tails of G are cut off, as the first read of the lane says.
    pub cuts_poly_g: bool,
    /// The byte before the read number at the end of a name, found in the first reads of the lane.
    #[serde(default)]
    pub numbering: Option<u8>,
}

/// A place in the files of a lane.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum LanePlace {
    /// The start of its files.
    #[default]
    Start,
    /// Places in its FASTQ files, one in each.
    Fastq(Vec<RestartPoint>),
    /// The start of the piece of this number, from 0, of a file of records.
    Piece(usize),
}

/// A slice of a lane.
pub struct LaneSlice {
    /// The number of the lane, from 0.
    pub lane: usize,
    /// Where it starts.
    pub start: SliceStart,
    /// The number of the first template behind it; `None` at the end of the lane.
    pub until: Option<u64>,
    /// The rest of a file of records, as a file; `None` if it is read from its start, and in FASTQ.
    pub stream: Option<Box<dyn Read + Send>>,
    /// Reads of each template in a file of records, where it is read from inside.
    pub segments: Option<usize>,
}

/// The templates of a lane that are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct WantedTemplates {
    /// The number of the first one.
    pub from: u64,
    /// The number of the first one behind them; `None` at the end of the lane.
    pub until: Option<u64>,
}

impl WantedTemplates {
    /// Which of so many templates from number `first` on are wanted, and whether none behind them is.
    pub fn among(&self, first: u64, templates: usize) -> (Range<usize>, bool) {
        let at = |number: u64| usize::try_from(number.saturating_sub(first)).unwrap_or(usize::MAX);
        let start = at(self.from).min(templates);
        let end = self.until.map_or(templates, |until| at(until).min(templates)).max(start);
        (start..end, self.until.is_some_and(|until| first + templates as u64 >= until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wanted_templates_are_those_from_the_first_to_the_last() {
        let wanted = WantedTemplates { from: 10, until: Some(25) };
        assert_eq!(wanted.among(0, 10), (10..10, false));
        assert_eq!(wanted.among(8, 4), (2..4, false));
        assert_eq!(wanted.among(12, 13), (0..13, true));
        assert_eq!(wanted.among(20, 10), (0..5, true));
        assert_eq!(wanted.among(30, 10), (0..0, true));
        assert_eq!(WantedTemplates::default().among(5, 3), (0..3, false));
    }
}
