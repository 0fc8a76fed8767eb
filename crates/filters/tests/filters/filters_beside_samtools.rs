//! Compares filters by flags, read groups and fraction with `samtools view`. Run it with
//! `READMILL_SAMTOOLS=/path/to/samtools cargo test -p readmill-filters --test filters
//! filters_beside_samtools -- --ignored`.
#![allow(clippy::unwrap_used)]

use crate::expression::random;

use std::path::Path;
use std::process::Command;

use random::ExpressionGenerator;
use readmill_filters::{Criterion, FlagRules, InReadGroups, Subsample, in_read_groups};
use readmill_format::sam::LineParser;
use readmill_record::{Batch, Flags, Header, Ledger, Prepaid, Stamp, Step};

const HEADER: &str = "@HD\tVN:1.6\n@SQ\tSN:c1\tLN:10000\n@SQ\tSN:c2\tLN:10000\n@SQ\tSN:c10\tLN:10000\n\
                      @RG\tID:g1\tLB:lib\n@RG\tID:g2\tSM:s\n@CO\ttext\n";

/// Returns the output of samtools: header lines except `@PG`, and read names.
fn samtools(arguments: &[&str], input: &Path) -> (String, Vec<String>) {
    let program = std::env::var_os("READMILL_SAMTOOLS").expect("READMILL_SAMTOOLS names a samtools");
    let run = Command::new(program)
        .args(["view", "-h", "--no-PG"])
        .args(arguments)
        .arg(input)
        .output()
        .unwrap();
    assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8(run.stdout).unwrap();
    let (head, reads): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('@'));
    let head = head.iter().map(|line| format!("{line}\n")).collect();
    (head, reads.iter().map(|line| line.split('\t').next().unwrap().to_string()).collect())
}

fn left(mut step: impl Step, lines: &[String]) -> Vec<String> {
    let header = Header::parse(HEADER.as_bytes()).unwrap();
    let (mut parser, mut batch, mut raw) = (LineParser::new(&header), Batch::default(), Vec::new());
    for (i, line) in lines.iter().enumerate() {
        raw.clear();
        parser.parse(line.as_bytes(), &mut raw).unwrap();
        batch.push(&raw, Stamp::new(i as u64, 0)).unwrap();
    }
    step.apply(&mut batch).unwrap();
    assert_eq!(step.counts()[0].1, (lines.len() - batch.len()) as u64);
    batch.records().map(|(_, record)| String::from_utf8_lossy(record.qname()).into_owned()).collect()
}

#[test]
#[ignore = "needs samtools 1.24, named by READMILL_SAMTOOLS"]
fn the_same_reads_are_kept() {
    let mut random = ExpressionGenerator::new(3);
    let lines: Vec<String> = (0..2000).map(|i| random.record(&format!("r{}", i / 2))).collect();
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("reads.sam");
    std::fs::write(&input, format!("{HEADER}{}\n", lines.join("\n"))).unwrap();
    let header = || Header::parse(HEADER.as_bytes()).unwrap();
    for text in ["0", "1", "0x904", "0123", "UNMAP,SECONDARY", "3", "PAIRED,READ1"] {
        let (bits, none) = (text.parse::<Flags>().unwrap().0, FlagRules::default());
        for (option, rules) in [
            ("-f", FlagRules { required: bits, ..none }),
            ("-F", FlagRules { excluded: bits, ..none }),
            ("--rf", FlagRules { any_of: bits, ..none }),
            ("-G", FlagRules { excluded_together: bits, ..none }),
        ] {
            assert_eq!(
                left(rules.into_step(), &lines),
                samtools(&[option, text], &input).1,
                "{option} {text}"
            );
        }
    }
    let list = directory.path().join("groups");
    for text in ["g1", "g2\n", "g1 g2\tnone\n", "other"] {
        std::fs::write(&list, text).unwrap();
        for (keep, ungrouped) in [(true, true), (true, false), (false, true), (false, false)] {
            let file = format!("{}{}", if keep { "" } else { "^" }, list.display());
            let mut arguments = vec!["-R", &file];
            let mut head = header();
            let (mut ids, ledger) = (Vec::new(), Ledger::unlimited());
            let mut prepaid = Prepaid::new(ledger.empty_charge("read groups"));
            in_read_groups::read_listed_ids(text.as_bytes(), &mut ids, &mut prepaid).unwrap();
            let mut step = InReadGroups::new(ids, keep, &mut head).unwrap();
            if !ungrouped {
                arguments.push("--exclude-no-read-group");
                step = step.without_ungrouped();
            }
            let (theirs, reads) = samtools(&arguments, &input);
            assert_eq!(left(step.into_step(), &lines), reads, "{arguments:?} {text}");
            if keep {
                assert_eq!(String::from_utf8(head.to_text()).unwrap(), theirs, "{text}");
            }
        }
    }
    for (fraction, seed) in [
        ("0.5", "1"),
        ("0.1", "0"),
        ("0.9", "42"),
        ("0.25", "auto"),
        ("1", "7"),
        ("0.003", "4294967295"),
    ] {
        let mut head = header();
        let step = Subsample::new(fraction.parse().unwrap(), seed.parse().ok(), &head).unwrap();
        step.add_comment(&mut head).unwrap();
        let (theirs, reads) = samtools(&["--subsample", fraction, "--subsample-seed", seed], &input);
        assert_eq!(String::from_utf8(head.to_text()).unwrap(), theirs);
        assert_eq!(left(step.into_step(), &lines), reads, "{fraction} {seed}");
    }
    let step = Subsample::new(0.25, Some(11), &header()).unwrap();
    assert_eq!(left(step.into_step(), &lines), samtools(&["-s", "11.25"], &input).1);
}
