//! Parses the cases of `tests/oracles/gatk/bqsr.txt`, which explains their syntax, and of `bqsr_random.txt` beside it; the short
//! form of reports in them, and GATK's text for it.

/// Inputs, and the runs on them.
#[derive(Debug, Default)]
pub struct BqsrCase {
    pub name: String,
    /// Names and contents.
    pub files: Vec<(String, String)>,
    pub runs: Vec<BqsrRun>,
}

/// One call of the program, and the expected result.
#[derive(Debug, Default)]
pub struct BqsrRun {
    /// `table`, `apply`, `gather` or `plot-data`.
    pub verb: String,
    /// The files it reads and writes, and options.
    pub words: Vec<String>,
    /// The program stops with an error.
    pub refused: bool,
    /// The lines below the heading, each without its `|`.
    pub lines: Vec<String>,
}

/// All cases.
pub fn all() -> Vec<BqsrCase> {
    let mut cases = read(include_str!("../../oracles/gatk/bqsr.txt"));
    cases.extend(read(include_str!("../../oracles/gatk/bqsr_random.txt")));
    cases
}

/// The part of a case to which a line belongs.
enum Heading {
    None,
    File(String, Vec<String>),
    Run,
}

/// The cases of a file.
pub fn read(text: &str) -> Vec<BqsrCase> {
    let mut cases: Vec<BqsrCase> = Vec::new();
    let mut heading = Heading::None;
    for line in text.lines().skip_while(|line| !line.starts_with("case:")) {
        if line.starts_with('|') || line.contains('\t') {
            let line = line.strip_prefix('|').unwrap_or(line).to_string();
            match &mut heading {
                Heading::File(_, lines) => lines.push(line),
                Heading::Run => add(cases.last_mut().expect("a case"), line),
                Heading::None => panic!("below no heading: {line:?}"),
            }
        } else if !line.is_empty() {
            end_file(&mut cases, &mut heading);
            let (key, rest) = line.split_once(':').unwrap_or_else(|| panic!("no heading: {line:?}"));
            heading = head(&mut cases, key, rest.trim_start());
        }
    }
    end_file(&mut cases, &mut heading);
    cases
}

/// Takes a heading and the text after it.
fn head(cases: &mut Vec<BqsrCase>, key: &str, rest: &str) -> Heading {
    match key {
        "case" => cases.push(BqsrCase { name: rest.to_string(), ..BqsrCase::default() }),
        "source" | "note" => (),
        "refused" => last_run(cases).refused = true,
        "table" | "apply" | "gather" | "plot-data" => {
            let words = rest.split_whitespace().map(str::to_string).collect();
            let run = BqsrRun { verb: key.to_string(), words, ..BqsrRun::default() };
            cases.last_mut().expect("a case").runs.push(run);
            return Heading::Run;
        }
        file if rest.starts_with("as ") => {
            let other = cases.iter().find(|it| it.name == rest[3..]).expect("a case above");
            let same = other.files.iter().find(|it| it.0 == file).expect("its file").clone();
            cases.last_mut().expect("a case").files.push(same);
        }
        file if rest.contains(" -> ") => {
            let case = cases.last_mut().expect("a case");
            let text = changed(&case.files, rest);
            case.files.push((file.to_string(), text));
        }
        file => {
            assert!(file.contains('.') && rest.is_empty(), "unknown heading {key}: {rest}");
            return Heading::File(file.to_string(), Vec::new());
        }
    }
    Heading::None
}

/// Adds a line to the last run; `tables as NAME` stands for the tables of an earlier report.
fn add(case: &mut BqsrCase, line: String) {
    let (last, earlier) = case.runs.split_last_mut().expect("a run");
    match line.strip_prefix("tables as ") {
        Some(name) => {
            let same = earlier.iter().find(|run| run.words[0] == name).expect("an earlier run");
            let lines = same.lines.iter().skip_while(|line| !line.starts_with("RecalTable"));
            last.lines.extend(lines.cloned());
        }
        None => last.lines.push(line),
    }
}

fn last_run(cases: &mut [BqsrCase]) -> &mut BqsrRun {
    cases.last_mut().and_then(|case| case.runs.last_mut()).expect("a run")
}

/// Adds the last file to its case.
fn end_file(cases: &mut [BqsrCase], heading: &mut Heading) {
    if let Heading::File(name, lines) = std::mem::replace(heading, Heading::None) {
        let text = content(&name, &lines);
        cases.last_mut().expect("a case").files.push((name, text));
    }
}

/// `FILE, OLD -> NEW`: a file of the case in which one text stands for another.
fn changed(files: &[(String, String)], rest: &str) -> String {
    let (name, change) = rest.split_once(", ").expect("a file and a change");
    let text = &files.iter().find(|file| file.0 == name).expect("a file above").1;
    let change = change.replace("\\n", "\n").replace("\\r", "\r");
    let (old, new) = change.split_once(" -> ").expect("a change");
    text.replace(old, new)
}

/// The file that lines of a case stand for.
fn content(name: &str, lines: &[String]) -> String {
    let first = lines.first().map_or("", |line| line.as_str());
    if name.ends_with(".table") && !first.starts_with("#:GATK") {
        return text(lines);
    }
    let mut text = String::new();
    if name.ends_with(".vcf") && !first.starts_with("##") {
        text += "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";
    }
    for line in lines {
        let (times, line) = repeated(line);
        text += &format!("{line}\n").repeat(times);
    }
    text
}

/// `repeat N`, a tab and a line stand for that line N times.
fn repeated(line: &str) -> (usize, &str) {
    let rest = line.strip_prefix("repeat ").and_then(|rest| rest.split_once('\t'));
    rest.map_or((1, line), |(times, line)| (times.parse().expect("a number of lines"), line))
}

/// Names and usual values of the arguments.
pub const ARGUMENTS: [(&str, &str); 17] = [
    ("binary_tag_name", "null"),
    ("covariate", "ReadGroupCovariate,QualityScoreCovariate,ContextCovariate,CycleCovariate"),
    ("default_platform", "null"),
    ("deletions_default_quality", "45"),
    ("force_platform", "null"),
    ("indels_context_size", "3"),
    ("insertions_default_quality", "45"),
    ("low_quality_tail", "2"),
    ("maximum_cycle_value", "500"),
    ("mismatches_context_size", "2"),
    ("mismatches_default_quality", "-1"),
    ("no_standard_covs", "false"),
    ("quantizing_levels", "16"),
    ("recalibration_report", "null"),
    ("run_without_dbsnp", "false"),
    ("solid_nocall_strategy", "THROW_EXCEPTION"),
    ("solid_recal_mode", "SET_Q_ZERO"),
];

/// A table of the report: its name, description, formats and names of columns, and which columns are left-aligned if
/// the case does not specify it.
pub struct TableForm {
    pub name: &'static str,
    about: &'static str,
    formats: &'static str,
    columns: &'static str,
    pub sides: &'static str,
}

/// The tables, in their order.
pub const FORMS: [TableForm; 5] = [
    TableForm {
        name: "Arguments",
        about: "Recalibration argument collection values used in this run",
        formats: "%s:%s",
        columns: "Argument Value",
        sides: "ll",
    },
    TableForm {
        name: "Quantized",
        about: "Quality quantization map",
        formats: "%d:%d:%d",
        columns: "QualityScore Count QuantizedScore",
        sides: "rrr",
    },
    TableForm {
        name: "RecalTable0",
        about: "",
        formats: "%s:%s:%.4f:%.4f:%d:%.2f",
        columns: "ReadGroup EventType EmpiricalQuality EstimatedQReported Observations Errors",
        sides: "llrrrr",
    },
    TableForm {
        name: "RecalTable1",
        about: "",
        formats: "%s:%d:%s:%.4f:%d:%.2f",
        columns: "ReadGroup QualityScore EventType EmpiricalQuality Observations Errors",
        sides: "lrlrrr",
    },
    TableForm {
        name: "RecalTable2",
        about: "",
        formats: "%s:%d:%s:%s:%s:%.4f:%d:%.2f",
        columns: "ReadGroup QualityScore CovariateValue CovariateName EventType EmpiricalQuality Observations Errors",
        sides: "lrlllrrr",
    },
];

type ReportRow = Vec<String>;

/// The report that lines in short form stand for.
pub fn text(lines: &[String]) -> String {
    let row = |pair: &(&str, &str)| vec![pair.0.to_string(), pair.1.to_string()];
    let mut rows: [Vec<ReportRow>; 5] =
        [ARGUMENTS.iter().map(row).collect(), vec![], vec![], vec![], vec![]];
    let mut sides = FORMS.map(|form| form.sides.to_string());
    let mut table = 0;
    for line in lines {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let form = FORMS.iter().position(|form| form.name == word);
        match (word, form) {
            ("arguments", _) => rest.split(' ').for_each(|pair| change(&mut rows[0], pair)),
            ("quantized", _) => rows[1] = rest.split(' ').flat_map(quantized).collect(),
            (_, Some(form)) => {
                table = form;
                if !rest.is_empty() {
                    sides[form] = rest.to_string();
                }
            }
            _ if table == 4 => rows[4].extend(cells(line)),
            _ => rows[table].push(line.split('\t').map(str::to_string).collect()),
        }
    }
    let mut groups: Vec<String> = rows[4].iter().map(|row| row[0].clone()).collect();
    groups.dedup();
    let group = |row: &ReportRow| groups.iter().position(|it| *it == row[0]);
    rows[4].sort_by_key(|row| {
        (group(row), number(&row[1]), row[2].clone(), row[3].clone(), row[4].clone())
    });
    let tables = FORMS.iter().zip(&rows).zip(&sides);
    let tables: String = tables.map(|((form, rows), sides)| form.print(rows, sides)).collect();
    format!("#:GATKReport.v1.1:5\n{tables}")
}

/// `NAME=VALUE`: another value of an argument.
fn change(rows: &mut [ReportRow], pair: &str) {
    let (name, value) = pair.split_once('=').expect("an argument and its value");
    let row = rows.iter_mut().find(|row| row[0] == name).expect("an argument");
    row[1] = value.to_string();
}

/// `FROM-TO:COUNT:VALUE`, where `=` is the quality itself.
fn quantized(part: &str) -> Vec<ReportRow> {
    let [range, count, value] = part.split(':').collect::<Vec<_>>()[..] else {
        panic!("a range: {part}")
    };
    let (from, to) = range.split_once('-').unwrap_or((range, range));
    let value = |q: usize| if value == "=" { q.to_string() } else { value.to_string() };
    (number(from)..=number(to)).map(|q| vec![q.to_string(), count.to_string(), value(q)]).collect()
}

/// Read group, quality, covariate, event, and `VALUE=EMPIRICAL/OBSERVATIONS/ERRORS` apart by spaces.
fn cells(line: &str) -> Vec<ReportRow> {
    let [group, quality, covariate, event, cells] = line.split('\t').collect::<Vec<_>>()[..] else {
        panic!("five columns: {line}")
    };
    let cell = |cell: &str| {
        let (value, rest) = cell.split_once('=').expect("a value and its row");
        let mut rest = rest.split('/');
        let empirical = format!("{}.0000", rest.next().expect("a quality"));
        let observations = rest.next().expect("a count");
        let errors = rest.next().unwrap_or("0");
        let errors = if errors.contains('.') { errors.to_string() } else { format!("{errors}.00") };
        let row = [group, quality, value, covariate, event, &empirical, observations, &errors];
        row.map(str::to_string).to_vec()
    };
    cells.split(' ').map(cell).collect()
}

fn number(text: &str) -> usize {
    text.parse().expect("a number")
}

impl TableForm {
    fn print(&self, rows: &[ReportRow], sides: &str) -> String {
        let names: Vec<&str> = self.columns.split(' ').collect();
        let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> =
            names.iter().enumerate().map(|(i, it)| it.len().max(width(i))).collect();
        let TableForm { name, about, formats, .. } = self;
        let (columns, count) = (names.len(), rows.len());
        let mut text =
            format!("#:GATKTable:{columns}:{count}:{formats}:;\n#:GATKTable:{name}:{about}\n");
        let join = |cells: Vec<String>| format!("{}\n", cells.join("  "));
        text += &join(names.iter().zip(&widths).map(|(name, &w)| format!("{name:<w$}")).collect());
        for row in rows {
            let cells = row.iter().zip(&widths).zip(sides.chars());
            let cell = |((cell, &w), side)| match side {
                'l' => format!("{cell:<w$}"),
                _ => format!("{cell:>w$}"),
            };
            text += &join(cells.map(cell).collect());
        }
        text + "\n"
    }
}
