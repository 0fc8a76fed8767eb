//! `quickcheck`, `head`, `cat`, `reheader`, `collate`, and commands that are left out.

use std::process::Command;

use readmill_format::bgzf::EOF_BLOCK;

use super::{raw_bam, reads, refused, stored};
use crate::support::{ProgramRun, TestDir, arg, bam, readmill, records, split_header};

/// The SAM text of a file, without @PG lines.
fn text(path: &str) -> String {
    let done = readmill(["filter", path, "-O", "sam", "--no-PG", "--quiet"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let text = String::from_utf8(done.stdout).unwrap();
    text.split_inclusive('\n').filter(|line| !line.starts_with("@PG")).collect()
}

#[test]
fn quickcheck_looks_at_both_ends() {
    let dir = TestDir::new();
    let whole = bam(&reads(100, &[3_000], 0));
    let good = arg(&dir.file("good.bam", &whole));
    let sam = arg(&dir.file("good.sam", reads(3, &[3_000], 0)));
    let cut = arg(&dir.file("cut.bam", &whole[..whole.len() - 40]));
    let eof = arg(&dir.file("eof.bam", &whole[..whole.len() - 28]));
    let bare = arg(&dir.file("bare.bam", bam(&reads(0, &[], 3))));
    let other = arg(&dir.file("other.bam", "hello\n"));
    let missing = arg(&dir.path("missing.bam"));
    let done = readmill(["quickcheck", "-v", &good, &sam]);
    assert_eq!((done.code, &done.stderr[..], &done.stdout[..]), (Some(0), "", &b""[..]));
    for (file, code, word) in [
        (&cut, 2, "truncated"),
        (&eof, 2, "truncated"),
        (&bare, 2, "no reference sequences"),
        (&other, 2, "not BAM, SAM or CRAM"),
        (&missing, 3, "cannot be opened"),
    ] {
        let done = readmill(["quickcheck", "-v", &good, file]);
        assert_eq!(done.code, Some(code), "{file}: {}", done.stderr);
        assert!(done.stderr.contains(word), "{file}: {}", done.stderr);
        assert_eq!(String::from_utf8(done.stdout).unwrap(), format!("{file}\n"));
    }
    assert_eq!(readmill(["quickcheck", "-u", &bare]).code, Some(0));
    let ProgramRun { code, stderr, stdout } = readmill(["quickcheck", "-q", &cut]);
    assert_eq!((code, &stderr[..], &stdout[..]), (Some(2), "", &b""[..]));
}

#[test]
fn head_prints_the_first_lines() {
    let dir = TestDir::new();
    let all = reads(3_000, &[3_000_000, 9_000], 0);
    let file = arg(&dir.file("in.bam", stored(&raw_bam(&all), 1_000)));
    let head = |flags: &[&str]| {
        let done = readmill(["head"].iter().chain(flags).copied().chain([&file[..]]));
        assert_eq!((done.code, &done.stderr[..]), (Some(0), ""), "{flags:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    let (header, _) = split_header(&all);
    assert_eq!(head(&[]), header);
    assert_eq!(head(&["-h", "1"]), "@HD\tVN:1.6\tSO:coordinate\n");
    let lines = records(&all);
    assert_eq!(head(&["-h", "0", "-n", "2"]), format!("{}\n{}\n", lines[0], lines[1]));
    assert!(head(&["-n", "9999"]) == all);
}

#[test]
fn cat_joins_files_block_by_block() {
    let dir = TestDir::new();
    let (a, b) = (reads(3_000, &[3_000_000], 0), reads(50, &[3_000_000], 3));
    for block in [40, 1_000, 0xff00] {
        let one = arg(&dir.file("a.bam", stored(&raw_bam(&a), block)));
        let two = arg(&dir.file("b.bam", stored(&raw_bam(&b), block)));
        let out = arg(&dir.path("out.bam"));
        let done = readmill(["cat", &one, &two, "-o", &out, "-q"]);
        assert_eq!((done.code, &done.stderr[..]), (Some(0), ""));
        assert!(text(&out) == format!("{a}{}", split_header(&b).1), "blocks of {block}");
        let done = readmill(["cat", "-h", &two, "--no-PG", &one, &one]);
        let twice = dir.file("twice.bam", done.stdout);
        assert_eq!(records(&text(&arg(&twice))).len(), 6_000);
    }
    let [one, two] = ["a.bam", "b.bam"].map(|name| arg(&dir.path(name)));
    let grouped = |name: &str, ids: &[&str]| {
        let groups: String = ids.iter().map(|id| format!("@RG\tID:{id}\tSM:s\n")).collect();
        let (header, records) = split_header(&b);
        arg(&dir.file(name, bam(&format!("{header}{groups}{records}"))))
    };
    let (x, y) = (grouped("x.bam", &["one"]), grouped("y.bam", &["two", "one", "three"]));
    let done = readmill(["cat", "--no-PG", &x, &y, &x, "-q"]);
    let joined = text(&arg(&dir.file("grouped.bam", done.stdout)));
    let groups: Vec<&str> = joined.lines().filter(|line| line.starts_with("@RG")).collect();
    assert_eq!(groups, ["one", "two", "three"].map(|id| format!("@RG\tID:{id}\tSM:s")));
    let list = arg(&dir.file("list", format!("{one}\n{two}\n")));
    let done = readmill(["cat", "-b", &list, "-q"]);
    assert_eq!(records(&text(&arg(&dir.file("listed.bam", done.stdout)))).len(), 3_053);
    let other = arg(&dir.file("other.bam", bam(&reads(5, &[5_000], 0))));
    let out = arg(&dir.path("refused.bam"));
    refused(
        &dir,
        &["cat", &one, &other, "-o", &out],
        2,
        &["other.bam", "contig 1", "bases in this file, and", "in the first file", "readmill merge"],
    );
    let cut = stored(&raw_bam(&a), 1_000);
    let cut = arg(&dir.file("cut.bam", &cut[..cut.len() - 100]));
    refused(&dir, &["cat", &one, &cut, "-o", &out], 2, &["cut.bam", "truncated"]);
    let sam = arg(&dir.file("in.sam", &a));
    refused(&dir, &["cat", &sam, "-o", &out], 2, &["in.sam"]);
}

#[test]
fn reheader_changes_the_header_alone() {
    let dir = TestDir::new();
    let all = reads(3_000, &[3_000_000, 9_000], 5);
    let rename = |text: &str| {
        let text = text.replace("SN:c", "SN:chr");
        text.replace("\tc0\t", "\tchr0\t").replace("\tc1\t", "\tchr1\t")
    };
    let renamed = rename(&all);
    let header = arg(&dir.file("new.sam", split_header(&renamed).0));
    for name in ["a.bam", "a.cram"] {
        let input = dir.path(name);
        let sam = arg(&dir.file("in.sam", &all));
        let format = if name.ends_with("cram") { "cram,no-ref" } else { "bam" };
        let made =
            readmill(["sort", &sam, "-o", &arg(&input), "-O", format, "--no-index", "--no-PG", "-q"]);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        let done = readmill(["reheader", &header, &arg(&input)]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let out = arg(&dir.file(&format!("out.{name}"), &done.stdout));
        assert!(text(&out) == rename(&text(&arg(&input))), "{name}");
        let done = readmill(["head", &out]);
        assert!(String::from_utf8(done.stdout).unwrap().contains("CL:readmill reheader"));
        let program = env!("CARGO_BIN_EXE_readmill");
        let line = format!("cat {} | {program} reheader {header} /dev/stdin -q", arg(&input));
        let done = Command::new("sh").args(["-c", &line]).output().unwrap();
        assert_eq!((done.status.code(), &done.stderr[..]), (Some(0), &b""[..]));
        let piped = arg(&dir.file(&format!("piped.{name}"), &done.stdout));
        assert!(text(&piped) == text(&out), "{name}");
        let fewer = arg(&dir.file("fewer.sam", "@HD\tVN:1.6\n@SQ\tSN:chr0\tLN:3000000\n"));
        let out = arg(&dir.path("refused"));
        refused(&dir, &["reheader", &fewer, &arg(&input), "-o", &out], 2, &["1 contigs"]);
        let shorter = std::fs::read_to_string(&header).unwrap().replace("LN:9000", "LN:8000");
        let shorter = arg(&dir.file("shorter.sam", shorter));
        let words = ["c1 with 9000 bases in the input", "chr1 with 8000 bases in the new header"];
        refused(&dir, &["reheader", &shorter, &arg(&input), "-o", &out], 2, &words);
        let cut = std::fs::read(&input).unwrap();
        let cut = arg(&dir.file("cut", &cut[..cut.len() - 20]));
        refused(&dir, &["reheader", &header, &cut, "-o", &out], 2, &["cut"]);
        std::fs::remove_file(cut).unwrap();
    }
    // A read of CRAM has the number of its read group.
    let groups = "@RG\tID:g1\tSM:s\n@RG\tID:g2\tSM:s\n";
    let (old, records) = split_header(&all);
    let grouped = format!("{old}{groups}{}", records.replace('\n', "\tRG:Z:g1\n"));
    let [sam, cram, swapped] = ["g.sam", "g.cram", "swapped.sam"].map(|name| arg(&dir.path(name)));
    std::fs::write(&sam, grouped).unwrap();
    let made = readmill(["sort", &sam, "-o", &cram, "-O", "cram,no-ref", "--no-index", "-q"]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    std::fs::write(&swapped, format!("{old}@RG\tID:g2\tSM:s\n@RG\tID:g1\tSM:s\n")).unwrap();
    let out = arg(&dir.path("refused"));
    refused(&dir, &["reheader", &swapped, &cram, "-o", &out], 2, &["read group g1", "same order"]);
    refused(
        &dir,
        &["reheader", "-c", "sed s/a/b/", "x.bam"],
        1,
        &["reheader has no -c", "readmill head"],
    );
    refused(&dir, &["reheader", "-i", "h", "x.cram"], 1, &["no -i"]);
}

#[test]
fn collate_puts_reads_of_a_name_together() {
    let dir = TestDir::new();
    let all = reads(500, &[3_000_000], 0).replace("r1", "r").replace("r2", "r");
    let file = arg(&dir.file("in.bam", bam(&all)));
    let done = readmill(["collate", &file, "-O", "sam", "-q"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let text = String::from_utf8(done.stdout).unwrap();
    let names: Vec<&str> = records(&text).iter().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(names.len(), 500);
    assert!(names.is_sorted());
}

#[test]
fn what_is_left_out_is_named_with_the_way_to_do_it() {
    let dir = TestDir::new();
    refused(&dir, &["addreplacerg", "-r", "ID:x", "in.bam"], 1, &["no addreplacerg", "--read-group"]);
}

#[test]
fn no_command_writes_over_what_it_reads() {
    let dir = TestDir::new();
    let reads_bam = bam(&reads(100, &[3_000], 0));
    let fasta = ">c0\nACGTACGT\n";
    let partial = arg(&dir.file("x.bam.partial", &reads_bam));
    let file = arg(&dir.file("y.bam", &reads_bam));
    let list = arg(&dir.file("list.bam.partial", format!("{file}\n")));
    let header = arg(&dir.file("h.bam.partial", "@SQ\tSN:c0\tLN:3000\n"));
    let reference = arg(&dir.file("r.fa", fasta));
    assert_eq!(readmill(["faidx", &reference, "-q"]).code, Some(0));
    let fai = arg(&dir.path("r.fa.fai"));
    let out = |name: &str| arg(&dir.path(name));
    let (x, l, h) = (out("x.bam"), out("list.bam"), out("h.bam"));
    let lines: [&[&str]; 11] = [
        &["cat", &partial, "-o", &x],
        &["cat", &file, &file, "-o", &file],
        &["cat", "-b", &list, "-o", &l],
        &["cat", "-h", &header, &file, "-o", &h],
        &["reheader", &header, &file, "-o", &h],
        &["reheader", &file, &partial, "-o", &x],
        &["dict", &reference, "-o", &reference],
        &["faidx", &reference, "--fai-idx", &reference],
        &["faidx", &reference, "c0", "-o", &reference],
        &["faidx", &reference, "c0", "-o", &fai],
        &["index", &file, "-o", &file],
    ];
    for line in lines {
        let before: Vec<Vec<u8>> =
            dir.names().iter().map(|name| std::fs::read(dir.path(name)).unwrap()).collect();
        refused(&dir, line, 1, &["another name"]);
        let after: Vec<Vec<u8>> =
            dir.names().iter().map(|name| std::fs::read(dir.path(name)).unwrap()).collect();
        assert!(before == after, "{line:?}: a file was changed");
    }
}

/// As `readmill view`, and samtools 1.24.
#[test]
fn a_region_that_can_be_two_things_is_refused() {
    let dir = TestDir::new();
    let fasta = ">chr1\nACGTACGTAC\n>chr1:3-5\nTTTTT\n>HLA:01\nCCGG\n";
    let reference = arg(&dir.file("f.fa", fasta));
    for (region, bases) in [
        ("{chr1}:3-5", "GTA"),
        ("{chr1:3-5}", "TTTTT"),
        ("{chr1:3-5}:2-3", "TT"),
        ("chr1", "ACGTACGTAC"),
        ("chr1:", "ACGTACGTAC"),
        ("chr1:9", "AC"),
        ("chr1:-2", "AC"),
        ("chr1:3-100", "GTACGTAC"),
        ("HLA:01", "CCGG"),
        ("HLA:01:3-4", "GG"),
        ("chr1:1,0-1K", "C"),
        ("chr1:1k-2k", ""),
    ] {
        let done = readmill(["faidx", &reference, region, "-n", "0"]);
        assert_eq!(done.code, Some(0), "{region}: {}", done.stderr);
        let expected = [format!(">{region}"), bases.to_string()].join("\n");
        assert_eq!(String::from_utf8_lossy(&done.stdout).trim_end(), expected.trim_end());
    }
    let both = &["write {chr1:3-5} or {chr1}:3-5"][..];
    for (region, words) in [
        ("chr1:3-5", both),
        ("chr1:5-4", &["ends (4) before it starts (5)"]),
        ("{chr1", &["closing brace"]),
        ("chr1:0.1k-9", &["not a position"]),
        ("chr2", &["the reference has no contig \"chr2\"; it has chr1, chr1:3-5, HLA:01"]),
    ] {
        refused(&dir, &["faidx", &reference, region], 1, words);
    }
}

#[test]
fn an_old_index_does_not_outlive_its_file() {
    let dir = TestDir::new();
    let file = arg(&dir.file("x.bam", bam(&reads(100, &[3_000], 0))));
    let out = dir.path("y.bam");
    for line in [&["cat", &file, &file][..], &["reheader", &file, &file]] {
        dir.file("y.bam.bai", "old");
        let named = arg(&out);
        let done = readmill(line.iter().copied().chain(["-o", &named]));
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        assert!(done.stderr.contains("y.bam.bai, an index of an older file"), "{}", done.stderr);
        assert_eq!(dir.names(), ["x.bam", "y.bam"]);
    }
}

#[test]
fn an_index_elsewhere_leaves_the_one_beside_the_file() {
    let dir = TestDir::new();
    let old = dir.file("x.bam.bai", "old");
    std::fs::File::open(&old).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    let file = arg(&dir.file("x.bam", bam(&reads(100, &[3_000], 0))));
    let other = arg(&dir.path("other.csi"));
    assert_eq!(readmill(["index", "-c", &file, "-o", &other, "-q"]).code, Some(0));
    assert_eq!(dir.names(), ["other.csi", "x.bam", "x.bam.bai"]);
    assert_eq!(readmill(["index", "-c", &file, "-q"]).code, Some(0));
    assert_eq!(dir.names(), ["other.csi", "x.bam", "x.bam.csi"]);
}

#[test]
fn a_file_that_cannot_be_indexed_does_not_keep_the_others() {
    let dir = TestDir::new();
    let file = arg(&dir.file("x.bam", bam(&reads(100, &[3_000], 0))));
    let (missing, damaged) = (arg(&dir.path("no.bam")), arg(&dir.file("damaged.bam", "hello\n")));
    let done = readmill(["index", &missing, &damaged, &file, "-q"]);
    assert_ne!(done.code, Some(0));
    assert!(done.stderr.contains("no.bam") && done.stderr.contains("damaged.bam"), "{}", done.stderr);
    assert_eq!(dir.names(), ["damaged.bam", "x.bam", "x.bam.bai"]);
}

#[test]
fn joined_files_have_one_empty_block() {
    let dir = TestDir::new();
    // The records fit into the chunk of the header, and so does the end of the file.
    let file = arg(&dir.file("x.bam", bam(&reads(3, &[3_000], 0))));
    let done = readmill(["cat", &file, &file, &file, "-q"]);
    let ends = done.stdout.windows(EOF_BLOCK.len()).filter(|bytes| *bytes == EOF_BLOCK);
    assert_eq!(ends.count(), 1);
    assert!(done.stdout.ends_with(&EOF_BLOCK));
}

#[test]
fn quickcheck_reads_a_pipe_once() {
    let dir = TestDir::new();
    let whole = bam(&reads(100, &[3_000], 0));
    let file = arg(&dir.file("x.bam", &whole));
    let line = format!("cat {file} | {} quickcheck /dev/stdin", env!("CARGO_BIN_EXE_readmill"));
    let done = Command::new("sh").args(["-c", &line]).output().unwrap();
    assert_eq!((done.status.code(), &done.stderr[..]), (Some(0), &b""[..]));
}

#[test]
fn memory_limits_small_commands() {
    let dir = TestDir::new();
    let header: String = (0..200_000).map(|n| format!("@SQ\tSN:contig_{n}\tLN:1000\n")).collect();
    let file = arg(&dir.file("x.bam", bam(&header)));
    let x = arg(&dir.path("y.bam"));
    for line in [&["quickcheck", &file][..], &["head", &file], &["cat", &file, "-o", &x]] {
        let done = readmill(line.iter().copied().chain(["-m", "30M"]));
        assert_eq!(
            done.code,
            Some(if line[0] == "quickcheck" { 2 } else { 1 }),
            "{line:?} {}",
            done.stderr
        );
        assert!(done.stderr.contains("raise -m"), "{line:?}: {}", done.stderr);
        let done = readmill(line.iter().copied().chain(["-m", "400M"]));
        assert_eq!(done.code, Some(0), "{line:?}: {}", done.stderr);
    }
}
