//! Reads that lack the optional fields for marking or sorting.

use crate::support::{self, ProgramRun, TestDir, arg, readmill};

const HEADER: &str = "@HD\tVN:1.6\tSO:unsorted\tGO:query\n@SQ\tSN:c\tLN:10000\n@RG\tID:a\tLB:L\tSM:s\n";

/// Pairs whose first and last reads have these fields.
fn pairs(fields: &[[&str; 2]]) -> String {
    let pair = |(i, [first, last]): (usize, &[&str; 2])| {
        let line = |flag, pos, next, field: &str| {
            let field = if field.is_empty() { String::new() } else { format!("\t{field}") };
            format!("r{i}\t{flag}\tc\t{pos}\t60\t4M\t=\t{next}\t0\tACGT\tIIII\tRG:Z:a{field}\n")
        };
        line(99, 100, 300, first) + &line(147, 300, 100, last)
    };
    HEADER.to_string() + &fields.iter().enumerate().map(pair).collect::<String>()
}

/// Runs `command` on text; returns its messages, and the files that remain.
fn run(text: &str, command: &str) -> (ProgramRun, Vec<String>) {
    let dir = TestDir::new();
    let input = dir.file("in.bam", support::bam(text));
    let mut args: Vec<String> = command.split_whitespace().map(String::from).collect();
    args.extend(["-q".into(), arg(&input), "-o".into(), arg(&dir.path("out.bam"))]);
    (readmill(args), dir.names())
}

const ASKING: [&str; 4] =
    ["--umi tag:UX", "--barcode-tag UX", "--read-one-barcode-tag UX", "--read-two-barcode-tag UX"];

#[test]
fn a_field_that_no_read_has_is_an_error_and_leaves_no_output() {
    let given = pairs(&[["RX:Z:ACGT", "RX:Z:ACGT"], ["", ""]]);
    for asked in ASKING {
        for command in ["markdup", "prep --mark-duplicates --sort coordinate"] {
            let (done, files) = run(&given, &format!("{command} {asked}"));
            assert_eq!(done.code, Some(2), "{asked}: {}", done.stderr);
            for word in ["0 of 2 templates have UX", "in.bam"] {
                assert!(done.stderr.contains(word), "{asked}: {}", done.stderr);
            }
            assert_eq!(files, ["in.bam"], "{asked}");
        }
    }
}

#[test]
fn fields_that_some_lack_are_a_warning_with_the_share() {
    let given = pairs(&[["UX:Z:ACGT", "UX:Z:ACGT"], ["", ""], ["", ""], ["UX:Z:AC", "UX:Z:AC"]]);
    for asked in ASKING {
        let (done, _) = run(&given, &format!("markdup {asked}"));
        assert_eq!(done.code, Some(0), "{asked}: {}", done.stderr);
        assert!(done.stderr.contains("2 of 4 templates (50.0 %) lack UX"), "{asked}: {}", done.stderr);
    }
    // It is enough if one mate has it.
    let given = pairs(&[["UX:Z:ACGT", ""], ["UX:Z:ACGT", ""]]);
    for asked in ["--umi tag:UX", "--barcode-tag UX", "--read-one-barcode-tag UX"] {
        let (done, _) = run(&given, &format!("markdup {asked}"));
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{asked}");
    }
}

#[test]
fn without_reads_no_field_is_missing() {
    for asked in ASKING {
        let (done, _) = run(HEADER, &format!("markdup {asked}"));
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{asked}");
    }
    let single = format!("{HEADER}s\t0\tc\t100\t60\t4M\t*\t0\t0\tACGT\tIIII\tRG:Z:a\tUX:Z:AC\n");
    let (done, _) = run(&single, "markdup --read-one-barcode-tag UX --read-two-barcode-tag UY");
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), "")); // there are no second reads
}

/// samtools 1.24 sorts such reads, too, without a message.
#[test]
fn a_sort_by_a_field_that_no_read_has_is_warned_of() {
    let given = pairs(&[["UX:Z:ACGT", ""], ["", ""]]);
    for (command, said) in [
        ("sort -t UY", true),
        ("prep --sort tag:UY", true),
        ("sort -t UX", false),
        ("prep --sort tag:UX:natural", false),
    ] {
        let (done, files) = run(&given, command);
        assert_eq!(done.code, Some(0), "{command}: {}", done.stderr);
        assert_eq!(done.stderr.contains("warning: no read has UY"), said, "{command}: {}", done.stderr);
        assert!(files.contains(&"out.bam".to_string()), "{files:?}");
    }
    assert_eq!(run(HEADER, "sort -t UY").0.stderr, "");
}
