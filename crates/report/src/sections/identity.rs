//! The section "Sex": the depths of X and Y relative to the autosomes, from the fingerprint of the
//! sample.

use maud::{Markup, html};

use crate::run::RunPart;
use crate::section::{PageSample, facts_list};
use crate::table::{Cell, scrollable_table};
use crate::text::NumberFormat;

const FINGERPRINT: &str = "reports/fingerprint";

/// The chromosomes of a fingerprint: the key of their counts, their name, and the key of their depth
/// relative to the autosomes.
const CHROMOSOMES: [(&str, &str, Option<&str>); 3] =
    [("autosomes", "Autosomes", None), ("X", "X", Some("x_ratio")), ("Y", "Y", Some("y_ratio"))];

pub fn make_section(sample: &PageSample<'_>) -> Option<Markup> {
    let fingerprint = sample.run.part(FINGERPRINT)?;
    fingerprint.value("x_ratio").and(fingerprint.value("y_ratio"))?;
    let sex = sex(&sample.run).unwrap_or("not judged: too few reads");
    let rows: Vec<Vec<Cell>> = CHROMOSOMES
        .iter()
        .map(|(key, name, ratio)| {
            let ratio = ratio
                .map_or_else(Cell::dash, |key| fingerprint.cell(key, NumberFormat::Decimal(2, "×")));
            let count = |of: &str| fingerprint.cell(&format!("{key}/{of}"), NumberFormat::Plain);
            vec![Cell::text(name), count("reads"), count("bases"), ratio]
        })
        .collect();
    let facts = [
        ("Sex", Cell::text(sex)),
        ("Common sites", fingerprint.cell("sites", NumberFormat::Plain)),
        ("Bases at these sites", fingerprint.cell("bases", NumberFormat::Plain)),
    ];
    let titles = ["Chromosomes", "Reads", "Length (bases)", "Depth relative to autosomes"];
    Some(html! {
        (facts_list(&facts))
        p class="note" {
            "Female: X from 0.8 and Y below 0.1. Male: X below 0.7 and Y from 0.2. Otherwise, the sex is \
            unclear. To check the identity of the sample, compare fingerprints: "
            code { "readmill fingerprint compare" } "."
        }
        (scrollable_table("Depth by chromosome", &titles, &rows))
    })
}

/// Number of reads that X and Y must each have at the depth of the autosomes, so that chance alone does
/// not change the sex: the standard error of a ratio of 0.2 is then 0.045.
const MIN_EXPECTED_READS: f64 = 100.0;

/// Returns the sex that the fingerprint shows. `None` without a fingerprint, if the header lacks X or Y,
/// or if there are too few reads.
pub fn sex<'a>(run: &RunPart<'a>) -> Option<&'a str> {
    let fingerprint = run.part(FINGERPRINT)?;
    let depth = fingerprint.value("autosomes/reads")? / fingerprint.value("autosomes/bases")?;
    let has_reads = |key: &str| {
        let bases = fingerprint.value(&format!("{key}/bases"))?;
        (depth * bases >= MIN_EXPECTED_READS).then_some(())
    };
    has_reads("X").and(has_reads("Y"))?;
    Some(fingerprint.text("sex")).filter(|sex| !sex.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Assay, Limits};
    use serde_json::{Value, json};

    fn section(fingerprint: &Value) -> Option<String> {
        let run = json!({"reports": {"fingerprint": fingerprint}});
        let limits = Limits::for_assay(Assay::Wgs);
        let sample = PageSample { run: RunPart::new(&run), prefix: "s0-".into(), limits: &limits };
        make_section(&sample).map(Markup::into_string)
    }

    #[test]
    fn the_sex_has_the_numbers_that_show_it() {
        let on = |reads: u32, bases: u32| json!({"reads": reads, "bases": bases});
        let mut fingerprint = json!({
            "autosomes": on(2000, 200), "X": on(52, 10), "Y": on(50, 10), "x_ratio": 0.52, "y_ratio": 0.5,
            "sex": "male", "sites": 2, "bases": 32,
        });
        let text = section(&fingerprint).unwrap();
        let ratio = "<data value=\"0.52\" data-json=\"/reports/fingerprint/x_ratio\">0.52×</data>";
        assert!(text.contains("<dd>male</dd>") && text.contains(ratio), "{text}");
        fingerprint["Y"] = on(45, 9);
        assert!(section(&fingerprint).unwrap().contains("<dd>not judged: too few reads</dd>"));
        // Without Y in the header, nothing is said about the sex.
        fingerprint["y_ratio"] = Value::Null;
        fingerprint["sex"] = json!("unclear");
        assert_eq!(section(&fingerprint), None);
    }
}
