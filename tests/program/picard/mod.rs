//! Duplicates compared with Picard: flags, optional fields, removal and metrics, option by option.
//!
//! The expected results are in `tests/oracles/picard`; the tests run the real program.
#![allow(clippy::disallowed_methods)] // a test's own threads are not the engine's

mod cases;

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cases::{PicardCase, PicardResult, PicardRun, TAGS};

use crate::support::{self, TestDir};

/// Accepted differences from Picard: case, an option of the run, and the reason. Picard's result is in the
/// file.
const ACCEPTED: [(&str, &str, &str); 14] = [
    ("a regular expression whose group is too long for 32 bits", "READ_NAME_REGEX", KEPT_GROUP),
    ("a regular expression with a group that may be missing", "READ_NAME_REGEX", KEPT_GROUP),
    ("a regular expression with plus and minus signs", "READ_NAME_REGEX", KEPT_GROUP),
    ("numbers too long for 32 bits, and what was read before them", "READ_NAME_REGEX", KEPT_GROUP),
    ("the molecular identifier", "MOLECULAR_IDENTIFIER_TAG=MI TAGGING", IGNORED_TAG),
    ("the molecular identifier", "READ_ONE_BARCODE_TAG", IGNORED_TAG),
    ("duplex: top and bottom strand", "DUPLEX_UMI=true TAGGING", IGNORED_DUPLEX),
    ("barcodes of fragments", "BARCODE_TAG=BC READ_ONE_BARCODE_TAG=BX", NO_BARCODE),
    ("barcodes: equal and other ones", "BARCODE_TAG=RX", NO_BARCODE),
    ("duplex: an unpaired read without a barcode", "DUPLEX_UMI=true BARCODE_TAG=RX TAGGING", NO_BARCODE),
    ("duplex: no MC, and no barcode either", "DUPLEX_UMI=true BARCODE_TAG=RX TAGGING", NO_BARCODE),
    ("scenario: barcodes asked for that no read has", "BARCODE_TAG", NO_BARCODE),
    ("scenario: barcodes asked for that no read has", "READ_ONE_BARCODE_TAG", NO_BARCODE),
    ("scenario: barcodes asked for that no read has", "READ_TWO_BARCODE_TAG", NO_BARCODE),
];

const KEPT_GROUP: &str = "where x or y is no number Picard forgets the read group, and we do not";
const NO_BARCODE: &str = "Picard goes on where no read has the field of the barcode; we refuse it";
const IGNORED_DUPLEX: &str = "Picard ignores DUPLEX_UMI without BARCODE_TAG; we refuse it";
const IGNORED_TAG: &str = "Picard ignores MOLECULAR_IDENTIFIER_TAG without BARCODE_TAG; we refuse it";

/// The first line of a table of metrics.
const COLUMNS: &str = "LIBRARY\tUNPAIRED_READS_EXAMINED\tREAD_PAIRS_EXAMINED\tSECONDARY_OR_SUPPLEMENTARY_RDS\t\
                       UNMAPPED_READS\tUNPAIRED_READ_DUPLICATES\tREAD_PAIR_DUPLICATES\t\
                       READ_PAIR_OPTICAL_DUPLICATES\tPERCENT_DUPLICATION\tESTIMATED_LIBRARY_SIZE";

/// The line above it.
const CLASS: &str = "## METRICS CLASS\tpicard.sam.DuplicationMetrics";

/// Records as [`PicardResult::records`] has them, in coordinate order, equal ones as they were.
pub fn sorted(records: &[String], sam: &str) -> Vec<String> {
    let names = support::references(sam);
    let mut records = records.to_vec();
    records.sort_by_key(|line| support::coordinate_key(line, &names));
    records
}

/// Records of SAM text as [`PicardResult::records`] has them.
fn brief(text: &str) -> Vec<String> {
    let brief = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let (first, fields) = (&columns[..4], columns.get(11..).unwrap_or_default());
        let wanted = TAGS.iter().filter_map(|tag| fields.iter().find(|field| field.starts_with(tag)));
        first.iter().chain(wanted).copied().collect::<Vec<_>>().join("\t")
    };
    support::records(text).into_iter().map(brief).collect()
}

/// Records with every DI replaced by its order of first occurrence: the sets of reads with the same
/// DI remain, its values do not.
fn renamed(records: &[String]) -> Vec<String> {
    let mut seen = HashMap::new();
    let field = |field: &str, next: &mut HashMap<String, usize>| match field.strip_prefix("DI:i:") {
        Some(value) => {
            let n = next.len();
            format!("DI:i:#{}", next.entry(value.to_string()).or_insert(n))
        }
        None => field.to_string(),
    };
    let line =
        |line: &String| line.split('\t').map(|it| field(it, &mut seen)).collect::<Vec<_>>().join("\t");
    records.iter().map(line).collect()
}

/// The lines of a file of metrics below the names of the columns; what is wrong with those above.
fn table(text: &str) -> Result<Option<Vec<String>>, String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let string = "## htsjdk.samtools.metrics.StringHeader";
    let head = lines.get(..5).ok_or("fewer than five lines")?;
    let ok = head[0] == string && head[1].starts_with("# ") && head[2] == string;
    if !(ok && head[3].starts_with("# Started on: ") && head[4].is_empty()) {
        return Err(format!("begins with {head:?}"));
    }
    match &lines[5..] {
        // the last line ends, too
        [CLASS, COLUMNS, rows @ .., ""] => Ok(Some(rows.iter().map(|row| row.to_string()).collect())),
        rest if rest.contains(&CLASS) || rest.iter().any(|line| !line.is_empty()) => {
            Err(format!("after its head: {rest:?}"))
        }
        _ => Ok(None),
    }
}

/// Whether lines are those expected, of which `... N rows` stands for any N rows of a histogram.
fn agree(given: &[String], expected: &[String]) -> bool {
    let mut given = given.iter();
    for line in expected {
        let rows = line.strip_prefix("... ").and_then(|rest| rest.strip_suffix(" rows"));
        match rows {
            Some(rows) => {
                for _ in 0..rows.parse().expect("a number of rows") {
                    if !given.next().is_some_and(|row| row.contains(".0\t")) {
                        return false;
                    }
                }
            }
            None if given.next() != Some(line) => return false,
            None => (),
        }
    }
    given.next().is_none()
}

/// Runs the program; returns its result.
fn run(sam: &str, mode: &str, options: &[(String, String)]) -> Result<PicardResult, String> {
    let dir = TestDir::new();
    // in BAM if text is read differently, and in one of the modes, so that both formats are read
    let input = if mode == "coordinate" || support::text_is_read_otherwise(sam) {
        dir.file("in.bam", support::bam(sam))
    } else {
        dir.file("in.sam", sam)
    };
    let (output, metrics) = (dir.path("out.sam"), dir.path("metrics.txt"));
    let mut args =
        vec!["markdup".to_string(), support::arg(&input), "-o".to_string(), support::arg(&output)];
    args.extend(["--duplicate-mode", mode, "--metrics"].map(str::to_string));
    args.push(support::arg(&metrics));
    args.extend(options.iter().map(|(key, value)| format!("--{key}={value}")));
    let outcome = support::readmill(&args);
    match outcome.code {
        Some(0) => {
            let read = |path| std::fs::read_to_string(path).map_err(|error| error.to_string());
            let metrics = table(&read(metrics)?).map_err(|error| format!("metrics: {error}"))?;
            Ok(PicardResult { refused: false, records: brief(&read(output)?), metrics })
        }
        Some(code) if code != 101 && !outcome.stderr.is_empty() => {
            Ok(PicardResult { refused: true, ..PicardResult::default() })
        }
        code => Err(format!("ended with {code:?}: {}", outcome.stderr)),
    }
}

/// Describes the difference between a result and the expected one.
fn compare(given: &PicardResult, expected: &PicardResult) -> Option<String> {
    if given.refused != expected.refused {
        let said = |refused| if refused { "an error" } else { "no error" };
        return Some(format!("{}, expected {}", said(given.refused), said(expected.refused)));
    }
    if given.records != expected.records {
        let rows = given.records.iter().zip(&expected.records).filter(|(a, b)| a != b);
        let rows: Vec<_> = rows.take(6).map(|(a, b)| format!("\n    {a}\n  = {b}")).collect();
        let (n, m) = (given.records.len(), expected.records.len());
        return Some(format!("{n} records, expected {m}; given and expected:{}", rows.concat()));
    }
    let agreed = match (&given.metrics, &expected.metrics) {
        (Some(given), Some(expected)) => agree(given, expected),
        (given, expected) => given == expected,
    };
    let show =
        |metrics: &Option<Vec<String>>| metrics.as_ref().map_or("none".into(), |it| it.join("\n    "));
    let shown =
        || format!("metrics\n    {}\n  expected\n    {}", show(&given.metrics), show(&expected.metrics));
    (!agreed).then(shown)
}

/// Runs a case with one set of options in one mode; returns the errors.
fn judge(case: &PicardCase, nth: usize, run_of: &PicardRun, mode: &str) -> Vec<String> {
    let expected = if mode == "template" { &run_of.template } else { &run_of.coordinate };
    let in_order = support::coordinate_sorted(&case.sam);
    let mut inputs = vec![("as given", &case.sam)];
    if mode == "coordinate" {
        inputs.insert(0, ("sorted", &in_order));
        // the order of the input changes nothing in this mode; one check is enough
        inputs.truncate(if nth == 0 { 2 } else { 1 });
    }
    let mut wrong = Vec::new();
    for (order, sam) in inputs {
        let said = match run(sam, mode, &run_of.options) {
            Ok(given) if mode == "coordinate" => {
                let in_order = |it: &PicardResult| PicardResult {
                    records: renamed(&sorted(&it.records, &case.sam)),
                    ..it.clone()
                };
                compare(&in_order(&given), &in_order(expected))
            }
            Ok(given) => compare(&given, expected),
            Err(error) => Some(error),
        };
        let title = || format!("{} [{mode} mode, {order}] {:?}", case.name, run_of.options);
        wrong.extend(said.map(|said| format!("{}\n  {said}", title())));
    }
    wrong
}

#[test]
fn every_case_comes_out_as_from_picard() {
    let cases = cases::all();
    let runs: usize = cases.iter().map(|case| case.runs.len()).sum();
    assert_eq!((cases.len(), runs), (CASES, RUNS));
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            for mode in ["template", "coordinate"] {
                for (n, run) in case.runs.iter().enumerate() {
                    let found = judge(case, n, run, mode);
                    let words: Vec<String> =
                        run.options.iter().map(|(key, value)| format!("{key}={value}")).collect();
                    let said = words.join(" ");
                    match ACCEPTED.iter().find(|it| it.0 == case.name && said.starts_with(it.1)) {
                        Some(why) => assert!(!found.is_empty(), "no longer different: {why:?}"),
                        None => wrong.lock().expect("the list").extend(found),
                    }
                }
            }
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
const CASES: usize = 307;
const RUNS: usize = 434;
