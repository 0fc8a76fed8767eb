//! Compares with results of Picard 3.4.0 FixMateInformation and of samtools 1.24 `fixmate -m`.

use super::super::testing::{applied, header};
use super::*;
use crate::Filters;

const BASES: &str = "ACGTACGTAC";
const GOOD: &str = "IIIIIIIIII";
const HALF: &str = "IIIII!!!!!";

/// Applies the rules to reads that are given as columns 2 to 9 and their fields. Each read has ten
/// bases, and optionally qualities after a slash. Returns the reads in the same form.
fn fixed(rules: MateRules, given: &[&str]) -> Vec<String> {
    let header = header("@SQ SN:c LN:100;@SQ SN:d LN:1000");
    fixed_by(FixMates::new(rules, &header), given)
}

fn fixed_by(mut step: FixMates, given: &[&str]) -> Vec<String> {
    let header = header("@SQ SN:c LN:100;@SQ SN:d LN:1000");
    let lines: Vec<String> = given
        .iter()
        .map(|line| {
            let (line, quality) = line.split_once('/').unwrap_or((line, GOOD));
            let words: Vec<&str> = line.split(' ').collect();
            format!("r {} {BASES} {quality} {}", words[..8].join(" "), words[8..].join(" "))
        })
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let after = applied(&mut step, &header, &header, &lines);
    let columns = |line: &String| {
        let words: Vec<&str> = line.split(' ').collect();
        [&words[1..9], &words[11..]].concat().join(" ")
    };
    after.iter().map(columns).collect()
}

#[test]
fn mate_fields_of_a_pair_are_set() {
    let half = format!("147 d 50 60 10M = 5 -55/{HALF}");
    let given =
        ["99 d 5 60 10M = 50 55", &half, "2147 d 500 60 10M = 5 -55", "355 d 700 60 10M = 5 -55"];
    assert_eq!(
        fixed(MateRules::Picard, &given),
        [
            "99 d 5 60 10M = 50 55 MQ:i:60 MC:Z:10M",
            "147 d 50 60 10M = 5 -55 MQ:i:60 MC:Z:10M",
            "2147 d 500 60 10M = 50 55 MQ:i:60 MC:Z:10M",
            "355 d 700 60 10M = 5 -55",
        ]
    );
    assert_eq!(
        fixed(MateRules::Samtools, &given),
        [
            "99 d 5 60 10M = 50 55 MQ:i:60 MC:Z:10M ms:i:200",
            "147 d 50 60 10M = 5 -55 MQ:i:60 MC:Z:10M ms:i:400",
            "2147 d 500 60 10M = 50 -55 MQ:i:60 MC:Z:10M",
            "355 d 700 60 10M = 5 -55",
        ]
    );
}

/// Expected results are from samtools 1.24 `fixmate -c -m`, also with `-r`.
#[test]
fn the_left_end_gets_the_cigar_of_the_template() {
    let step = |drops| {
        let mut step = FixMates::new(MateRules::Samtools, &header("@SQ SN:c LN:100;@SQ SN:d LN:1000"));
        step.extras = SamtoolsExtras { template_cigar: true, drops };
        step
    };
    let given = [
        "147 d 5 60 4M1D6M = 50 -55 ct:Z:old XX:i:1",
        "99 d 50 60 10M = 5 55 ct:Z:old",
        "2147 d 500 60 10M = 5 -55",
        "355 d 700 60 10M = 5 -55",
    ];
    let answers = [
        "145 d 5 60 4M1D6M = 50 34 XX:i:1 MQ:i:60 MC:Z:10M ct:Z:2R4M1D6M34T1F10M ms:i:400",
        "97 d 50 60 10M = 5 -34 MQ:i:60 MC:Z:4M1D6M ms:i:400",
        "2147 d 500 60 10M = 5 -55 MQ:i:60 MC:Z:4M1D6M",
        "355 d 700 60 10M = 5 -55",
    ];
    assert_eq!(fixed_by(step(false), &given), answers);
    assert_eq!(fixed_by(step(true), &given), answers[..3]);
    // If both reads start at the same position, the first record counts as the left one.
    let given = ["65 d 50 60 10M = 50 0", "129 d 50 60 2S8M = 50 0"];
    let answers = [
        "65 d 50 60 10M = 50 0 MQ:i:60 MC:Z:2S8M ct:Z:1F10M-10T2F2S8M ms:i:400",
        "129 d 50 60 2S8M = 50 0 MQ:i:60 MC:Z:10M ms:i:400",
    ];
    assert_eq!(fixed_by(step(true), &given), answers);
    // An existing ct is kept if no new one is written: two sequences, or an unmapped read.
    let given = ["65 d 50 60 10M = 50 0 ct:Z:old", "129 c 50 60 10M = 50 0"];
    let answer = "65 d 50 60 10M c 50 0 ct:Z:old MQ:i:60 MC:Z:10M ms:i:400";
    assert_eq!(fixed_by(step(false), &given)[0], answer);
    let given = ["73 d 50 60 10M = 50 0 ct:Z:old", "133 d 50 0 * = 50 0"];
    assert_eq!(fixed_by(step(true), &given), ["73 d 50 60 10M = 50 0 ct:Z:old MC:Z:* ms:i:400"]);
    let given = ["73 d 50 60 10M = 50 0", "181 d 50 0 * = 50 0"];
    let flag = |step| fixed_by(step, &given)[0].split(' ').next().unwrap().to_string();
    assert_eq!([flag(step(false)), flag(step(true))], ["105", "73"]);
}

#[test]
fn what_is_of_samtools_alone_is_refused_with_the_rules_of_picard() {
    for flag in ["--template-cigar", "--drop-once-fixed"] {
        let filters = Filters::from_words(["--fix-mates", "picard", flag]).unwrap();
        let plan = PlanFacts { has_reference: false, marks_duplicates: false };
        let error = filters.check_plan(plan).unwrap_err();
        assert!(error.hint.is_some_and(|hint| hint.contains("--fix-mates samtools")), "{flag}");
    }
}

#[test]
fn template_lengths_of_pairs_that_do_not_face_each_other_differ() {
    let given = ["65 d 50 60 10M = 5 0", "129 d 5 60 10M = 5 0"];
    assert_eq!(fixed(MateRules::Picard, &given)[0], "65 d 50 60 10M = 5 -46 MQ:i:60 MC:Z:10M");
    assert_eq!(
        fixed(MateRules::Samtools, &given)[0],
        "65 d 50 60 10M = 5 -45 MQ:i:60 MC:Z:10M ms:i:400"
    );
    let same = ["65 d 50 60 10M = 5 0", "129 d 50 60 10M = 5 0"];
    assert_eq!(fixed(MateRules::Picard, &same).map_tlen(), ["1", "-1"]);
    assert_eq!(fixed(MateRules::Samtools, &same).map_tlen(), ["0", "0"]);
    let far = ["65 d 50 60 10M = 5 9", "129 c 50 60 10M = 5 9"];
    assert_eq!(fixed(MateRules::Picard, &far).map_tlen(), ["0", "0"]);
    assert_eq!(fixed(MateRules::Samtools, &far).map_tlen(), ["0", "0"]);
}

trait Tlen {
    fn map_tlen(&self) -> Vec<&str>;
}

impl Tlen for Vec<String> {
    fn map_tlen(&self) -> Vec<&str> {
        self.iter().filter_map(|line| line.split(' ').nth(7)).collect()
    }
}

#[test]
fn an_unmapped_read_gets_the_position_of_its_mate() {
    let half = format!("133 * 0 0 * = 5 0/{HALF}");
    let given = ["73 d 5 60 10M = 5 0 MC:Z:5M MQ:i:3", &half];
    assert_eq!(
        fixed(MateRules::Picard, &given),
        ["73 d 5 60 10M = 5 0", "133 d 5 0 * = 5 0 MQ:i:60 MC:Z:10M",]
    );
    assert_eq!(
        fixed(MateRules::Samtools, &given),
        ["73 d 5 60 10M = 5 0 MQ:i:3 MC:Z:* ms:i:200", "133 d 5 0 * = 5 0 MQ:i:60 MC:Z:10M ms:i:400",]
    );
    let given = ["77 d 7 0 * * 0 0 MQ:i:3 MC:Z:3M", "141 * 0 0 * * 0 9 XA:i:1 MQ:i:3 MC:Z:3M"];
    assert_eq!(fixed(MateRules::Picard, &given), ["77 * 0 0 * * 0 0", "141 * 0 0 * * 0 0 XA:i:1"]);
    assert_eq!(
        fixed(MateRules::Samtools, &given),
        ["77 d 7 0 * * 0 0 MQ:i:3 MC:Z:3M ms:i:400", "141 * 0 0 * d 7 0 XA:i:1 MQ:i:3 MC:Z:3M ms:i:400",]
    );
}

#[test]
fn fields_stay_in_their_places_for_picard_and_come_last_for_samtools() {
    let given = ["99 d 5 60 10M = 50 55 MC:Z:1M XA:i:1 MQ:i:9 XB:i:2", "147 d 50 40 4M6S = 5 -55"];
    assert_eq!(
        fixed(MateRules::Picard, &given)[0],
        "99 d 5 60 10M = 50 49 MC:Z:4M6S XA:i:1 MQ:i:40 XB:i:2"
    );
    let samtools = "99 d 5 60 10M = 50 49 XA:i:1 XB:i:2 MQ:i:40 MC:Z:4M6S ms:i:400";
    assert_eq!(fixed(MateRules::Samtools, &given)[0], samtools);
}

#[test]
fn more_than_two_primary_reads() {
    let given = ["99 d 5 60 10M = 50 55", "147 d 50 60 10M = 5 -55", "131 d 70 60 10M = 5 -55"];
    assert_eq!(fixed(MateRules::Picard, &given), given, "Picard stops");
    assert_eq!(
        fixed(MateRules::Samtools, &given),
        [
            "65 d 5 60 10M = 70 65 MQ:i:60 MC:Z:10M ms:i:400",
            "147 d 50 60 10M = 5 -55 MQ:i:60 MC:Z:10M ms:i:400",
            "129 d 70 60 10M = 5 -65 MQ:i:60 MC:Z:10M ms:i:400",
        ]
    );
}

#[test]
fn a_read_without_its_mate() {
    let given = ["99 d 5 60 10M c 50 55 MC:Z:4M"];
    assert_eq!(fixed(MateRules::Picard, &given), given);
    assert_eq!(fixed(MateRules::Samtools, &given), ["65 d 5 60 10M * 0 0 MC:Z:4M"]);
    let single = ["0 d 5 60 10M c 50 55"];
    assert_eq!(fixed(MateRules::Picard, &single), single);
    assert_eq!(fixed(MateRules::Samtools, &single), ["0 d 5 60 10M * 0 0"]);
    let other_end = ["2113 d 5 60 10M = 5 0", "147 d 70 60 10M * 0 0"];
    assert_eq!(fixed(MateRules::Picard, &other_end), other_end);
    assert_eq!(
        fixed(MateRules::Samtools, &other_end),
        ["2145 d 5 60 10M = 70 0 MQ:i:60 MC:Z:10M", "145 d 70 60 10M * 0 0",]
    );
}

#[test]
fn samtools_sanitises() {
    for (given, answer) in [
        ("0 c 95 60 10M * 0 0", "0 c 95 60 6M4S * 0 0"),
        ("0 c 95 60 8M2S3H * 0 0", "0 c 95 60 6M4S3H * 0 0"),
        ("3 c 105 60 10M * 0 0 NM:i:1 MD:Z:3 SM:i:5 AS:i:3", "5 * 0 0 * * 0 0 AS:i:3"),
        ("0 d 5 60 2M3M0I5= * 0 0", "0 d 5 60 5M5= * 0 0"),
        ("4 d 5 60 10M = 7 9", "4 d 5 0 * * 0 0"),
        ("256 d 995 60 10M * 0 0", "256 d 995 60 6M4S * 0 0"),
        // samtools 1.24 gives 4 c 95 0 *, 0 c 95 60 2M4D10S, 0 c 95 60 6M6S and 4 c 95 0 *
        ("0 c 95 60 6M2D4M * 0 0", "0 c 95 60 6M4S * 0 0"),
        ("0 c 95 60 2M6D8M * 0 0", "0 c 95 60 2M8S * 0 0"),
        ("0 c 95 60 8M2D2M * 0 0", "0 c 95 60 6M4S * 0 0"),
        ("0 c 95 60 6M2I2M * 0 0", "0 c 95 60 6M4S * 0 0"),
    ] {
        assert_eq!(fixed(MateRules::Samtools, &[given]), [answer]);
        assert_eq!(fixed(MateRules::Picard, &[given]), [given]);
    }
}

#[test]
fn templates_are_counted_and_scattered_ones_found() {
    let header = header("@SQ SN:d LN:1000");
    let mut step = FixMates::new(MateRules::Picard, &header);
    let read = |name: &str, flags: u16| format!("{name} {flags} d 5 60 10M * 0 0 {BASES} {GOOD}");
    let given = [read("a", 99), read("a", 147), read("b", 99), read("c", 0), read("d", 147)];
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    applied(&mut step, &header, &header, &given);
    assert_eq!(step.counts().iter().map(|(_, n)| *n).collect::<Vec<_>>(), [1, 2]);
    assert!(step.lone.check_adjacent().is_ok());
    let mut other = step.fork_for_thread();
    applied(&mut *other, &header, &header, &[&read("b", 147)]);
    let error = step.lone.check_adjacent().unwrap_err();
    assert!(error.what.contains("are not adjacent"), "{error}");
}
