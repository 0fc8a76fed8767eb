//! Compares results with those of a real Java 17, which `tests/oracles/java/Numbers.java` prints.
#![allow(clippy::unwrap_used)]

mod likelihoods;
mod points;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use readmill_jmath::{CpuMaker, JavaMath};

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

/// `JMATH_BLOCKS` is the number of blocks of 100,000 points of each series, 100 unless given;
/// `JMATH_SERIES` is the start of the names of series, all unless given. The results of Java depend
/// on the processor, so this passes on Intel's only.
#[test]
#[ignore = "takes many minutes and a JDK"]
fn ten_million_points_of_each_series() {
    let blocks = std::env::var("JMATH_BLOCKS").unwrap_or_else(|_| "100".into());
    let size = 100_000;
    let start = std::env::var("JMATH_SERIES").unwrap_or_default();
    let text = run_java(&["all".into(), blocks, size.to_string(), start]);
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

#[test]
fn powers_at_the_borders_of_their_algorithms() {
    // From Math.pow of Java 17 on an Intel processor; few random points show such differences.
    let math = JavaMath::of_maker(CpuMaker::Intel).unwrap();
    for (x, y, power) in [
        (0.961_754_244_264_650_2, -17_119.550_400_441_82, 0x7c21_a95e_e94e_92d1),
        (0.966_972_818_540_702_7, -16_590.650_544_647_808, 0x722d_18c3_4332_d752),
        (0.977_814_282_245_248, 192.604_688_922_184_07, 0x3f8b_34b2_d740_9f3b_u64),
        (0.949_854_915_934_803_1, 166.607_319_686_541_22, 0x3f28_d587_5170_bc73),
        (-9.035_264_549_836_025, -13.0, 0xbd5a_4fc9_c037_25dc),
        (-3.647_559_143_394_119, 20.0, 0x4244_3b9b_d8f6_c9da),
        (-12.410_704_331_822_675, 14.0, 0x431d_39de_caf9_ab99),
    ] {
        assert_eq!(math.pow(x, y).to_bits(), power, "{x} {y}");
    }
}
