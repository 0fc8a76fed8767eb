//! The sample sheet: a tab-separated table with additional fields of each sample.

use std::collections::BTreeMap;

/// A parsed sample sheet (`--sample-sheet`).
///
/// The first line has the column names; every other line describes one sample. The first column is
/// the sample name. Empty lines are skipped. An empty cell means that the sample lacks the field.
///
/// ```
/// use readmill_report::Sheet;
///
/// let sheet = Sheet::parse("sample\tbatch\tsex\nNA1\t1\tF\nNA2\t2\t\n")?;
/// assert_eq!(sheet.field_names(), ["batch", "sex"]);
/// assert_eq!(sheet.field("NA1", "sex"), Some("F"));
/// assert_eq!(sheet.field("NA2", "sex"), None);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sheet {
    names: Vec<String>,
    samples: BTreeMap<String, Vec<String>>,
}

impl Sheet {
    /// Parses the text of a sample sheet.
    ///
    /// # Errors
    /// Fails if the sheet is empty or has only one column, if a line has a different number of
    /// cells from the first line, or if a sample occurs twice. The message does not name the file;
    /// the caller adds it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = (1_usize..)
            .zip(text.lines().map(|line| line.trim_end_matches('\r')))
            .filter(|(_, line)| !line.trim().is_empty());
        let (_, head) = lines.next().ok_or("the sample sheet is empty")?;
        let head: Vec<&str> = head.split('\t').map(str::trim).collect();
        if head.len() < 2 {
            return Err("the first line must have at least two column names, separated by tabs".into());
        }
        let names = head.iter().skip(1).map(|name| (*name).to_string()).collect();
        let mut samples = BTreeMap::new();
        for (number, line) in lines {
            let cells: Vec<String> = line.split('\t').map(|cell| cell.trim().to_string()).collect();
            if cells.len() != head.len() {
                return Err(format!(
                    "line {number} has {} cells, but the first line has {}",
                    cells.len(),
                    head.len()
                ));
            }
            let mut cells = cells.into_iter();
            let sample = cells.next().unwrap_or_default();
            if samples.insert(sample.clone(), cells.collect()).is_some() {
                return Err(format!("line {number}: sample {sample} is listed twice"));
            }
        }
        Ok(Sheet { names, samples })
    }

    pub fn field_names(&self) -> &[String] {
        &self.names
    }

    /// Returns the names and values of a sample's non-empty fields. Empty for an unknown sample.
    pub fn fields_of(&self, sample: &str) -> Vec<(&str, &str)> {
        let cells = self.samples.get(sample).map_or(&[][..], Vec::as_slice);
        let fields = self.names.iter().zip(cells).filter(|(_, value)| !value.is_empty());
        fields.map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    pub fn field(&self, sample: &str, name: &str) -> Option<&str> {
        self.fields_of(sample).into_iter().find(|(it, _)| *it == name).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_belong_to_samples() {
        let sheet = Sheet::parse("sample\tbatch\tsex\na\t1\tF\r\n\nb\t2\t\n").unwrap();
        assert_eq!(sheet.field_names(), ["batch", "sex"]);
        assert_eq!(sheet.fields_of("a"), [("batch", "1"), ("sex", "F")]);
        assert_eq!(sheet.field("b", "batch"), Some("2"));
        assert_eq!((sheet.field("b", "sex"), sheet.field("c", "batch")), (None, None));
    }

    #[test]
    fn a_wrong_sheet_is_refused_in_words() {
        let wrong = |text: &str| Sheet::parse(text).unwrap_err();
        assert_eq!(wrong(""), "the sample sheet is empty");
        assert!(wrong("sample\n").starts_with("the first line must have"));
        assert_eq!(wrong("s\tb\na\t1\t2\n"), "line 2 has 3 cells, but the first line has 2");
        assert_eq!(wrong("s\tb\na\t1\n\na\t2\n"), "line 4: sample a is listed twice");
    }
}
