//! Options for rendering the page.

use crate::limits::{Assay, Limits, Thresholds};
use crate::names::sample_name;
use crate::run::RunPart;
use crate::sheet::Sheet;

/// Options for rendering the page and the MultiQC table.
///
/// `readmill report` sets them from its command line. A run with `--report` uses the defaults: its
/// assay and thresholds are in its description.
///
/// ```
/// use readmill_report::{Assay, PageOptions, Sheet, Thresholds};
///
/// let options = PageOptions {
///     assay: Some(Assay::Exome),
///     thresholds: Some(Thresholds::parse(r#"{"duplicates": {"bad_above": 0.6}}"#)?),
///     sheet: Some(Sheet::parse("sample\tbatch\nNA1\tA\nNA2\tB\n")?),
///     color_by: Some("batch".into()),
/// };
/// assert_eq!(options.assay, Some(Assay::Exome));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// The assay of all runs. `None` uses the assay in the description of each run.
    pub assay: Option<Assay>,
    /// Thresholds that replace the defaults of the assay. `None` uses the thresholds in the
    /// description of each run, unless `assay` is given.
    pub thresholds: Option<Thresholds>,
    pub sheet: Option<Sheet>,
    /// Field of the sheet that determines sample colours. `None` uses the first field with two to
    /// seven (the number of colours) distinct values.
    pub color_by: Option<String>,
}

impl PageOptions {
    /// Returns the limits for a run. A run without an assay is judged as a whole genome.
    pub fn limits_of(&self, run: &RunPart<'_>) -> Limits {
        let assay = self.assay.or_else(|| run.text("assay").parse().ok()).unwrap_or_default();
        let of_run = || Thresholds::from_json(run.at("qc_thresholds")?).ok();
        let of_run = if self.assay.is_none() { of_run() } else { None };
        let limits = Limits::for_assay(assay);
        match self.thresholds.as_ref().or(of_run.as_ref()) {
            Some(thresholds) => limits.with_thresholds(thresholds),
            None => limits,
        }
    }

    /// Returns the value of a field of a run in the sample sheet. The sheet can name a run by its
    /// name on the page or by its name in reports.
    pub fn sheet_field(&self, run: &RunPart<'_>, field: &str) -> Option<&str> {
        let sheet = self.sheet.as_ref()?;
        sheet_names(run).into_iter().find_map(|name| sheet.field(name, field))
    }

    /// Returns the names and values of a run's fields in the sample sheet.
    pub fn sheet_fields(&self, run: &RunPart<'_>) -> Vec<(&str, &str)> {
        let of = |name: &str| self.sheet.as_ref().map(|sheet| sheet.fields_of(name));
        let mut found = sheet_names(run).into_iter().filter_map(of);
        found.find(|fields| !fields.is_empty()).unwrap_or_default()
    }
}

fn sheet_names<'a>(run: &RunPart<'a>) -> [&'a str; 3] {
    [sample_name(run), run.text("sample_names/read_groups"), run.text("sample")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_run_has_the_limits_of_its_own_assay_unless_the_user_says_otherwise() {
        let run = json!({"assay": "panel", "qc_thresholds": {"mapped": null}});
        let run = RunPart::new(&run);
        let own = PageOptions::default().limits_of(&run);
        assert_eq!((own.assay, own.limit("mapped")), (Assay::Panel, None));
        let given = PageOptions { assay: Some(Assay::Rna), ..PageOptions::default() };
        assert_eq!(given.limits_of(&run), Limits::for_assay(Assay::Rna));
        let thresholds = Thresholds::parse(r#"{"duplicates": {"bad_above": 0.1}}"#).unwrap();
        let given = PageOptions { thresholds: Some(thresholds), ..PageOptions::default() };
        let limits = given.limits_of(&run);
        assert!(limits.assay == Assay::Panel && limits.limit("mapped").is_some());
        assert_eq!(limits.limit("duplicates").unwrap().bad, Some(0.1));
        let old = json!({"format": "readmill run"});
        assert_eq!(PageOptions::default().limits_of(&RunPart::new(&old)), Limits::default());
    }
}
