//! Molecules by UMIs: random inputs compared with a slow oracle, and fixed cases on the command line.

mod dress;
mod families;
mod oracle;
mod orders;
use crate::duplicates::{oracle as reads, random_reads};
use crate::support;

use std::collections::HashMap;

use dress::UmiStyle;
use oracle::{Expected, MoleculeRule};
use readmill::plan::{DuplicateMode, Duplicates, Steps};
use readmill_markdup::Coding;
use readmill_markdup::umi::{Method, Umis};
use support::random::TestRandom;
use support::{TestDir, number, records};

const METHODS: [(&str, Method); 5] = [
    ("exact", Method::Exact),
    ("directional", Method::Directional),
    ("adjacency", Method::Adjacency),
    ("cluster", Method::Cluster),
    ("paired", Method::Paired),
];

/// The steps that `--umi` and its flags set.
fn steps(rule: MoleculeRule, mode: DuplicateMode) -> Steps {
    let method = METHODS.iter().find(|method| method.0 == rule.method).expect("a method").1;
    let source = rule.source.parse().expect("a source");
    let umis = Umis { source, method, edits: rule.edits as u32 };
    let mut duplicates = Duplicates::with_mode(mode);
    duplicates.rules.coding = Some(Coding::Umis(umis));
    duplicates.rules.molecules = true;
    duplicates.writing.molecule_number = Some((*b"MI", method == Method::Paired));
    Steps { duplicates: Some(duplicates), ..Steps::default() }
}

/// Describes the difference between the output and the expected records.
fn compare(output: &str, expected: &Expected) -> Option<String> {
    let (mut numbers, mut sets) = (HashMap::new(), HashMap::new());
    let lines = records(output);
    if lines.len() != expected.flagged.len() {
        return Some(format!("{} records, expected {}", lines.len(), expected.flagged.len()));
    }
    for (i, line) in lines.iter().enumerate() {
        let flagged = number(line, 1) & 0x400 != 0;
        if flagged != expected.flagged[i] {
            return Some(format!("record {}: flagged {flagged}\n{line}", i + 1));
        }
        let given = reads::field(line, "MI:Z:");
        let agreed = match (given, expected.molecules[i]) {
            (None, None) => true,
            (Some(_), Some(_)) if expected.ambiguous[i] => true,
            (Some(given), Some((set, strand))) => {
                let number = given.strip_suffix(strand).filter(|number| !number.contains('/'));
                number.is_some()
                    && *numbers.entry(set).or_insert(number) == number
                    && *sets.entry(number).or_insert(set) == set
            }
            _ => false,
        };
        if !agreed {
            let expected = expected.molecules[i];
            let known = expected.and_then(|(set, _)| numbers.get(&set));
            return Some(format!("record {}: expected {expected:?}, that is {known:?}\n{line}", i + 1));
        }
    }
    None
}

/// SAM text as the program gets it.
fn input(text: &str) -> Vec<u8> {
    if support::text_is_read_otherwise(text) { support::bam(text) } else { text.into() }
}

/// A random input with UMIs, grouped, shuffled and sorted, and the rule for its molecules.
fn orders(seed: usize) -> (MoleculeRule, [(&'static str, String); 3]) {
    let mut random = TestRandom::new(seed as u64);
    let method = METHODS[seed % METHODS.len()].0;
    let dress = UmiStyle::new(&mut random, method == "paired");
    let rule = MoleculeRule { source: dress.source, method, edits: seed / METHODS.len() % 3 };
    let reads = random_reads::grouped(&mut random, seed % 4 == 3, 70);
    let grouped = dress.dress(&mut random, &reads);
    let (header, mut lines) = (support::split_header(&grouped).0, records(&grouped));
    random.shuffle(&mut lines);
    let shuffled = support::with_header(&header.replace("GO:query", "GO:none"), &lines);
    let sorted = support::coordinate_sorted(&shuffled);
    (rule, [("grouped", grouped), ("shuffled", shuffled), ("sorted", sorted)])
}

/// Returns the expected result for scattered input in template mode: that of the regrouped records.
fn judge_scattered(text: &str, rule: MoleculeRule) -> Expected {
    let of = oracle::judge(&support::regrouped(text), true, rule);
    let mut places = vec![0; of.flagged.len()];
    support::by_name(text).into_iter().enumerate().for_each(|(place, number)| places[number] = place);
    Expected {
        flagged: places.iter().map(|&place| of.flagged[place]).collect(),
        molecules: places.iter().map(|&place| of.molecules[place]).collect(),
        ambiguous: places.iter().map(|&place| of.ambiguous[place]).collect(),
    }
}

#[test]
fn random_reads_are_marked_and_numbered_as_the_oracle_does() {
    use DuplicateMode::{Coordinate, Template};
    let dir = TestDir::new();
    let (mut reads, mut flagged, mut joined) = (0, 0, 0);
    for seed in 0..300 {
        let (rule, orders) = orders(seed);
        if rule.is_refused() {
            continue;
        }
        let mut exact = MoleculeRule { method: "exact", ..rule };
        if rule.method == "paired" {
            exact = MoleculeRule { edits: 0, ..rule };
        }
        for (order, text) in &orders {
            let modes = if *order == "sorted" { &[Coordinate][..] } else { &[Coordinate, Template] };
            for &mode in modes {
                let expected = match mode {
                    Coordinate => oracle::judge(text, false, rule),
                    _ => judge_scattered(text, rule),
                };
                let output = dir.run(&input(text), steps(rule, mode), 1 + seed % 3);
                let output = output.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
                if let Some(wrong) = compare(&output, &expected) {
                    panic!("seed {seed}, {order}, {mode:?}, {rule:?}: {wrong}\nof\n{text}");
                }
                reads += expected.flagged.len();
                flagged += expected.flagged.iter().filter(|&&flagged| flagged).count();
            }
        }
        let text = &orders[0].1;
        let marks = oracle::judge(text, false, rule).flagged;
        joined += usize::from(marks != oracle::judge(text, false, exact).flagged);
    }
    // the inputs must have enough duplicates
    assert!(flagged * 10 > reads * 2 && flagged * 10 < reads * 8, "{flagged} of {reads} flagged");
    assert!(joined > 60, "errors matter in {joined} inputs");
}

#[test]
fn flags_ask_for_what_the_oracle_judges() {
    let dir = TestDir::new();
    for seed in 0..45 {
        let (rule, orders) = orders(seed);
        if rule.is_refused() {
            continue;
        }
        let (order, text) = &orders[seed % 3];
        let file = dir.file("in.bam", support::bam(text));
        let output = support::arg(&dir.path("out.sam"));
        let (mode, expected) = match *order {
            "grouped" => ("template", oracle::judge(text, true, rule)),
            _ => ("coordinate", oracle::judge(text, false, rule)),
        };
        let edits = rule.edits.to_string();
        let mut args = vec!["markdup", file.to_str().expect("a path"), "-o", &output, "-q"];
        args.extend(["--umi", rule.source, "--duplicate-mode", mode]);
        // the default needs no flag
        if rule.method != "directional" {
            args.extend(["--umi-method", rule.method]);
        }
        if rule.edits != 1 {
            args.extend(["--umi-edits", &edits]);
        }
        let done = support::readmill(args);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let output = std::fs::read_to_string(output).expect("the output");
        if let Some(wrong) = compare(&output, &expected) {
            panic!("seed {seed}, {order}, {rule:?}: {wrong}\nof\n{text}");
        }
    }
}

const HEADER: &str = "@HD\tVN:1.6\tGO:query\n@SQ\tSN:c1\tLN:10000\n@RG\tID:a\tLB:L\n";

/// A pair at 100 and 300, with these optional fields.
fn pair(name: &str, fields: &str) -> String {
    let line = |flag, pos, next| {
        format!("{name}\t{flag}\tc1\t{pos}\t60\t4M\t=\t{next}\t0\tACGT\tIIII\tRG:Z:a{fields}\n")
    };
    line(99, 100, 300) + &line(147, 300, 100)
}

/// Runs the program on SAM text; returns its exit code, and the output or the message.
fn run(text: &str, flags: &str) -> (Option<i32>, String) {
    let dir = TestDir::new();
    let (input, output) = (dir.file("in.sam", text), dir.path("out.sam"));
    let mut args = vec!["markdup".to_string(), support::arg(&input)];
    args.extend(["-o".to_string(), support::arg(&output), "-q".to_string()]);
    args.extend(flags.split_whitespace().map(str::to_string));
    let done = support::readmill(args);
    if done.code != Some(0) {
        assert_eq!(dir.names(), ["in.sam"], "{flags}");
        return (done.code, done.stderr);
    }
    (done.code, std::fs::read_to_string(output).expect("the output"))
}

/// Whether each pair of the output is flagged, and its MI.
fn outcome(text: &str, flags: &str) -> Vec<(bool, Option<String>)> {
    let (code, output) = run(text, flags);
    assert_eq!(code, Some(0), "{flags}: {output}");
    let lines = records(&output);
    let of = |line: &&str| {
        let molecule = reads::field(line, "MI:Z:").map(str::to_string);
        (number(line, 1) & 0x400 != 0, molecule)
    };
    let all: Vec<_> = lines.iter().map(of).collect();
    all.chunks(2).for_each(|mates| assert_eq!(mates[0], mates[1]));
    all.into_iter().step_by(2).collect()
}

#[test]
fn templates_without_a_umi_are_one_molecule() {
    let text =
        [HEADER, &pair("a", ""), &pair("b", "\tRX:Z:ACGT"), &pair("c", ""), &pair("d", "\tRX:Z:")];
    let given = outcome(&text.concat(), "--umi tag:RX --umi-method exact");
    let flags: Vec<bool> = given.iter().map(|it| it.0).collect();
    assert_eq!(flags, [false, false, true, true]);
    assert!(given[0].1 == given[2].1 && given[2].1 == given[3].1 && given[0].1 != given[1].1);
}

#[test]
fn umis_of_two_lengths_are_two_molecules() {
    let text =
        [HEADER, &pair("a", "\tRX:Z:ACGT"), &pair("b", "\tRX:Z:ACGTA"), &pair("c", "\tRX:Z:AC-GT")];
    for method in ["exact", "directional", "adjacency", "cluster"] {
        let given =
            outcome(&text.concat(), &format!("--umi tag:RX --umi-method {method} --umi-edits 9"));
        assert!(given.iter().all(|it| !it.0), "{method}: {given:?}");
    }
}

#[test]
fn the_number_goes_where_it_is_wanted_and_replaces_an_older_one() {
    let text = [HEADER, &pair("a", "\tRX:Z:ACGT\tMI:Z:old"), &pair("b", "\tRX:Z:ACGT\tMI:i:7")].concat();
    let given = outcome(&text, "--umi tag:RX");
    assert!(given[0].1.is_some() && given[0].1 == given[1].1, "{given:?}");
    assert!(given.iter().all(|it| it.1.as_deref() != Some("old")));
    let (_, output) = run(&text, "--umi tag:RX --molecule-tag XM");
    for line in records(&output) {
        assert!(reads::field(line, "XM:Z:").is_some() && line.matches("\tMI:").count() == 1, "{line}");
    }
}

#[test]
fn umis_that_cannot_be_had_end_the_run() {
    let text =
        |fields: &str, name: &str| [HEADER, &pair("x:1", "\tRX:Z:A-C"), &pair(name, fields)].concat();
    for (flags, fields, name, words) in [
        ("--umi name:_", "", "a:1", ["x:1", "no UMI"]),
        ("--umi name::", "", "a:1", ["x:1", "characters other than"]),
        ("--umi tag:RX", "\tRX:Z:ACGU", "a", ["ACGU", "RX"]),
        ("--umi tag:RX", "\tRX:i:7", "a", ["RX", "not text"]),
        ("--umi tag:RX", &format!("\tRX:Z:{}", "A".repeat(43)), "a", ["more than 42", "RX"]),
        ("--umi tag:RX --umi-method paired", "\tRX:Z:ACGT", "a", ["ACGT", "two halves"]),
        ("--umi tag:RX --umi-method paired", "\tRX:Z:A-C-G", "a", ["A-C-G", "two halves"]),
    ] {
        for mode in ["template", "coordinate", "auto"] {
            let (code, said) = run(&text(fields, name), &format!("{flags} --duplicate-mode {mode}"));
            assert_eq!(code, Some(2), "{flags}: {said}");
            assert!(words.iter().all(|word| said.contains(word)), "{flags}: {said}");
        }
    }
}
