//! FASTQ input: aligned and prepared, with the same bytes for any threads and memory; errors are reported.

pub mod adapters;
mod complete_index;
mod index_reads;
mod long_reads;
mod mistakes;
mod read_tags;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod rescue;
mod singles_among_pairs;
mod trimming;
pub mod unaligned;

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use readmill_simulate::{Profile, Sample};

use crate::support::resources::{FEW_RESOURCES, same_bytes_with};
use crate::support::{ProgramRun, TestDir, arg, bgzip, column, number, readmill, records};

const PAIRS: u64 = 3000;

/// The sample's reads, first and last.
pub fn reads() -> &'static [Vec<u8>; 2] {
    static READS: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    READS.get_or_init(|| {
        let sample = Sample::new(Profile { single_per_mille: 0, ..Profile::small().with_pairs(PAIRS) });
        let mut reads = [Vec::new(), Vec::new()];
        let [one, two] = &mut reads;
        sample.write_fastq(one, two).expect("bytes in memory");
        reads
    })
}

/// Its reference, with the index that `readmill index` makes.
pub fn reference() -> &'static str {
    static REFERENCE: OnceLock<(TestDir, String)> = OnceLock::new();
    let (_, path) = REFERENCE.get_or_init(|| {
        let dir = TestDir::new();
        let mut fasta = Vec::new();
        Sample::new(Profile::small()).write_fasta(&mut fasta).expect("bytes in memory");
        let path = arg(&dir.file("ref.fa", fasta));
        let done = readmill(["index", &path]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        (dir, path)
    });
    path
}

fn align(args: &[&str]) -> ProgramRun {
    readmill(["align", reference(), "-q", "-K", "200000"].iter().chain(args))
}

/// The SAM lines that these files give.
#[track_caller]
fn lines(args: &[&str]) -> String {
    let done = align(&[args, &["-O", "sam"]].concat());
    assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
    String::from_utf8(done.stdout).expect("SAM is text")
}

fn dir() -> (TestDir, [PathBuf; 2]) {
    let dir = TestDir::new();
    let [one, two] = reads();
    let files = [dir.file("1.fq", one), dir.file("2.fq", two)];
    (dir, files)
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("bytes in memory");
    encoder.finish().expect("bytes in memory")
}

#[test]
fn bytes_depend_on_the_reads_alone() {
    let command = format!("align {} -K 200000 -R @RG\\tID:a\\tSM:s", reference());
    let inputs = reads().to_vec();
    same_bytes_with(&FEW_RESOURCES, &inputs, &command, "sam");
    let command = format!("{command} --sort coordinate --mark-duplicates --metrics METRICS");
    same_bytes_with(&FEW_RESOURCES, &inputs, &command, "bam");
}

#[test]
fn every_read_is_there_once_and_most_where_they_came_from() {
    let (_desk, files) = dir();
    let [one, two] = files.each_ref().map(|path| arg(path));
    let text = lines(&[&one, &two, "-R", "@RG\\tID:a\\tSM:s"]);
    let primary: Vec<&str> =
        records(&text).into_iter().filter(|line| number(line, 1) & 0x900 == 0).collect();
    assert_eq!(primary.len() as u64, 2 * PAIRS);
    assert!(primary.iter().all(|line| line.ends_with("RG:Z:a") || line.contains("\tRG:Z:a\t")));
    let names = |bytes: &[u8]| -> Vec<String> {
        let text = String::from_utf8(bytes.to_vec()).expect("FASTQ is text");
        let heads = text.lines().step_by(4);
        heads.map(|head| head[1..].split([' ', '/']).next().unwrap_or_default().to_string()).collect()
    };
    let [ones, twos] = reads().each_ref().map(|bytes| names(bytes));
    let wanted: Vec<&String> = ones.iter().zip(&twos).flat_map(|(one, two)| [one, two]).collect();
    let found: Vec<String> = primary.iter().map(|line| column(line, 0).to_string()).collect();
    assert!(found.iter().eq(wanted), "reads come in the order of the files");
    let placed = primary.iter().filter(|line| number(line, 1) & 4 == 0).count() as u64;
    assert!(placed > 2 * PAIRS * 8 / 10, "{placed} reads are placed");
}

#[test]
fn it_does_not_matter_how_text_is_packed() {
    let (dir, files) = dir();
    let [one, two] = files.each_ref().map(|path| arg(path));
    let plain = lines(&[&one, &two]);
    let half = reads()[0].len() / 2;
    let members = [gzip(&reads()[0][..half]), gzip(&reads()[0][half..])].concat();
    let packed = arg(&dir.file("1.gz", members));
    let blocks = arg(&dir.file("2.gz", bgzip(&reads()[1])));
    assert!(plain == lines(&[&packed, &blocks]), "gzip and BGZF");
    assert!(plain == lines(&[&packed, &two, "-@", "7", "-m", "3G"]), "gzip and plain text");
    let mut both = Vec::new();
    let texts = reads().each_ref().map(|bytes| std::str::from_utf8(bytes).expect("FASTQ is text"));
    let [one, two] = texts.map(|text| text.lines().collect::<Vec<_>>());
    for (first, last) in one.chunks(4).zip(two.chunks(4)) {
        [first, last].concat().iter().for_each(|line| both.extend([line.as_bytes(), b"\n"].concat()));
    }
    let both = arg(&dir.file("both.fq", both));
    assert!(plain == lines(&["-p", &both]), "one file for both");
}

#[test]
fn lanes_follow_each_other_each_for_itself() {
    let (dir, files) = dir();
    let [one, two] = files.each_ref().map(|path| arg(path));
    let part = |bytes: &[u8]| {
        let end = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(4 * 700 - 1);
        bytes[..=end.expect("as many reads").0].to_vec()
    };
    let short = [0, 1].map(|at| arg(&dir.file(&format!("short.{at}"), part(&reads()[at]))));
    let groups = ["-R", "@RG\\tID:a\\tSM:s", "-R", "@RG\\tID:b\\tSM:s"];
    let four: [&str; 4] = [&one, &two, &short[0], &short[1]];
    let all = lines(&[&four[..], &groups].concat());
    let first = lines(&[&one, &two, "-R", groups[1]]);
    let second = lines(&[&short[0], &short[1], "-R", groups[3]]);
    let apart = [records(&first), records(&second)].concat();
    assert!(records(&all) == apart, "two lanes are two runs");
    let refused = align(&[&four[..], &groups, &["-R", "@RG\\tID:c"]].concat());
    assert_eq!(refused.code, Some(1), "three groups, two lanes");
}

#[test]
fn single_reads_have_no_mates() {
    let (_desk, files) = dir();
    let text = lines(&[&arg(&files[0])]);
    let primary = records(&text).into_iter().filter(|line| number(line, 1) & 0x900 == 0).count();
    assert_eq!(primary as u64, PAIRS);
    assert!(records(&text).iter().all(|line| number(line, 1) & 0xe9 == 0 && column(line, 6) == "*"));
}

#[test]
fn what_is_wrong_is_told_and_nothing_is_left() {
    let (dir, files) = dir();
    let [one, two] = files.each_ref().map(|path| arg(path));
    let [first, last] = reads();
    let cut = |bytes: &[u8], n: usize| bytes[..bytes.len() - n].to_vec();
    let lacks =
        first.split_inclusive(|&byte| byte == b'\n').skip(4).flatten().copied().collect::<Vec<_>>();
    let short =
        last.split_inclusive(|&byte| byte == b'\n').skip(4).flatten().copied().collect::<Vec<_>>();
    let cases = [
        ("cut.fq", cut(last, 20), "record"),
        ("shifted.fq", short, "record"),
        ("cut.gz", cut(&gzip(last), 100), "cut.gz"),
    ];
    let output = arg(&dir.path("out.bam"));
    for (name, bytes, told) in cases {
        let bad = arg(&dir.file(name, bytes));
        let done = align(&[&one, &bad, "-o", &output]);
        assert_eq!(done.code, Some(2), "{name}: {}", done.stderr);
        assert!(done.stderr.contains(told) && done.stderr.contains(name), "{name}: {}", done.stderr);
        assert!(!dir.path("out.bam").exists(), "{name}");
    }
    let other = arg(&dir.file("bam.fq", "BAM\x01"));
    let done = align(&[&one, &other, "-o", &output]);
    assert!(done.code == Some(1) && done.stderr.contains("bam.fq"), "{}", done.stderr);
    let fewer = arg(&dir.file("fewer.fq", lacks));
    let done = align(&[&fewer, &two, "-o", &output]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    let bare = arg(&dir.file("bare.fa", ">c\nACGT\n"));
    let done = readmill(["align", &bare, &one, &two, "-o", &output]);
    assert_eq!(done.code, Some(3), "{}", done.stderr);
    assert!(done.stderr.contains("readmill index"), "{}", done.stderr);
    for args in [
        &[&one[..], &two, &one][..],
        &[&one, &one],
        &[&one, &two, "--bwa", "-t 4"],
        &[&one, &two, "-R", "ID:a"],
    ] {
        let done = align(&[args, &["-o", &output]].concat());
        assert_eq!(done.code, Some(1), "{args:?}: {}", done.stderr);
    }
    let left: Vec<String> = dir.names().into_iter().filter(|name| name.starts_with("out")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The command lines of readmill's own `@PG` line and of the aligner's.
///
/// Tests of the `@PG` line of an aligned run: other work has another command line, equal work the same bytes.
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
    for more in [&["-@", "1"][..], &["-@", "5", "-m", "3G"], &["--as-given"]] {
        let again = lines(&[&[&one[..], &two], &flags[..], more].concat());
        assert!(first == again, "{more:?}");
    }
}
