//! Compares several inputs in one run. With equal headers they are sorted as their concatenation. With different
//! headers the result has the same meaning as after `samtools merge` and Picard's MergeSamFiles.

mod headers;
mod meaning;

use std::fs;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use super::cases::picard;
use super::cases::reads::{self, Oracle};
use super::commands::SampleDir;
use super::ledger::Ledger;
use super::orders::{ORDERS, OrderComparison, OrderTool};
use super::random::SeededRandom;
use super::raw::in_parallel;
use meaning::ResolvedFile;

/// Compares this number of random sets of inputs.
pub fn compare(dir: &SampleDir<'_>, sets: u64, ledger: &mut Ledger) {
    ledger.title("several", "inputs with equal headers, and with headers that clash");
    let equal = (sets / 3).max(3);
    ledger.check("several: sets of two to four inputs with equal headers", || {
        (0..equal).try_for_each(|set| make_equal(dir, set))?;
        Ok(format!("{equal} sets"))
    });
    for asked in ORDERS.into_iter().filter(|asked| asked.of != OrderTool::System) {
        ledger.check(&format!("several: {}, of samtools cat", asked.title("XX")), || {
            let records = match asked.of {
                OrderTool::Picard => {
                    let input = |set| (files(set, "equal").join(" "), format!("equal-{set}.bam"));
                    picard::queryname(dir, asked, &(0..equal).map(input).collect::<Vec<_>>())?
                }
                _ => concatenated(dir, asked, equal)?,
            };
            Ok(format!("{equal} sets, {records} records"))
        });
    }
    ledger.check("several: files and standard input, as files", || from_a_pipe(dir));
    ledger.check("several: headers that clash mean what they mean after samtools merge", || {
        let mut tally = SetTotals::default();
        for set in 0..sets {
            merged_by_samtools(dir, set, &mut tally).with_context(|| format!("set {set}"))?;
        }
        Ok(tally.said(sets))
    });
    ledger.check("several: headers that clash mean what they mean after MergeSamFiles", || {
        merged_by_picard(dir, sets)
    });
    ledger.check("several: one name for sequences of two lengths is refused", || two_lengths(dir));
}

/// The files of a set. Their names show which are read as BAM.
fn files(set: u64, kind: &str) -> Vec<String> {
    let file =
        |i: u64| format!("{kind}-{set}.{i}.{}", if (set + i).is_multiple_of(2) { "bam" } else { "sam" });
    (0..2 + set % 3).map(file).collect()
}

/// Writes a set with one header, and its concatenation.
fn make_equal(dir: &SampleDir<'_>, set: u64) -> Result<()> {
    let mut random = SeededRandom::new(set);
    let header = reads::header(&mut random);
    let (files, mut all) = (files(set, "equal"), Vec::new());
    for file in &files {
        let stem = &file[..file.len() - 4];
        let mut text = header.clone().into_bytes();
        text.extend(reads::reads(&mut random, Oracle::Picard, 20));
        fs::write(dir.path(&format!("{stem}.sam")), text)?;
        dir.newest(&format!("view --no-PG -b -o {stem}.bam {stem}.sam"))?;
        all.push(format!("{stem}.bam"));
    }
    dir.newest(&format!("cat --no-PG -o equal-{set}.bam {}", all.join(" "))).map(drop)
}

/// Sorts sets, and their concatenation with samtools. Returns the number of records.
fn concatenated(dir: &SampleDir<'_>, asked: OrderComparison, sets: u64) -> Result<usize> {
    let mut records = 0;
    for set in 0..sets {
        let files = files(set, "equal").join(" ");
        let ours = asked.readmill(dir, "XX", &format!("-O bam -l 1 -o - {files}"));
        let theirs = asked.samtools(dir, "XX", &format!("-O bam -l 1 equal-{set}.bam"));
        let left = in_parallel([ours, theirs.context("no order of samtools")?])?;
        let (mut ours, mut theirs) = (left[0].reads()?, left[1].reads()?);
        // readmill keeps the comments of every input; samtools cat keeps those of the first. And a common @HD has
        // no order until the sort adds it, so its fields can have another order.
        for reads in [&mut ours, &mut theirs] {
            reads.header.retain(|line| !line.starts_with("@CO\t"));
            for line in reads.header.iter_mut().filter(|line| line.starts_with("@HD\t")) {
                let mut fields: Vec<&str> = line.split('\t').collect();
                fields[1..].sort_unstable();
                *line = fields.join("\t");
            }
        }
        ours.same(&theirs).with_context(|| format!("set {set}"))?;
        records += ours.records.len();
    }
    Ok(records)
}

fn from_a_pipe(dir: &SampleDir<'_>) -> Result<String> {
    let files = files(2, "equal");
    ensure!(files.len() == 4, "a set of four");
    for (at, file) in files.iter().enumerate() {
        let mut words = files.clone();
        words[at] = "-".to_owned();
        dir.readmill(&format!("sort -n {} -o files.bam", files.join(" ")))?;
        dir.readmill_from(file, &format!("sort -n {} -o piped.bam", words.join(" ")))?;
        super::lines::same_bytes(dir, "piped.bam", "files.bam")?;
    }
    Ok(format!("{} places", files.len()))
}

/// Totals over many sets of files.
#[derive(Default)]
struct SetTotals {
    records: usize,
    renamed: usize,
    in_order: u64,
}

impl SetTotals {
    fn said(&self, sets: u64) -> String {
        let SetTotals { records, renamed, in_order } = self;
        format!(
            "{sets} sets, {records} records, {renamed} IDs renamed; {in_order} in the same order, too"
        )
    }
}

/// Writes the inputs of a set, each sorted by its own dictionary; returns the files and their headers.
fn make_clashing(dir: &SampleDir<'_>, set: u64, oracle: Oracle) -> Result<(Vec<String>, Vec<String>)> {
    let kind = if oracle == Oracle::Picard { "picard" } else { "clash" };
    let mut random = SeededRandom::new(2 * set + u64::from(oracle == Oracle::Picard));
    let (mut files, mut headers) = (Vec::new(), Vec::new());
    for i in 0..2 + set % 3 {
        let file = format!("{kind}-{set}.{i}.bam");
        let header = headers::header(&mut random, oracle);
        let text = headers::with_reads(&mut random, &header, oracle);
        fs::write(dir.path("unsorted.sam"), text)?;
        dir.newest(&format!("sort --no-PG -O bam -o {file} unsorted.sam"))?;
        files.push(file);
        headers.push(header);
    }
    Ok((files, headers))
}

fn merged_by_samtools(dir: &SampleDir<'_>, set: u64, tally: &mut SetTotals) -> Result<()> {
    let (files, headers) = make_clashing(dir, set, Oracle::Samtools)?;
    let files = files.join(" ");
    let left = in_parallel([
        dir.readmill_command(&format!("sort --no-PG -O sam -o - {files}")),
        dir.newest_command(&format!("merge --no-PG -O sam -o - {files}")),
    ])?;
    let (ours, theirs) = (ResolvedFile::of(&left[0].reads()?)?, ResolvedFile::of(&left[1].reads()?)?);
    ours.same(&theirs)?;
    let keeps = |header: &String| ours.keeps_order_of(header) && theirs.keeps_order_of(header);
    if ours.sequences == theirs.sequences && headers.iter().all(keeps) {
        ensure!(ours.records == theirs.records, "the records are the same, in another order");
        tally.in_order += 1;
    }
    tally.records += ours.records.len();
    tally.renamed += ours.renamed(&headers);
    Ok(())
}

fn merged_by_picard(dir: &SampleDir<'_>, sets: u64) -> Result<String> {
    let (mut calls, mut inputs) = (Vec::new(), Vec::new());
    for set in 0..sets {
        let (files, _) = make_clashing(dir, set, Oracle::Picard)?;
        let list: Vec<String> = files.iter().map(|file| format!("I={file}")).collect();
        let rules = "SORT_ORDER=coordinate MERGE_SEQUENCE_DICTIONARIES=true COMPRESSION_LEVEL=1";
        calls.push(format!("MergeSamFiles {} O=picard-{set}.merged.bam {rules}", list.join(" ")));
        inputs.push(files.join(" "));
    }
    let codes = dir.picard_each(&calls)?;
    let (mut records, mut accepted) = (0, 0);
    for (set, files) in inputs.iter().enumerate().filter(|(set, _)| codes[*set] == 0) {
        let left = in_parallel([
            dir.readmill_command(&format!("sort --no-PG -O sam -o - {files}")),
            dir.newest_command(&format!("view --no-PG -h picard-{set}.merged.bam")),
        ])?;
        let (ours, theirs) =
            (ResolvedFile::of(&left[0].reads()?)?, ResolvedFile::of(&left[1].reads()?)?);
        ours.same(&theirs).with_context(|| format!("set {set}"))?;
        ensure!(ours.sequences == theirs.sequences, "set {set}: sequences in another order");
        records += ours.records.len();
        accepted += 1;
    }
    ensure!(accepted > 0, "Picard refused all");
    Ok(format!(
        "{accepted} of {sets} sets that Picard accepts, {records} records, the same dictionaries"
    ))
}

fn two_lengths(dir: &SampleDir<'_>) -> Result<String> {
    for (i, length) in [100, 200].into_iter().enumerate() {
        fs::write(dir.path(&format!("length-{i}.sam")), format!("@SQ\tSN:a\tLN:{length}\n"))?;
    }
    let mut command = dir.readmill_command("sort length-0.sam length-1.sam -O sam");
    command.stderr(Stdio::piped());
    let left = in_parallel([command])?;
    ensure!(!left[0].succeeded && left[0].output.is_empty(), "it was taken");
    Ok(left[0].said.lines().last().unwrap_or_default().to_owned())
}
