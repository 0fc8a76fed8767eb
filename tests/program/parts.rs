//! Output in parts: joined in the order of their names they are the file that is written without, byte for byte, and no
//! part depends on threads, memory or spills.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use flate2::read::MultiGzDecoder;
use readmill_format::bam;
use readmill_format::bgzf::EOF_BLOCK;

use crate::support::resources::{FEW_RESOURCES, query_min_memory, same_bytes_with, sample, words};
use crate::support::{ProgramRun, TestDir, arg, bgzip, readmill};

/// A file's name and bytes.
type File = (String, Vec<u8>);

/// Runs `command` on `input`; returns its messages and its output files.
fn files_with(input: &Path, command: &str, more: &[&str]) -> (String, Vec<File>) {
    let dir = TestDir::new();
    let output = arg(&dir.path("out.bam"));
    let args = words(command).into_iter().chain([arg(input), "-o".into(), output]);
    let args = args.chain(more.iter().map(|word| word.to_string()));
    let ProgramRun { code, stderr, .. } = readmill(args);
    assert_eq!(code, Some(0), "{command}: {stderr}");
    let file = |name: String| (name.clone(), std::fs::read(dir.path(&name)).unwrap());
    (stderr, dir.names().into_iter().map(file).collect())
}

/// The parts, and the other files.
fn parts_of(files: Vec<File>) -> (Vec<Vec<u8>>, Vec<File>) {
    let (parts, others) =
        files.into_iter().partition::<Vec<_>, _>(|(name, _)| name.starts_with("out.bam.part-"));
    (parts.into_iter().map(|(_, bytes)| bytes).collect(), others)
}

fn inflated(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(size) = bytes.get(16..18) {
        let (block, rest) = bytes.split_at(usize::from(u16::from_le_bytes([size[0], size[1]])) + 1);
        std::io::copy(&mut MultiGzDecoder::new(block), &mut out).unwrap();
        bytes = rest;
    }
    assert!(bytes.is_empty(), "a part ends within a BGZF block");
    out
}

/// The number of records in `bytes`, which must be complete.
fn records(mut bytes: &[u8]) -> usize {
    let mut n = 0;
    while let Some((size, rest)) = bytes.split_first_chunk::<4>() {
        bytes = rest.get(u32::from_le_bytes(*size) as usize..).expect("a part ends within a record");
        n += 1;
    }
    n
}

/// Asserts that the joined parts are `whole` and that each part has complete blocks and records. Returns the records
/// of each.
fn check(whole: &[u8], parts: &[Vec<u8>]) -> Vec<usize> {
    assert!(parts.concat() == whole, "{} parts joined differ", parts.len());
    let (last, others) = parts.split_last().expect("a part");
    assert!(last.ends_with(&EOF_BLOCK));
    assert!(others.iter().all(|part| !part.ends_with(&EOF_BLOCK)));
    let header = bam::header::parse_header(&inflated(&parts[0])).unwrap().expect("a header").1;
    let skip = |number| if number == 0 { header } else { 0 };
    parts.iter().enumerate().map(|(number, part)| records(&inflated(part)[skip(number)..])).collect()
}

/// Asserts that a command with 2, 3 and 7 parts, on an input of many partitions, gives the same file and index as
/// without parts.
fn parts_join(input: &Path, command: &str) {
    let (_, whole) = files_with(input, command, &["-l", "1", "-@", "2"]);
    let whole_bytes = &whole.iter().find(|(name, _)| name == "out.bam").unwrap().1;
    for n in [2, 3, 7] {
        let (said, files) =
            files_with(input, &format!("{command} --out-parts {n}"), &["-l", "1", "-@", "3"]);
        let (parts, others) = parts_of(files);
        assert_eq!(parts.len(), n);
        let records = check(whole_bytes, &parts);
        let mean = records.iter().sum::<usize>() / n;
        assert!(records.iter().all(|&own| own > mean / 2 && own < 2 * mean), "{records:?}");
        assert!(others.iter().all(|file| whole.contains(file)), "the index is that of the parts joined");
        assert_eq!(others.len(), whole.len() - 1);
        for (number, part) in parts.iter().enumerate() {
            let line = format!("out.bam.part-{:03} has {} bytes", number + 1, part.len());
            assert!(said.contains(&line), "{said}");
        }
    }
    let (_, one) = files_with(input, &format!("{command} --out-parts 1"), &["-l", "1", "-@", "1"]);
    assert!(one == whole, "one part is the file itself");
}

#[test]
fn parts_joined_are_the_file() {
    let dir = TestDir::new();
    let input = dir.file("in.bam", bgzip(&sample(30_000)));
    for command in [
        "sort",
        "sort -n",
        "sort -M",
        "markdup",
        "prep --mark-duplicates --sort coordinate --drop-unmapped",
    ] {
        parts_join(&input, command);
    }
}

/// If fewer reads are written than were stored, parts are still complete, and the same with any threads and memory.
#[test]
fn reads_that_are_dropped_as_they_leave() {
    let dir = TestDir::new();
    let input = dir.file("in.bam", bgzip(&sample(30_000)));
    let aside = arg(&dir.path("aside.bam"));
    let command = format!("sort --move-to {aside}=pos<150000");
    let (_, whole) = files_with(&input, &command, &[]);
    let (parts, _) = parts_of(files_with(&input, &format!("{command} --out-parts 3"), &[]).1);
    check(&whole.iter().find(|(name, _)| name == "out.bam").unwrap().1, &parts);
}

#[test]
fn parts_are_invariant() {
    let inputs = [bgzip(&sample(36_000))];
    for command in ["sort --out-parts 3", "prep --mark-duplicates --sort natural --out-parts 7"] {
        let (max_runs, min_runs) = same_bytes_with(&FEW_RESOURCES, &inputs, command, "bam");
        assert!(
            max_runs >= 2 && min_runs == 0,
            "{command}: {max_runs} runs spilled at most, {min_runs} at least"
        );
    }
}

/// Sorted input goes straight through, but not in parts.
#[test]
fn input_that_is_sorted() {
    let dir = TestDir::new();
    let input = dir.file("in.bam", bgzip(&sample(36_000)));
    let (_, sorted) = files_with(&input, "sort", &["--no-index", "-l", "1"]);
    let input = dir.file("sorted.bam", &sorted[0].1);
    let min_memory = query_min_memory(&words(&format!("sort {} -o out.bam -@ 2", arg(&input))));
    let means = ["-@", "2", "-l", "1", "-m", &min_memory];
    let (_, whole) = files_with(&input, "sort", &means);
    let (parts, others) = parts_of(files_with(&input, "sort --out-parts 3", &means).1);
    check(&whole[0].1, &parts);
    assert!(others == whole[1..], "the index");
}

#[test]
fn more_parts_than_records() {
    let dir = TestDir::new();
    let header = "@HD\tVN:1.6\n@SQ\tSN:a\tLN:1000\n";
    let line = |i: usize| format!("r{i}\t0\ta\t{}\t9\t3M\t*\t0\t0\tACG\tIII\n", 90 - i);
    for n in [0, 1, 5] {
        let text = header.to_string() + &(0..n).map(line).collect::<String>();
        let input = dir.file("in.sam", text);
        let (_, whole) = files_with(&input, "sort", &[]);
        let (parts, others) = parts_of(files_with(&input, "sort --out-parts 7", &[]).1);
        assert_eq!(check(&whole[0].1, &parts), [n, 0, 0, 0, 0, 0, 0]);
        assert!(others == whole[1..], "the index");
        assert!(parts[1..6].iter().all(Vec::is_empty), "empty parts are empty files");
        assert_eq!(parts[6], EOF_BLOCK);
    }
}

/// Records that are larger than a partition.
#[test]
fn large_records() {
    let dir = TestDir::new();
    let header = "@HD\tVN:1.6\n@SQ\tSN:a\tLN:1000\n";
    let filler = "x".repeat(1_500_000);
    let line = |i: usize| format!("r{i}\t0\ta\t{}\t9\t3M\t*\t0\t0\tACG\tIII\tXX:Z:{filler}\n", 90 - i);
    let input = dir.file("in.sam", header.to_string() + &(0..8).map(line).collect::<String>());
    let (_, whole) = files_with(&input, "sort", &["-l", "1"]);
    let (parts, _) = parts_of(files_with(&input, "sort --out-parts 4", &["-l", "1"]).1);
    assert_eq!(check(&whole[0].1, &parts), [2, 2, 2, 2]);
}
