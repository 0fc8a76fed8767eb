//! The stages of a job. A table defines for each kind of stage its name, which jobs have it, how
//! many there are, and which stages it needs. What a stage runs is in `stages`.

/// A stage of a job, such as `map 3`. Planning is not a stage: the plan is written before any stage
/// exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobStage {
    pub kind: StageKind,
    /// 0-based index among the stages of this kind; 0 if there is only one.
    pub index: usize,
}

/// A kind of stage. Its row in `STAGES` describes its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageKind {
    Scan,
    Map,
    Cut,
    Judge,
    Compare,
    Sites,
    Count,
    Table,
    Write,
    Join,
}

/// The number of stages of a kind in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StageCount {
    Once,
    /// One for each lane of reads to be aligned.
    PerLane,
    /// One for each slice of the input.
    PerSlice,
    /// One for each range of the output order.
    PerRange,
}

/// The jobs that have stages of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobsWithStage {
    All,
    Aligning,
    MarkingDuplicates,
    /// Jobs that find the sites which recalibration excludes from the reads themselves.
    FindingSites,
    /// Jobs that recalibrate qualities by a table counted from the same reads.
    Counting,
}

/// One kind of stage, as a row of [`STAGES`].
pub(super) struct StageRow {
    pub kind: StageKind,
    /// The name after `readmill shard` on the command line, and the prefix of its file names.
    name: &'static str,
    pub count: StageCount,
    pub jobs: JobsWithStage,
    /// The kinds of stages that must be finished first, if the job has them. `map` needs only the
    /// `scan` of its own lane.
    pub needs: &'static [StageKind],
}

/// All kinds of stages, in an order in which they can be run, which is also the order of the
/// variants of [`StageKind`].
pub(super) const STAGES: [StageRow; 10] = {
    use StageCount::{Once, PerLane, PerRange, PerSlice};
    use StageKind::{Compare, Count, Cut, Join, Judge, Map, Scan, Sites, Table, Write};
    [
        // Reads a lane of reads to be aligned, and finds where its slices start.
        StageRow { kind: Scan, name: "scan", count: PerLane, jobs: JobsWithStage::Aligning, needs: &[] },
        // Sorts the reads of a slice into a run. Aligns them first if the command is `align`.
        StageRow { kind: Map, name: "map", count: PerSlice, jobs: JobsWithStage::All, needs: &[Scan] },
        // Numbers the records of all slices, and divides their sorted order into ranges (`CutFile`
        // in `range`).
        StageRow { kind: Cut, name: "cut", count: Once, jobs: JobsWithStage::All, needs: &[Map] },
        // Finds the duplicates among the ends of all slices.
        StageRow {
            kind: Judge,
            name: "judge",
            count: Once,
            jobs: JobsWithStage::MarkingDuplicates,
            needs: &[Map, Cut],
        },
        // Compares the reads of a range with the reference, if there are no known sites.
        StageRow {
            kind: Compare,
            name: "compare",
            count: PerRange,
            jobs: JobsWithStage::FindingSites,
            needs: &[Map, Cut, Judge],
        },
        // Decides at which sites the sample differs from the reference.
        StageRow {
            kind: Sites,
            name: "sites",
            count: Once,
            jobs: JobsWithStage::FindingSites,
            needs: &[Compare],
        },
        // Counts bases of a range for recalibration.
        StageRow {
            kind: Count,
            name: "count",
            count: PerRange,
            jobs: JobsWithStage::Counting,
            needs: &[Map, Cut, Judge, Sites],
        },
        // Adds the counts of all ranges up to the recalibration table.
        StageRow {
            kind: Table,
            name: "table",
            count: Once,
            jobs: JobsWithStage::Counting,
            needs: &[Count],
        },
        // Merges a range, and encodes it as parts of the output (`StagedPartWriter`).
        StageRow {
            kind: Write,
            name: "write",
            count: PerRange,
            jobs: JobsWithStage::All,
            needs: &[Map, Cut, Judge, Sites, Table],
        },
        // Concatenates the ranges to the output, and writes the index and the reports.
        StageRow {
            kind: Join,
            name: "join",
            count: Once,
            jobs: JobsWithStage::All,
            needs: &[Cut, Judge, Table, Write],
        },
    ]
};

impl StageKind {
    pub(super) fn row(self) -> &'static StageRow {
        &STAGES[self as usize]
    }

    /// Returns the stage of this kind with a 0-based index.
    pub fn at(self, index: usize) -> JobStage {
        JobStage { kind: self, index }
    }

    /// Returns the only stage of this kind.
    pub fn only(self) -> JobStage {
        self.at(0)
    }
}

impl JobStage {
    /// Returns the name after `readmill shard` on the command line.
    pub fn name(self) -> &'static str {
        self.kind.row().name
    }

    /// Returns the number among the stages of this kind, from 1 as on the command line. `None` if
    /// there is only one such stage.
    pub fn number(self) -> Option<usize> {
        (self.kind.row().count != StageCount::Once).then_some(self.index + 1)
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

/// Returns whether `name` has the form of a complete stage file's name, such as `cut` or
/// `map-0001`.
pub(super) fn is_stage_file_name(name: &str) -> bool {
    let is_number = |text: &str| text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    STAGES.iter().any(|stage| match (name.strip_prefix(stage.name), stage.count) {
        (Some(rest), StageCount::Once) => rest.is_empty(),
        (Some(rest), _) => rest.strip_prefix('-').is_some_and(is_number),
        (None, _) => false,
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageState {
    Missing,
    /// The file is complete, and was made from the current versions of its sources. Its data are
    /// not checked here, but compared with checksums when they are read.
    Finished,
    Damaged,
    /// The file was made from older versions of its sources. For `join`, the output may also have
    /// changed since it was written.
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
    /// The stage was already finished, so nothing was done.
    Found,
    Done,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_their_kinds_and_need_earlier_ones() {
        for (at, row) in STAGES.iter().enumerate() {
            assert_eq!(row.kind as usize, at, "{}", row.name);
            assert!(row.needs.iter().all(|&needed| (needed as usize) < at), "{}", row.name);
        }
    }

    #[test]
    fn names_of_stage_files() {
        for name in ["cut", "join", "map-0001", "write-12345"] {
            assert!(is_stage_file_name(name), "{name}");
        }
        for name in ["map", "map-001", "map-00x1", "cut-0001", "sort-0001", ""] {
            assert!(!is_stage_file_name(name), "{name}");
        }
    }
}
