//! Several inputs in one run: read one after the other, sorted together, under one header.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{self, ProgramRun, TestDir, arg, bam, column, readmill, records, split_header};

/// Runs readmill on files of the test's directory; returns the SAM text from standard output.
fn text(dir: &TestDir, command: &str, files: &[&str]) -> String {
    let done = run(dir, command, files);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    String::from_utf8(done.stdout).expect("SAM is text")
}

/// Runs readmill; a file `-` is passed unchanged, any other is in the test's directory.
fn run(dir: &TestDir, command: &str, files: &[&str]) -> ProgramRun {
    readmill(args(dir, command, files))
}

fn args(dir: &TestDir, command: &str, files: &[&str]) -> Vec<String> {
    let files = files.iter().map(|&file| if file == "-" { file.into() } else { arg(&dir.path(file)) });
    let temporary = ["-T".to_string(), arg(&dir.path(""))];
    let options = command.split_whitespace().map(str::to_string);
    options.chain(files).chain(temporary).chain(["-O", "sam", "-o", "-"].map(str::to_string)).collect()
}

/// The same with a file as standard input.
fn with_stdin(dir: &TestDir, stdin: &Path, command: &str, files: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_readmill"));
    let stdin = File::open(stdin).expect("the file for standard input");
    let program = program.args(args(dir, command, files)).stdin(Stdio::from(stdin));
    let output = program.output().expect("readmill runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("SAM is text")
}

fn names(text: &str) -> Vec<&str> {
    records(text).into_iter().map(|line| column(line, 0)).collect()
}

const HEADER: &str = "@SQ\tSN:a\tLN:900\n@SQ\tSN:b\tLN:900\n@RG\tID:g\tLB:l\n";

/// Reads with these names and positions, such as `x:a:10`.
fn reads(header: &str, list: &str) -> String {
    let read = |read: &str| {
        let parts: Vec<&str> = read.split(':').collect();
        let [name, rname, pos] = parts[..] else { panic!("{read}") };
        format!("{name}\t0\t{rname}\t{pos}\t9\t3M\t*\t0\t0\tACG\tIII\tRG:Z:g\n")
    };
    list.split_whitespace().map(read).fold(header.to_string(), |text, line| text + &line)
}

/// Three inputs: SAM, BAM, and SAM again; some positions are equal.
fn three(dir: &TestDir) -> [&'static str; 3] {
    dir.file("1.sam", reads(HEADER, "x10:a:5 q:b:1 x1:a:5"));
    dir.file("2.bam", bam(&reads(HEADER, "x2:a:5 z:a:1")));
    dir.file("3.sam", reads(HEADER, "y:b:1 x1:a:5 w:a:900"));
    ["1.sam", "2.bam", "3.sam"]
}

#[test]
fn equal_places_keep_the_order_of_the_inputs() {
    let dir = TestDir::new();
    let files = three(&dir);
    for threads in 1..=4 {
        let command = format!("sort -q --no-PG -@ {threads}");
        let sorted = text(&dir, &command, &files);
        assert_eq!(names(&sorted), ["z", "x10", "x1", "x2", "x1", "w", "q", "y"]);
        assert_eq!(split_header(&sorted).0, format!("@HD\tVN:1.6\tSO:coordinate\n{HEADER}"));
        let other = text(&dir, &command, &[files[2], files[1], files[0]]);
        assert_eq!(names(&other), ["z", "x1", "x2", "x10", "x1", "w", "y", "q"]);
    }
}

#[test]
fn every_order_takes_several_inputs() {
    let dir = TestDir::new();
    let files = three(&dir);
    for (flags, expected) in [
        ("-n", "q w x1 x1 x2 x10 y z"),
        ("-N", "q w x1 x1 x10 x2 y z"),
        ("--sort queryname", "q w x1 x1 x10 x2 y z"),
        ("-t RG -n", "q w x1 x1 x2 x10 y z"),
        ("--template-coordinate", "z x1 x1 x10 x2 w q y"),
        ("-M", "z x10 x1 x2 x1 w q y"),
        ("--sort none", "x10 q x1 x2 z y x1 w"),
    ] {
        let sorted = text(&dir, &format!("sort -q {flags}"), &files);
        assert_eq!(names(&sorted).join(" "), expected, "{flags}");
    }
    let kept = text(&dir, "prep -q", &files);
    assert_eq!(names(&kept).join(" "), "x10 q x1 x2 z y x1 w");
}

#[test]
fn a_file_may_be_given_twice_where_that_is_said() {
    let dir = TestDir::new();
    dir.file("x.sam", reads(HEADER, "p:b:7 q:a:7 r:b:7"));
    let sorted = text(&dir, "sort -q --no-PG --allow-same-input", &["x.sam", "x.sam"]);
    assert_eq!(names(&sorted), ["q", "q", "p", "r", "p", "r"]);
    assert_eq!(split_header(&sorted).0, format!("@HD\tVN:1.6\tSO:coordinate\n{HEADER}"));
}

#[test]
fn standard_input_may_stand_among_files() {
    let dir = TestDir::new();
    let files = three(&dir);
    let expected = text(&dir, "sort -q -n", &files);
    for at in 0..files.len() {
        let mut given = files;
        given[at] = "-";
        let sorted = with_stdin(&dir, &dir.path(files[at]), "sort -q -n", &given);
        assert_eq!(sorted, expected, "standard input at {at}");
    }
    let twice = run(&dir, "sort -q", &["-", "1.sam", "-"]);
    assert_eq!(twice.code, Some(1));
    assert!(twice.stderr.contains("standard input can be read only once"), "{}", twice.stderr);
}

#[test]
fn read_groups_and_programs_that_clash_get_new_names() {
    let dir = TestDir::new();
    let header = |sample: &str, version: &str| {
        format!("@SQ\tSN:a\tLN:900\n@RG\tID:g\tSM:{sample}\n@PG\tID:p\tVN:{version}\n@PG\tID:q\tPP:p\n")
    };
    let read = |name: &str| format!("{name}\t0\ta\t5\t9\t1M\t*\t0\t0\tA\tI\tRG:Z:g\tXA:i:1\tPG:Z:q\n");
    dir.file("1.sam", header("one", "1") + &read("r1"));
    dir.file("2.sam", header("two", "1") + &read("r2"));
    dir.file("3.sam", header("one", "2") + &read("r3"));
    let sorted = text(&dir, "sort -q --no-PG", &["1.sam", "2.sam", "3.sam"]);
    let expected = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:a\tLN:900\n@RG\tID:g\tSM:one\n@RG\tID:g.1\tSM:two\n\
         @PG\tID:p\tVN:1\n@PG\tID:q\tPP:p\n@PG\tID:p.1\tVN:2\n@PG\tID:q.1\tPP:p.1\n\
         r1\t0\ta\t5\t9\t1M\t*\t0\t0\tA\tI\tRG:Z:g\tXA:i:1\tPG:Z:q\n\
         r2\t0\ta\t5\t9\t1M\t*\t0\t0\tA\tI\tRG:Z:g.1\tXA:i:1\tPG:Z:q\n\
         r3\t0\ta\t5\t9\t1M\t*\t0\t0\tA\tI\tRG:Z:g\tXA:i:1\tPG:Z:q.1\n";
    assert_eq!(sorted, expected);
}

#[test]
fn sequences_are_those_of_all_inputs() {
    let dir = TestDir::new();
    let sequences = |names: &str| -> String {
        names.split_whitespace().map(|name| format!("@SQ\tSN:{name}\tLN:900\n")).collect()
    };
    let mate = "m\t65\tc\t4\t9\t3M\ta\t8\t0\tACG\tIII\n";
    dir.file("1.sam", reads(&sequences("a c"), "1a:a:3 1c:c:3"));
    dir.file("2.sam", reads(&sequences("b c"), "2c:c:3 2b:b:3"));
    dir.file("3.sam", reads(&sequences("c a"), "3a:a:3 3c:c:3") + mate);
    let sorted = text(&dir, "sort -q --no-PG", &["1.sam", "2.sam", "3.sam"]);
    assert_eq!(split_header(&sorted).0, format!("@HD\tVN:1.6\tSO:coordinate\n{}", sequences("a b c")));
    assert_eq!(names(&sorted), ["1a", "3a", "2b", "1c", "2c", "3c", "m"]);
    let place = |line: &str| [2, 3, 6, 7].map(|n| column(line, n).to_string());
    let mates: Vec<_> = records(&sorted).into_iter().map(place).collect();
    assert_eq!(mates[6], ["c", "4", "a", "8"]);

    dir.file("4.sam", "@SQ\tSN:a\tLN:800\n");
    let refused = run(&dir, "sort -q", &["1.sam", "4.sam"]);
    assert_eq!(refused.code, Some(2));
    for words in ["a has 900 bases in ", "1.sam and 800 in ", "4.sam"] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    assert!(refused.stdout.is_empty());
}

/// Asserts that every command refuses these files with these words, the same with any number of threads.
#[track_caller]
fn refused(dir: &TestDir, files: &[&str], code: i32, words: &[&str]) {
    for command in ["sort", "sort -N", "markdup", "prep", "prep --sort coordinate --mark-duplicates"] {
        let mut said: Option<String> = None;
        for threads in [1, 2, 5] {
            let done = run(dir, &format!("{command} -q -@ {threads}"), files);
            assert_eq!(done.code, Some(code), "{command}: {}", done.stderr);
            for word in words {
                assert!(done.stderr.contains(word), "{command}: no {word:?} in {}", done.stderr);
            }
            assert_eq!(*said.get_or_insert_with(|| done.stderr.clone()), done.stderr);
        }
    }
}

#[test]
fn an_error_names_the_file_and_the_record_in_it() {
    let dir = TestDir::new();
    dir.file("good.bam", bam(&reads(HEADER, "p:a:1 q:a:2 r:a:3 s:a:4")));
    for name in ["bad.sam", "worse.sam"] {
        dir.file(name, reads(HEADER, "t:a:1 u:a:x v:a:3"));
    }
    for files in
        [&["good.bam", "bad.sam"][..], &["bad.sam", "good.bam"], &["good.bam", "bad.sam", "worse.sam"]]
    {
        refused(&dir, files, 2, &["bad.sam: record 2 (read u): ", "POS"]);
    }
    let mut bad = reads(HEADER, "t:a:1 u:a:2 v:a:3").replace("v\t0\ta", "v\t0\tnowhere");
    dir.file("unknown.sam", &bad);
    refused(&dir, &["good.bam", "unknown.sam"], 2, &["unknown.sam: record 3 (read v): ", "nowhere"]);
    bad.truncate(bad.len() - 20);
    dir.file("short.sam", &bad);
    refused(&dir, &["good.bam", "short.sam", "bad.sam"], 2, &["short.sam: record 3 (read v): "]);
}

#[test]
fn a_damaged_or_missing_file_is_named() {
    let dir = TestDir::new();
    let good = bam(&reads(HEADER, "p:a:1 q:a:2 r:a:3"));
    dir.file("good.bam", &good);
    dir.file("more.bam", &good);
    dir.file("cut.bam", &good[..good.len() - 40]);
    dir.file("open.bam", &good[..good.len() - 28]);
    dir.file("empty.sam", "");
    dir.file("diary.txt", "nothing today\n");
    refused(&dir, &["good.bam", "cut.bam"], 2, &["cut.bam: ", "truncated"]);
    refused(&dir, &["good.bam", "open.bam", "more.bam"], 2, &["open.bam: ", "EOF block"]);
    refused(&dir, &["good.bam", "empty.sam"], 2, &["empty.sam: ", "empty"]);
    refused(&dir, &["diary.txt", "good.bam"], 2, &["diary.txt: ", "not BAM, SAM or CRAM"]);
    refused(&dir, &["good.bam", "none.bam"], 3, &["none.bam", "No such file"]);
    let allowed = text(&dir, "sort -q --allow-missing-eof", &["open.bam", "good.bam"]);
    assert_eq!(names(&allowed), ["p", "p", "q", "q", "r", "r"]);
}

#[test]
fn inputs_without_reads_add_their_headers() {
    let dir = TestDir::new();
    dir.file("none.sam", "@SQ\tSN:b\tLN:900\n@CO\tnothing\n");
    dir.file("some.sam", reads("@SQ\tSN:a\tLN:900\n", "p:a:1"));
    let sorted = text(&dir, "sort -q --no-PG --allow-same-input", &["none.sam", "some.sam", "none.sam"]);
    assert_eq!(support::references(&sorted), ["b", "a"]);
    assert_eq!(sorted.matches("@CO\tnothing\n").count(), 2);
    assert_eq!(names(&sorted), ["p"]);
}

#[test]
fn duplicates_are_found_across_inputs() {
    let pair = |name: &str, qual: char| {
        let qual = qual.to_string().repeat(4);
        format!(
            "{name}\t99\ta\t10\t60\t4M\t=\t50\t44\tACGT\t{qual}\tRG:Z:g\n\
             {name}\t147\ta\t50\t60\t4M\t=\t10\t-44\tACGT\t{qual}\tRG:Z:g\n"
        )
    };
    let dir = TestDir::new();
    dir.file("1.sam", HEADER.to_string() + &pair("low", '5') + &pair("best", 'I'));
    dir.file("2.bam", bam(&(HEADER.to_string() + &pair("middle", '?'))));
    let whole = HEADER.to_string() + &pair("low", '5') + &pair("best", 'I') + &pair("middle", '?');
    dir.file("whole.sam", whole);
    for command in [
        "markdup",
        "markdup --duplicate-mode coordinate",
        "markdup --duplicate-mode template",
        "prep --mark-duplicates --sort coordinate",
        "prep --mark-duplicates --sort natural",
        "prep --remove-duplicates",
    ] {
        let command = format!("{command} -q --no-PG");
        let several = text(&dir, &command, &["1.sam", "2.bam"]);
        assert_eq!(several, text(&dir, &command, &["whole.sam"]), "{command}");
        let kept = records(&several).into_iter().filter(|line| support::number(line, 1) & 0x400 == 0);
        assert_eq!(kept.map(|line| column(line, 0)).collect::<Vec<_>>(), ["best", "best"], "{command}");
    }
}
