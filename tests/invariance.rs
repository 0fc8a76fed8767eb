//! Output, and the error where there is one, depend on the input and the plan: not on threads, not on
//! memory, not on how often was spilled.

mod support;

use readmill_simulate::{Profile, Sample};
use support::{Desk, Outcome, arg, bgzip, readmill};

/// Threads and memory; no memory stands for the least the plan accepts.
const MEANS: [(usize, Option<&str>); 9] = [
    (1, Some("2G")),
    (1, None),
    (2, None),
    (2, Some("256M")),
    (3, None),
    (3, Some("2G")),
    (8, None),
    (8, Some("256M")),
    (8, Some("2G")),
];

/// The inflated BAM file of a simulated sample, in which templates stand together.
fn sample(pairs: u64) -> Vec<u8> {
    let sample = Sample::new(Profile { single_per_mille: 20, ..Profile::small().with_pairs(pairs) });
    let mut bytes = Vec::new();
    sample.raw_header(&mut bytes);
    let mut records = sample.records();
    while records.next(&mut bytes) {}
    bytes
}

/// The least memory with which `args` run, as the program itself says.
fn least_memory(args: &[String]) -> String {
    let refused = readmill(args.iter().map(String::as_str).chain(["-m", "1M"]));
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let least =
        refused.stderr.split("needs at least -m ").nth(1).and_then(|rest| rest.split(' ').next());
    least.unwrap_or_else(|| panic!("{}", refused.stderr)).to_string()
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_string).collect()
}

/// Runs a command with each of the means, in one format, into a file that must come out the same,
/// index and all. Gives the number of runs spilled with the least memory and with the most.
fn same_bytes(input: &[u8], command: &str, format: &str) -> (usize, usize) {
    let desk = Desk::new();
    let input = desk.file("in", input);
    desk.file("new.dict", DICTIONARY);
    let mut first: Option<Vec<Vec<u8>>> = None;
    let (mut most, mut least) = (0, usize::MAX);
    for (threads, memory) in MEANS {
        let output = desk.path(&format!("out.{format}"));
        let mut args = words(&command.replace("DICT", &arg(&desk.path("new.dict"))));
        args.extend([arg(&input), "-o".into(), arg(&output)]);
        if format == "bam" {
            args.extend(["-l".into(), "1".into()]);
        }
        args.extend(["-@".into(), threads.to_string()]);
        let memory = memory.map_or_else(|| least_memory(&args), str::to_string);
        args.extend(["-m".into(), memory.clone()]);
        let done = readmill(&args);
        assert_eq!(done.code, Some(0), "{command}, {threads} threads, {memory}: {}", done.stderr);
        let limit = readmill::plan::parse_size(&memory).expect("a size") >> 20;
        let peak = number_after(&done, &["peak", "memory"]);
        assert!(peak <= limit as usize, "{command}, {threads} threads: {peak} MiB with {memory}");
        let runs = number_after(&done, &["spilled", "in"]);
        (most, least) = (most.max(runs), least.min(runs));
        let names = desk.names();
        let written = names.iter().filter(|name| name.starts_with("out"));
        let files = written.map(|name| std::fs::read(desk.path(name)).expect("the output")).collect();
        match &first {
            None => first = Some(files),
            Some(first) => {
                assert!(*first == files, "{command}, {format}: {threads} threads with {memory} differ");
            }
        }
    }
    (most, least)
}

/// The number that the summary gives after these words.
fn number_after(done: &Outcome, before: &[&str]) -> usize {
    let words: Vec<&str> = done.stderr.split_whitespace().collect();
    let at = words.windows(before.len()).position(|pair| pair == before).expect("a summary");
    words[at + before.len()].parse().expect("a number")
}

/// Sequences of the sample: one is dropped, the others are turned round.
const DICTIONARY: &str = "@SQ\tSN:chrM\tLN:16569\n@SQ\tSN:chr4\tLN:180000\n@SQ\tSN:chr3\tLN:400000\n\
                          @SQ\tSN:chr1\tLN:800000\n";

#[test]
fn sorting_is_invariant() {
    let input = bgzip(&sample(40_000));
    for format in ["bam", "sam"] {
        let (most, least) = same_bytes(&input, "sort", format);
        assert!(most >= 2 && least == 0, "{most} runs spilled at most, {least} at least");
    }
}

#[test]
fn marking_is_invariant() {
    let input = bgzip(&sample(40_000));
    for (mode, format) in [("template", "bam"), ("coordinate", "sam")] {
        let (most, least) = same_bytes(&input, &format!("markdup --duplicate-mode {mode}"), format);
        assert!(most >= 2 && least == 0, "{most} runs spilled at most, {least} at least");
        same_bytes(
            &input,
            &format!("prep --mark-duplicates --duplicate-mode {mode} --sort coordinate"),
            format,
        );
    }
}

#[test]
fn all_steps_together_are_invariant() {
    let input = bgzip(&sample(40_000));
    let steps = "prep --drop-unmapped-strict --sequence-dictionary DICT --read-group @RG\\tID:n\\tLB:l \
                 --mark-duplicates --sort coordinate";
    for format in ["bam", "sam"] {
        same_bytes(&input, steps, format);
    }
}

#[test]
fn steps_that_hold_nothing_are_invariant() {
    let input = bgzip(&sample(20_000));
    let steps = "prep --drop-unmapped --sequence-dictionary DICT --read-group @RG\\tID:n\\tLB:l";
    for format in ["bam", "sam"] {
        let (most, _) = same_bytes(&input, steps, format);
        assert_eq!(most, 0);
    }
}

/// What is said of a bad file with each number of threads; all must agree, and leave no output.
fn same_error(input: &[u8], command: &str) -> String {
    let desk = Desk::new();
    let input = desk.file("in", input);
    let mut said: Option<String> = None;
    for threads in [1, 2, 3, 8] {
        let mut args = words(command);
        args.extend([arg(&input), "-o".into(), arg(&desk.path("out.bam"))]);
        args.extend(["-q".into(), "-@".into(), threads.to_string()]);
        args.extend(["-m".into(), least_memory(&args)]);
        let Outcome { code, stderr, .. } = readmill(&args);
        assert_eq!(code, Some(2), "{threads} threads: {stderr}");
        assert_eq!(desk.names(), ["in"], "{threads} threads leave something behind");
        let said = said.get_or_insert_with(|| stderr.clone());
        assert_eq!(*said, stderr, "{threads} threads");
    }
    said.unwrap_or_default()
}

/// Where each record of an inflated BAM file starts.
fn starts(bytes: &[u8]) -> Vec<usize> {
    let parsed = readmill_format::bam::header::parse(bytes).expect("a header");
    let mut at = parsed.expect("a whole header").1;
    let mut starts = Vec::new();
    while let Some(size) = bytes[at..].first_chunk::<4>() {
        starts.push(at);
        at += 4 + u32::from_le_bytes(*size) as usize;
    }
    starts
}

const COMMANDS: [&str; 3] = ["sort", "markdup --duplicate-mode coordinate", "prep --drop-unmapped"];

#[test]
fn the_first_bad_record_of_bam_is_reported() {
    let good = sample(8_000);
    let starts = starts(&good);
    let last = starts.len() - 1;
    for bad in
        [vec![0], vec![last / 2, last / 2 + 1, last], vec![last / 3, last / 3 + 5_000], vec![last]]
    {
        let mut bytes = good.clone();
        for &i in &bad {
            bytes[starts[i] + 4..][..4].copy_from_slice(&999i32.to_le_bytes()); // the reference sequence
        }
        for command in COMMANDS {
            let said = same_error(&bgzip(&bytes), command);
            assert!(said.contains(&format!("record {} ", bad[0] + 1)), "{bad:?}: {said}");
        }
    }
}

#[test]
fn the_first_bad_record_of_text_is_reported() {
    let good = Desk::new().run(&bgzip(&sample(4_000)), readmill::plan::Steps::default(), 2);
    let good = good.expect("SAM text");
    let (header, lines) = (support::split_header(&good).0, support::records(&good));
    let last = lines.len() - 1;
    for bad in [vec![0], vec![last / 2, last / 2 + 1], vec![last / 3, last / 3 + 2_500], vec![last]] {
        let mut lines = lines.clone();
        for &i in &bad {
            lines[i] = "bad\t0\tchr1\tx\t60\t1M\t*\t0\t0\tA\tI";
        }
        for command in COMMANDS {
            let said = same_error(support::with_header(header, &lines).as_bytes(), command);
            assert!(said.contains(&format!("record {} ", bad[0] + 1)), "{bad:?}: {said}");
        }
    }
}
