//! Files of read groups: FASTQ, and records that are split at the end of a run; read groups that are called after files.

use std::collections::BTreeMap;

use crate::support::{ProgramRun, TestDir, arg, readmill, records};

/// Two read groups, of which one has no PU; `c` has lost a mate, `d` is single, `e` has no read group.
const READS: &str = "@HD\tVN:1.6\tSO:queryname\n@SQ\tSN:1\tLN:100\n@RG\tID:a 1\tPU:u/1\tSM:s\n@RG\tID:b\tSM:s\n\
                     a\t77\t*\t0\t0\t*\t*\t0\t0\tAC\tII\tRG:Z:a 1\n\
                     a\t141\t*\t0\t0\t*\t*\t0\t0\tGT\tII\tRG:Z:a 1\n\
                     b\t77\t*\t0\t0\t*\t*\t0\t0\tCC\tII\tRG:Z:b\n\
                     b\t141\t*\t0\t0\t*\t*\t0\t0\tGG\tII\tRG:Z:b\n\
                     d\t4\t*\t0\t0\t*\t*\t0\t0\tTT\tII\tRG:Z:a 1\n";
const LONE: &str =
    "c\t77\t*\t0\t0\t*\t*\t0\t0\tAA\tII\tRG:Z:b\nc\t653\t*\t0\t0\t*\t*\t0\t0\tAT\tII\tRG:Z:b\n";
const NO_GROUP: &str = "e\t4\t*\t0\t0\t*\t*\t0\t0\tTA\tII\n";

/// The files beside the input, as text.
fn files(dir: &TestDir) -> BTreeMap<String, String> {
    let names = dir.names().into_iter().filter(|name| name != "in.sam");
    let read = |name: String| {
        let text = std::fs::read_to_string(dir.path(&name)).expect("a file of text");
        (name, text)
    };
    names.map(read).collect()
}

fn run(dir: &TestDir, input: &str, words: &[&str]) -> ProgramRun {
    let input = arg(&dir.file("in.sam", input));
    let place = arg(&dir.path(""));
    let named = |word: &&str| match *word {
        "IN" => input.clone(),
        "I=IN" => format!("I={input}"),
        other => other.replace("DIR/", &place),
    };
    readmill(words.iter().map(named).collect::<Vec<_>>())
}

/// The files of a run that ends well.
fn made(input: &str, words: &[&str]) -> BTreeMap<String, String> {
    let dir = TestDir::new();
    let done = run(&dir, input, words);
    assert_eq!(done.code, Some(0), "{words:?}: {}", done.stderr);
    files(&dir)
}

/// What is said by a run that fails and leaves nothing.
fn said(input: &str, words: &[&str]) -> String {
    let dir = TestDir::new();
    let done = run(&dir, input, words);
    assert_ne!(done.code, Some(0), "{words:?}");
    assert_eq!(files(&dir), BTreeMap::new(), "{words:?}");
    done.stderr
}

fn expected<const N: usize>(files: [(&str, &str); N]) -> BTreeMap<String, String> {
    files.into_iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
}

#[test]
fn each_read_group_has_fastq_files_of_its_own() {
    let found = made(READS, &["fastq", "IN", "-N", "--per-read-group", "DIR/{ID}_{end}.fq"]);
    let a = [("a_1_1.fq", "@a/1\nAC\n+\nII\n@d\nTT\n+\nII\n"), ("a_1_2.fq", "@a/2\nGT\n+\nII\n")];
    let b = [("b_1.fq", "@b/1\nCC\n+\nII\n"), ("b_2.fq", "@b/2\nGG\n+\nII\n")];
    assert_eq!(found, expected([a[0], a[1], b[0], b[1]]));
    let found =
        made(&(READS.to_string() + NO_GROUP), &["fastq", "IN", "--per-read-group", "DIR/{n:2}.fq"]);
    let a = ("00.fq", "@a\nAC\n+\nII\n@a\nGT\n+\nII\n@d\nTT\n+\nII\n");
    let b = ("01.fq", "@b\nCC\n+\nII\n@b\nGG\n+\nII\n");
    assert_eq!(found, expected([a, b, ("no-read-group.fq", "@e\nTA\n+\nII\n")]));
    // A file of last ends is made for the first of them, one of first ends in any case.
    let single =
        READS.lines().filter(|line| line.starts_with(['@', 'd'])).collect::<Vec<_>>().join("\n") + "\n";
    let found = made(&single, &["fastq", "IN", "--per-read-group", "DIR/{ID}_{end}.fq"]);
    assert_eq!(found, expected([("a_1_1.fq", "@d\nTT\n+\nII\n"), ("b_1.fq", "")]));
}

#[test]
fn groups_that_have_no_name_for_a_file_are_refused() {
    let by_unit = said(READS, &["fastq", "IN", "--per-read-group", "DIR/{PU}_{end}.fq"]);
    assert!(by_unit.contains("\"b\" has no PU"), "{by_unit}");
    let by_sample = said(READS, &["fastq", "IN", "--per-read-group", "DIR/{SM}_{end}.fq"]);
    assert!(by_sample.contains("would have the same file name"), "{by_sample}");
    let none = "@HD\tVN:1.6\n".to_string() + NO_GROUP;
    let none = said(&none, &["fastq", "IN", "--per-read-group", "DIR/{ID}_{end}.fq"]);
    assert!(none.contains("no read group"), "{none}");
    let records = said(READS, &["fastq", "IN", "--per-read-group", "DIR/{ID}.bam"]);
    assert!(records.contains("FASTQ output is plain text"), "{records}");
    let input = said(READS, &["fastq", "IN", "--per-read-group", "DIR/{end}.fq"]);
    assert!(input.contains("no read group field"), "{input}");
}

#[test]
fn ends_without_their_other_end_are_written_left_out_or_refused() {
    let input = READS.to_string() + LONE;
    let words = ["fastq", "IN", "-F", "0xb00", "-1", "DIR/1.fq", "-2", "DIR/2.fq"];
    let fastq = |more: &[&'static str]| [&words[..], more].concat();
    let lone = "@c\nAA\n+\nII\n";
    let first = |found: &BTreeMap<String, String>| found["1.fq"].contains(lone);
    assert!(first(&made(&input, &fastq(&["-0", "DIR/0.fq"]))));
    assert!(!first(&made(&input, &fastq(&["-0", "DIR/0.fq", "--drop-singles"]))));
    assert_eq!(made(&input, &fastq(&["-0", "DIR/0.fq", "-s", "DIR/s.fq"]))["s.fq"], lone);
    let refused = said(&input, &fastq(&["-0", "DIR/0.fq", "--refuse-singles"]));
    assert!(refused.contains("read c") && refused.contains("its mate is missing"), "{refused}");
}

#[test]
fn picard_writes_no_mate_of_a_read_that_fails_quality_controls() {
    let input = READS.to_string() + LONE;
    let words = ["picard", "SamToFastq", "I=IN", "F=DIR/1.fq", "F2=DIR/2.fq", "FU=DIR/0.fq"];
    let lenient = [&words[..], &["VALIDATION_STRINGENCY=SILENT"]].concat();
    let found = made(&input, &lenient);
    assert_eq!(found["0.fq"], "@d\nTT\n+\nII\n");
    assert_eq!(found["1.fq"], "@a/1\nAC\n+\nII\n@b/1\nCC\n+\nII\n");
    assert!(said(&input, &words).contains("its mate is missing"));
    let with_failed = made(&input, &[&words[..], &["NON_PF=true"]].concat());
    assert!(with_failed["2.fq"].ends_with("@c/2\nAT\n+\nII\n"));
}

#[test]
fn a_run_of_several_steps_ends_in_files_of_read_groups() {
    let words = ["prep", "IN", "--sort", "natural", "--split-by", "read-group", "--no-PG"];
    let named = |more: &[&'static str]| [&words[..], more].concat();
    let found = made(READS, &named(&["--split-names", "DIR/{ID:raw}.sam"]));
    assert_eq!(found.keys().collect::<Vec<_>>(), ["a 1.sam", "b.sam"]);
    let first = &found["a 1.sam"];
    assert_eq!(records(first).iter().map(|line| &line[..2]).collect::<Vec<_>>(), ["a\t", "a\t", "d\t"]);
    assert!(first.contains("@RG\tID:a 1\t") && !first.contains("@RG\tID:b\t"), "{first}");
    assert!(first.contains("SS:queryname:natural"), "{first}");
    let prefix = made(&(READS.to_string() + NO_GROUP), &named(&["-O", "sam", "-o", "DIR/"]));
    assert_eq!(prefix.keys().collect::<Vec<_>>(), ["a_1.sam", "b.sam", "no-read-group.sam"]);
    let rest = made(
        &(READS.to_string() + NO_GROUP),
        &named(&["--split-names", "DIR/{n}.sam", "--split-rest", "DIR/x.sam"]),
    );
    assert!(rest["x.sam"].contains("@RG\tID:b\t") && records(&rest["x.sam"]).len() == 1, "{rest:?}");
    let refused = named(&["--split-names", "DIR/{n}.sam", "--split-no-rest"]);
    let refused = said(&(READS.to_string() + NO_GROUP), &refused);
    assert!(refused.contains("no file is given for them"), "{refused}");
    for (words, wrong) in [
        (vec!["prep", "IN", "--split-names", "DIR/{ID}.sam"], "without --split-by"),
        (
            vec!["split", "IN", "--by", "contigs", "--split-names", "DIR/{ID}.sam"],
            "not split by read group",
        ),
        (
            vec!["split", "IN", "--by", "read-group", "--split-names", "DIR/{ID}{end}.sam"],
            "{end} works only with FASTQ",
        ),
        (vec!["split", "IN", "--by", "read-group", "--split-table", "DIR/none"], "none"),
    ] {
        let found = said(READS, &words);
        assert!(found.contains(wrong), "{found}");
    }
}

#[test]
fn a_table_names_the_files_of_read_groups() {
    let dir = TestDir::new();
    let (one, two) = (arg(&dir.path("x.sam")), arg(&dir.path("y.bam")));
    let table = arg(&dir.file("t.tsv", format!("READ_GROUP_ID\tOUTPUT\nb\t{one}\na 1\t{two}\n")));
    let words = ["filter", "IN", "--split-by", "read-group", "--no-PG", "--split-table", &table];
    let done = run(&dir, READS, &words);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let text = std::fs::read_to_string(&one).expect("a file");
    assert_eq!(records(&text).len(), 2);
    assert_eq!(std::fs::read(&two).expect("a file")[..2], [0x1f, 0x8b]);
    for (rows, wrong) in [
        (format!("b\t{one}\n"), "no file for the read group \"a 1\""),
        (format!("b\t{one}\na 1\t{two}\nc\tz.bam\n"), "which is not in the header"),
        (format!("b\t{one}\na 1\t{one}\n"), "would have the same file name"),
        ("b\n".to_string(), "does not have two columns"),
    ] {
        dir.file("t.tsv", rows);
        let done = run(&dir, READS, &words);
        assert!(done.stderr.contains(wrong), "{}", done.stderr);
    }
}

#[test]
fn files_become_read_groups() {
    let dir = TestDir::new();
    let read = |name: &str, fields: &str| format!("{name}\t0\t1\t5\t9\t2M\t*\t0\t0\tAC\tII{fields}\n");
    let head = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:1\tLN:100\n";
    let one = head.to_string() + "@RG\tID:x\tSM:s\n@RG\tID:y\n" + &read("a", "\tRG:Z:y\tNM:i:0");
    let [one, two] =
        [arg(&dir.file("one.b.sam", one)), arg(&dir.file("two.sam", head.to_string() + &read("b", "")))];
    let done = readmill(["merge", "--group-by-file", "--no-PG", "-O", "sam", "-o", "-", &one, &two]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let text = String::from_utf8(done.stdout).expect("text");
    let groups: Vec<&str> = text.lines().filter(|line| line.starts_with("@RG")).collect();
    assert_eq!(groups, ["@RG\tID:one.b\tSM:s", "@RG\tID:two"]);
    let fields: Vec<&str> =
        records(&text).iter().map(|line| line.split("\tII\t").nth(1).unwrap_or("")).collect();
    assert_eq!(fields, ["RG:Z:one.b\tNM:i:0", "RG:Z:two"]);
}
