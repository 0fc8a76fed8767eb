//! Reads longer than those of short-read sequencers: batches end by bytes, and the memory of a read is known before
//! it is aligned.

use crate::align::*;
use crate::support::resources::{number_after, query_min_memory, words};

/// Bases of the reference with as many unknown ones behind them as make a read of that length, which costs little to
/// align.
fn long_read(at: usize, known: usize, length: usize) -> Vec<u8> {
    let [one, _] = reads();
    let lines = one.split(|&byte| byte == b'\n').skip(1).step_by(4);
    let mut bases: Vec<u8> = lines.skip(at % 1000).flatten().copied().take(known).collect();
    bases.resize(length, b'N');
    bases
}

/// Single reads of these lengths.
fn fastq(lengths: impl Iterator<Item = usize>) -> Vec<u8> {
    let mut text = Vec::new();
    for (at, length) in lengths.enumerate() {
        text.extend(format!("@r{at}\n").bytes());
        text.extend(long_read(at, 150, length));
        text.extend(b"\n+\n");
        text.resize(text.len() + length, b'I');
        text.push(b'\n');
    }
    text
}

/// Mostly short ones: more than a batch of them has more text than a batch may have.
fn mixed(count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(|at| match at % 60 {
        7 | 31 | 32 => 20_000,
        44 => 3_000,
        _ => 150,
    })
}

#[test]
fn a_read_that_is_too_long_for_the_memory_is_refused_with_what_would_do() {
    let dir = TestDir::new();
    let file = arg(&dir.file("long.fq", fastq([150, 150_000].into_iter())));
    let output = arg(&dir.path("out.sam"));
    let command = words(&format!("align {} {file} -@ 2 -o {output}", reference()));
    let with = |memory: &str| readmill(command.iter().map(String::as_str).chain(["-m", memory]));
    let refused = with(&query_min_memory(&command));
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let said = "long.fq: record 2 (read r1): aligning a read of 150000 bases needs 127 MiB";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);
    assert_eq!(dir.names().iter().filter(|name| name.starts_with("out")).count(), 0);
    let min_memory = refused.stderr.rsplit("raise -m to ").next().expect("a hint").trim().to_string();
    let done = with(&min_memory);
    assert_eq!(done.code, Some(0), "{min_memory}: {}", done.stderr);
}

#[test]
fn long_and_short_reads_are_the_same_bytes_by_whatever_means() {
    let command = format!("align {} --sort coordinate", reference());
    same_bytes_with(&FEW_RESOURCES, &[fastq(mixed(2500))], &command, "sam");
    let command = format!("align {} -K 300000 --mark-adapters --as-given", reference());
    let pairs = [fastq(mixed(1500)), fastq(mixed(1500))];
    same_bytes_with(&FEW_RESOURCES, &pairs, &command, "sam");
}

#[test]
fn records_of_long_reads_are_those_of_fastq() {
    let dir = TestDir::new();
    let text = fastq(mixed(300));
    let mut sam = b"@HD\tVN:1.6\tSO:unsorted\n".to_vec();
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    for record in lines.chunks_exact(4) {
        let parts: [&[u8]; 5] =
            [&record[0][1..], b"\t4\t*\t0\t0\t*\t*\t0\t0\t", record[1], b"\t", record[3]];
        sam.extend(parts.concat());
        sam.push(b'\n');
    }
    let files = [dir.file("a.fq", text), dir.file("a.sam", sam)].map(|path| arg(&path));
    let records = |file: &str| -> Vec<String> {
        let all = lines_of(file);
        all.lines().filter(|line| !line.starts_with('@')).map(str::to_string).collect()
    };
    assert!(records(&files[0]) == records(&files[1]));
}

fn lines_of(file: &str) -> String {
    crate::align::lines(&[file, "--no-PG"])
}

#[test]
fn what_is_longer_than_any_read_is_told_whatever_the_memory() {
    let dir = TestDir::new();
    for (length, said) in
        [(300_000, "longer than 200,000 bases"), (3_000_000, "more than 2097152 bytes")]
    {
        let file = arg(&dir.file("long.fq", fastq([150, length].into_iter())));
        let command = words(&format!("align {} {file} -@ 1 -O sam", reference()));
        let memory = query_min_memory(&command);
        let done = readmill(command.iter().map(String::as_str).chain(["-m", &memory]));
        assert_eq!(done.code, Some(2), "{}", done.stderr);
        assert!(done.stderr.contains("record 2 (read r1)"), "{}", done.stderr);
        assert!(done.stderr.contains(said), "{}", done.stderr);
    }
}

/// Tests that take more than ten seconds, which `./dev nightly` runs.
mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: ./dev nightly runs it"]
    fn batches_of_long_reads_end_by_bytes() {
        let dir = TestDir::new();
        let file = arg(&dir.file("long.fq", fastq((0..200).map(|at| 150_000 - at % 3))));
        let mut first: Option<Vec<u8>> = None;
        for (threads, memory, bound) in [("1", "700M", 150), ("2", "900M", 220), ("8", "4G", 700)] {
            let output = dir.path("out.sam");
            let args = ["align", reference(), &file, "-@", threads, "-m", memory, "-o", &arg(&output)];
            let done = readmill(args);
            assert_eq!(done.code, Some(0), "{}", done.stderr);
            let peak = number_after(&done, &["peak", "memory"]);
            assert!(peak <= bound, "{threads} threads: {peak} MiB for 60 MB of text");
            let bytes = std::fs::read(output).expect("the output");
            assert!(
                *first.get_or_insert_with(|| bytes.clone()) == bytes,
                "{threads} threads with {memory}"
            );
        }
    }
}
