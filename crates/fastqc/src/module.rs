//! A module of the report with its verdict, and the quality encodings that FastQC distinguishes.

use crate::MIN_QUAL_CHAR;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Pass,
    Warn,
    Fail,
}

impl Status {
    /// Returns the verdict on a value: a failure above `fail`, a warning above `warn`. NaN, the
    /// result of a module without reads, passes.
    pub fn from_limits(number: f64, [warn, fail]: [f64; 2]) -> Self {
        Status::from_warns_and_fails(number > warn, number > fail)
    }

    pub fn from_warns_and_fails(warns: bool, fails: bool) -> Self {
        match (warns, fails) {
            (_, true) => Status::Fail,
            (true, _) => Status::Warn,
            _ => Status::Pass,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::Warn => "warn",
            Status::Fail => "fail",
        }
    }
}

pub(crate) struct Module {
    pub name: &'static str,
    pub status: Status,
    pub notes: Vec<String>,
    /// Column names. Empty if the module has notes but no table.
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

pub(crate) struct FastqcEncoding {
    pub name: &'static str,
    pub offset: u8,
}

impl FastqcEncoding {
    /// Guesses the encoding from the lowest quality character of a file, using FastQC's thresholds.
    pub fn from_min_char(lowest: u8) -> Self {
        match lowest {
            ..=63 => FastqcEncoding { name: "Sanger / Illumina 1.9", offset: MIN_QUAL_CHAR },
            65 => FastqcEncoding { name: "Illumina 1.3", offset: 64 },
            _ => FastqcEncoding { name: "Illumina 1.5", offset: 64 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_told_by_the_lowest_character() {
        let name = |lowest| FastqcEncoding::from_min_char(lowest).name;
        let names = ["Sanger / Illumina 1.9", "Illumina 1.5", "Illumina 1.3", "Illumina 1.5"];
        assert_eq!([63, 64, 65, 66].map(name), names);
    }
}
