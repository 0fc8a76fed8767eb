//! Reads of FASTQ as records that are not aligned.

use crate::support::{TestDir, arg, readmill, records};

const ONE: &str = "@b/1 1:N:0\nACGTN\n+\n#,5>I\n@a/1\nAC\n+\nII\n";
const TWO: &str = "@b/2 2:N:0\nTT\n+\nI#\n@a/2\nG\n+\nI\n";

/// The output of a run, which must end well.
fn text(words: &[&str]) -> String {
    let run = readmill(["import"].iter().chain(words).chain(&["-O", "sam", "-o", "-", "--no-PG"]));
    assert_eq!(run.code, Some(0), "{words:?}: {}", run.stderr);
    String::from_utf8(run.stdout).expect("text")
}

#[test]
fn pairs_become_records_of_77_and_141_with_their_read_group() {
    let dir = TestDir::new();
    let [one, two] = [arg(&dir.file("1.fq", ONE)), arg(&dir.file("2.fq", TWO))];
    let found = text(&[&one, &two, "-R", "@RG\\tID:g\\tSM:s", "--comment", "made here"]);
    let expected = "@HD\tVN:1.6\tSO:unsorted\tGO:query\n@RG\tID:g\tSM:s\n@CO\tmade here\n\
                    b\t77\t*\t0\t0\t*\t*\t0\t0\tACGTN\t#,5>I\tRG:Z:g\n\
                    b\t141\t*\t0\t0\t*\t*\t0\t0\tTT\tI#\tRG:Z:g\n\
                    a\t77\t*\t0\t0\t*\t*\t0\t0\tAC\tII\tRG:Z:g\n\
                    a\t141\t*\t0\t0\t*\t*\t0\t0\tG\tI\tRG:Z:g\n";
    assert_eq!(found, expected);
    let sorted = text(&[&one, &two, "--sort", "queryname"]);
    let names: Vec<&str> = records(&sorted).iter().map(|line| &line[..4]).collect();
    assert_eq!(names, ["a\t77", "a\t14", "b\t77", "b\t14"]);
    let single = text(&["--single", &one, &two]);
    assert_eq!(records(&single)[0], "b\t4\t*\t0\t0\t*\t*\t0\t0\tACGTN\t#,5>I");
    assert_eq!(records(&single).len(), 4);
}

#[test]
fn qualities_of_other_encodings_become_phred() {
    let dir = TestDir::new();
    let illumina = arg(&dir.file("i.fq", "@r\nACG\n+\nBJh\n"));
    let solexa = arg(&dir.file("s.fq", "@r\nACG\n+\n;Jh\n"));
    let quality = |words: &[&str]| records(&text(words))[0].rsplit('\t').next().map(str::to_string);
    assert_eq!(quality(&[&illumina]).as_deref(), Some("BJh"));
    assert_eq!(quality(&[&illumina, "--quality-encoding", "illumina"]).as_deref(), Some("#+I"));
    assert_eq!(quality(&[&illumina, "--quality-encoding", "detect"]).as_deref(), Some("#+I"));
    assert_eq!(quality(&[&solexa, "--quality-encoding", "detect"]).as_deref(), Some("!+I"));
    let guessed = readmill(["import", &illumina, "--quality-encoding", "detect", "-O", "sam"]);
    let words = "quality encoding detected from the first reads: illumina (Phred + 64)";
    assert!(guessed.stderr.contains(words), "{}", guessed.stderr);
    assert!(guessed.stderr.contains("--quality-encoding standard"), "{}", guessed.stderr);
    let run = readmill(["import", &solexa, "--quality-encoding", "illumina", "-o", "-"]);
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("(read r): the quality character ';' is not valid in the encoding illumina"),
        "{}",
        run.stderr
    );
    let run = readmill(["import", &illumina, "--max-quality", "40", "-o", "-"]);
    assert!(run.stderr.contains("the quality 41 ('J') is not between 0 and 40"), "{}", run.stderr);
    let run = readmill(["import", "-", "--quality-encoding", "detect", "-o", "-"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("the quality encoding of a pipe cannot be detected"), "{}", run.stderr);
}

#[test]
fn files_without_reads_give_an_output_without_reads_unless_there_must_be_one() {
    let dir = TestDir::new();
    let (empty, full) = (arg(&dir.file("0.fq", "")), arg(&dir.file("1.fq", ONE)));
    let output = arg(&dir.path("out.bam"));
    for refused in [
        &["import", &empty, "--require-reads", "-o", &output][..],
        &["picard", "FastqToSam", "SM=s", &format!("F1={empty}"), &format!("O={output}")],
    ] {
        let run = readmill(refused);
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.contains("the files contain no reads"), "{}", run.stderr);
        assert_eq!(dir.names(), ["0.fq", "1.fq"]);
    }
    for accepted in [&[&empty[..]][..], &[&empty, "--require-reads", "--allow-empty"]] {
        assert_eq!(records(&text(accepted)).len(), 0);
    }
    assert_eq!(records(&text(&["--single", &empty, &full])).len(), 2);
}

#[test]
fn unaligned_records_keep_their_header_and_fields_and_get_adapters() {
    let dir = TestDir::new();
    // The INDEXED adapter of first reads begins with AGATCGGAAGAGCACACGTCTGAACTCCAGTCA.
    let adapter = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCA";
    let bases = format!("ACGTTGCA{adapter}");
    let quality = "I".repeat(bases.len());
    let sam = format!(
        "@HD\tVN:1.6\tSO:queryname\n@SQ\tSN:1\tLN:9\n@RG\tID:g\tSM:s\n@CO\tkept\n\
         r/1\t4\t*\t0\t0\t*\t*\t0\t0\t{bases}\t{quality}\tNM:i:3\tXT:i:1\tRG:Z:g\n"
    );
    let (input, metrics) = (arg(&dir.file("in.sam", sam)), arg(&dir.path("m.txt")));
    let found = text(&[&input, "--mark-adapters", "--adapter-metrics", &metrics, "--sort", "queryname"]);
    assert!(found.contains("@SQ\tSN:1\tLN:9\n"), "{found}");
    assert!(found.contains("@CO\tkept\n"), "{found}");
    let expected = format!("r/1\t4\t*\t0\t0\t*\t*\t0\t0\t{bases}\t{quality}\tNM:i:3\tRG:Z:g\tXT:i:9");
    assert_eq!(records(&found), [expected]);
    let metrics = std::fs::read_to_string(metrics).expect("metrics");
    assert!(metrics.contains("clipped_bases\tread_count\n33\t1\n"), "{metrics}");
    let run = readmill(["import", &input, "--quality-encoding", "detect", "-o", "-"]);
    assert!(
        run.stderr.contains("--quality-encoding detect works only with FASTQ input"),
        "{}",
        run.stderr
    );
}

#[test]
fn names_and_comments_tell_ends_and_barcodes_where_that_is_asked_for() {
    let dir = TestDir::new();
    let mixed = arg(&dir.file("m.fq", "@a/1\nA\n+\nI\n@a/2\nC\n+\nI\n@b\nG\n+\nI\n"));
    let flags = |words: &[&str]| -> Vec<String> {
        let text = text(words);
        records(&text)
            .iter()
            .map(|line| line.split('\t').take(2).collect::<Vec<_>>().join(" "))
            .collect()
    };
    assert_eq!(flags(&[&mixed, "--ends-by-name"]), ["a 77", "a 141", "b 4"]);
    assert_eq!(flags(&[&mixed, "--as-given"]), ["a 4", "a 4", "b 4"]);
    let casava = arg(&dir.file("c.fq", "@a 1:N:0:AC+GT\nA\n+\nI\n@b 1:Y:0:12\nC\n+\nI\n"));
    let other = arg(&dir.file("d.fq", std::fs::read(&casava).expect("a file")));
    let found = text(&[&casava, &other, "--as-given", "--casava=XB", "--number-records", "xn"]);
    let fields: Vec<String> = records(&found)
        .iter()
        .map(|line| {
            line.split('\t')
                .enumerate()
                .filter(|(at, _)| [1, 11, 12].contains(at))
                .map(|(_, it)| it)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    assert_eq!(fields, ["77 XB:Z:AC+GT xn:i:0", "141 XB:Z:AC+GT xn:i:1", "589 xn:i:2", "653 xn:i:3"]);
    assert_eq!(flags(&[&casava, "--casava", "--ends-by-name"]), ["a 77", "b 589"]);
    assert_eq!(flags(&[&casava, "--casava"]), ["a 4", "b 516"]);
}
