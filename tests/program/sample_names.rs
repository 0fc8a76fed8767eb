//! The name of the sample in metrics, by which report tools join the reports of one sample.

use std::path::Path;

use crate::support::{TestDir, arg, readmill};

/// Two pairs, one a duplicate of the other, in read groups of these samples.
fn pairs(samples: &[&str]) -> String {
    let groups = samples.iter().enumerate().map(|(i, name)| format!("@RG\tID:{i}\tLB:L\tSM:{name}\n"));
    let pair = |name: &str| {
        [(99, 100, 300), (147, 300, 100)].map(|(flag, pos, next)| {
            let fields = format!("c1\t{pos}\t60\t4M\t=\t{next}\t0\tACGT\tIIII\tRG:Z:0");
            format!("{name}\t{flag}\t{fields}\n")
        })
    };
    let header = ["@HD\tVN:1.6\tGO:query\n@SQ\tSN:c1\tLN:1000\n".to_owned()];
    let records = ["a", "b"].map(pair).concat();
    header.into_iter().chain(groups).chain(records).collect()
}

/// The name of the sample in both kinds of metrics. `line` is a command line; names with a dot are files of the test directory.
fn names(dir: &TestDir, line: &str) -> [String; 2] {
    let file = |word: &str| if word.contains('.') { arg(&dir.path(word)) } else { word.to_owned() };
    let mut words: Vec<String> = line.split(' ').map(file).collect();
    let [text, json] = ["m.txt", "m.json"].map(|name| dir.path(name));
    words.extend(["--metrics".into(), arg(&text), "--metrics-json".into(), arg(&json)]);
    let done = readmill(&words);
    assert_eq!(done.code, Some(0), "{line}: {}", done.stderr);
    [between(&text, "# MarkDuplicates INPUT=", " "), between(&json, "\n  \"sample\": \"", "\"")]
}

fn between(path: &Path, before: &str, behind: &str) -> String {
    let text = std::fs::read_to_string(path).expect("metrics");
    let rest = text.split(before).nth(1).unwrap_or_else(|| panic!("{text}"));
    rest.split(behind).next().expect("a name").to_owned()
}

#[test]
fn metrics_are_named_after_the_output_and_not_the_first_input() {
    let dir = TestDir::new();
    dir.file("lane1.sam", pairs(&["s1"]));
    dir.file("lane2.sam", pairs(&["s2"]));
    for (line, name) in [
        ("markdup lane1.sam lane2.sam -o NA12878.bam", "NA12878"),
        ("markdup lane1.sam -o NA12878.sorted.sam.gz", "NA12878.sorted"),
        ("prep --mark-duplicates lane1.sam -o x.cram -O cram,no-ref", "x"),
        ("markdup lane1.sam -o x.sam", "x"),
        ("markdup lane1.sam -o x.out", "x.out"),
        ("prep --mark-duplicates --sort coordinate --out-parts 2 lane1.sam -o parts.bam", "parts"),
        ("markdup lane1.sam -o x.bam --sample NA1-2", "NA1-2"),
    ] {
        assert_eq!(names(&dir, line), [name, name], "{line}");
    }
}

#[test]
fn samples_of_pipes_have_their_own_names() {
    let dir = TestDir::new();
    dir.file("s1.sam", pairs(&["NA1"]));
    dir.file("same.sam", pairs(&["NA2", "NA2"]));
    dir.file("blank.sam", pairs(&["NA 3/a"]));
    dir.file("two.sam", pairs(&["NA3", "NA4"]));
    dir.file("none.sam", pairs(&[]).replace("\tRG:Z:0", ""));
    for (line, name) in [
        ("markdup s1.sam -o -", "NA1"),
        ("markdup s1.sam -o /dev/null", "NA1"),
        ("markdup same.sam", "NA2"),
        ("markdup blank.sam", "NA_3_a"),
        ("markdup two.sam", "two.sam"),
        ("markdup none.sam", "none.sam"),
        ("prep --mark-duplicates --read-group ID:g\\tSM:new two.sam", "new"),
        ("markdup s1.sam --sample other", "other"),
    ] {
        assert_eq!(names(&dir, line), [name, name], "{line}");
    }
}

#[test]
fn a_name_that_no_report_takes_is_refused() {
    let dir = TestDir::new();
    let input = arg(&dir.file("s1.sam", pairs(&["NA1"])));
    let metrics = arg(&dir.path("m.txt"));
    for (words, said) in [
        (
            &["prep", "--mark-duplicates", "--sample", "a"][..],
            "--sample names the sample in metrics, and none",
        ),
        (&["markdup", "--metrics", &metrics, "--sample", "a b"][..], "no blank"),
        (&["markdup", "--metrics", &metrics, "--sample", "a/b"][..], "no blank"),
        (&["markdup", "--metrics", &metrics, "--sample", ""][..], "at least one character"),
    ] {
        let done = readmill(words.iter().copied().chain([input.as_str(), "-o", "/dev/null"]));
        assert_eq!(done.code, Some(1), "{words:?}: {}", done.stderr);
        assert!(done.stderr.contains(said), "{words:?}: {}", done.stderr);
        assert_eq!(dir.names(), ["s1.sam"]);
    }
}
