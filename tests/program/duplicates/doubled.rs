//! Every read twice, in two read groups of one library, as in files of one sample that were merged twice.

use readmill::plan::DuplicateMode::{Auto, Coordinate, Template};

use crate::duplicates::{compare, mark, orders};
use crate::support::{self, TestDir};

/// The text with each line twice, the second time in read group b, or in a where it was in b.
fn doubled(text: &str) -> String {
    let (header, _) = support::split_header(text);
    let copy = |line: &str| {
        let fields: Vec<&str> = line.split('\t').filter(|field| !field.starts_with("RG:Z:")).collect();
        let group = if line.contains("RG:Z:b") { "a" } else { "b" };
        format!("{}\tRG:Z:{group}", fields.join("\t"))
    };
    let both = |line: &&str| [line.to_string(), copy(line)];
    let lines: Vec<String> = support::records(text).iter().flat_map(both).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    support::with_header(header, &lines)
}

/// The flagged records, sorted.
fn flagged(text: &str) -> Vec<String> {
    let lines = support::records(text).into_iter();
    let flagged = lines.filter(|line| support::number(line, 1) & 0x400 != 0);
    let mut flagged: Vec<String> = flagged.map(String::from).collect();
    flagged.sort();
    flagged
}

/// Whether the records of some template with both ends are scattered so that their ends show it.
fn is_scattered(text: &str) -> bool {
    let lines = support::records(text);
    let stretches = lines.chunk_by(|a, b| support::column(a, 0) == support::column(b, 0));
    let lacks = |stretch: &&[&str]| {
        let ends = stretch.iter().map(|line| support::number(line, 1)).filter(|flag| flag & 0x901 == 1);
        ends.map(|flag| if flag & 0x40 != 0 { 1 } else { -1 }).sum::<i32>() != 0
    };
    let mut names: Vec<&str> = stretches.filter(lacks).map(|it| support::column(it[0], 0)).collect();
    names.retain(|name| *name != "*");
    names.sort_unstable();
    names.windows(2).any(|two| two[0] == two[1])
}

#[test]
fn doubled_reads_are_marked_as_the_oracle_marks_them_in_any_order() {
    let dir = TestDir::new();
    let (mut marks, mut scattered) = (0, 0);
    for seed in 0..150 {
        let threads = 1 + seed as usize % 3;
        let orders = orders(seed).map(|(order, text)| (order, doubled(&text)));
        for (order, text) in &orders {
            if let Some(wrong) = compare(&dir, text, Coordinate, false, threads) {
                panic!("seed {seed}, {order}:\n{wrong}");
            }
            let run = |text: &str, mode| {
                flagged(&dir.run(&support::bam(text), mark(mode), threads).expect("marks"))
            };
            let template = run(text, Template);
            assert_eq!(
                template,
                run(&support::regrouped(text), Template),
                "seed {seed}, {order}:\n{text}"
            );
            marks += template.len();
            if is_scattered(text) {
                scattered += 1;
                assert_eq!(run(text, Auto), run(text, Coordinate), "seed {seed}, {order}:\n{text}");
            }
        }
        let wrong = compare(&dir, &orders[0].1, Template, true, threads);
        if let Some(wrong) = wrong {
            panic!("seed {seed}, template mode:\n{wrong}");
        }
    }
    assert!(marks > 1000 && scattered > 100, "{marks} {scattered}");
}
