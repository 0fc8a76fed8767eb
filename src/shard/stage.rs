//! The names and states of stages.

/// A stage of a job. The plan is not among them: it is written before any stage exists.
/// All numbers count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStage {
    /// Reads a lane of reads to be aligned, and finds where its slices start.
    Scan(usize),
    Map(usize),
    Cut,
    Judge,
    /// Compares the reads of a range with the reference, if no known sites are given.
    Compare(usize),
    Sites,
    Count(usize),
    Table,
    Write(usize),
    /// Concatenates the ranges to the output, and writes index and reports.
    Join,
}

impl JobStage {
    /// Returns the name, as given on the command line after `readmill shard`.
    pub fn name(self) -> &'static str {
        match self {
            JobStage::Scan(_) => "scan",
            JobStage::Map(_) => "map",
            JobStage::Cut => "cut",
            JobStage::Judge => "judge",
            JobStage::Compare(_) => "compare",
            JobStage::Sites => "sites",
            JobStage::Count(_) => "count",
            JobStage::Table => "table",
            JobStage::Write(_) => "write",
            JobStage::Join => "join",
        }
    }

    /// Returns the number among the stages with the same name, counted from 1 as on the
    /// command line. `None` if there is only one such stage.
    pub fn number(self) -> Option<usize> {
        match self {
            JobStage::Scan(n)
            | JobStage::Map(n)
            | JobStage::Compare(n)
            | JobStage::Count(n)
            | JobStage::Write(n) => Some(n + 1),
            JobStage::Cut | JobStage::Judge | JobStage::Sites | JobStage::Table | JobStage::Join => None,
        }
    }

    pub(super) fn stage_file_name(self) -> String {
        match self.number() {
            Some(number) => format!("{}-{number:04}", self.name()),
            None => self.name().to_string(),
        }
    }

    /// Returns the name for messages, such as `map 3`.
    pub fn title(self) -> String {
        self.number()
            .map_or_else(|| self.name().to_string(), |number| format!("{} {number}", self.name()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageState {
    Missing,
    /// The file is complete, and was made from the files that exist now. Its data are
    /// not checked here; they are compared with checksums when they are read.
    Finished,
    Damaged,
    /// The file was made from other files than those that exist now; or, for `join`,
    /// the output was changed after it was written.
    Stale,
}

impl StageState {
    pub fn name(self) -> &'static str {
        match self {
            StageState::Missing => "missing",
            StageState::Finished => "finished",
            StageState::Damaged => "damaged",
            StageState::Stale => "stale",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageOutcome {
    /// The stage was finished already, so nothing was done.
    Found,
    Done,
}
