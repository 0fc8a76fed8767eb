//! Parses the cases of `tests/oracles/picard/options.txt`, which explains their syntax, and of `larger.txt` beside it.

use std::path::Path;

/// One input, and the runs on it.
#[derive(Debug, Default)]
pub struct PicardCase {
    pub name: String,
    /// The input.
    pub sam: String,
    pub runs: Vec<PicardRun>,
}

/// One set of options, and the expected results.
#[derive(Debug, Default)]
pub struct PicardRun {
    /// Keys and values, as Picard calls them.
    pub options: Vec<(String, String)>,
    pub template: PicardResult,
    pub coordinate: PicardResult,
}

/// The result in one mode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PicardResult {
    /// The program stops with an error.
    pub refused: bool,
    /// Each record: QNAME, FLAG, RNAME, POS, and those of [`TAGS`] that it has.
    pub records: Vec<String>,
    /// Lines of the metrics below the names of the columns. None: there is no table.
    pub metrics: Option<Vec<String>>,
}

/// The optional fields that are compared.
pub const TAGS: [&str; 5] = ["DT", "DI", "DS", "MI", "ZZ"];

/// All cases.
pub fn all() -> Vec<PicardCase> {
    let mut cases = read(include_str!("../../oracles/picard/options.txt"));
    cases.extend(read(include_str!("../../oracles/picard/larger.txt")));
    cases
}

fn read(text: &'static str) -> Vec<PicardCase> {
    let mut cases: Vec<PicardCase> = Vec::new();
    let mut heading = ("", "");
    for line in text.lines() {
        if line.starts_with('#') && cases.is_empty() {
            continue;
        }
        let is_data = line.starts_with('|') || line.contains('\t');
        if is_data {
            cases.last_mut().expect("a case").take(heading.0, line);
        } else if !line.is_empty() {
            heading = line.split_once(':').unwrap_or_else(|| panic!("no heading: {line:?}"));
            heading.1 = heading.1.trim_start();
            match heading {
                ("case", name) => {
                    cases.push(PicardCase { name: name.to_string(), ..PicardCase::default() })
                }
                _ => cases.last_mut().expect("a case").head(heading.0, heading.1),
            }
        }
    }
    cases
}

impl PicardCase {
    /// Takes a heading and the text after it.
    fn head(&mut self, heading: &str, rest: &str) {
        if heading == "run" {
            self.runs.push(PicardRun { options: options(rest), ..PicardRun::default() });
            return;
        }
        let unknown = || panic!("{}: unknown heading {heading}: {rest}", self.name);
        let Some((mode, what)) = heading.split_once('-') else {
            match heading {
                "sam" if !rest.is_empty() => self.sam = file(rest),
                "sam" | "source" | "note" => (),
                mode if rest.starts_with("an error") => self.outcome(mode).refused = true,
                mode => drop(self.outcome(mode)), // a remark
            }
            return;
        };
        match (what, rest) {
            ("metrics", "none") | ("records", "") | ("picard", _) => (),
            ("metrics", "") => self.outcome(mode).metrics = Some(Vec::new()),
            ("records", "as template-records") => {
                let run = self.runs.last_mut().expect("a run");
                run.coordinate.records = crate::picard::sorted(&run.template.records, &self.sam);
            }
            ("metrics", "as template-metrics") => {
                let run = self.runs.last_mut().expect("a run");
                run.coordinate.metrics = run.template.metrics.clone();
            }
            _ => unknown(),
        }
    }

    /// A line that belongs to a heading.
    fn take(&mut self, heading: &str, line: &str) {
        if heading == "sam" {
            self.sam += line;
            self.sam += "\n";
            return;
        }
        match heading.split_once('-') {
            Some((mode, "records")) => self.outcome(mode).records.push(line.to_string()),
            Some((mode, "metrics")) => {
                let metrics = self.outcome(mode).metrics.as_mut().expect("metrics");
                metrics.push(line.strip_prefix('|').expect("a line of metrics").to_string());
            }
            // Picard's result, for a case in which we want another one
            Some((_, "picard")) => (),
            _ => panic!("{}: {line:?} below {heading:?}", self.name),
        }
    }

    fn outcome(&mut self, mode: &str) -> &mut PicardResult {
        let run = self.runs.last_mut().expect("a run");
        match mode {
            "template" => &mut run.template,
            "coordinate" => &mut run.coordinate,
            other => panic!("{}: no mode {other:?}", self.name),
        }
    }
}

/// `KEY=VALUE` apart; `-` stands for none.
fn options(text: &str) -> Vec<(String, String)> {
    let option = |text: &str| {
        let (key, value) = text.split_once('=').unwrap_or_else(|| panic!("no option: {text:?}"));
        (key.to_string(), value.to_string())
    };
    text.split(' ').filter(|text| *text != "-").map(option).collect()
}

/// An input in its own file.
fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracles/picard").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
