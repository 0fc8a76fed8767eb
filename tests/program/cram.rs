//! CRAM input and output: no data is lost, bytes depend only on the reads, and errors are reported.

use std::path::{Path, PathBuf};
use std::process::Command;

use readmill_simulate::{Profile, Sample};

use crate::support::resources::{ALL_RESOURCES, FEW_RESOURCES, RunResources, same_bytes_with, sample};
use crate::support::{ProgramRun, TestDir, arg, bgzip, finish, readmill, split_header};

/// A test directory with the reference of the samples.
fn dir() -> (TestDir, PathBuf) {
    let dir = TestDir::new();
    let mut fasta = Vec::new();
    Sample::new(Profile::small()).write_fasta(&mut fasta).expect("bytes in memory");
    let reference = dir.file("ref.fa", fasta);
    (dir, reference)
}

/// A CRAM file of a sample in its own order.
fn cram(dir: &TestDir, pairs: u64) -> Vec<u8> {
    let input = dir.file("input.bam", bgzip(&sample(pairs)));
    let output = dir.path("input.cram");
    let [input, output, reference] = [&input, &output, &dir.path("ref.fa")].map(|path| arg(path));
    succeeds(&["prep", &input, "-o", &output, "--reference", &reference, "-q"]);
    std::fs::read(dir.path("input.cram")).expect("the CRAM file")
}

#[track_caller]
fn succeeds(args: &[&str]) -> ProgramRun {
    let done = readmill(args);
    assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
    done
}

#[track_caller]
fn invariant(resources: &[RunResources], input: Vec<u8>, command: &str, reference: &Path, format: &str) {
    let command = format!("{command} --reference {}", arg(reference));
    same_bytes_with(resources, &[input], &command, format);
}

#[test]
fn what_is_written_depends_on_the_reads_alone() {
    let (_desk, reference) = dir();
    let input = bgzip(&sample(30_000));
    invariant(&ALL_RESOURCES, input.clone(), "sort", &reference, "cram");
    invariant(&FEW_RESOURCES, input.clone(), "sort -n", &reference, "cram");
    invariant(&FEW_RESOURCES, input.clone(), "sort -O cram,no-ref", &reference, "cram");
    invariant(&FEW_RESOURCES, input, "prep --drop-unmapped", &reference, "cram");
}

/// Containers of reads that are not sorted in the run once had about 1 MiB, as much as is read at a time.
#[test]
fn reads_that_are_not_sorted_are_gathered_to_containers() {
    let (dir, reference) = dir();
    let [sorted, reference] = [dir.path("sorted.bam"), reference].map(|path| arg(&path));
    let input = arg(&dir.file("input.bam", bgzip(&sample(30_000))));
    succeeds(&["sort", &input, "-o", &sorted, "-q"]);
    for (format, command) in [("cram", "view"), ("cram,version=3.1", "view"), ("cram,small", "filter")] {
        let containers = |command: &str, input: &str| {
            let name = format!("{command}.cram");
            let output = arg(&dir.path(&name));
            let how = ["-O", format, "--reference", &reference, "--write-index"];
            succeeds(&[&[command, input, "-o", &output], &how[..]].concat());
            let index = std::fs::File::open(dir.path(&(name + ".crai"))).expect("the index");
            let lines = std::io::read_to_string(flate2::read::MultiGzDecoder::new(index));
            lines.expect("text").lines().count()
        };
        let (once_sorted, streamed) = (containers("sort", &input), containers(command, &sorted));
        assert!(streamed <= once_sorted + 1, "{format}: {streamed} and {once_sorted} containers");
        assert!(once_sorted < 30, "{format}: {once_sorted} containers");
    }
}

/// All ways of writing version 3.1.
const FORMATS_3_1: [&str; 4] =
    ["cram,version=3.1", "cram,fast", "cram,version=3.1,profile=small", "cram,archive"];

#[test]
fn nothing_is_lost_in_3_1() {
    let (dir, reference) = dir();
    cram(&dir, 3_000);
    let [bam, file, sorted, again, reference] = [
        &dir.path("input.bam"),
        &dir.path("x.cram"),
        &dir.path("s.cram"),
        &dir.path("s.bam"),
        &reference,
    ]
    .map(|path| arg(path));
    succeeds(&["sort", "-q", &bam, "-o", &again]);
    let equal = |a: &str, b: &str| {
        succeeds(&["compare", "--level", "L1", "--ignore-header", a, b, "--reference", &reference]);
    };
    for format in FORMATS_3_1 {
        let to = ["--reference", &reference, "-O", format];
        succeeds(&[&["prep", "-q", &bam, "-o", &file], &to[..]].concat());
        assert_eq!(std::fs::read(dir.path("x.cram")).expect("the file")[..6], *b"CRAM\x03\x01");
        equal(&bam, &file);
        succeeds(&[&["sort", "-q", &file, "-o", &sorted], &to[..]].concat());
        equal(&again, &sorted);
        assert!(dir.names().contains(&"s.cram.crai".into()));
        let bare = format!("{format},no-ref");
        succeeds(&["prep", "-q", &bam, "-o", &file, "-O", &bare]);
        succeeds(&["compare", "--level", "L1", "--ignore-header", &bam, &file]);
    }
}

#[test]
fn the_header_of_3_1_says_where_the_reference_lies() {
    let (dir, reference) = dir();
    let input = arg(&dir.file("input.bam", bgzip(&sample(100))));
    let output = arg(&dir.path("x.cram"));
    let contigs = |reads: &[&str]| -> Vec<String> {
        let shown = succeeds(&[&["prep", "-q", &output, "-O", "sam", "--no-PG"], reads].concat());
        let text = String::from_utf8(shown.stdout).expect("text");
        split_header(&text).0.lines().filter(|line| line.starts_with("@SQ")).map(String::from).collect()
    };
    let path = arg(&reference);
    for (format, has_path) in [("cram,version=3.0", false), ("cram,version=3.1", true)] {
        succeeds(&["prep", "-q", &input, "-o", &output, "-O", format, "--reference", &path]);
        let lines = contigs(&["--reference", &path]);
        let end = if has_path { format!("\tUR:{path}") } else { String::new() };
        assert!(!lines.is_empty());
        for line in lines {
            let md5 = line.split("\tM5:").nth(1).expect("M5");
            assert_eq!(md5.split_at(32).1, end, "{line}");
        }
    }
    succeeds(&["prep", "-q", &input, "-o", &output, "-O", "cram,version=3.1,no-ref"]);
    assert!(contigs(&[]).iter().all(|line| !line.contains("\tUR:") && !line.contains("\tM5:")));
}

#[test]
fn what_is_read_of_it_depends_on_nothing_else() {
    let (dir, reference) = dir();
    let input = cram(&dir, 30_000);
    invariant(&FEW_RESOURCES, input.clone(), "sort", &reference, "bam");
    invariant(&FEW_RESOURCES, input.clone(), "prep --drop-unmapped", &reference, "cram");
    invariant(&FEW_RESOURCES, input, "markdup --metrics METRICS", &reference, "sam");
}

#[test]
fn nothing_is_lost_on_the_way() {
    let (dir, reference) = dir();
    cram(&dir, 3_000);
    let [bam, file, reference] =
        [&dir.path("input.bam"), &dir.path("input.cram"), &reference].map(|path| arg(path));
    succeeds(&["compare", "--level", "L1", "--ignore-header", &bam, &file, "--reference", &reference]);
    let plain = arg(&dir.path("plain.cram"));
    succeeds(&["prep", "-q", &bam, "-o", &plain, "-O", "cram,no-ref"]);
    succeeds(&["compare", "--level", "L1", "--ignore-header", &bam, &plain]);
    let [sorted, again] = ["sorted.cram", "again.bam"].map(|name| arg(&dir.path(name)));
    succeeds(&["sort", "-q", &file, "-o", &sorted, "--reference", &reference]);
    succeeds(&["sort", "-q", &bam, "-o", &again]);
    succeeds(&[
        "compare",
        "--level",
        "L1",
        "--ignore-header",
        &sorted,
        &again,
        "--reference",
        &reference,
    ]);
}

#[test]
fn a_sorted_file_has_an_index_and_m5() {
    let (dir, reference) = dir();
    cram(&dir, 500);
    dir.file("x.cram.bai", "of an older file");
    let [input, output, reference] =
        [&dir.path("input.cram"), &dir.path("x.cram"), &reference].map(|path| arg(path));
    succeeds(&["sort", "-q", &input, "-o", &output, "--reference", &reference]);
    let names = dir.names();
    assert!(names.contains(&"x.cram.crai".into()) && !names.contains(&"x.cram.bai".into()), "{names:?}");
    let shown = succeeds(&["prep", "-q", &output, "-O", "sam", "--reference", &reference]);
    let text = String::from_utf8(shown.stdout).expect("text");
    let contigs = split_header(&text).0.lines().filter(|line| line.starts_with("@SQ"));
    assert!(contigs.clone().count() > 0 && contigs.clone().all(|line| line.contains("\tM5:")));
    // Contigs without a given file are found by their MD5, if the user stores them so.
    std::fs::remove_file(dir.path("x.cram.crai")).expect("the index");
    succeeds(&["sort", "-q", "--no-index", &input, "-o", &output, "--reference", &reference]);
    assert!(!dir.names().contains(&"x.cram.crai".into()));
}

/// A lost line, or a position beyond 31 bits, once left out the reads of a contig.
#[test]
fn an_index_that_lacks_a_line_or_has_a_false_one_loses_no_reads() {
    let (dir, reference) = dir();
    cram(&dir, 3_000);
    let [input, file, reference] =
        [&dir.path("input.cram"), &dir.path("x.cram"), &reference].map(|path| arg(path));
    succeeds(&["sort", "-q", &input, "-o", &file, "--reference", &reference]);
    let index = dir.path("x.cram.crai");
    let packed = std::fs::File::open(&index).expect("the index");
    let text = std::io::read_to_string(flate2::read::MultiGzDecoder::new(packed)).expect("text");
    let lines = Vec::from_iter(text.lines());
    assert!(lines.len() > 3, "{text}");
    let sam = succeeds(&["view", "-H", &file]);
    let sam = String::from_utf8(sam.stdout).expect("text");
    let names = sam.lines().filter_map(|line| line.strip_prefix("@SQ\tSN:")?.split('\t').next());
    let names = Vec::from_iter(names.chain(["*"]));
    let count = |name: &str| readmill(["view", "-c", &file, name, "--reference", &reference]);
    let whole = Vec::from_iter(names.iter().map(|name| count(name).stdout));
    let mut right = 0;
    for (lost, line) in lines.iter().enumerate() {
        let cells = Vec::from_iter(line.split('\t'));
        let far = [&[cells[0], "4294967296"], &cells[2..]].concat().join("\t");
        for replaced in [None, Some(far.as_str())] {
            let left = lines.iter().enumerate().filter_map(|(at, line)| match at == lost {
                true => replaced,
                false => Some(*line),
            });
            std::fs::write(&index, Vec::from_iter(left).join("\n") + "\n").expect("an index");
            for (name, expected) in names.iter().zip(&whole) {
                let done = count(name);
                let is_refused = done.code == Some(2) && done.stderr.contains("readmill index");
                assert!(
                    is_refused || replaced.is_none() && done.stdout == *expected,
                    "{name} without {line:?}: {:?} {} {:?}",
                    done.code,
                    done.stderr,
                    String::from_utf8_lossy(&done.stdout)
                );
                right += i32::from(!is_refused);
            }
        }
    }
    assert!(right > 0, "a line of a container with several contigs is not needed");
}

#[test]
fn a_reference_with_other_bases_than_the_header_says_is_refused() {
    let (dir, reference) = dir();
    cram(&dir, 200);
    let [bam, file, output] = ["input.bam", "input.cram", "x.cram"].map(|name| arg(&dir.path(name)));
    let mut text = std::fs::read_to_string(&reference).expect("the reference");
    let at = text.len() - 2;
    let base = if &text[at..=at] == "A" { "C" } else { "A" };
    text.replace_range(at..=at, base);
    dir.file("other.fa", text);
    let other = arg(&dir.path("other.fa"));
    // The header of the CRAM file has M5, that of the BAM file has none.
    succeeds(&["prep", "-q", &bam, "-o", &output, "--reference", &other]);
    let done = readmill(["prep", "-q", &file, "-o", &output, "--reference", &other]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(["has M5", "no-ref"].iter().all(|word| done.stderr.contains(word)), "{}", done.stderr);
}

#[test]
fn requests_that_cannot_be_met() {
    let (dir, reference) = dir();
    cram(&dir, 200);
    let [bam, file, output, reference] =
        [&dir.path("input.bam"), &dir.path("input.cram"), &dir.path("o.cram"), &reference]
            .map(|path| arg(path));
    let refused = |args: &[&str], code: i32, words: &[&str]| {
        let done = readmill(args);
        assert_eq!(done.code, Some(code), "{args:?}: {}", done.stderr);
        words.iter().for_each(|word| assert!(done.stderr.contains(word), "{args:?}: {}", done.stderr));
        assert!(!dir.names().iter().any(|name| name.starts_with("o.cram")), "{args:?}");
    };
    refused(&["sort", &bam, "-o", &output], 1, &["--reference", "no-ref"]);
    refused(&["sort", &bam, "-O", "cram,version=3.2"], 1, &["version=3.1", "archive"]);
    refused(&["sort", &bam, "-O", "cram,version=3.0,small"], 1, &["3.0 has no profiles"]);
    refused(&["sort", &bam, "-O", "cram,tiny"], 1, &["profiles fast, normal, small and archive"]);
    refused(&["sort", &bam, "-O", "bam,small"], 1, &["only CRAM"]);
    let indexed = ["sort", &bam, "-o", &output, "--reference", &reference, "--write-index=bai"];
    refused(&indexed, 1, &["this format", "omit --write-index"]);
    refused(&["sort", &file, "-o", &output, "-O", "cram,no-ref"], 1, &["contig", "M5", "--reference"]);
    let small = ["sort", &file, "-o", &output, "--reference", &reference, "-m", "50M", "-@", "1"];
    refused(&small, 1, &["raise -m"]);
}

/// CRAM 2.1 whose first container claims two bytes less than its block has, as htsjdk wrote it: the header of a file
/// without reads.
fn with_a_short_first_container(text: &str) -> Vec<u8> {
    let padded = 1000 + text.len(); // zeros behind the text, as there
    let mut raw = (text.len() as u32).to_le_bytes().to_vec();
    raw.extend(text.as_bytes());
    raw.resize(padded, 0);
    let size = [0x80 | (padded >> 8) as u8, padded as u8];
    let block = [&[0, 0, 0][..], &size, &size, &raw].concat();
    let mut file = b"CRAM\x02\x01".to_vec();
    file.resize(26, 0);
    file.extend((block.len() as u32 - 2).to_le_bytes());
    file.extend([0, 0, 0, 0, 0, 0, 1, 1, 0]);
    file.extend(block);
    file.extend(
        b"\x0b\0\0\0\xff\xff\xff\xff\x0f\xe0EOF\0\0\0\0\x01\0\0\x01\0\x06\x06\x01\0\x01\0\x01\0",
    );
    file
}

#[test]
fn the_first_container_of_htsjdk_is_as_long_as_its_block() {
    let (dir, text) = (TestDir::new(), "@HD\tVN:1.6\n@SQ\tSN:c\tLN:9\n");
    let whole = with_a_short_first_container(text);
    let input = arg(&dir.file("x.cram", &whole));
    let shown = succeeds(&["prep", "-q", "--no-PG", &input, "-O", "sam"]);
    assert_eq!(String::from_utf8_lossy(&shown.stdout), text);
    let cut = arg(&dir.file("x.cram", &whole[..500]));
    let done = readmill(["prep", "-q", "--allow-missing-eof", &cut, "-O", "sam"]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("truncated"), "{}", done.stderr);
}

/// Bases of a contig, and a file of them alone.
fn contig(dir: &TestDir, name: &str, n: usize) -> (String, String) {
    let bases: String = (0..n).map(|i| b"ACGT"[(i * i * 31 + i * 7) / 5 % 4] as char).collect();
    let path = dir.file(name, format!(">c\n{bases}\n"));
    (bases, arg(&path))
}

/// Reads of 10 bases at these places (from 1) of a contig of 200 bases.
fn reads_at(bases: &str, places: &[usize]) -> String {
    let line = |&pos: &usize| {
        let seq = &bases[pos - 1..pos + 9];
        format!("r{pos}\t0\tc\t{pos}\t60\t10M\t*\t0\t0\t{seq}\tIIIIIIIIII\n")
    };
    "@HD\tVN:1.6\n@SQ\tSN:c\tLN:200\n".to_string() + &places.iter().map(line).collect::<String>()
}

#[test]
fn a_contig_of_another_length_is_read_where_its_bases_are_proved() {
    let dir = TestDir::new();
    let (bases, full) = contig(&dir, "full.fa", 200);
    let [(_, short), (_, long)] = [("short.fa", 100), ("long.fa", 203)].map(|(f, n)| contig(&dir, f, n));
    for (name, places) in [("inside", &[5, 50][..]), ("beyond", &[5, 150])] {
        let [sam, cram] = [".sam", ".cram"].map(|end| arg(&dir.path(&format!("{name}{end}"))));
        std::fs::write(&sam, reads_at(&bases, places)).expect("a file");
        succeeds(&["prep", "-q", &sam, "-o", &cram, "--reference", &full]);
        let read =
            |fasta: &str| readmill(["prep", "-q", "--no-PG", &cram, "-O", "sam", "--reference", fasta]);
        let expected = read(&full);
        assert_eq!((expected.code, expected.stderr.as_str()), (Some(0), ""));
        for (fasta, length) in [(&long, "203"), (&short, "100")] {
            let done = read(fasta);
            let said = format!("warning: {fasta}: contig c has {length} bases here, but 200");
            assert!(done.stderr.contains(&said), "{name}: {}", done.stderr);
            if name == "beyond" && *fasta == short {
                assert_eq!(done.code, Some(2), "{}", done.stderr);
                assert!(done.stderr.contains("the reference differs"), "{}", done.stderr);
            } else {
                assert_eq!(done.code, Some(0), "{}", done.stderr);
                assert_eq!(done.stdout, expected.stdout);
            }
            let done =
                readmill(["prep", "-q", &sam, "-o", &arg(&dir.path("o.cram")), "--reference", fasta]);
            assert_eq!(done.code, Some(2), "CRAM would say M5 of bases that are not those of LN");
        }
    }
}

#[test]
fn bases_under_their_m5_do_for_writing() {
    let dir = TestDir::new();
    let (bases, full) = contig(&dir, "full.fa", 200);
    let [sam, with_fasta, bam, output] =
        ["x.sam", "x.cram", "x.bam", "o.cram"].map(|name| arg(&dir.path(name)));
    std::fs::write(&sam, reads_at(&bases, &[5, 150])).expect("a file");
    let prep = |args: &[&str], path: Option<&Path>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_readmill"));
        command
            .args(["prep", "-q", "--no-PG"])
            .args(args)
            .env_remove("REF_CACHE")
            .env_remove("REF_PATH");
        finish(command.envs(path.map(|path| ("REF_PATH", path))))
    };
    assert_eq!(prep(&[&sam, "-o", &with_fasta, "--reference", &full], None).code, Some(0));
    assert_eq!(prep(&[&with_fasta, "-o", &bam, "--reference", &full], None).code, Some(0)); // has M5
    let shown = String::from_utf8(prep(&[&bam, "-O", "sam"], None).stdout).expect("text");
    let md5 = shown.split("M5:").nth(1).and_then(|rest| rest.get(..32)).expect("M5");
    std::fs::create_dir(dir.path("cache")).expect("a directory");
    std::fs::write(dir.path("cache").join(md5), &bases).expect("a file");
    let refused = |input: &str, path: Option<&Path>, code: i32, word: &str| {
        let done = prep(&[input, "-o", &output], path);
        assert_eq!(done.code, Some(code), "{}", done.stderr);
        assert!(
            [word, "--reference", "no-ref"].iter().all(|it| done.stderr.contains(it)),
            "{}",
            done.stderr
        );
        assert!(!dir.names().contains(&"o.cram".into()));
    };
    let (cache, elsewhere) = (dir.path("cache"), dir.path("elsewhere"));
    refused(&bam, None, 1, "REF_CACHE or REF_PATH");
    refused(&bam, Some(&elsewhere), 2, "neither by the M5 of a contig");
    refused(&sam, Some(&cache), 2, "neither by the M5 of a contig");
    let done = prep(&[&bam, "-o", &output], Some(&cache));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let written = |path: &str| std::fs::read(path).expect("a CRAM file");
    assert!(written(&output) == written(&with_fasta), "the bytes are those of the FASTA file's");

    // An indexed FASTA file that the header names does, too.
    let text = shown.replace("\tM5:", &format!("\tUR:{full}\tM5:"));
    std::fs::write(&sam, text).expect("a file");
    std::fs::remove_file(&output).expect("the output");
    refused(&sam, None, 1, "an indexed FASTA file that UR in the header names");
    assert_eq!(readmill(["faidx", "-q", &full]).code, Some(0));
    let done = prep(&[&sam, "-o", &output], None);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let lines = |cram: &str| {
        let text = String::from_utf8(prep(&[cram, "-O", "sam", "--reference", &full], None).stdout);
        text.expect("text")
            .lines()
            .filter(|line| !line.starts_with('@'))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(lines(&output), lines(&with_fasta));
}

#[test]
fn damage_is_told_and_leaves_nothing() {
    let (dir, reference) = dir();
    let whole = cram(&dir, 300);
    let reference = arg(&reference);
    let output = arg(&dir.path("o.bam"));
    let refused = |bytes: &[u8], what: &str| {
        let input = arg(&dir.file("bad.cram", bytes));
        for threads in ["1", "3"] {
            for command in ["sort", "prep"] {
                let done =
                    readmill([command, &input, "-o", &output, "--reference", &reference, "-@", threads]);
                assert_eq!(done.code, Some(2), "{what}, {command}: {}", done.stderr);
                assert!(done.stderr.contains("bad.cram"), "{what}: {}", done.stderr);
                assert!(!dir.names().iter().any(|name| name.starts_with("o.bam")), "{what}");
            }
        }
    };
    for end in
        [0, 3, 20, 26, 40, 300, whole.len() / 2, whole.len() - 39, whole.len() - 38, whole.len() - 1]
    {
        refused(&whole[..end], &format!("cut at {end}"));
    }
    for at in (4..whole.len() - 38).step_by(whole.len() / 60) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        if !(6..26).contains(&at) {
            refused(&bytes, &format!("a bit at {at}"));
        }
    }
}

/// Tests that take more than ten seconds, which `./dev nightly` runs.
mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: ./dev nightly runs it"]
    fn what_is_written_as_3_1_depends_on_the_reads_alone() {
        let (_desk, reference) = dir();
        let input = bgzip(&sample(12_000));
        for format in FORMATS_3_1 {
            invariant(&FEW_RESOURCES, input.clone(), &format!("sort -O {format}"), &reference, "cram");
        }
        invariant(&FEW_RESOURCES, input.clone(), "sort -n -O cram,small,no-ref", &reference, "cram");
        invariant(&FEW_RESOURCES, input, "prep --drop-unmapped -O cram,small", &reference, "cram");
    }
}
