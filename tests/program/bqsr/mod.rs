//! Recalibrated base qualities as GATK gives them: reports byte for byte, qualities base by base.
//!
//! The expected results are in `tests/oracles/gatk`; the tests run the real program.
#![allow(clippy::disallowed_methods)] // a test's own threads are not the engine's

mod cases;

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cases::{BqsrCase, BqsrRun};

use crate::support::{self, TestDir};

/// Accepted differences from GATK: case, start of the run's words, and row of `docs/parity.md`. GATK's result
/// is in the file.
const ACCEPTED: [(&str, &str, u8); 20] = [
    ("a mapped read without CIGAR", "apply t1", 11),
    ("unplaced and half placed reads", "apply t1", 11),
    ("random 17", "apply t1 --preserve", 11),
    ("random 17", "apply t1 --use-original", 11),
    ("unusual bases", "apply t1", 11),
    ("SEQ and QUAL missing, kept", "apply t1 keep", 50),
    ("a read group without PL", "table t1", 51),
    ("a read group without PL of which no base is left", "table t1", 51),
    ("platforms of any name", "table t1", 51),
    ("a read over the end of the contig", "table t1", 52),
    ("nothing but clips", "table t1", 53),
    ("nothing but clips", "apply t1", 53),
    ("default qualities", "table t2", 54),
    ("default qualities", "table t3", 54),
    ("default qualities", "apply t2", 54),
    (
        "a read group that the header does not have, in what is applied",
        "apply t1 in=other.sam --allow-missing-read-group",
        55,
    ),
    ("contexts", "table t8", 56),
    ("contexts", "apply t8", 56),
    ("known sites: END before POS", "table t1", 58),
    ("contexts and cycles together", "apply strong.table --round-down-quantized", 59),
];

/// Options that change nothing in GATK 4.6.2 but a row of the table Arguments, and are not ours (row 59); and one whose
/// reads GATK filters before it uses the option (row 54); that is removed except in the case about it.
const WITHOUT_EFFECT: [&str; 4] = [
    "--mismatches-default-quality",
    "--insertions-default-quality",
    "--deletions-default-quality",
    "--default-base-qualities",
];

/// A run's words without those.
fn effective(case: &BqsrCase, words: &[String]) -> Vec<String> {
    let kept = if case.name == "default qualities" { &WITHOUT_EFFECT[..3] } else { &WITHOUT_EFFECT[..] };
    let mut words = words.iter();
    let mut effective = Vec::new();
    while let Some(word) = words.next() {
        if kept.contains(&word.as_str()) {
            words.next();
        } else {
            effective.push(word.clone());
        }
    }
    effective
}

/// The program's arguments for a run: its files are in one directory.
fn words(case: &BqsrCase, run: &BqsrRun, dir: &TestDir) -> Vec<String> {
    let (mut input, mut reference, mut keep, mut words) = ("in.sam", "ref.fa", false, Vec::new());
    let effective = effective(case, &run.words);
    for word in &effective {
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
            add(&["--allow-empty", "-o", &first]); // as GATK does
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
        true => support::arg(&dir.path(&word)),
        false => word,
    };
    all.into_iter().map(place).collect()
}

/// Runs the program; returns its output lines, or `None` if it refuses.
fn outcome(case: &BqsrCase, run: &BqsrRun, dir: &TestDir) -> Result<Option<Vec<String>>, String> {
    let outcome = support::readmill(words(case, run, dir));
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
    let text = std::fs::read_to_string(dir.path(name)).map_err(|error| error.to_string())?;
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

/// Records in the form of the cases: QNAME, FLAG, QUAL, and the fields with qualities.
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

/// Whether records are those of the input, in its order, except dropped records and qualities.
fn only_qualities_differ(output: &str, input: &str) -> Result<(), String> {
    let rest = |record: &str| {
        let columns: Vec<&str> = record.split('\t').collect();
        let fields = columns.iter().skip(11).filter(|field| !is_quality(field));
        let mut fields: Vec<String> = fields.map(|field| field.to_string()).collect();
        fields.sort();
        // equal in BAM
        let mate = if columns[6] == columns[2] && columns[2] != "*" { "=" } else { columns[6] };
        let bases = columns[9].to_ascii_uppercase().replace('.', "N");
        ([columns[..6].join("\t"), mate.to_string(), columns[7..9].join("\t"), bases], fields)
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

/// Describes the difference between a result and the expected one.
fn compare(given: Option<Vec<String>>, run: &BqsrRun) -> Option<String> {
    let Some(given) = given else {
        return (!run.refused).then(|| "is refused".to_string());
    };
    if run.refused {
        return Some("is not refused".to_string());
    }
    let expected: Vec<String> = match run.verb.as_str() {
        "apply" => run.lines.clone(),
        "plot-data" => run.lines.iter().cloned().chain([String::new()]).collect(),
        _ => cases::text(&with_usual_arguments(&run.lines)).split('\n').map(str::to_string).collect(),
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

/// The lines of a report in short form; options without effect have their usual values.
fn with_usual_arguments(lines: &[String]) -> Vec<String> {
    let is_usual = |word: &&str| !word.contains("_default_quality=");
    let usual = |line: &String| match line.strip_prefix("arguments ") {
        Some(words) => {
            let words: Vec<&str> = words.split(' ').filter(is_usual).collect();
            format!("arguments {}", words.join(" ")).trim_end().to_string()
        }
        None => line.clone(),
    };
    lines.iter().map(usual).filter(|line| line != "arguments").collect()
}

/// Runs a case; returns the errors of its runs.
fn judge(case: &BqsrCase) -> Vec<String> {
    let dir = TestDir::new();
    for (name, text) in &case.files {
        dir.file(name, text);
    }
    let mut wrong = Vec::new();
    for run in &case.runs {
        let title = format!("{} {}", run.verb, run.words.join(" "));
        let said = match outcome(case, run, &dir) {
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

/// The numbers of cases, so that none is lost unnoticed.
const CASES: usize = 199;
const RUNS: usize = 698;
