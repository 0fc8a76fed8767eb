//! Compares the XT tags of `readmill align --mark-adapters` with Picard
//! MarkIlluminaAdapters, read by read.

use std::collections::HashMap;
use std::fs;

use anyhow::{Context, Result, anyhow, ensure};

use crate::align::reads::{mutate, random_bases, reverse_complement};
use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::outputs::ProgramLines;
use crate::random::SeededRandom;

/// The input (`pairs` or `singles`), and options by their Picard names, which both programs accept.
type AdapterCase = (&'static str, &'static [(&'static str, &'static str)]);

const CASES: [AdapterCase; 6] = [
    ("pairs", &[]),
    ("singles", &[]),
    ("pairs", &[("PRUNE_ADAPTER_LIST_AFTER_THIS_MANY_ADAPTERS_SEEN", "-1")]),
    (
        "pairs",
        &[
            ("MIN_MATCH_BASES_PE", "3"),
            ("MAX_ERROR_RATE_PE", "0.21"),
            ("ADAPTER_TRUNCATION_LENGTH", "45"),
            ("ADAPTERS", "PAIRED_END,NEXTERA_V2,DUAL_INDEXED,INDEXED"),
        ],
    ),
    (
        "pairs",
        &[
            ("PRUNE_ADAPTER_LIST_AFTER_THIS_MANY_ADAPTERS_SEEN", "40"),
            ("NUM_ADAPTERS_TO_KEEP", "2"),
            ("FIVE_PRIME_ADAPTER", "TTNACGCTCTTCCGATCT"),
            ("THREE_PRIME_ADAPTER", "AGATCGGAAGAGCNNACGTC"),
        ],
    ),
    ("singles", &[("MIN_MATCH_BASES_SE", "7"), ("MAX_ERROR_RATE_SE", "0.07")]),
];

const ADAPTERS: [[&[u8]; 2]; 3] = [
    [
        b"AGATCGGAAGAGCACACGTCTGAACTCCAGTCACACGTACGTATCTCGTATGCCGTCTTCTGCTTG",
        b"AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGTAGATCTCGGTGGTCGCCGTATCATT",
    ],
    [
        b"AGATCGGAAGAGCGGTTCAGCAGGAATGCCGAGACCGATCTCGTATGCCGTCTTCTGCTTG",
        b"AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGTAGATCTCGGTGGTCGCCGTATCATT",
    ],
    [
        b"CTGTCTCTTATACACATCTCCGAGCCCACGAGACACGTACGTATCTCGTATGCCGTCTTCTGCTTG",
        b"CTGTCTCTTATACACATCTGACGCTGCCGACGAACGTACGTGTGTAGATCTCGGTGGTCGCCGTATCATT",
    ],
];

/// Compares the XT tags and metrics of `pairs` read pairs for all `CASES`. `ref.fa` must be
/// indexed, because readmill marks adapters during alignment.
pub fn compare_adapter_marks(dir: &SampleDir<'_>, pairs: u64, ledger: &mut Ledger) {
    if let Err(error) = write_adapter_reads(dir, pairs) {
        ledger.check("align: reads with adapters", || Err(error));
        return;
    }
    let calls: Vec<String> = (0..).zip(CASES).map(|(number, case)| picard_call(number, case)).collect();
    let ends = dir.run_picard_calls_verbose(&calls);
    for (number, (files, options)) in CASES.into_iter().enumerate() {
        let shown: Vec<String> = options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let what = format!("align: as Picard MarkIlluminaAdapters {files} {}", shown.join(" "));
        ledger.check(what.trim_end(), || {
            let ends = ends.as_ref().map_err(|error| anyhow!("{error:#}"))?;
            let (code, said) = &ends[number];
            ensure!(*code == 0, "Picard ended with {code}: {said}");
            compare_adapter_case(dir, number, files, options)
        });
    }
}

/// Returns the Picard call of a case, which writes `xt.NUMBER.sam` and the metrics `xt.NUMBER.txt`.
fn picard_call(number: usize, (files, options): AdapterCase) -> String {
    let mut call = format!(
        "picard.illumina.MarkIlluminaAdapters I={files}.sam O=xt.{number}.sam M=xt.{number}.txt"
    );
    for (name, value) in options {
        if *name == "ADAPTERS" {
            call += " ADAPTERS=null"; // else they are added to the defaults
        }
        value.split(',').for_each(|value| call += &format!(" {name}={value}"));
    }
    call
}

/// Runs readmill for one case and compares the metrics, and the XT field of each record with that
/// of the same read in Picard's output. Secondary and supplementary records must have it as well.
fn compare_adapter_case(
    dir: &SampleDir<'_>,
    number: usize,
    files: &str,
    options: &[(&str, &str)],
) -> Result<String> {
    let inputs = if files == "pairs" { "xt.1.fq xt.2.fq" } else { "xt.1.fq" };
    let flags: String = options.iter().map(|(name, value)| format!(" --{name} {value}")).collect();
    let threads = 1 + number % 2;
    dir.run_readmill(&format!(
        "align ref.fa {inputs} -K 100000 -@ {threads} --mark-adapters{flags} -o xt.bam --adapter-metrics xt.txt"
    ))?;
    let rows = |name: &str| -> Result<String> {
        let text = fs::read_to_string(dir.path(name))?;
        Ok(text.split_once("## HISTOGRAM").context("no histogram")?.1.to_string())
    };
    ensure!(rows("xt.txt")? == rows(&format!("xt.{number}.txt"))?, "metrics differ");
    let text = fs::read_to_string(dir.path(&format!("xt.{number}.sam")))?;
    let theirs: HashMap<(&str, bool), &str> =
        text.lines().filter(|line| !line.starts_with('@')).map(parse_adapter_mark).collect();
    let ours = ProgramLines::start_samtools_1_24(dir, "view xt.bam")?.read_text()?;
    let mut marked = 0;
    for line in ours.lines() {
        let ((name, is_last), found) = parse_adapter_mark(line);
        let wanted = theirs.get(&(name, is_last)).with_context(|| format!("{name} is not Picard's"))?;
        ensure!(found == *wanted, "{name}, last {is_last}: {found:?}, Picard has {wanted:?}");
        marked += usize::from(!found.is_empty());
    }
    let records = ours.lines().count();
    ensure!(records >= theirs.len() && marked * 8 > records, "{marked} of {records} records");
    Ok(format!("{} reads; {marked} of {records} records with XT", theirs.len()))
}

/// Returns the name of a record, whether it is read 2, and its XT field (empty if missing).
fn parse_adapter_mark(line: &str) -> ((&str, bool), &str) {
    let mut columns = line.split('\t');
    let name = columns.next().unwrap_or_default();
    let flags: u32 = columns.next().and_then(|flags| flags.parse().ok()).unwrap_or(0);
    ((name, flags & 0x80 != 0), columns.find(|column| column.starts_with("XT:i:")).unwrap_or_default())
}

/// Writes read pairs as FASTQ and as SAM. Many templates are shorter than their reads, which
/// therefore contain adapter bases.
fn write_adapter_reads(dir: &SampleDir<'_>, pairs: u64) -> Result<()> {
    let random = &mut SeededRandom::new(pairs + 3);
    let header = "@HD\tVN:1.6\tSO:queryname\n";
    let mut fastq = [String::new(), String::new()];
    let mut sam = [header.to_string(), header.to_string()];
    for number in 0..pairs {
        for (end, bases) in random_read_pair(random).iter().enumerate() {
            let bases = String::from_utf8_lossy(bases);
            let qualities = "I".repeat(bases.len());
            fastq[end] += &format!("@r{number:07}\n{bases}\n+\n{qualities}\n");
            let line =
                |flags| format!("r{number:07}\t{flags}\t*\t0\t0\t*\t*\t0\t0\t{bases}\t{qualities}\n");
            sam[0] += &line([77, 141][end]);
            if end == 0 {
                sam[1] += &line(4);
            }
        }
    }
    let [first, last] = fastq;
    let [both, single] = sam;
    for (name, text) in
        [("xt.1.fq", first), ("xt.2.fq", last), ("pairs.sam", both), ("singles.sam", single)]
    {
        fs::write(dir.path(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(())
}

/// Returns both reads of a template, with errors, N and IUPAC codes, upper or lower case, and
/// different lengths.
fn random_read_pair(random: &mut SeededRandom) -> [Vec<u8>; 2] {
    let longest = random.pick(&[30, 64, 65, 76, 128, 151, 151, 151]);
    let insert = random.below(longest * 3 / 2);
    let template = random_bases(random, insert);
    let adapters = random.pick(&[ADAPTERS[0], ADAPTERS[0], ADAPTERS[1], ADAPTERS[2]]);
    let others = [random_bases(random, insert + 9), random_bases(random, 300)];
    let front = [template.clone(), reverse_complement(&template)];
    let lone = random.once_in(10).then(|| random.below(2) as usize);
    [0, 1].map(|end| {
        let front: &[u8] = if lone == Some(end) { &others[0] } else { &front[end] };
        let whole = [front, adapters[end], &others[1]].concat();
        let rate = random.pick(&[0, 0, 5, 30, 100]);
        let mut read = mutate(random, &whole, rate);
        let len = if random.once_in(6) { 1 + random.below(longest) } else { longest };
        read.truncate(len as usize);
        for _ in 0..random.below(4) / 2 {
            let at = random.below(read.len() as u64) as usize;
            read[at] = random.pick(b"NNnR.");
        }
        if random.once_in(20) {
            read.make_ascii_lowercase();
        }
        read
    })
}
