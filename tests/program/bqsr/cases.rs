//! Parses the cases of `cases.txt`, which explains their syntax, and of `generated.txt`.

use crate::bqsr::report;

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
    let mut cases = read(include_str!("cases.txt"));
    cases.extend(read(include_str!("generated.txt")));
    cases
}

/// The part of a case to which a line belongs.
enum Heading {
    None,
    File(String, Vec<String>),
    Run,
}

fn read(text: &str) -> Vec<BqsrCase> {
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
        return report::text(lines);
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
