//! Tests of reverting: records, header lines and refused flags.

use super::*;
use crate::testing::{applied, header, warnings_of};

const HEADER: &str = "@HD VN:1.6 SO:coordinate;@SQ SN:1 LN:100;@RG ID:g SM:s;@PG ID:p;@CO x";

#[test]
fn flags_without_effect_are_reported() {
    let warned = |words: &str| {
        let words: Vec<&str> = ["--revert"].into_iter().chain(words.split_whitespace()).collect();
        warnings_of(&words, HEADER).unwrap()
    };
    assert_eq!(warned("--revert-programs-before p --revert-clear XA"), [""; 0]);
    assert_eq!(
        warned("--revert-programs-before q"),
        ["--revert-programs-before q: all @PG lines are kept, because none has this ID"]
    );
    for flag in ["clear XA", "reverse XA", "complement XA", "programs-before q"] {
        let name = flag.split(' ').next().unwrap();
        assert_eq!(
            warned(&format!("--revert-keep alignments --revert-{flag}")),
            [format!("--revert-{name} has no effect with --revert-keep alignments")]
        );
    }
}

fn reverted(words: &[&str], lines: &[&str]) -> Vec<String> {
    let (before, mut after) = (header(HEADER), header(HEADER));
    let given = GivenFlags::from_words(SPEC.flags.iter(), ["--revert"].iter().chain(words)).unwrap();
    let mut filters = Filters::default();
    parse_flags(&given, &mut filters).unwrap();
    assert!(
        filters.command_words(crate::spec::FilterStage::BeforeSort).join(" ").starts_with("--revert")
    );
    let rules = rules(&given);
    let mut step = Revert::new(rules, &mut after).unwrap();
    applied(&mut step, &before, &after, lines)
}

/// Returns the rules that these flags request.
fn rules(given: &GivenFlags) -> RevertRules {
    rules_from_flags(given).unwrap().unwrap()
}

#[test]
fn alignments_go_and_reads_are_turned_back() {
    let line = "r 1107 1 11 60 2M1S = 5 -9 ACG !+5 NM:i:1 OQ:Z:#5I U2:Z:abc E2:Z:AcN XX:B:s,1,2 RG:Z:g XB:Z:TT XQ:Z:!I";
    let expected = "r 77 * 0 0 * * 0 0 CGTTT I5#!I U2:Z:cba E2:Z:NgT XX:B:s,1,2 RG:Z:g";
    assert_eq!(
        reverted(&[], &[line, "r 2129 1 9 60 1M = 5 0 A I", "s 256 1 9 0 * * 0 0 * *"]),
        [expected]
    );
    let arrays = "r 16 1 11 60 3M * 0 0 ACG * XX:B:s,1,-2,3 YY:B:C,1,2";
    assert_eq!(
        reverted(&["--revert-reverse", "XX,YY", "--revert-clear", ","], &[arrays]),
        ["r 4 * 0 0 * * 0 0 CGT * XX:B:s,3,-2,1 YY:B:C,2,1"]
    );
}

#[test]
fn what_is_kept_stays() {
    let line = "r 1041 1 11 60 3M = 5 -9 ACG !+5 NM:i:1 OQ:Z:#5I XB:Z:T XQ:Z:I";
    let keep = |words: &[&str]| {
        let words: Vec<&str> = words.iter().flat_map(|word| ["--revert-keep", word]).collect();
        reverted(&words, &[line]).remove(0)
    };
    assert_eq!(keep(&["alignments"]), "r 17 1 11 60 3M = 5 -9 ACG #5I NM:i:1 XB:Z:T XQ:Z:I");
    assert_eq!(keep(&["duplicates"]), "r 1037 * 0 0 * * 0 0 CGTT I5#I");
    assert_eq!(keep(&["qualities", "hard-clips"]), "r 13 * 0 0 * * 0 0 CGT 5+! OQ:Z:I5# XB:Z:T XQ:Z:I");
    assert_eq!(keep(&["alignments", "qualities", "duplicates"]), line);
}

#[test]
fn the_header_keeps_read_groups_alone() {
    let made = |words: &[&str]| {
        let mut after = header(HEADER);
        let given = GivenFlags::from_words(SPEC.flags.iter(), ["--revert"].iter().chain(words)).unwrap();
        Revert::new(rules(&given), &mut after).unwrap();
        String::from_utf8(after.to_text()).unwrap()
    };
    assert_eq!(made(&[]), "@HD\tVN:1.6\tSO:unsorted\n@RG\tID:g\tSM:s\n");
    let programs = "@HD\tVN:1.6\tSO:unsorted\n@RG\tID:g\tSM:s\n@PG\tID:p\n";
    assert_eq!(made(&["--revert-keep", "programs"]), programs);
    assert_eq!(made(&["--revert-programs-before", "q"]), programs);
    assert_eq!(
        made(&["--revert-programs-before", "p", "--revert-read-groups"]),
        "@HD\tVN:1.6\tSO:unsorted\n"
    );
    assert_eq!(made(&["--revert-clear", "RG"]), made(&[]), "Picard keeps the lines @RG");
    let kept = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:1\tLN:100\n@RG\tID:g\tSM:s\n@PG\tID:p\n";
    assert_eq!(made(&["--revert-keep", "alignments"]), kept);
}

/// Guards against a former defect: such templates stopped the run, but Picard RevertSam
/// SANITIZE discards them.
#[test]
fn qualities_of_another_length_can_be_erased() {
    let erase = |fields: &str| {
        let line = format!("r 16 1 11 60 3M * 0 0 ACG !+5 {fields}");
        reverted(&["--revert-erase-unequal"], &[&line]).remove(0)
    };
    assert_eq!(erase("OQ:Z:II"), "r 4 * 0 0 * * 0 0 CGT *");
    assert_eq!(erase("OQ:Z:IIII"), "r 4 * 0 0 * * 0 0 CGT *");
    assert_eq!(erase("OQ:Z:ABC"), "r 4 * 0 0 * * 0 0 CGT CBA");
    assert_eq!(erase("XB:Z:A XQ:Z:II"), "r 4 * 0 0 * * 0 0 CGTA *");
    assert_eq!(erase("OQ:Z:AB XB:Z:A XQ:Z:II"), "r 4 * 0 0 * * 0 0 CGTA BAII");
}

/// htsjdk treats an empty OQ as missing.
#[test]
fn an_empty_oq_leaves_the_qualities() {
    assert_eq!(
        reverted(&[], &["r 0 1 11 60 3M * 0 0 ACG !+5 OQ:Z:"]),
        ["r 4 * 0 0 * * 0 0 ACG !+5 OQ:Z:"]
    );
}

#[test]
fn lengths_that_differ_are_errors() {
    let mut after = header(HEADER);
    let given = GivenFlags::from_words(SPEC.flags.iter(), ["--revert"]).unwrap();
    let mut step = Revert::new(rules(&given), &mut after).unwrap();
    for (fields, said) in [("OQ:Z:II", "OQ has 2 characters"), ("XB:Z:A XQ:Z:II", "XB has 1 bases")] {
        let line = format!("r 0 1 11 60 3M * 0 0 ACG !+5 {fields}");
        let mut batch = crate::testing::batch(&header(HEADER), &[&line]);
        let error = step.apply(&mut batch).unwrap_err();
        assert!(error.what.contains(said), "{error}");
    }
}
