//! Compares random expressions with `samtools view -e`. Run it with `READMILL_SAMTOOLS=/path/to/samtools
//! cargo test -p readmill-filters --test filters expression_beside_samtools -- --ignored`.
#![allow(clippy::unwrap_used)]

use crate::expression::random;

use std::path::Path;
use std::process::Command;

use random::ExpressionGenerator;
use readmill_filters::expression::Expression;
use readmill_format::sam::LineParser;
use readmill_record::{Batch, Header, Stamp};

const HEADER: &str = "@HD\tVN:1.6\n@SQ\tSN:c1\tLN:10000\n@SQ\tSN:c2\tLN:10000\n@SQ\tSN:c10\tLN:10000\n\
                      @RG\tID:g1\tLB:lib\n@RG\tID:g2\tSM:s\n";

/// Returns the names of the reads that samtools keeps, or its error message.
fn samtools(samtools: &Path, expression: &str, input: &Path) -> Result<Vec<String>, String> {
    let run = Command::new(samtools).args(["view", "--no-header", "-e", expression]).arg(input).output();
    let run = run.unwrap();
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into_owned());
    }
    let text = String::from_utf8(run.stdout).unwrap();
    Ok(text.lines().map(|line| line.split('\t').next().unwrap().to_string()).collect())
}

#[test]
#[ignore = "needs samtools 1.24, named by READMILL_SAMTOOLS"]
fn the_same_reads_are_kept() {
    let Some(program) = std::env::var_os("READMILL_SAMTOOLS") else { return };
    let count = std::env::var("READMILL_EXPRESSIONS").map_or(600, |count| count.parse().unwrap());
    let seed = std::env::var("READMILL_SEED").map_or(1, |seed| seed.parse().unwrap());
    let mut random = ExpressionGenerator::new(seed);
    let lines: Vec<String> = (0..250).map(|i| random.record(&format!("r{i}"))).collect();
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("reads.sam");
    std::fs::write(&input, format!("{HEADER}{}\n", lines.join("\n"))).unwrap();
    let header = Header::parse(HEADER.as_bytes()).unwrap();
    let (mut parser, mut batch, mut raw) = (LineParser::new(&header), Batch::default(), Vec::new());
    for (i, line) in lines.iter().enumerate() {
        raw.clear();
        parser.parse(line.as_bytes(), &mut raw).unwrap();
        batch.push(&raw, Stamp::new(i as u64, 0)).unwrap();
    }
    let (mut different, mut neither, mut refused) = (0, 0, 0);
    for _ in 0..count {
        let text = random.condition(3);
        let theirs = samtools(Path::new(&program), &text, &input);
        let ours = Expression::parse(&text, &header).and_then(|mut expression| {
            let mut kept = Vec::new();
            for (_, record) in batch.records() {
                if expression.matches(record)? {
                    kept.push(String::from_utf8_lossy(record.qname()).into_owned());
                }
            }
            Ok(kept)
        });
        match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) if ours == theirs => {
                neither += usize::from(ours.is_empty() || ours.len() == lines.len());
            }
            (Err(_), Err(_)) => refused += 1,
            _ => {
                different += 1;
                println!("{text}\n  ours:   {ours:?}\n  theirs: {theirs:?}");
            }
        }
    }
    println!(
        "{count} expressions, {different} different, {refused} refused by both, {neither} keep all or nothing"
    );
    assert_eq!(different, 0);
}
