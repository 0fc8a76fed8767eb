//! Small random inputs, one file each, in every order.

pub mod picard;
pub mod reads;

use std::fs;

use anyhow::{Context, Result, bail, ensure};

use super::commands::SampleDir;
use super::ledger::Ledger;
use super::orders::{ORDERS, OrderComparison, OrderTool};
use super::random::SeededRandom;
use super::raw::in_parallel;
use reads::Oracle;

/// Most reads of an input.
const MOST: u64 = 40;

/// Sorts this number of inputs in every order; half of them are read as SAM text, half as BAM.
pub fn compare(dir: &SampleDir<'_>, cases: u64, ledger: &mut Ledger) {
    ledger.title("cases", "small random inputs in every order");
    ledger.check("cases: inputs for samtools and for Picard", || {
        let mut records = 0;
        for case in 0..cases {
            for oracle in [Oracle::Samtools, Oracle::Picard] {
                records += make(dir, case, oracle)?;
            }
        }
        Ok(format!("{} inputs, {records} records", 2 * cases))
    });
    for asked in ORDERS {
        ledger.check(&format!("cases: {}", asked.title("XX")), || match asked.of {
            OrderTool::Picard => compare_with_picard(dir, asked, cases),
            _ => compare_with_samtools(dir, asked, cases),
        });
    }
    ledger.check("cases: template-coordinate without MC is refused by both", || without_mc(dir));
}

fn stem(case: u64, oracle: Oracle) -> String {
    match oracle {
        Oracle::Samtools => format!("case-{case}"),
        Oracle::Picard => format!("picard-{case}"),
    }
}

/// Writes an input as SAM, and also as BAM if that is read. Returns the number of its records.
fn make(dir: &SampleDir<'_>, case: u64, oracle: Oracle) -> Result<usize> {
    let random = &mut SeededRandom::new(2 * case + u64::from(oracle == Oracle::Picard));
    let mut text = reads::header(random).into_bytes();
    let reads = reads::reads(random, oracle, MOST);
    text.extend_from_slice(&reads);
    let stem = stem(case, oracle);
    fs::write(dir.path(&format!("{stem}.sam")), text)?;
    if is_bam(case) || oracle == Oracle::Picard {
        dir.newest(&format!("view --no-PG -b -o {stem}.bam {stem}.sam"))?;
    }
    Ok(reads.iter().filter(|&&byte| byte == b'\n').count())
}

fn is_bam(case: u64) -> bool {
    case % 2 == 1
}

fn compare_with_samtools(dir: &SampleDir<'_>, asked: OrderComparison, cases: u64) -> Result<String> {
    let mut records = 0;
    for case in 0..cases {
        let stem = stem(case, Oracle::Samtools);
        let (input, format, level) = match is_bam(case) {
            true => (format!("{stem}.bam"), "bam", "-l 1"),
            false => (format!("{stem}.sam"), "sam", ""),
        };
        let options = format!("-O {format} {level} {input}");
        let ours = asked.readmill(dir, "XX", &options);
        let theirs = asked.samtools(dir, "XX", &options).context("no order of samtools")?;
        let left = in_parallel([ours, theirs])?;
        let (ours, theirs) = (left[0].reads()?, left[1].reads()?);
        ours.same(&theirs).with_context(|| format!("{} {input}", asked.flags("XX")))?;
        records += ours.records.len();
    }
    Ok(format!("{cases} inputs, {records} records"))
}

fn compare_with_picard(dir: &SampleDir<'_>, asked: OrderComparison, cases: u64) -> Result<String> {
    let file = |case| format!("{}.bam", stem(case, Oracle::Picard));
    let inputs: Vec<(String, String)> = (0..cases).map(|case| (file(case), file(case))).collect();
    let records = picard::queryname(dir, asked, &inputs)?;
    Ok(format!("{cases} inputs, {records} records"))
}

fn without_mc(dir: &SampleDir<'_>) -> Result<String> {
    let text = "@SQ\tSN:a\tLN:5000\nr\t65\ta\t1\t0\t1M\t=\t7\t0\t*\t*\n";
    fs::write(dir.path("without-mc.sam"), text)?;
    let options = "--template-coordinate -O sam without-mc.sam";
    let ours = dir.readmill_command(&format!("sort {options}"));
    let left = in_parallel([ours, dir.newest_command(&format!("sort {options}"))])?;
    let [ours, theirs] = &left[..] else { bail!("two programs ran") };
    ensure!(!ours.succeeded && !theirs.succeeded, "one of them took it");
    ensure!(ours.output.is_empty() && ours.said.contains("MC"), "it said: {}", ours.said);
    Ok(ours.said.lines().last().unwrap_or_default().to_owned())
}
