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
            for word in ["none of the 2 templates has the field UX", "in.bam"] {
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
        assert!(
            done.stderr.contains("2 of 4 templates (50.0 %) have no field UX"),
            "{asked}: {}",
            done.stderr
        );
    }
    // It is enough if one mate has it.
    let given = pairs(&[["UX:Z:ACGT", ""], ["UX:Z:ACGT", ""]]);
    for asked in ["--umi tag:UX", "--read-one-barcode-tag UX"] {
        let (done, _) = run(&given, &format!("markdup {asked}"));
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{asked}");
    }
}

/// A barcode of one mate is not compared if the other mate comes first (Picard), or for the other mate (samtools).
#[test]
fn a_barcode_on_one_end_alone_is_a_warning() {
    let mates = "MC:Z:4M\tms:i:160";
    let first = format!("{mates}\tUX:Z:ACGT");
    let given = pairs(&[[&first, mates], [&first, mates]]);
    for rules in ["picard", "samtools"] {
        let (done, _) = run(&given, &format!("markdup --barcode-tag UX --rules {rules}"));
        assert_eq!(done.code, Some(0), "{rules}: {}", done.stderr);
        assert!(
            done.stderr.contains("2 of 4 reads (50.0 %) have no field UX"),
            "{rules}: {}",
            done.stderr
        );
    }
}

#[test]
fn by_samtools_rules_a_barcode_that_no_read_has_is_an_error() {
    let given = pairs(&[["MC:Z:4M\tms:i:160", "MC:Z:4M\tms:i:160"]]);
    for (text, code) in [(given.as_str(), Some(2)), (HEADER, Some(0))] {
        let (done, files) = run(text, "markdup --rules samtools --barcode-tag UX");
        assert_eq!(done.code, code, "{}", done.stderr);
        assert_eq!(
            done.stderr.contains("none of the 1 templates has the field UX"),
            code == Some(2),
            "{}",
            done.stderr
        );
        assert_eq!(files.contains(&"out.bam".to_string()), code == Some(0));
    }
}

#[test]
fn names_with_an_end_twice_are_counted_in_a_warning() {
    let given = pairs(&[["", ""], ["", ""]]);
    let (header, lines) = support::split_header(&given);
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.extend(lines.clone());
    lines.sort_unstable();
    let grouped = support::with_header(header, &lines);
    let sorted = support::coordinate_sorted(&grouped);
    for (text, mode) in
        [(&grouped, "auto"), (&grouped, "coordinate"), (&sorted, "auto"), (&sorted, "template")]
    {
        let (done, _) = run(text, &format!("markdup --duplicate-mode {mode}"));
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let said =
            "2 read names occur twice as read 1 or as read 2, as if the same reads were given twice";
        assert!(done.stderr.contains(said), "{mode}: {}", done.stderr);
    }
    let (done, _) = run(&given, "markdup");
    assert_eq!(done.stderr, "");
}

#[test]
fn names_that_end_in_1_and_2_are_a_warning_as_no_read_has_a_mate() {
    let given = pairs(&[["", ""], ["", ""]]);
    let (header, lines) = support::split_header(&given);
    let named = |line: &str| {
        let (name, rest) = line.split_once('\t').expect("columns");
        format!("{name}/{}\t{rest}", if rest.starts_with("99") { 1 } else { 2 })
    };
    let lines: Vec<String> = lines.lines().map(named).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let named = support::with_header(header, &lines);
    for text in [support::coordinate_sorted(&named), named] {
        let (done, _) = run(&text, "markdup");
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        for said in ["none of the 4 paired reads has a mate in the input", "without /1 and /2"] {
            assert!(done.stderr.contains(said), "{}", done.stderr);
        }
    }
}

/// Messages about mates apart name commands of readmill.
#[test]
fn mates_apart_are_brought_together_by_readmill() {
    let given = pairs(&[["", ""], ["", ""]]);
    let (header, lines) = support::split_header(&given);
    let lines: Vec<&str> = lines.lines().collect();
    let apart = support::with_header(header, &[lines[0], lines[2], lines[1], lines[3]]);
    for command in [
        "prep --fix-mates samtools --sort coordinate",
        "markdup --rules samtools",
        "prep --sort template-coordinate",
    ] {
        let (done, _) = run(&apart, command);
        assert_eq!(done.code, Some(2), "{command}: {}", done.stderr);
        assert!(done.stderr.contains("readmill "), "{command}: {}", done.stderr);
        assert!(!done.stderr.contains("samtools collate"), "{command}: {}", done.stderr);
        assert!(!done.stderr.contains("samtools fixmate"), "{command}: {}", done.stderr);
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
        assert_eq!(
            done.stderr.contains("warning: no read has the field UY"),
            said,
            "{command}: {}",
            done.stderr
        );
        assert!(files.contains(&"out.bam".to_string()), "{files:?}");
    }
    assert_eq!(run(HEADER, "sort -t UY").0.stderr, "");
}
