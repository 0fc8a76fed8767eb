//! Limits of the key metrics: defaults for each assay, and replacements from the `--qc-thresholds`
//! file.

use std::str::FromStr;

use serde_json::{Map, Value, json};

use crate::metrics::{METRICS, find_metric};

/// The kind of library that was sequenced. Default limits depend on it: a gene panel, for example,
/// has far more duplicates than a whole genome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Assay {
    #[default]
    Wgs,
    Exome,
    /// A gene panel, enriched by capture or by amplicons.
    Panel,
    Rna,
}

impl Assay {
    /// Returns the name on the command line and in run descriptions.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, it)| *it == self).map_or("wgs", |(name, _)| name)
    }

    /// All assays with their names on the command line.
    pub const ALL: [(&'static str, Assay); 4] =
        [("wgs", Assay::Wgs), ("exome", Assay::Exome), ("panel", Assay::Panel), ("rna", Assay::Rna)];

    pub fn title(self) -> &'static str {
        match self {
            Assay::Wgs => "whole genomes",
            Assay::Exome => "exomes",
            Assay::Panel => "panels",
            Assay::Rna => "RNA",
        }
    }
}

impl FromStr for Assay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, assay)| *assay)
            .ok_or_else(|| format!("unknown assay {text}; use wgs, exome, panel or rna"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FailingSide {
    Below,
    Above,
}

/// The limits of one metric: one for a warning and one for a failure.
///
/// With [`FailingSide::Below`], a value less than `bad` fails, a value less than `look` gets a
/// warning, and any other value passes. With [`FailingSide::Above`], greater values fail or get a
/// warning. Either limit may be missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    pub side: FailingSide,
    pub look: Option<f64>,
    pub bad: Option<f64>,
}

/// The result of comparing a value with its limit, in order of increasing severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    Good,
    /// Past the limit for a warning.
    Look,
    /// Past the limit for a failure.
    Bad,
}

impl Limit {
    pub fn grade(&self, value: f64) -> Grade {
        let is_past = |border: Option<f64>| {
            border.is_some_and(|border| match self.side {
                FailingSide::Below => value < border,
                FailingSide::Above => value > border,
            })
        };
        match () {
            () if is_past(self.bad) => Grade::Bad,
            () if is_past(self.look) => Grade::Look,
            () => Grade::Good,
        }
    }
}

/// The limits of the metrics that the verdict shows, in page order.
///
/// Start with the defaults of an assay, then replace the limits of some metrics from a JSON file:
///
/// ```
/// use readmill_report::{Assay, Limits};
///
/// let file = r#"{"duplicates": {"look_above": 0.5, "bad_above": 0.8}, "mapped": null}"#;
/// let limits = Limits::for_assay(Assay::Wgs).with_json_text(file)?;
/// let json = limits.to_json();
/// assert_eq!(json["duplicates"]["bad_above"], 0.8);
/// assert!(json["mapped"].is_null()); // removed: the page shows the metric without a judgement
/// assert!(Limits::for_assay(Assay::Wgs).with_json_text(r#"{"dups": null}"#).is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    pub assay: Assay,
    /// `None` is a limit that the user removed.
    list: Vec<(&'static str, Option<Limit>)>,
}

/// Limits that replace the defaults, from a `--qc-thresholds` file or a run description.
///
/// The JSON is an object with an entry for each metric to change: `{"look_above": x, "bad_above":
/// x}`, the same with `_below`, or `null` to remove the limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thresholds(Vec<(&'static str, Option<Limit>)>);

impl Thresholds {
    /// Parses the text of a `--qc-thresholds` file.
    ///
    /// # Errors
    ///
    /// If the text is not such an object, or names an unknown metric. The message does not name the
    /// file; the caller adds it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let given = serde_json::from_str(text).map_err(|error| format!("not valid JSON: {error}"))?;
        Self::from_json(&given)
    }

    /// Reads thresholds from a JSON value, such as the field `qc_thresholds` of a run description.
    ///
    /// # Errors
    ///
    /// The value is not an object of thresholds by metric, as [`Thresholds::parse`] describes it.
    pub fn from_json(given: &Value) -> Result<Self, String> {
        let given = given.as_object().ok_or("not a JSON object of thresholds by metric")?;
        let mut list = Vec::new();
        for (key, value) in given {
            let names = || METRICS.iter().map(|it| it.key).collect::<Vec<_>>().join(", ");
            let metric = find_metric(key)
                .ok_or_else(|| format!("unknown metric {key}; the metrics are {}", names()))?;
            list.push((metric.key, parse_limit(value).map_err(|what| format!("{key}: {what}"))?));
        }
        Ok(Thresholds(list))
    }

    /// Returns the thresholds as JSON, in the format of [`Thresholds::parse`].
    pub fn to_json(&self) -> Value {
        Value::Object(self.0.iter().map(limit_json).collect())
    }
}

/// Default limits of one metric: its key, the failing side, and for each assay (in the order of
/// [`Assay::ALL`]) the limits for a warning and for a failure. docs/report.md gives the reasons.
type DefaultLimit = (&'static str, FailingSide, [Option<(f64, f64)>; 4]);
const DEFAULT_LIMITS: &[DefaultLimit] = &{
    use FailingSide::{Above, Below};
    const fn at(look: f64, bad: f64) -> Option<(f64, f64)> {
        Some((look, bad))
    }
    [
        ("trimmed_away", Above, [at(0.1, 0.3), at(0.1, 0.3), at(0.1, 0.3), at(0.1, 0.3)]),
        ("adapter_bases", Above, [at(0.05, 0.15), at(0.05, 0.15), at(0.15, 0.3), at(0.15, 0.3)]),
        ("mapped", Below, [at(0.95, 0.8), at(0.95, 0.8), at(0.95, 0.8), at(0.8, 0.6)]),
        ("chimeras", Above, [at(0.05, 0.1), at(0.05, 0.1), at(0.05, 0.1), None]),
        ("mismatches", Above, [at(0.015, 0.03), at(0.015, 0.03), at(0.015, 0.03), at(0.015, 0.03)]),
        ("soft_clipped", Above, [at(0.05, 0.15), at(0.05, 0.15), at(0.1, 0.25), at(0.1, 0.25)]),
        ("duplicates", Above, [at(0.2, 0.4), at(0.3, 0.5), at(0.6, 0.85), at(0.6, 0.85)]),
        ("optical_duplicates", Above, [at(0.1, 0.2), at(0.1, 0.2), at(0.1, 0.2), at(0.1, 0.2)]),
        ("insert_size", Below, [at(250.0, 150.0), at(150.0, 100.0), at(120.0, 80.0), at(120.0, 80.0)]),
        ("short_inserts", Above, [at(0.1, 0.3), at(0.15, 0.4), at(0.25, 0.5), at(0.25, 0.5)]),
        ("q30_bases", Below, [at(0.8, 0.7), at(0.8, 0.7), at(0.8, 0.7), at(0.8, 0.7)]),
        ("worst_cycle", Below, [at(25.0, 20.0), at(25.0, 20.0), at(25.0, 20.0), at(25.0, 20.0)]),
        ("n_of_cycle", Above, [at(5.0, 20.0), at(5.0, 20.0), at(5.0, 20.0), at(5.0, 20.0)]),
        ("on_target", Below, [None, at(0.7, 0.4), at(0.5, 0.2), None]),
        ("fold_enrichment", Below, [None, at(20.0, 10.0), at(20.0, 10.0), None]),
        ("ribosomal", Above, [None, None, None, at(0.1, 0.3)]),
        ("mrna_bases", Below, [None, None, None, at(0.4, 0.2)]),
        ("at_dropout", Above, [at(5.0, 10.0), at(10.0, 20.0), at(15.0, 30.0), None]),
        ("gc_dropout", Above, [at(5.0, 10.0), at(10.0, 20.0), at(15.0, 30.0), None]),
        ("mean_coverage", Below, [at(30.0, 20.0), at(80.0, 40.0), at(500.0, 100.0), None]),
        ("bases_at_20x", Below, [at(0.9, 0.8), at(0.9, 0.8), at(0.98, 0.9), None]),
        ("even_coverage", Below, [at(0.95, 0.85), at(0.9, 0.8), at(0.9, 0.8), None]),
        ("fold_80", Above, [at(1.6, 2.0), at(2.0, 3.0), at(2.0, 3.0), None]),
        ("oxidation", Below, [at(35.0, 30.0), at(35.0, 30.0), at(35.0, 30.0), None]),
        ("lanes_insert", Above, [at(0.1, 0.2), at(0.1, 0.2), at(0.15, 0.3), at(0.15, 0.3)]),
        ("lanes_gc", Above, [at(0.02, 0.04), at(0.02, 0.04), at(0.03, 0.06), at(0.03, 0.06)]),
    ]
};

impl Default for Limits {
    fn default() -> Self {
        Limits::for_assay(Assay::default())
    }
}

impl Limits {
    pub fn for_assay(assay: Assay) -> Self {
        let column = Assay::ALL.iter().position(|(_, it)| *it == assay).unwrap_or(0);
        let list = DEFAULT_LIMITS.iter().filter_map(|(key, side, borders)| {
            let (look, bad) = (*borders.get(column)?)?;
            Some((*key, Some(Limit { side: *side, look: Some(look), bad: Some(bad) })))
        });
        Limits { assay, list: list.collect() }
    }

    /// Replaces limits with those of a JSON text, see [`Thresholds`]. All other metrics keep their
    /// limits.
    ///
    /// # Errors
    ///
    /// The text is not a file of thresholds, as [`Thresholds::parse`] describes it.
    pub fn with_json_text(self, text: &str) -> Result<Self, String> {
        Ok(self.with_thresholds(&Thresholds::parse(text)?))
    }

    /// Replaces limits. All other metrics keep their limits.
    pub fn with_thresholds(mut self, thresholds: &Thresholds) -> Self {
        for (key, limit) in &thresholds.0 {
            self.list.retain(|(other, _)| other != key);
            self.list.push((key, *limit));
        }
        let order = |key: &str| METRICS.iter().position(|it| it.key == key);
        self.list.sort_by_key(|(key, _)| order(key));
        self
    }

    /// Returns whether the verdict shows a metric, with or without a limit.
    pub fn is_listed(&self, key: &str) -> bool {
        self.list.iter().any(|(it, _)| *it == key)
    }

    pub fn limit(&self, key: &str) -> Option<&Limit> {
        self.list.iter().find(|(it, _)| *it == key)?.1.as_ref()
    }

    /// Returns the limits in the format of [`Thresholds::parse`].
    pub fn to_json(&self) -> Value {
        Value::Object(self.list.iter().map(limit_json).collect::<Map<_, _>>())
    }
}

fn limit_json((key, limit): &(&'static str, Option<Limit>)) -> (String, Value) {
    let Some(limit) = limit else { return (key.to_string(), Value::Null) };
    let side = if limit.side == FailingSide::Below { "below" } else { "above" };
    let fields = [("look", limit.look), ("bad", limit.bad)];
    let fields = fields.into_iter().filter_map(|(name, x)| Some((format!("{name}_{side}"), json!(x?))));
    (key.to_string(), Value::Object(fields.collect()))
}

/// Parses the limits of one metric. `null` gives `None`, which removes the limits.
fn parse_limit(value: &Value) -> Result<Option<Limit>, String> {
    let wrong =
        || "use {\"look_above\": x, \"bad_above\": x}, the same with _below, or null".to_string();
    let fields = match value {
        Value::Null => return Ok(None),
        Value::Object(fields) if !fields.is_empty() => fields,
        _ => return Err(wrong()),
    };
    let side = if fields.keys().any(|name| name.ends_with("_below")) {
        FailingSide::Below
    } else {
        FailingSide::Above
    };
    let mut limit = Limit { side, look: None, bad: None };
    for (name, value) in fields {
        let number = value.as_f64().ok_or_else(wrong)?;
        match (name.as_str(), side) {
            ("look_below", FailingSide::Below) | ("look_above", FailingSide::Above) => {
                limit.look = Some(number)
            }
            ("bad_below", FailingSide::Below) | ("bad_above", FailingSide::Above) => {
                limit.bad = Some(number)
            }
            _ => return Err(wrong()),
        }
    }
    Ok(Some(limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_of_a_key_number_and_looks_before_it_is_bad() {
        for (_, assay) in Assay::ALL {
            for (key, limit) in &Limits::for_assay(assay).list {
                assert!(find_metric(key).is_some(), "{key}");
                let limit = limit.unwrap();
                let (look, bad) = (limit.look.unwrap(), limit.bad.unwrap());
                assert!(if limit.side == FailingSide::Below { bad < look } else { look < bad }, "{key}");
            }
        }
    }

    #[test]
    fn a_file_replaces_and_removes_limits() {
        let text =
            r#"{"duplicates": {"look_above": 0.5}, "mapped": null, "reads": {"bad_below": 1000}}"#;
        let limits = Limits::for_assay(Assay::Wgs).with_json_text(text).unwrap();
        assert_eq!(limits.limit("mapped"), None);
        assert!(limits.is_listed("mapped") && !limits.is_listed("library_size"));
        let duplicates = limits.limit("duplicates").unwrap();
        assert_eq!(
            [0.4, 0.5, 0.6].map(|x| duplicates.grade(x)),
            [Grade::Good, Grade::Good, Grade::Look]
        );
        assert_eq!(limits.limit("reads").unwrap().grade(999.0), Grade::Bad);
        assert_eq!(limits.list[0].0, "reads");
        assert_eq!(
            Limits::for_assay(Assay::Wgs)
                .with_json_text(&limits.to_json().to_string())
                .unwrap()
                .limit("reads"),
            limits.limit("reads")
        );
    }

    #[test]
    fn a_wrong_file_is_refused_in_words() {
        let message = |text: &str| Limits::for_assay(Assay::Rna).with_json_text(text).unwrap_err();
        assert!(message("{").starts_with("not valid JSON"));
        assert!(message("[]").starts_with("not a JSON object"));
        assert!(
            message(r#"{"dups": null}"#)
                .starts_with("unknown metric dups; the metrics are reads, records, trimmed_away,")
        );
        for wrong in [
            "1",
            "{}",
            r#"{"look_above": "x"}"#,
            r#"{"look_above": 1, "bad_below": 2}"#,
            r#"{"above": 1}"#,
        ] {
            assert!(
                message(&format!("{{\"mapped\": {wrong}}}")).starts_with("mapped: use {\"look_above\""),
                "{wrong}"
            );
        }
        assert!("dna".parse::<Assay>().is_err());
    }
}
