//! Slices of a lane, for jobs that align in stages on several machines. A slice consists of whole
//! cohorts, and its records are the same as if the whole lane were aligned at once. So a slice
//! contains the state that depends on preceding reads:
//!
//! - Insert sizes are inferred by cohort, so a slice starts at the start of a cohort. Reading may have to
//!   start earlier, at the start of a batch or of a piece of a file of records.
//! - bwa breaks ties by the number of a template in the lane, so a slice has the number of its first
//!   template. If reads are trimmed, dropped templates are not counted.
//! - Which adapters are searched for depends on those found so far, so a slice has their counts.

use std::io::Read;
use std::ops::Range;

use readmill_fastq::RestartPoint;
use readmill_filters::adapter::AdapterCounts;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SliceStart {
    /// 0-based number of its first template in the lane, counting only templates that trimming
    /// keeps.
    pub template: u64,
    pub reading: ReadingStart,
}

/// A position in the files of a lane from which reads can be read, and the state that depends on
/// preceding reads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReadingStart {
    /// 0-based number of the first template at this position, counting all templates of the files.
    pub template: u64,
    pub place: LanePlace,
    pub adapters: AdapterCounts,
    pub left: u64,
    /// Whether trailing Gs are removed, which depends on the first read name of the lane.
    pub cuts_poly_g: bool,
    /// The byte before the read number at the end of names, such as `.` in `SRR1.7.1`. Determined
    /// from the first reads.
    #[serde(default)]
    pub numbering: Option<u8>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum LanePlace {
    #[default]
    Start,
    Fastq(Vec<RestartPoint>),
    Piece(usize),
}

pub struct LaneSlice {
    pub lane: usize,
    pub start: SliceStart,
    /// Number of the first template after the slice; `None` at the end of the lane.
    pub until: Option<u64>,
    /// The rest of a file of records, with the form of a complete file. `None` for FASTQ, and if
    /// the file is read from its start.
    pub stream: Option<Box<dyn Read + Send>>,
    pub segments: Option<usize>,
}

/// The range of templates that are aligned, by their numbers in the lane.
#[derive(Clone, Copy, Debug, Default)]
pub struct WantedTemplates {
    pub from: u64,
    /// Number of the first template that is not wanted; `None` for all up to the end of the lane.
    pub until: Option<u64>,
}

impl WantedTemplates {
    /// Returns which of `templates` templates, numbered from `first`, are wanted, and whether no
    /// later template is wanted.
    pub fn wanted_range(&self, first: u64, templates: usize) -> (Range<usize>, bool) {
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
        assert_eq!(wanted.wanted_range(0, 10), (10..10, false));
        assert_eq!(wanted.wanted_range(8, 4), (2..4, false));
        assert_eq!(wanted.wanted_range(12, 13), (0..13, true));
        assert_eq!(wanted.wanted_range(20, 10), (0..5, true));
        assert_eq!(wanted.wanted_range(30, 10), (0..0, true));
        assert_eq!(WantedTemplates::default().wanted_range(5, 3), (0..3, false));
    }
}
