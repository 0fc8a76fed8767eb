//! Recalibrated base qualities as GATK gives them: reports byte for byte, qualities base by base.
//!
//! The expected outcomes stand in `cases.txt` and `generated.txt`; the program is run as its users run it.
#![allow(clippy::disallowed_methods)] // a test's own threads are not the engine's

mod cases;
mod report;
#[path = "../support/mod.rs"]
mod support;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cases::{Case, Run};
use support::Desk;

/// Where we differ from GATK on purpose: case, how the run begins, and why. What GATK gives stands in the file.
const ACCEPTED: [(&str, &str, &str); 0] = [];

/// The program's words for a run: its files stand in one directory.
fn words(case: &Case, run: &Run, desk: &Desk) -> Vec<String> {
    let (mut input, mut reference, mut keep, mut words) = ("in.sam", "ref.fa", false, Vec::new());
    for word in &run.words {
        match word.split_once('=').unwrap_or((word, "")) {
            ("in", name) => input = name,
            ("reference", name) => reference = name,
            ("keep", _) => keep = true,
            _ => words.push(word.clone()),
        }
    }
    let first = if run.verb == "plot-data" { String::new() } else { words.remove(0) };
    let is_site =
        |name: &str| (name.ends_with(".vcf") || name.ends_with(".bed")) && !name.starts_with("targets");
    let mut all = vec!["bqsr".to_string(), run.verb.clone()];
    let mut add = |words: &[&str]| all.extend(words.iter().map(|word| word.to_string()));
    match run.verb.as_str() {
        "table" => {
            add(&[input, "--reference", reference]);
            if !words.iter().any(|word| word == "--known-sites") {
                let sites = case.files.iter().filter(|file| is_site(&file.0));
                sites.for_each(|file| add(&["--known-sites", &file.0]));
            }
            add(&["-o", &first]);
        }
        "apply" => {
            add(&[input, "--bqsr-table", &first, "-o", "out.sam"]);
            if !keep {
                add(&["--gatk-drop-malformed"]);
            }
        }
        "gather" => add(&["-o", &first]),
        _ => add(&["-o", "out.csv"]),
    }
    all.extend(words);
    let outputs =
        case.runs.iter().filter(|run| run.verb != "plot-data").map(|run| run.words[0].as_str());
    let names = case.files.iter().map(|file| file.0.as_str()).chain(outputs);
    let names: Vec<&str> = names.chain(["out.sam", "out.csv"]).collect();
    let place = |word: String| match names.contains(&word.as_str()) {
        true => support::arg(&desk.path(&word)),
        false => word,
    };
    all.into_iter().map(place).collect()
}

/// Runs the program; the lines that came out, none if it refuses.
fn outcome(case: &Case, run: &Run, desk: &Desk) -> Result<Option<Vec<String>>, String> {
    let outcome = support::readmill(words(case, run, desk));
    match outcome.code {
        Some(0) => (),
        Some(code) if code != 101 && !outcome.stderr.is_empty() => return Ok(None),
        code => return Err(format!("ended with {code:?}: {}", outcome.stderr)),
    }
    let name = match run.verb.as_str() {
        "apply" => "out.sam",
        "plot-data" => "out.csv",
        _ => &run.words[0],
    };
    let text = std::fs::read_to_string(desk.path(name)).map_err(|error| error.to_string())?;
    if run.verb == "apply" {
        let input = run.words.iter().find_map(|word| word.strip_prefix("in=")).unwrap_or("in.sam");
        let input = case.files.iter().find(|file| file.0 == input).expect("the input");
        only_qualities_differ(&text, &input.1)?;
        return Ok(Some(brief(&text)));
    }
    Ok(Some(text.split('\n').map(str::to_string).collect()))
}

/// The fields that recalibration may change or remove.
const QUALITIES: [&str; 3] = ["OQ", "BI", "BD"];

fn is_quality(field: &str) -> bool {
    QUALITIES.iter().any(|tag| field.starts_with(tag))
}

/// Records as they stand in the cases: QNAME, FLAG, QUAL, and the fields that hold qualities.
fn brief(text: &str) -> Vec<String> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for record in support::records(text) {
        let columns: Vec<&str> = record.split('\t').collect();
        let fields = columns.get(11..).unwrap_or_default();
        let wanted =
            QUALITIES.iter().filter_map(|tag| fields.iter().find(|field| field.starts_with(tag)));
        let first = [columns[0], columns[1], columns[10]];
        let line = first.iter().chain(wanted).copied().collect::<Vec<_>>().join("\t");
        match lines.last_mut() {
            Some(last) if last.1 == line => last.0 += 1,
            _ => lines.push((1, line)),
        }
    }
    let brief = |(times, line): (usize, String)| match times {
        1 => line,
        _ => format!("repeat {times}\t{line}"),
    };
    lines.into_iter().map(brief).collect()
}

/// Whether records are those of the input, in its order, but for those that are dropped, and for qualities.
fn only_qualities_differ(output: &str, input: &str) -> Result<(), String> {
    let rest = |record: &str| {
        let columns: Vec<&str> = record.split('\t').collect();
        let fields = columns.iter().skip(11).filter(|field| !is_quality(field));
        let mut fields: Vec<String> = fields.map(|field| field.to_string()).collect();
        fields.sort();
        // as BAM has them, where a missing SEQ or an unusual base has one form alone
        (columns[..9].join("\t"), columns[9].to_ascii_uppercase().replace('.', "N"), fields)
    };
    let mut left: VecDeque<_> = support::records(input).into_iter().map(rest).collect();
    for record in support::records(output) {
        let wanted = rest(record);
        while left.front().is_some_and(|it| *it != wanted) {
            left.pop_front();
        }
        left.pop_front()
            .ok_or_else(|| format!("not a record of the input, or not in its order: {record}"))?;
    }
    Ok(())
}

/// What differs between an outcome and the one expected.
fn compare(given: Option<Vec<String>>, run: &Run) -> Option<String> {
    let Some(given) = given else {
        return (!run.refused).then(|| "is refused".to_string());
    };
    if run.refused {
        return Some("is not refused".to_string());
    }
    let expected: Vec<String> = match run.verb.as_str() {
        "apply" => run.lines.clone(),
        "plot-data" => run.lines.iter().cloned().chain([String::new()]).collect(),
        _ => report::text(&run.lines).split('\n').map(str::to_string).collect(),
    };
    let lines = given.len().max(expected.len());
    let differs = |&i: &usize| given.get(i) != expected.get(i);
    let wrong: Vec<usize> = (0..lines).filter(differs).collect();
    let line =
        |lines: &[String], i| lines.get(i).map_or("nothing".to_string(), |line| format!("{line:?}"));
    let show = |&i: &usize| format!("\n    {}\n  = {}", line(&given, i), line(&expected, i));
    let shown: String = wrong.iter().take(4).map(show).collect();
    (!wrong.is_empty()).then(|| format!("{} of {lines} lines; given and expected:{shown}", wrong.len()))
}

/// Runs a case, and gives what is wrong with each of its runs.
fn judge(case: &Case) -> Vec<String> {
    let desk = Desk::new();
    for (name, text) in &case.files {
        desk.file(name, text);
    }
    let mut wrong = Vec::new();
    for run in &case.runs {
        let title = format!("{} {}", run.verb, run.words.join(" "));
        let said = match outcome(case, run, &desk) {
            Ok(given) => compare(given, run),
            Err(error) => Some(error),
        };
        let accepted = ACCEPTED.iter().find(|it| it.0 == case.name && title.starts_with(it.1));
        match (said, accepted) {
            (Some(said), None) => wrong.push(format!("{} [{title}]\n  {said}", case.name)),
            (None, Some(why)) => wrong.push(format!("no longer different: {why:?}")),
            _ => (),
        }
    }
    wrong
}

#[test]
fn every_case_comes_out_as_from_gatk() {
    let cases = cases::all();
    let runs: usize = cases.iter().map(|case| case.runs.len()).sum();
    assert_eq!((cases.len(), runs), (CASES, RUNS));
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let found = judge(case);
            wrong.lock().expect("the list").extend(found);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let mut wrong = wrong.into_inner().expect("the list");
    wrong.sort();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// How many there are, so that none is lost unseen.
const CASES: usize = 37;
const RUNS: usize = 80;
