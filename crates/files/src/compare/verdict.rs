//! The result of a comparison, and its text for the user.

use std::fmt;
use std::path::PathBuf;

use super::header::{AgreementLevel, HeaderResult};
use super::line::shorten_for_display;
use super::step::RecordResult;

/// How closely two files agree, and what differs. `Display` writes a few lines: the level, the
/// number of records, and the first difference.
#[derive(Clone, Debug)]
pub struct ComparisonResult {
    pub(super) files: [PathBuf; 2],
    pub(super) counts: [u64; 2],
    pub(super) ignored: [String; 2],
    pub(super) header: Option<HeaderResult>,
    pub(super) records: RecordResult,
}

impl ComparisonResult {
    pub fn level(&self) -> Option<AgreementLevel> {
        let levels = [AgreementLevel::L0, AgreementLevel::L1, AgreementLevel::L2, AgreementLevel::L3];
        levels.into_iter().find(|&level| self.header_holds(level) && self.records.holds(level))
    }

    /// Returns whether the files agree at `level` or a stricter level.
    pub fn holds(&self, level: AgreementLevel) -> bool {
        self.level().is_some_and(|reached| reached <= level)
    }

    fn header_holds(&self, level: AgreementLevel) -> bool {
        let reached = self.header.as_ref().map_or(Some(AgreementLevel::L0), |header| header.level);
        level == AgreementLevel::L3 || reached.is_some_and(|reached| reached <= level)
    }

    fn write_header(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(header) = &self.header else { return writeln!(f, "header: not compared") };
        f.write_str(match header.level {
            Some(AgreementLevel::L0) => "header: equal, except for @PG and @CO lines\n",
            Some(_) => "header: differs only in order, first in\n",
            None => "header: differs, first in\n",
        })?;
        let Some(first) = &header.first else { return Ok(()) };
        for (i, file) in self.files.iter().enumerate() {
            let other = first[1 - i].as_ref().map(String::as_bytes);
            let line = first[i].as_ref().map(|line| shorten_for_display(line.as_bytes(), other));
            writeln!(f, "  {}: {}", file.display(), line.as_deref().unwrap_or("(no line here)"))?;
        }
        Ok(())
    }
}

impl fmt::Display for ComparisonResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [header, records] = &self.ignored;
        match self.level() {
            Some(AgreementLevel::L0) => {
                writeln!(f, "level: L0, the same text, ignoring {header}{records}")?
            }
            Some(AgreementLevel::L1) => {
                writeln!(
                    f,
                    "level: L1, the same except for the order of tags, ignoring {header}{records}"
                )?;
            }
            Some(AgreementLevel::L2) => {
                writeln!(
                    f,
                    "level: L2, the same except for the order of ties, ignoring {header}{records}"
                )?;
            }
            Some(AgreementLevel::L3) => f.write_str("level: L3, the same reads and duplicate sets\n")?,
            None => f.write_str("level: different\n")?,
        }
        let ([a, b], [n, m]) = (self.files.each_ref().map(|file| file.display()), self.counts);
        writeln!(f, "records: {n} in {a}, {m} in {b}")?;
        self.write_header(f)?;
        // The most useful difference is the one that ruled out the next stricter level.
        let missed = match self.level() {
            Some(AgreementLevel::L0) => return Ok(()),
            Some(AgreementLevel::L1) => AgreementLevel::L0,
            Some(AgreementLevel::L2) => AgreementLevel::L1,
            Some(AgreementLevel::L3) | None => AgreementLevel::L2,
        };
        let first = [missed, AgreementLevel::L1, AgreementLevel::L0]
            .into_iter()
            .find_map(|level| self.records.first_difference(level));
        if let Some(first) = first {
            first.write_report(&self.files, f)?;
        }
        if self.records.tally.records > 0 {
            write!(f, "{}", self.records.tally)?;
        }
        if missed == AgreementLevel::L2 {
            let say = |same: bool| if same { "the same" } else { "not the same" };
            writeln!(f, "reads, whatever their order: {}", say(self.records.same_reads))?;
            writeln!(f, "duplicate sets: {}", say(self.records.same_duplicates))?;
        }
        Ok(())
    }
}
