//! Template mode on input with scattered records of a template, whether that shows early or
//! late: it marks the same as if they were adjacent.

use readmill::plan::DuplicateMode;

use crate::duplicates::{mark, marks, orders};
use crate::support::random::TestRandom;
use crate::support::{self, TestDir};

#[test]
fn template_mode_marks_scattered_input_as_if_it_stood_together() {
    let dir = TestDir::new();
    let mut flagged = 0;
    for seed in 0..400 {
        let shuffled = &orders(seed)[1].1;
        let grouped = support::regrouped(shuffled);
        let expected =
            marks(&dir.run(grouped.as_bytes(), mark(DuplicateMode::Template), 1).expect("marks"));
        let text = dir.run(shuffled.as_bytes(), mark(DuplicateMode::Template), 1 + seed as usize % 3);
        assert_eq!(marks(&text.expect("marks")), expected, "seed {seed}:\n{shuffled}");
        flagged += expected.len();
    }
    assert!(flagged > 1000, "{flagged}");
}

/// More than a mebibyte of adjacent pairs without duplicates, for the contigs of the random reads.
fn filler() -> String {
    let (bases, quals) = ("A".repeat(100), "I".repeat(100));
    let pair = |i: usize| {
        let (pos, next) = (1_000 + 2 * i, 1_200 + 2 * i);
        let line = |flag, pos, next| {
            format!(
                "f{i}\t{flag}\tc1\t{pos}\t60\t100M\t=\t{next}\t0\t{bases}\t{quals}\tRG:Z:a\tRX:Z:ACGT\n"
            )
        };
        line(99, pos, next) + &line(147, next, pos)
    };
    (0..4_000).map(pair).collect()
}

/// The output of marking, as SAM text.
fn marked(inputs: &[&str], flags: &str) -> String {
    let dir = TestDir::new();
    let files =
        inputs.iter().enumerate().map(|(i, text)| dir.file(&format!("in{i}"), support::bam(text)));
    let files: Vec<String> = files.map(|path| support::arg(&path)).collect();
    let mut args = vec!["markdup", "-o", "-", "-O", "sam", "-q", "--no-PG"];
    args.extend(flags.split_whitespace());
    args.extend(["--tag-duplicates", "all", "--tag-duplicate-set-members"]);
    args.extend(files.iter().map(String::as_str));
    let done = support::readmill(args);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    String::from_utf8(done.stdout).expect("SAM text")
}

/// Records without the values of DI and MI, which depend on positions in the input, sorted.
fn without_places(text: &str) -> Vec<String> {
    let is_numbered = |field: &str| field.starts_with("DI:i:") || field.starts_with("MI:Z:");
    let kept = |line: &str| {
        let fields = line.split('\t').map(|field| if is_numbered(field) { &field[..5] } else { field });
        fields.collect::<Vec<_>>().join("\t")
    };
    let mut lines: Vec<String> = support::records(text).into_iter().map(kept).collect();
    lines.sort();
    lines
}

/// The lines that only one of two has.
fn difference(given: &[String], expected: &[String]) -> Option<String> {
    let only = |these: &[String], those: &[String]| {
        let missing = these.iter().filter(|line| !those.contains(line));
        missing.map(|line| format!("\n    {line}")).collect::<String>()
    };
    let text = || format!("given{}\n  expected{}", only(given, expected), only(expected, given));
    (given != expected).then(text)
}

/// Whether a name has more than two primary records: then two templates have it, and the mates are found by
/// their order (`docs/parity.md`).
fn has_names_used_twice(text: &str) -> bool {
    let mut primaries = std::collections::HashMap::<&str, usize>::new();
    let lines = support::records(text).into_iter().filter(|line| support::number(line, 1) & 0x900 == 0);
    lines.for_each(|line| *primaries.entry(support::column(line, 0)).or_default() += 1);
    primaries.values().any(|&primaries| primaries > 2)
}

#[test]
fn template_mode_finds_out_late_that_templates_are_scattered() {
    let filler = filler();
    assert!(filler.len() > 1 << 20);
    let (mut flagged, mut wrong) = (0, Vec::new());
    for seed in 0..120 {
        let shuffled = &orders(seed)[1].1;
        if has_names_used_twice(shuffled) {
            continue;
        }
        let (header, lines) = support::split_header(shuffled);
        let text = format!("{header}{filler}{lines}");
        let flags =
            ["--duplicate-mode template", "--duplicate-mode template --umi tag:RX"][seed as usize % 2];
        let expected = without_places(&marked(&[&support::regrouped(&text)], flags));
        let found = difference(&without_places(&marked(&[&text], flags)), &expected);
        wrong.extend(found.map(|found| format!("seed {seed}: {found}")));
        flagged += expected.iter().filter(|line| support::number(line, 1) & 0x400 != 0).count();
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(flagged > 60, "{flagged}");
}

#[test]
fn template_mode_marks_several_inputs_as_if_they_were_one_that_stands_together() {
    let (filler, mut wrong) = (filler(), Vec::new());
    for seed in 0..24 {
        let shuffled = &orders(seed)[1].1;
        let (header, lines) = support::split_header(shuffled);
        let (first, last) = lines.split_at(lines.len() / 2);
        let cut = first.len() + last.find('\n').map_or(last.len(), |at| at + 1);
        let (first, last) = lines.split_at(cut);
        // both files have records of the same templates; one file is grouped, the other one is sorted
        let one = support::regrouped(&format!("{header}{first}"));
        let one = if seed % 2 == 0 { one } else { format!("{one}{filler}") };
        let other = support::coordinate_sorted(&format!("{header}{last}"));
        for inputs in [[&one, &other], [&other, &one]] {
            let whole = format!("{}{}", inputs[0], support::split_header(inputs[1]).1);
            let template = "--duplicate-mode template";
            let expected = without_places(&marked(&[&support::regrouped(&whole)], template));
            let given = without_places(&marked(&inputs.map(String::as_str), template));
            wrong.extend(difference(&given, &expected).map(|found| format!("seed {seed}: {found}")));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Input that looked grouped at first is marked in coordinate mode as if it had not.
#[test]
fn auto_finds_out_late_that_templates_are_scattered() {
    let (filler, mut wrong) = (filler(), Vec::new());
    for seed in 0..60 {
        let grouped = &orders(seed)[0].1;
        let (header, mut lines) = (support::split_header(grouped).0, support::records(grouped));
        let (half, _) = lines.split_at(lines.len() / 2);
        let last = half.last().map(|line| support::column(line, 0)).unwrap_or_default();
        let together = lines.iter().rposition(|line| support::column(line, 0) == last);
        let scattered = together.map_or(0, |last| last + 1);
        TestRandom::new(seed).shuffle(&mut lines[scattered..]);
        let text = support::with_header(&format!("{header}{filler}"), &lines);
        if support::by_name(&text).is_sorted() {
            continue; // chance has left them together
        }
        let whole = |flags| {
            let text = marked(&[&text], flags);
            support::records(&text).into_iter().map(str::to_string).collect::<Vec<_>>()
        };
        let (given, expected) = (whole(""), whole("--duplicate-mode coordinate"));
        wrong.extend(difference(&given, &expected).map(|found| format!("seed {seed}: {found}")));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
