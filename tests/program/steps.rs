//! The steps that drop or change reads: fixed examples, and random reads compared with a line-by-line version.

use readmill::plan::{Filters, Steps};

use crate::support::random::TestRandom;
use crate::support::{self, TestDir, arg};

const HEADER: &str = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:a\tLN:100\n@SQ\tSN:b\tLN:200\n@SQ\tSN:c\tLN:300\n\
                      @RG\tID:x\tLB:l\n@RG\tID:y\tLB:l\n@CO\tkept\n";

fn run(text: &str, steps: Steps) -> String {
    TestDir::new().run(&support::bam(text), steps, 2).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Asserts that the steps turn the records `given` into `expected`.
fn t(steps: Steps, given: &[&str], expected: &[&str]) {
    let left = run(&support::with_header(HEADER, given), steps);
    assert_eq!(support::records(&left), expected);
}

fn random_read(random: &mut TestRandom, i: usize) -> String {
    let rname = random.pick(&["a", "b", "c", "*"]);
    let rnext = random.pick(&["a", "b", "c", "*"]);
    let rnext = if rnext == rname && rnext != "*" { "=" } else { rnext };
    let flag = random.pick(&[0, 4, 0x10, 0x41, 0x45, 0x49, 0x104, 0x800]);
    let (pos, pnext) = (random.pick(&[0, 1, 50]), random.pick(&[0, 1, 60]));
    let tlen = random.pick(&[0, 30, -30]);
    let fields =
        ["", "\tRG:Z:x", "\tMC:Z:4M", "\tXA:i:1\tMC:Z:4M\tRG:Z:y\tXB:A:z", "\tXA:Z:RG\tXB:B:c,1,2"];
    let fields = random.pick(&fields);
    format!("r{i}\t{flag}\t{rname}\t{pos}\t9\t4M\t{rnext}\t{pnext}\t{tlen}\tACGT\tIIII{fields}")
}

/// Asserts that the steps change random reads as `change` does, one by one (`None`: dropped).
fn each(steps: &Steps, change: impl Fn(&str) -> Option<String>) {
    for seed in 0..100 {
        let mut random = TestRandom::new(seed);
        let given: Vec<String> = (0..random.below(40)).map(|i| random_read(&mut random, i)).collect();
        let expected: Vec<String> = given.iter().filter_map(|line| change(line)).collect();
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        let left = run(&support::with_header(HEADER, &given), steps.clone());
        assert_eq!(support::records(&left), expected, "seed {seed}");
    }
}

fn filters(words: &[&str]) -> Steps {
    Steps { filters: Filters::from_words(words).expect("filters"), ..Steps::default() }
}

#[test]
fn unmapped_reads_are_dropped() {
    let mapped = "m\t0\ta\t1\t9\t4M\t*\t0\t0\tACGT\tIIII";
    let nowhere = "n\t0\t*\t1\t9\t4M\t*\t0\t0\tACGT\tIIII";
    let zero = "z\t0\ta\t0\t9\t4M\t*\t0\t0\tACGT\tIIII";
    let placed = "p\t4\ta\t1\t0\t*\t*\t0\t0\tACGT\tIIII";
    let mate_unmapped = "h\t73\ta\t1\t0\t4M\t=\t1\t0\tACGT\tIIII";
    let given = [mapped, nowhere, zero, placed, mate_unmapped];
    t(filters(&["--drop-unmapped"]), &given, &[mapped, nowhere, zero, mate_unmapped]);
    t(filters(&["--drop-unmapped-strict"]), &given, &[mapped, mate_unmapped]);
}

#[test]
fn random_unmapped_reads_are_dropped() {
    let mapped = |line: &str| support::number(line, 1) & 4 == 0;
    each(&filters(&["--drop-unmapped"]), |line| mapped(line).then(|| line.to_string()));
    let placed = |line: &str| support::column(line, 2) != "*" && support::column(line, 3) != "0";
    let strict = filters(&["--drop-unmapped-strict"]);
    each(&strict, |line| (mapped(line) && placed(line)).then(|| line.to_string()));
}

#[test]
fn every_read_is_put_into_the_read_group() {
    let steps = filters(&["--read-group", "ID:new LB:lib SM:s"]);
    each(&steps, |line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let mut new: Vec<&str> = fields.clone();
        match fields.iter().position(|field| field.starts_with("RG:Z:")) {
            Some(at) => new[at] = "RG:Z:new",
            None => new.push("RG:Z:new"),
        }
        Some(new.join("\t"))
    });
    let left =
        run(&support::with_header(HEADER, &["r\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\tRG:Z:gone"]), steps);
    let header: Vec<&str> = left.lines().filter(|line| line.starts_with('@')).skip(4).collect();
    assert_eq!(header, ["@RG\tID:new\tLB:lib\tSM:s", "@CO\tkept"]);
}

/// The step, with `c` before `a` and without `b`; the file it reads.
fn dictionary(dir: &TestDir) -> Steps {
    let path =
        dir.file("new.dict", "@HD\tVN:1.6\n@SQ\tSN:c\tLN:300\n@SQ\tSN:new\tLN:5\n@SQ\tSN:a\tLN:100\n");
    filters(&["--sequence-dictionary", &arg(&path)])
}

#[test]
fn reads_on_a_dropped_sequence_go_and_their_mates_are_told() {
    let dir = TestDir::new();
    t(
        dictionary(&dir),
        &[
            "here\t97\ta\t1\t9\t4M\tc\t5\t30\tACGT\tIIII\tMC:Z:4M",
            "here\t145\tc\t5\t9\t4M\ta\t1\t-30\tACGT\tIIII\tMC:Z:4M",
            "half\t97\ta\t1\t9\t4M\tb\t5\t30\tACGT\tIIII\tXA:i:1\tMC:Z:4M\tXB:i:2",
            "half\t145\tb\t5\t9\t4M\ta\t1\t-30\tACGT\tIIII\tMC:Z:4M",
            "alone\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII",
            "unplaced mate\t73\tb\t5\t9\t4M\t=\t5\t0\tACGT\tIIII",
        ],
        &[
            "here\t97\ta\t1\t9\t4M\tc\t5\t30\tACGT\tIIII\tMC:Z:4M",
            "here\t145\tc\t5\t9\t4M\ta\t1\t-30\tACGT\tIIII\tMC:Z:4M",
            "half\t105\ta\t1\t9\t4M\t*\t0\t0\tACGT\tIIII\tXA:i:1\tXB:i:2",
            "alone\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII",
        ],
    );
}

#[test]
fn random_reads_follow_the_dictionary() {
    let dir = TestDir::new();
    each(&dictionary(&dir), |line| {
        let mut fields: Vec<String> = line.split('\t').map(str::to_string).collect();
        if fields[2] == "b" {
            return None;
        }
        if fields[6] == "b" {
            let flag = support::number(line, 1) | 8;
            for (n, value) in [(1, flag.to_string()), (6, "*".into()), (7, "0".into()), (8, "0".into())]
            {
                fields[n] = value;
            }
            fields.retain(|field| !field.starts_with("MC:"));
        }
        Some(fields.join("\t"))
    });
}

#[test]
fn the_header_takes_the_dictionary_and_no_longer_claims_an_order_it_lost() {
    let dir = TestDir::new();
    let left = run(HEADER, dictionary(&dir));
    let expected = HEADER
        .replace("SO:coordinate", "SO:unknown")
        .replace("@SQ\tSN:a\tLN:100\n@SQ\tSN:b\tLN:200\n@SQ\tSN:c\tLN:300\n", "")
        .replace("@RG\tID:x", "@SQ\tSN:c\tLN:300\n@SQ\tSN:new\tLN:5\n@SQ\tSN:a\tLN:100\n@RG\tID:x");
    assert_eq!(left, expected);
}

#[test]
fn a_dictionary_of_another_reference_is_refused() {
    let dir = TestDir::new();
    let path = dir.file("other.dict", "@SQ\tSN:a\tLN:101\n");
    let steps = filters(&["--sequence-dictionary", &arg(&path)]);
    let error = dir.run(HEADER.as_bytes(), steps, 1).expect_err("another length");
    assert!(error.what.contains("100 bases in the input and 101 in the dictionary"), "{error}");
}
