//! Compares results with those of a real Java 17, which `tests/oracles/java/Numbers.java` prints.
#![allow(clippy::unwrap_used)]

mod likelihoods;
mod points;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use points::{SERIES, block, hash_results};

/// Points of a block in the stored results.
const STORED_SIZE: usize = 2000;

fn oracles() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracles/java")
}

/// Returns what Java prints, without the names of processors and versions.
fn run_java(arguments: &[String]) -> String {
    let program = oracles().join("Numbers.java");
    let output = Command::new("java").arg(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the series and the number of each block whose results differ from the hash in `text`.
fn find_different_blocks(text: &str, size: usize) -> (usize, Vec<(String, usize)>) {
    let (mut blocks, mut different) = (0, Vec::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let [rest, hash] = line.rsplitn(2, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (hash, (series, number)) = (rest, hash.rsplit_once(' ').unwrap());
        let number = number.parse().unwrap();
        blocks += 1;
        if format!("{:x}", hash_results(&block(series, number, size))) != hash {
            different.push((series.to_owned(), number));
        }
    }
    (blocks, different)
}

#[test]
fn results_are_those_stored_from_java() {
    let text = fs::read_to_string(oracles().join("numbers.txt")).unwrap();
    let (blocks, different) = find_different_blocks(&text, STORED_SIZE);
    assert_eq!(different, [], "series and numbers of blocks that differ");
    assert!(blocks >= SERIES.len());
}

/// `JMATH_BLOCKS` is the number of blocks of 100,000 points of each series, 100 unless given. The
/// results of Java depend on the processor, so this runs on Intel's only.
#[test]
#[ignore = "takes many minutes and a JDK"]
fn ten_million_points_of_each_series() {
    let blocks = std::env::var("JMATH_BLOCKS").unwrap_or_else(|_| "100".into());
    let size = 100_000;
    let text = run_java(&["all".into(), blocks, size.to_string()]);
    let (blocks, different) = find_different_blocks(&text, size);
    let mut differences = 0;
    for (series, number) in &different {
        let java = run_java(&[series.clone(), number.to_string(), size.to_string()]);
        let ours = block(series, *number, size);
        let pairs = ours.iter().zip(java.lines()).enumerate();
        let points: Vec<_> = pairs.filter(|(_, (ours, java))| format!("{ours:x}") != *java).collect();
        println!("{series} {number}: {} differ: {:x?}", points.len(), points.first());
        differences += points.len();
    }
    println!("{} points, {differences} differences", blocks * size);
    assert_eq!(differences, 0);
}
