//! Outputs that are inputs, by their names, by links or as standard streams: no run replaces what it reads, unless it is told to.

use std::os::unix::fs::symlink;

use crate::faults::fixtures::{TestFolders, bam, gzip, many};

/// Folders with an unsorted `out/x.bam`, a hard link and a symbolic link to it.
fn folders() -> (TestFolders, Vec<u8>) {
    let folders = TestFolders::new();
    let bytes = bam(&many(300, 200));
    std::fs::write(folders.out("x.bam"), &bytes).unwrap();
    std::fs::hard_link(folders.out("x.bam"), folders.out("hard.bam")).unwrap();
    symlink("x.bam", folders.out("soft.bam")).unwrap();
    (folders, bytes)
}

const NAMES: [&str; 3] = ["hard.bam", "soft.bam", "x.bam"];

#[test]
fn an_output_that_is_an_input_is_refused() {
    let (folders, bytes) = folders();
    for command in [
        "filter out/x.bam --drop-unmapped -o",
        "sort out/x.bam -o",
        "markdup out/x.bam -o",
        "prep out/x.bam --drop-unmapped -o",
        "merge out/x.bam in/other.bam -o",
        "view out/x.bam -o",
        "cat out/x.bam -o",
        "reheader out/x.bam out/x.bam -o",
        "split out/x.bam --by read-group -o out/q --split-rest",
        "index out/x.bam -o",
        "depth out/x.bam -o",
        "flagstat out/x.bam -o",
        "stats out/x.bam -o",
        "sort out/x.bam -o /dev/null --json",
        "sort out/x.bam -o /dev/null --flagstat",
        "samtools sort out/x.bam -o",
        "samtools view -b out/x.bam -o",
    ] {
        folders.input("other.bam", &bytes);
        for name in ["out/x.bam", "./out/x.bam", "out/../out/x.bam", "out/hard.bam", "out/soft.bam"] {
            let ended = folders.readmill(command.split(' ').chain([name]));
            assert_eq!(ended.status.code(), Some(1), "{command} {name}: {}", ended.stderr);
            assert!(ended.stderr.contains("is an input"), "{command} {name}: {}", ended.stderr);
            assert_eq!(std::fs::read(folders.out("x.bam")).unwrap(), bytes, "{command} {name}");
            assert_eq!(folders.left(), NAMES, "{command} {name}");
        }
    }
    let words = ["picard", "SortSam", "SO=coordinate", "I=out/x.bam", "O=out/hard.bam"];
    folders.readmill(words).fails(1, &["is an input"]);
    assert_eq!(std::fs::read(folders.out("x.bam")).unwrap(), bytes);
}

#[test]
fn an_output_that_is_an_index_or_a_list_is_refused() {
    let folders = TestFolders::new();
    let text = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:chr1\tLN:1000\nr\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\n";
    folders.input("x.sam", text);
    folders.readmill(["sort", "in/x.sam", "-o", "in/x.bam"]).succeeds();
    let index = std::fs::read(folders.out("../in/x.bam.bai")).unwrap();
    std::fs::write(folders.out("y.bam.bai"), &index).unwrap();
    folders.input("r.bed", "chr1\t0\t9\n");
    folders.input("names", "r\n");
    folders.input("r.fa", format!(">chr1\n{}\n", "A".repeat(1000)));
    folders.readmill(["faidx", "in/r.fa"]).succeeds();
    for line in [
        "view -X in/x.bam out/y.bam.bai chr1 -o out/y.bam",
        "view -b -X in/x.bam out/y.bam.bai chr1 -o out/y.bam.bai",
        "view -b -L in/r.bed in/x.bam -o in/r.bed",
        "view -b -N in/names in/x.bam -o in/names",
        "depth -b in/r.bed in/x.bam -o in/r.bed",
        "bedcov in/r.bed in/x.bam -o in/r.bed",
        "faidx in/r.fa chr1 -o in/r.fa.fai",
        "faidx in/r.fa chr1 -o in/r.fa",
        "sort in/x.bam -O cram --reference in/r.fa -o in/r.fa",
        "sort in/x.bam -O cram --reference in/r.fa -o in/r.fa.fai",
        "stats in/x.bam --reference in/r.fa -o in/r.fa",
    ] {
        let words = Vec::from_iter(line.split(' '));
        let output = folders.out(&format!("../{}", words[words.len() - 1]));
        let before = std::fs::read(&output).ok();
        let ended = folders.readmill(&words);
        assert_eq!(ended.status.code(), Some(1), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains("is an input"), "{line}: {}", ended.stderr);
        assert_eq!(std::fs::read(&output).ok(), before, "{line}");
        assert_eq!(std::fs::read(folders.out("y.bam.bai")).unwrap(), index, "{line}");
        assert_eq!(folders.left(), ["y.bam.bai"], "{line}");
    }
}

#[test]
fn reads_in_fastq_are_not_replaced() {
    let folders = TestFolders::new();
    let fastq = gzip(b"@r\nACGT\n+\nIIII\n");
    for name in ["out/r.fq.gz", "./out/r.fq.gz"] {
        std::fs::write(folders.out("r.fq.gz"), &fastq).unwrap();
        folders.readmill(["import", "out/r.fq.gz", "-O", "bam", "-o", name]).fails(1, &["is an input"]);
        assert_eq!(std::fs::read(folders.out("r.fq.gz")).unwrap(), fastq);
    }
}

#[test]
fn standard_streams_are_files_like_others() {
    let (folders, bytes) = folders();
    for script in [
        "\"$0\" sort - -o out/x.bam <out/x.bam",
        "\"$0\" filter -o out/hard.bam --drop-unmapped <out/x.bam",
        "\"$0\" view -b out/x.bam >>out/x.bam",
        "\"$0\" view -b - <out/x.bam >>out/hard.bam",
        "\"$0\" sort -u out/x.bam 1<>out/x.bam",
    ] {
        let ended =
            folders.run(folders.shell(&format!("({script})")).stdin(std::process::Stdio::null()));
        assert_eq!(ended.status.code(), Some(1), "{script}: {}", ended.stderr);
        assert!(
            ended.stderr.contains("is an input")
                || ended.stderr.contains("a file that is also an input")
        );
        assert_eq!(std::fs::read(folders.out("x.bam")).unwrap(), bytes, "{script}");
        assert_eq!(folders.left(), NAMES, "{script}");
    }
}

#[test]
fn in_place_replaces_the_input_when_the_output_is_complete() {
    for name in ["out/x.bam", "out/soft.bam"] {
        let (folders, _) = folders();
        folders.readmill(["sort", "out/x.bam", "-o", name, "--in-place"]).succeeds();
        let lines = folders.lines(&folders.out("x.bam"));
        let positions =
            lines.iter().map(|line| line.split('\t').nth(3).unwrap().parse::<u32>().unwrap());
        assert!(positions.clone().count() == 300 && positions.is_sorted());
        assert!(folders.out("soft.bam").is_symlink());
        let others = ["sort", "out/x.bam", "-o", name, "--in-place", "--flagstat", "out/hard.bam"];
        assert!(folders.readmill(others).status.success(), "it is the file of before");
        let others = ["sort", "out/x.bam", "-o", "/dev/null", "--in-place", "--flagstat", name];
        folders.readmill(others).fails(1, &["is an input"]);
    }
    let folders = TestFolders::new();
    let ended = folders.readmill(["sort", "x.bam", "--in-place"]);
    assert!(ended.status.code() == Some(1) && ended.stderr.contains("--output"), "{}", ended.stderr);
}
