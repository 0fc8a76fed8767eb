//! The stages of a job.

/// A stage of a job, but for its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStage {
    /// Reads the lane of this number, from 0, and finds where its slices start, if reads are to be aligned.
    Scan(usize),
    /// Sorts the slice of this number, from 0.
    Map(usize),
    /// Divides the output order.
    Cut,
    /// Resolves duplicates.
    Judge,
    /// Compares the reads of the range of this number, from 0, with the reference, where no sites are known.
    Compare(usize),
    /// Finds the sites at which the sample differs.
    Sites,
    /// Counts the bases of the range of this number, from 0, for recalibration.
    Count(usize),
    /// Adds up all counts.
    Table,
    /// Writes the range of this number, from 0.
    Write(usize),
    /// Puts the output together.
    Join,
}

impl JobStage {
    /// Its name, as it is given on the command line.
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

    /// Its number among those of its name, from 1; `None` if there is only one.
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

    /// The name of its file.
    pub(super) fn file_name(self) -> String {
        match self.number() {
            Some(number) => format!("{}-{number:04}", self.name()),
            None => self.name().to_string(),
        }
    }

    /// As it is named in messages.
    pub fn title(self) -> String {
        self.number()
            .map_or_else(|| self.name().to_string(), |number| format!("{} {number}", self.name()))
    }
}

/// What is there of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageState {
    /// Its file is not there.
    Missing,
    /// Its file is whole, and made from the files that are there now. (Its data are compared with checksums when they are
    /// read.)
    Finished,
    /// Its file is cut short or damaged.
    Damaged,
    /// Its file was made from others than those that are there now, or the output is not as it was joined.
    Stale,
}

impl StageState {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            StageState::Missing => "missing",
            StageState::Finished => "finished",
            StageState::Damaged => "damaged",
            StageState::Stale => "stale",
        }
    }
}

/// What became of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It had been finished before.
    Found,
    /// It was carried out.
    Done,
}
