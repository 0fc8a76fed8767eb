//! A module of the report with its verdict, and the quality encodings that FastQC distinguishes.

use readmill_format::report::{cell_value, named_values};
use serde_json::{Value, json};

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
    /// Share of the reads that are left without duplicates, in percent, if the module states it.
    pub deduplicated: Option<String>,
    /// Column names. Empty if the module has no table.
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Module {
    pub fn to_value(&self) -> Value {
        let column = |at: usize| self.rows.iter().map(|row| cell_value(&row[at])).collect();
        let names = self.columns.iter().map(String::as_str);
        let columns = named_values(names, (0..self.columns.len()).map(column));
        let values = [json!(self.name), json!(self.status.name()), columns];
        let mut value = named_values(["name", "status", "columns"], values.into_iter());
        if let Some(share) = &self.deduplicated {
            value["deduplicated_percentage"] = cell_value(share);
        }
        value
    }
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
    fn values_are_those_of_the_text() {
        let text = |cells: &[&str]| cells.iter().map(|cell| cell.to_string()).collect::<Vec<_>>();
        let mut module = Module {
            name: "Sequence Duplication Levels",
            status: Status::Warn,
            deduplicated: Some("61.5".into()),
            columns: text(&["Duplication Level", "Percentage of total"]),
            rows: vec![text(&["1", "50.0"]), text(&[">10k+", "NaN"])],
        };
        let columns = json!({ "Duplication Level": [1, ">10k+"], "Percentage of total": [50.0, "NaN"] });
        let mut wanted = json!({ "name": module.name, "status": "warn", "columns": columns });
        wanted["deduplicated_percentage"] = json!(61.5);
        assert_eq!(module.to_value(), wanted);
        (module.deduplicated, module.columns, module.rows) = Default::default();
        let wanted = json!({ "name": module.name, "status": "warn", "columns": {} });
        assert_eq!(module.to_value(), wanted);
    }

    #[test]
    fn encodings_are_told_by_the_lowest_character() {
        let name = |lowest| FastqcEncoding::from_min_char(lowest).name;
        let names = ["Sanger / Illumina 1.9", "Illumina 1.5", "Illumina 1.3", "Illumina 1.5"];
        assert_eq!([63, 64, 65, 66].map(name), names);
    }
}
