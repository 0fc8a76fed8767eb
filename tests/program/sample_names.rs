//! The name of the sample in metrics, by which report tools join the reports of one sample.

use std::path::Path;
use std::process::Command;

use crate::support::{TestDir, arg, finish, readmill};

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
fn without_an_output_file_reports_are_named_after_the_input() {
    let dir = TestDir::new();
    dir.file("s1.sam", pairs(&["NA1"]));
    dir.file("s1b.sam", pairs(&["NA1"]));
    dir.file("blank.sam", pairs(&["NA 3/a"]));
    dir.file("blank2.sam", pairs(&["NA 3/a"]));
    dir.file("same.sam", pairs(&["NA2", "NA2"]));
    dir.file("two.sam", pairs(&["NA3", "NA4"]));
    dir.file("none.sam", pairs(&[]).replace("\tRG:Z:0", ""));
    for (line, name) in [
        ("markdup s1.sam -o -", "s1"),
        ("markdup s1.sam -o /dev/null", "s1"),
        ("markdup same.sam", "same"),
        ("markdup two.sam", "two"),
        ("markdup none.sam", "none"),
        ("markdup s1.sam s1b.sam -o -", "NA1"),
        ("markdup blank.sam blank2.sam -o -", "NA_3_a"),
        ("markdup s1.sam two.sam -o -", "s1.sam"),
        ("prep --mark-duplicates --read-group ID:g\\tSM:new s1.sam two.sam -o -", "new"),
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
            "--sample sets the sample name in metrics, but no",
        ),
        (&["markdup", "--metrics", &metrics, "--sample", "a b"][..], "contain blanks"),
        (&["markdup", "--metrics", &metrics, "--sample", "a/b"][..], "contain blanks"),
        (&["markdup", "--metrics", &metrics, "--sample", ""][..], "must not be empty"),
    ] {
        let done = readmill(words.iter().copied().chain([input.as_str(), "-o", "/dev/null"]));
        assert_eq!(done.code, Some(1), "{words:?}: {}", done.stderr);
        assert!(done.stderr.contains(said), "{words:?}: {}", done.stderr);
        assert_eq!(dir.names(), ["s1.sam"]);
    }
}

/// Runs `readmill qc` with this input and a prefix, and returns the names of the sample in its reports, each once.
fn names_of_qc(dir: &TestDir, inputs: &[&str], more: &[&str], prefix: &str) -> Vec<String> {
    let [out, fastqc, json] =
        ["", "_fastqc", ".json"].map(|end| arg(&dir.path(&format!("{prefix}{end}"))));
    let inputs = inputs.iter().map(|name| if *name == "-" { "-".into() } else { arg(&dir.path(name)) });
    let flags = ["-o", &out, "--coverage", "--fastqc", &fastqc, "--json", &json];
    let mut command = Command::new(env!("CARGO_BIN_EXE_readmill"));
    command.arg("qc").args(inputs).args(flags).args(more);
    let done = if more.contains(&"-q") {
        let piped = std::fs::File::open(dir.path("lane1.sam")).expect("reads");
        let output = command.stdin(piped).output().expect("a run");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        None
    } else {
        Some(finish(&mut command))
    };
    done.iter().for_each(|done| assert_eq!(done.code, Some(0), "{}", done.stderr));
    let metrics = dir.path(&format!("{prefix}.alignment_summary_metrics"));
    let inserts = dir.path(&format!("{prefix}.insert_size_metrics"));
    let mut names = vec![
        between(&metrics, "# CollectAlignmentSummaryMetrics INPUT=", " "),
        between(&inserts, "# CollectInsertSizeMetrics INPUT=", " "),
        between(&dir.path(&format!("{prefix}.json")), "\"sample\": \"", "\""),
    ];
    names.dedup();
    names
}

#[test]
fn metrics_of_two_lanes_of_one_sample_have_the_names_of_their_files() {
    let dir = TestDir::new();
    let sorted = |text: String| text.replace("GO:query", "SO:coordinate");
    let pair = |text: String| {
        text.lines()
            .filter(|line| !line.starts_with("b\t"))
            .fold(String::new(), |all, line| all + line + "\n")
    };
    for lane in ["lane1.sam", "lane2.sam"] {
        dir.file(lane, sorted(pair(pairs(&["tumor"]))));
    }
    assert_eq!(names_of_qc(&dir, &["lane1.sam"], &[], "a"), ["lane1"]);
    assert_eq!(names_of_qc(&dir, &["lane2.sam"], &[], "b"), ["lane2"]);
    let fastqc =
        std::fs::read_to_string(dir.path("a_fastqc/lane1_fastqc/fastqc_data.txt")).expect("FastQC");
    assert!(fastqc.contains("Filename\tlane1.sam"), "{fastqc:.200}");
    // Of a pipe, and of several files, the coverage has the name of the prefix alone.
    assert_eq!(names_of_qc(&dir, &["-"], &["-q"], "c"), ["c"]);
    assert_eq!(names_of_qc(&dir, &["lane1.sam"], &["--sample", "mine"], "e"), ["mine"]);
}
