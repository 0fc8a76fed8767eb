//! Runs one command with many resources: threads, memory, codec of the spill.

use readmill_simulate::{Profile, Sample};

use crate::support::{ProgramRun, TestDir, arg, readmill};

/// Threads, memory (`None` for the least that the plan accepts) and codec of the spill.
pub type RunResources = (usize, Option<&'static str>, &'static str);

pub const ALL_RESOURCES: [RunResources; 9] = [
    (1, Some("2G"), "lz4"),
    (1, None, "lz4"),
    (2, None, "zstd"),
    (2, Some("256M"), "lz4"),
    (3, None, "none"),
    (3, Some("2G"), "lz4"),
    (8, None, "lz4"),
    (8, Some("256M"), "zstd"),
    (8, Some("2G"), "none"),
];

/// Fewer, for tests of every order.
pub const FEW_RESOURCES: [RunResources; 5] =
    [(1, Some("2G"), "lz4"), (1, None, "zstd"), (2, None, "none"), (3, None, "lz4"), (8, None, "lz4")];

/// The inflated BAM file of a simulated sample, with adjacent records of each template.
pub fn sample(pairs: u64) -> Vec<u8> {
    let sample = Sample::new(Profile { single_per_mille: 20, ..Profile::small().with_pairs(pairs) });
    let mut bytes = Vec::new();
    sample.raw_header(&mut bytes);
    let mut records = sample.records();
    while records.append_next(&mut bytes) {}
    bytes
}

/// The least memory with which `args` run, from the program's own message.
pub fn query_min_memory(args: &[String]) -> String {
    let refused = readmill(args.iter().map(String::as_str).chain(["-m", "1M"]));
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let min_memory =
        refused.stderr.split("needs at least -m ").nth(1).and_then(|rest| rest.split(' ').next());
    min_memory.unwrap_or_else(|| panic!("{}", refused.stderr)).to_string()
}

pub fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_string).collect()
}

/// Runs a command on one input with all resources.
pub fn same_bytes(input: &[u8], command: &str, format: &str) -> (usize, usize) {
    same_bytes_with(&ALL_RESOURCES, &[input.to_vec()], command, format)
}

/// Runs a command with all resources, in one format. The file must be the same each time, with its index and metrics.
/// `DICT`, `METRICS` and `JSON` stand for files. Returns the number of runs spilled with the least memory and with
/// the most.
pub fn same_bytes_with(
    resources: &[RunResources],
    inputs: &[Vec<u8>],
    command: &str,
    format: &str,
) -> (usize, usize) {
    let dir = TestDir::new();
    let inputs = inputs.iter().enumerate().map(|(i, input)| arg(&dir.file(&format!("in.{i}"), input)));
    let inputs: Vec<String> = inputs.collect();
    dir.file("new.dict", DICTIONARY);
    let mut first: Option<Vec<Vec<u8>>> = None;
    let (mut max_runs, mut min_runs) = (0, usize::MAX);
    for &(threads, memory, codec) in resources {
        let output = dir.path(&format!("out.{format}"));
        let mut args = words(command);
        for (name, file) in [("DICT", "new.dict"), ("METRICS", "out.txt"), ("JSON", "out.json")] {
            args.iter_mut().filter(|word| *word == name).for_each(|word| *word = arg(&dir.path(file)));
        }
        args.extend(inputs.iter().cloned().chain(["-o".into(), arg(&output)]));
        if format == "bam" {
            args.extend(["-l".into(), "1".into()]);
        }
        args.extend(["-@".into(), threads.to_string(), "--spill-codec".into(), codec.into()]);
        let memory = memory.map_or_else(|| query_min_memory(&args), str::to_string);
        args.extend(["-m".into(), memory.clone()]);
        let done = readmill(&args);
        assert_eq!(done.code, Some(0), "{command}, {threads} threads, {memory}: {}", done.stderr);
        let limit = readmill_process::memory_size::parse_size(&memory).expect("a size") >> 20;
        let peak = number_after(&done, &["peak", "memory"]);
        assert!(peak <= limit as usize, "{command}, {threads} threads: {peak} MiB with {memory}");
        let runs = number_after(&done, &["spilled", "in"]);
        (max_runs, min_runs) = (max_runs.max(runs), min_runs.min(runs));
        let names = dir.names();
        let written = names.iter().filter(|name| name.starts_with("out"));
        let files = written.map(|name| std::fs::read(dir.path(name)).expect("the output")).collect();
        match &first {
            None => first = Some(files),
            Some(first) => {
                assert!(*first == files, "{command}, {format}: {threads} threads with {memory} differ");
            }
        }
    }
    (max_runs, min_runs)
}

/// The number that the summary gives after these words.
pub fn number_after(done: &ProgramRun, before: &[&str]) -> usize {
    let words: Vec<&str> = done.stderr.split_whitespace().collect();
    let at = words.windows(before.len()).position(|pair| pair == before).expect("a summary");
    words[at + before.len()].parse().expect("a number")
}

/// Sequences of the sample: one is dropped, the others are in reverse order.
const DICTIONARY: &str = "@SQ\tSN:chrM\tLN:16569\n@SQ\tSN:chr4\tLN:180000\n@SQ\tSN:chr3\tLN:400000\n\
                          @SQ\tSN:chr1\tLN:800000\n";
