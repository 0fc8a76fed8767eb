//! Compares reports and their recalibrated qualities with the output of GATK 4.6.2.0.
//!
//! GATK's own classes wrote the files in `tests/oracles/gatk/recalibration` from random counts.
//! `one.table` has two read groups, one of them with insertions and deletions.
#![allow(clippy::unwrap_used)]

use readmill_bqsr::counters::{ErrorEvent, cycle_index, encode_context};
use readmill_bqsr::report::Covariate;
use readmill_bqsr::{
    ApplyOptions, Datum, EventTable, GroupTable, QualityTable, RecalReport, Recalibration, Tables,
    gather_reports, plot_data,
};
use readmill_format::report::DescribedReport;
use readmill_record::{Ledger, Result};
use serde_json::{Value, json};

const ONE: &str =
    below_first_line(include_str!("../../../../tests/oracles/gatk/recalibration/one.table"));
const TWO: &str =
    below_first_line(include_str!("../../../../tests/oracles/gatk/recalibration/two.table"));
const GATHERED: &str =
    below_first_line(include_str!("../../../../tests/oracles/gatk/recalibration/gathered.table"));
const PLOT: &str =
    below_first_line(include_str!("../../../../tests/oracles/gatk/recalibration/plot.csv"));
const APPLIED: &str = include_str!("../../../../tests/oracles/gatk/recalibration/applied.tsv");

/// Returns the text of a file without its first line, which describes its origin.
const fn below_first_line(text: &'static str) -> &'static str {
    let mut end = 0;
    while text.as_bytes()[end] != b'\n' {
        end += 1;
    }
    text.split_at(end + 1).1
}

fn read(text: &str) -> RecalReport {
    try_read(text).unwrap()
}

fn try_read(text: impl AsRef<[u8]>) -> Result<RecalReport> {
    RecalReport::parse(text.as_ref(), &mut Ledger::unlimited().empty_charge("a table"))
}

fn text(report: &RecalReport) -> String {
    String::from_utf8(report.to_text()).unwrap()
}

#[test]
fn a_report_is_read_and_written() {
    for report in [ONE, TWO, GATHERED] {
        assert_eq!(text(&read(report)), report);
    }
}

#[test]
fn counts_become_the_report() {
    let report = read(ONE);
    let made = RecalReport::new(&counts(&report), report.arguments.clone()).unwrap();
    assert_eq!(made, report);
    assert_eq!(text(&made), ONE);
}

#[test]
fn the_value_has_the_substitutions_of_the_text() {
    for report in [ONE, TWO, GATHERED] {
        let lines = report.lines().skip_while(|line| !line.starts_with("#:GATKTable:RecalTable1:"));
        let rows = lines.skip(2).take_while(|line| !line.is_empty()).filter_map(|line| {
            let cells: Vec<&str> = line.split_whitespace().collect();
            // A name of a read group may have a blank.
            let [group @ .., reported, event, empirical, observations, errors] = &cells[..] else {
                panic!("{line}")
            };
            let number = |cell: &str| cell.parse::<f64>().unwrap();
            let [reported, observations] = [reported, observations].map(|it| it.parse::<u64>().unwrap());
            (*event == "M").then(|| {
                json!({
                    "read_group": group.join(" "), "reported": reported, "empirical": number(empirical),
                    "observations": observations, "errors": number(errors),
                })
            })
        });
        let wanted: Vec<Value> = rows.collect();
        assert!(!wanted.is_empty());
        assert_eq!(read(report).to_value(), json!({ "qualities": wanted }));
    }
}

/// Returns the counts of a report, with read groups in a different order and some without
/// observations.
fn counts(report: &RecalReport) -> Tables {
    let mut tables =
        Tables { groups: vec![GroupTable { name: b"unseen".to_vec(), ..GroupTable::default() }] };
    for group in report.groups.iter().rev() {
        let mut table = GroupTable { name: group.name.clone(), ..GroupTable::default() };
        for row in &group.qualities {
            let recal_datum = row.recal_datum;
            at(&mut table.events[row.event.index()], row.quality).total =
                Datum { observations: recal_datum.observations, errors: recal_datum.errors() };
        }
        for row in &group.covariates {
            let table = at(&mut table.events[row.event.index()], row.quality);
            let (list, place) = match row.covariate {
                Covariate::Context { size, code } => {
                    table.contexts.resize(1 << (2 * size), Datum::default());
                    (&mut table.contexts, code as usize)
                }
                Covariate::Cycle(cycle) => {
                    table
                        .cycles
                        .resize(table.cycles.len().max(cycle_index(cycle) + 3), Datum::default());
                    (&mut table.cycles, cycle_index(cycle))
                }
            };
            list[place] =
                Datum { observations: row.recal_datum.observations, errors: row.recal_datum.errors() };
        }
        tables.groups.push(table);
    }
    tables
}

fn at(event: &mut EventTable, quality: u8) -> &mut QualityTable {
    let length = event.qualities.len().max(usize::from(quality) + 1);
    event.qualities.resize(length, None);
    event.qualities[usize::from(quality)].get_or_insert_default()
}

#[test]
fn reports_are_gathered() {
    let gathered = gather_reports([read(ONE), read(TWO)].map(Ok)).unwrap();
    assert_eq!(text(&gathered), GATHERED);
    let mut other = read(TWO);
    other.arguments.maximum_cycle_value = 13;
    let error = gather_reports([read(ONE), other].map(Ok)).unwrap_err().to_string();
    assert!(
        error.contains("maximum_cycle_value is 12 in the first report and 13 in another"),
        "{error}"
    );
    assert!(gather_reports(Vec::new()).is_err());
    let empty = RecalReport::new(&Tables::default(), read(ONE).arguments).unwrap();
    assert!(
        gather_reports([Ok(empty.clone())])
            .unwrap_err()
            .to_string()
            .contains("no bases were counted in any of the reports")
    );
    assert_eq!(
        text(&gather_reports([read(ONE), empty].map(Ok)).unwrap()),
        text(&gather_reports([Ok(read(ONE))]).unwrap())
    );
}

#[test]
fn data_for_plots() {
    let (before, after) = (read(ONE), read(GATHERED));
    let csv = plot_data::reports_to_csv(&[("Before", &before), ("After", &after)]).unwrap();
    assert_eq!(String::from_utf8(csv).unwrap(), PLOT);
    let mut other = after;
    other.arguments.low_quality_tail = 9;
    let error =
        plot_data::reports_to_csv(&[("Before", &before), ("After", &other)]).unwrap_err().to_string();
    assert!(error.contains("low_quality_tail has two values, 2 and 9"), "{error}");
}

#[test]
fn qualities_are_recalibrated() {
    let report = read(ONE);
    for line in APPLIED.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let numbers = |at: usize| -> Vec<u8> {
            fields[at]
                .split(',')
                .filter(|text| !text.is_empty())
                .map(|text| text.parse().unwrap())
                .collect()
        };
        let applying = ApplyOptions {
            preserve_below: fields[0].parse().unwrap(),
            quantize: fields[1].parse().unwrap(),
            static_quantized: numbers(2),
            round_down: fields[3] == "true",
            global_prior: Some(fields[4].parse().unwrap()),
        };
        let recalibration = Recalibration::new(&report, &applying, &Ledger::unlimited()).unwrap();
        let (bases, sign) = (fields[6].as_bytes(), fields[7].parse::<i32>().unwrap());
        let reported = numbers(8);
        let found: Vec<u8> = match recalibration.group(fields[5].as_bytes()) {
            None => reported
                .iter()
                .map(|&quality| recalibration.quantized_only[usize::from(quality)])
                .collect(),
            Some(group) => (0..bases.len())
                .map(|at| {
                    let context =
                        at.checked_sub(1).and_then(|before| encode_context(&bases[before..=at]));
                    let cycle = cycle_index(sign * (at as i32 + 1));
                    group.quality(reported[at], context.map_or(u16::MAX, |code| code as u16), cycle)
                })
                .collect(),
        };
        assert_eq!(found, numbers(9), "{line}");
    }
}

#[test]
fn the_report_lists_what_reads_are_found_by() {
    let recalibration =
        Recalibration::new(&read(ONE), &ApplyOptions::default(), &Ledger::unlimited()).unwrap();
    assert_eq!(
        (recalibration.context_size, recalibration.low_quality_tail, recalibration.maximum_cycle),
        (2, 2, 12)
    );
    assert!(recalibration.group(b"unit.10").is_some() && recalibration.group(b"unit").is_none());
    // Qualities that no read can have are not changed.
    assert_eq!(recalibration.group(b"unit.10").unwrap().quality(94, 0, 2), 94);
    let applying = ApplyOptions { static_quantized: vec![10, 94], ..ApplyOptions::default() };
    assert!(Recalibration::new(&read(ONE), &applying, &Ledger::unlimited()).is_err());
}

/// Invalid reports: a text in a valid report, its replacement, and the error message.
const REFUSALS: [(&str, &str, &str); 17] = [
    (
        "#:GATKReport.v1.1:5",
        "#:GATKReport.v1.0:5",
        "line 1: the report has version v1.0:5, but only v1.1 can be read",
    ),
    ("#:GATKReport.v1.1:5", "##:GATKReport.v0.2 x", "line 1: this is a report of version 0"),
    ("#:GATKReport.v1.1:5", "@HD\tVN:1.6", "line 1: this is not a GATKReport"),
    ("#:GATKReport.v1.1:5", "#:GATKReport.v1.1:6", "the report ends before the sizes of a table"),
    ("#:GATKReport.v1.1:5", "#:GATKReport.v1.1:4", "there is text after the last of 4 tables"),
    ("#:GATKTable:RecalTable1:", "#:GATKTable:RecalTable7:", "the table RecalTable1 is missing"),
    (
        "#:GATKTable:3:94:",
        "#:GATKTable:3:93:",
        "line 119: a table has more rows than its first line states",
    ),
    ("QuantizedScore", "QuantizedSore ", "line 25: the column QuantizedScore is missing"),
    (
        "SET_Q_ZERO     ",
        "DO_NOTHING     ",
        "solid_recal_mode is DO_NOTHING; only SET_Q_ZERO is supported",
    ),
    (
        "maximum_cycle_value         12",
        "maximum_cycle_value         5 ",
        "is beyond maximum_cycle_value 5",
    ),
    ("mismatches_context_size     2", "mismatches_context_size     0", "contexts have 1 to 13 bases"),
    ("quantizing_levels           5", "quantizing_levels           0", "must be at least 1"),
    ("  Context        M", "  Contest        M", "CovariateName is \"Contest\""),
    (
        "  AA              Context",
        "  AN              Context",
        "the context \"AN\" does not consist of at most 2 bases",
    ),
    ("unit 2                7  M", "unit 2               97  M", "QualityScore is 97, above 93"),
    (
        "unit 2                7  M",
        "unit 3                7  M",
        "the read group unit 3 is not in the table RecalTable0",
    ),
    (
        "unit 2                7  M",
        "unit 2                7  X",
        "EventType is \"X\", which is not M, I or D",
    ),
];

#[test]
fn errors_are_explained() {
    for (from, to, expected) in REFUSALS {
        assert!(ONE.contains(from), "{from}");
        let error = try_read(ONE.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{from} -> {to}: {error}");
    }
}

#[test]
fn counts_that_cannot_be_are_refused() {
    let line = ONE.lines().rfind(|line| line.contains("Cycle")).unwrap();
    let (head, _) = line.rsplit_once("  ").unwrap();
    for errors in ["NaN", "inf", "-1.00", "1e300", "x"] {
        let error = try_read(ONE.replace(line, &format!("{head}  {errors:>9}"))).unwrap_err();
        assert!(error.to_string().starts_with("line 2"), "{errors}: {error}");
    }
}

#[test]
fn a_cut_off_report_is_an_error_and_never_a_panic() {
    for end in 0..ONE.trim_end().len() - 1 {
        if ONE.as_bytes()[end] == b'\n' || end % 7 == 0 {
            let _ = try_read(&ONE.as_bytes()[..end]);
        }
    }
    assert!(try_read(&ONE.as_bytes()[..ONE.len() / 2]).is_err());
    assert!(try_read(b"").is_err());
}

#[test]
fn lines_may_end_as_on_windows_and_names_may_be_in_any_script() {
    assert_eq!(read(&ONE.replace('\n', "\r\n")), read(ONE));
    let mut report = read(ONE);
    report.groups[0].name = "лунка 🧬".as_bytes().to_vec();
    report.groups.swap(0, 1);
    assert_eq!(read(&text(&report)), report);
}

#[test]
fn a_table_is_refused_before_it_takes_more_memory_than_there_is() {
    let charged =
        |ledger: &Ledger| RecalReport::parse(ONE.as_bytes(), &mut ledger.empty_charge("a table"));
    let ample = Ledger::with_capacity(1 << 20);
    assert!(charged(&ample).unwrap().memory_bytes() <= ample.peak());
    let error = charged(&Ledger::with_capacity(10_000)).unwrap_err();
    assert!(error.to_string().contains("raise -m"), "{error}");
}

#[test]
fn one_row_of_a_late_cycle_is_charged_with_all_cycles_before_it() {
    let mut report = read(ONE);
    report.arguments.maximum_cycle_value = 999_999;
    let rows = report.groups.iter_mut().flat_map(|group| &mut group.covariates);
    let mut of_cycles = rows.filter(|row| matches!(row.covariate, Covariate::Cycle(_)));
    of_cycles.find(|row| row.event == ErrorEvent::Mismatch).unwrap().covariate =
        Covariate::Cycle(999_999);
    let new = |bytes: u64| {
        Recalibration::new(&report, &ApplyOptions::default(), &Ledger::with_capacity(bytes))
    };
    let error = new(2 << 20).map(drop).unwrap_err();
    assert!(error.to_string().starts_with("recalibration: needs"), "{error}");
    assert!(new(400 << 20).is_ok());
}
