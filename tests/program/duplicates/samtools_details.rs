//! The fields dt, do and dc, and optical duplicates, by the rules of samtools markdup. The expected values are those of
//! samtools 1.24 (`-d 10 -t --duplicate-count`).

use super::samtools::{HEADER, output, read, run};
use crate::support::{TestDir, arg, column, records};

/// dt, do and dc of a record, and whether it is flagged.
fn findings(line: &str) -> String {
    let field = |tag: &str| {
        let found = line.split('\t').find_map(|field| field.strip_prefix(tag));
        found.map_or("-", |value| &value[3..])
    };
    let mark = if line.split('\t').nth(1).is_some_and(|flag| flag.parse().unwrap_or(0) & 0x400 != 0) {
        "dup"
    } else {
        "-"
    };
    format!("{mark} {} {} {}", field("dt"), field("do"), field("dc"))
}

/// A read at 100 of a kind (single, or of a pair whose mate is at 300 or 350) and a quality from 20 on.
fn row((name, kind, quality, _): (&str, &str, u8, &str)) -> String {
    let quality = (33 + 20 + quality) as char;
    match kind {
        "s" => read(name, 0, 100, "4M", "*\t0", quality, "NM:i:0"),
        "p1" => read(name, 99, 100, "4M", "=\t300", quality, "MC:Z:4M\tms:i:100"),
        _ => read(name, 99, 100, "4M", "=\t350", quality, "MC:Z:4M\tms:i:100"),
    }
}

const FLAGS: &str = "--optical-distance 10 --tag-original --duplicate-count";

fn assert_findings(rows: &[(&str, &str, u8, &str)], flags: &str) {
    let text = HEADER.to_string() + &rows.iter().copied().map(row).collect::<String>();
    let output = output(&text, flags);
    for (line, (name, _, _, expected)) in records(&output).into_iter().zip(rows) {
        assert_eq!((column(line, 0), findings(line).as_str()), (*name, *expected), "{flags}");
    }
}

#[test]
fn duplicates_near_a_better_one_are_optical_and_name_the_read_that_stays() {
    assert_findings(
        &[
            ("M:1:1101:27:0", "s", 2, "dup SQ M:1:1101:23:10 -"),
            ("M:1:1101:23:10", "p1", 4, "- - - 5"),
            ("M:1:1101:1:9", "p1", 3, "dup LB M:1:1101:23:10 -"),
            ("M:1:1101:27:8", "p2", 3, "dup LB M:1:1101:16:8 -"),
            ("M:1:1101:28:0", "p1", 3, "dup SQ M:1:1101:23:10 -"),
            ("M:2:1101:29:6", "p2", 1, "dup LB M:1:1101:16:8 -"),
            ("M:1:1101:7:3", "s", 2, "dup SQ M:1:1101:23:10 -"),
            ("M:1:1101:16:8", "p2", 4, "- - - 3"),
        ],
        FLAGS,
    );
    assert_findings(
        &[
            ("M:2:1101:18:1", "p1", 0, "dup SQ M:1:1101:8:7 -"),
            ("M:2:1101:21:9", "p1", 2, "dup LB M:1:1101:8:7 -"),
            ("M:1:1101:8:7", "p1", 4, "- - - 6"),
            ("M:1:1101:3:3", "p2", 0, "- - - 1"),
            ("M:1:1101:10:1", "p1", 2, "dup SQ M:1:1101:8:7 -"),
            ("M:1:1101:3:0", "p1", 3, "dup SQ M:1:1101:8:7 -"),
            ("M:1:1101:29:3", "p1", 1, "dup LB M:1:1101:8:7 -"),
            ("M:1:1101:9:5", "s", 4, "dup SQ M:1:1101:8:7 -"),
        ],
        FLAGS,
    );
}

/// With --no-multi-dup, a duplicate names the read that took its place, and is compared with that one alone.
#[test]
fn with_no_multi_dup_the_read_that_took_the_place_counts() {
    let rows = |first: &'static str, second: &'static str| {
        [
            ("M:1:1101:0:0", "p1", 0, first),
            ("M:1:1101:30:0", "p1", 2, second),
            ("M:1:1101:20:0", "p1", 1, "dup SQ M:1:1101:35:0 -"),
            ("M:1:1101:35:0", "p1", 4, "- - - 4"),
        ]
    };
    let all = rows("dup LB M:1:1101:35:0 -", "dup SQ M:1:1101:35:0 -");
    assert_findings(&all, FLAGS);
    let mut first = rows("dup LB M:1:1101:30:0 -", "dup SQ M:1:1101:35:0 -");
    first[2].3 = "dup SQ M:1:1101:30:0 -";
    assert_findings(&first, &format!("{FLAGS} --no-multi-dup"));
}

#[test]
fn each_flag_writes_its_field_alone() {
    let rows = |first: &'static str, second: &'static str| {
        [("M:1:1101:0:0", "p1", 1, first), ("M:1:1101:5:5", "p1", 0, second)]
    };
    assert_findings(&rows("- - - -", "dup - - -"), "");
    assert_findings(&rows("- - - -", "dup SQ - -"), "--optical-distance 5");
    assert_findings(&rows("- - - -", "dup LB - -"), "--optical-distance 4");
    assert_findings(&rows("- - - -", "dup - - -"), "--optical-distance 0");
    assert_findings(&rows("- - - -", "dup - M:1:1101:0:0 -"), "--tag-original");
    assert_findings(&rows("- - - 2", "dup - - -"), "--duplicate-count");
}

/// The report counts optical duplicates; other records of a name get what their primary record has.
#[test]
fn other_records_and_the_report_have_optical_duplicates() {
    let pair = |name: &str, flag, quality, fields: &str| {
        read(name, flag, 100, "4M", "=\t300", quality, &format!("MC:Z:4M\tms:i:100{fields}"))
    };
    let supplementary = |name: &str| read(name, 2147, 500, "4M", "=\t300", 'I', "dt:Z:old\tNM:i:0");
    let text = [
        HEADER,
        &pair("M:1:1101:0:0", 99, 'I', ""),
        &pair("M:1:1101:5:0", 99, '5', "\tSA:Z:c1,500,+,4M,60,0;"),
        &pair("M:1:1101:50:0", 99, '5', "\tSA:Z:c1,500,+,4M,60,0;"),
        &supplementary("M:1:1101:5:0"),
        &supplementary("M:1:1101:50:0"),
        &supplementary("M:1:1101:0:0"),
    ]
    .concat();
    let dir = TestDir::new();
    let report = arg(&dir.path("report.txt"));
    let flags = format!("{FLAGS} --duplicate-mode template --metrics {report}");
    let output = output(&text, &flags);
    let found: Vec<String> = records(&output).into_iter().map(findings).collect();
    let original = "M:1:1101:0:0";
    let [near, far] = ["SQ", "LB"].map(|kind| format!("dup {kind} {original} -"));
    assert_eq!(found, ["- - - 3", &near, &far, &near, &far, "- old - 1"]);
    let report = std::fs::read_to_string(report).expect("a report");
    for row in [
        "DUPLICATE PAIR: 2\n",
        "DUPLICATE PAIR OPTICAL: 1\n",
        "DUPLICATE SINGLE OPTICAL: 0\n",
        "DUPLICATE NON PRIMARY: 2\n",
        "DUPLICATE NON PRIMARY OPTICAL: 1\n",
    ] {
        assert!(report.contains(row), "{row}{report}");
    }
}

#[test]
fn places_are_read_by_an_expression_and_names_without_one_are_told() {
    let rows = |second: &'static str| [("L1_0_7", "p1", 1, "- - - -"), ("L1_5_7", "p1", 0, second)];
    let [found, not] = ["dup SQ - -", "dup LB - -"];
    assert_findings(&rows(found), "--optical-distance 5 --read-coords ^(.+)_(.+)_(.+)$");
    assert_findings(
        &rows(not),
        "--optical-distance 5 --read-coords ^(.+)_(.+)_(.+)$ --coords-order xty",
    );
    assert_findings(&rows(not), "--optical-distance 5");
    let text = HEADER.to_string() + &rows(not).map(row).concat();
    let done = run(&text, "--optical-distance 5");
    assert!(done.stderr.contains("the names of 2 reads with duplicates"), "{}", done.stderr);
    let done = run(&text, "--optical-distance 5 --read-coords ^([0-9]+)_(.+)_(.+)$");
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("does not match --read-coords"), "{}", done.stderr);
    for (flags, said) in [
        ("--optical-distance 5 --read-coords (a)", "fewer groups"),
        ("--optical-distance 5 --read-coords (a)(b) --coords-order yz", "not a valid order of groups"),
        ("--read-coords (a)(b)(c)", "--optical-distance"),
    ] {
        let done = run(&text, flags);
        assert_eq!(done.code, Some(1), "{flags}: {}", done.stderr);
        assert!(done.stderr.contains(said), "{flags}: {}", done.stderr);
    }
}
