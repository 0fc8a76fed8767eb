//! A module of the report: its verdict and its table; and how qualities are written.

use crate::LOWEST;

/// The verdict of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Pass,
    Warn,
    Fail,
}

impl Status {
    /// The verdict on a number that is better small, by the limits of a warning and of a failure. No number passes.
    pub fn above(number: f64, [warn, fail]: [f64; 2]) -> Self {
        Status::of(number > warn, number > fail)
    }

    /// A failure, a warning, or neither.
    pub fn of(warns: bool, fails: bool) -> Self {
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

/// A module.
pub(crate) struct Module {
    pub name: &'static str,
    pub status: Status,
    /// Lines before the table.
    pub notes: Vec<String>,
    /// Names of columns; none where there is no table.
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// How qualities are written.
pub(crate) struct Encoding {
    pub name: &'static str,
    /// The character of quality 0.
    pub offset: u8,
}

impl Encoding {
    /// The encoding whose lowest character this is.
    pub fn of(lowest: u8) -> Self {
        match lowest {
            ..=63 => Encoding { name: "Sanger / Illumina 1.9", offset: LOWEST },
            65 => Encoding { name: "Illumina 1.3", offset: 64 },
            _ => Encoding { name: "Illumina 1.5", offset: 64 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_told_by_the_lowest_character() {
        let name = |lowest| Encoding::of(lowest).name;
        let names = ["Sanger / Illumina 1.9", "Illumina 1.5", "Illumina 1.3", "Illumina 1.5"];
        assert_eq!([63, 64, 65, 66].map(name), names);
    }
}
