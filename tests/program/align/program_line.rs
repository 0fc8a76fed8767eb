//! The `@PG` line of an aligned run: other work has another command line, equal work the same bytes.

use std::collections::HashSet;

use super::*;

/// The command lines of readmill's own `@PG` line and of the aligner's.
fn calls(args: &[&str]) -> (String, String) {
    let text = lines(args);
    let call = |id: &str| {
        let is_it = |line: &&str| line.starts_with(&format!("@PG\tID:{id}\t"));
        let line = text.lines().find(is_it).expect("a @PG line");
        line.split("\tCL:").nth(1).expect("CL").to_string()
    };
    (call("readmill"), call("bwa"))
}

/// Reads for all flags below: with a UMI in the name and a comment of SAM fields.
fn dressed(dir: &TestDir) -> [String; 2] {
    [0, 1].map(|at| {
        let text = std::str::from_utf8(&reads()[at]).expect("FASTQ is text");
        let lines: Vec<&str> = text.lines().take(4 * 50).collect();
        let record = |(number, it): (usize, &[&str])| {
            format!("@M:1:F:1:1:{number}:1:ACGT\tXX:i:{number}\n{}\n+\n{}\n", it[1], it[3])
        };
        let text: String = lines.chunks(4).enumerate().map(record).collect();
        arg(&dir.file(&format!("{at}.fq"), text))
    })
}

#[test]
fn whatever_changes_records_is_in_the_command_line() {
    let dir = TestDir::new();
    let [one, two] = dressed(&dir);
    let files = [&one[..], &two];
    let mut seen = HashSet::new();
    for flags in [
        &[][..],
        &["-C"],
        &["--umi-from-name"],
        &["--umi-from-name=:"],
        &["--read-structures", "4M+T,+T"],
        &["--read-structures", "+T,4M+T"],
        &["--mark-adapters"],
        &["--bwa", "-k 17"],
        &["--bwa", "-T 20"],
        &["-Y"],
        &["-M"],
        &["-C", "--mark-adapters"],
        &["--sort", "coordinate"],
    ] {
        let (own, _) = calls(&[&files[..], flags].concat());
        assert!(own.starts_with("readmill align "), "{own}");
        assert!(seen.insert(own.clone()), "{flags:?} is not in: {own}");
    }
    let (marked, _) = calls(&[&files[..], &["--mark-adapters"]].concat());
    assert!(marked.contains("--mark-adapters"), "{marked}");
    let (_, theirs) = calls(&[&files[..], &["--bwa", "-k 17"]].concat());
    assert!(theirs.starts_with("bwa mem -k 17 -K "), "{theirs}");
}

#[test]
fn other_rules_for_adapters_are_in_the_command_line() {
    let dir = TestDir::new();
    let [one, two] = dressed(&dir);
    let mut seen = HashSet::new();
    for flags in [
        &[][..],
        &["--adapters", "NEXTERA_V2"],
        &["--min-match-bases-pe", "9"],
        &["--max-error-rate-pe", "0.2"],
        &["--min-match-bases-se", "9"],
        &["--max-error-rate-se", "0.2"],
        &["--adapter-truncation-length", "20"],
        &["--prune-adapters-after", "0"],
        &["--num-adapters-to-keep", "2"],
        &["--five-prime-adapter", "ACGTACGTACGTACGT", "--three-prime-adapter", "TTGCATTGCATTGCAT"],
    ] {
        let (own, _) = calls(&[&[&one[..], &two, "--mark-adapters"], flags].concat());
        assert!(seen.insert(own.clone()), "{flags:?} is not in: {own}");
    }
}

#[test]
fn equal_work_has_equal_bytes() {
    let dir = TestDir::new();
    let [one, two] = dressed(&dir);
    let flags = ["-C", "--mark-adapters", "--bwa", "-k 17"];
    let first = lines(&[&[&one[..], &two], &flags[..]].concat());
    for means in [&["-@", "1"][..], &["-@", "5", "-m", "3G"], &["--as-given"]] {
        let again = lines(&[&[&one[..], &two], &flags[..], means].concat());
        assert!(first == again, "{means:?}");
    }
}
