//! Compares `readmill align --trim` with fastp. Records must be the same as if fastp had trimmed
//! the reads first, and the counts must equal those of its report.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, ensure};
use readmill_peers::{Peers, Tool};
use serde_json::Value;

use crate::align::reads::{self, mutate, random_bases, reverse_complement};
use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::random::SeededRandom;

/// The fastp version whose rules readmill follows; other versions trim differently.
const VERSION: &str = "0.23.2";

/// Cases: the input, and options by their fastp names. The read names of `nextseq` are from a
/// two-colour instrument, for which fastp trims poly-G by default.
const CASES: [(&str, &str); 34] = [
    ("pairs", ""),
    (
        "pairs",
        "--cut_front --cut_right --trim_poly_x --correction --low_complexity_filter --max_len1 120 --average_qual 20",
    ),
    ("nextseq", "--adapter_sequence AGATCGGAAGAGCACACGTCTGAACTCCAGTCA --overlap_len_require 40"),
    ("singles", "--adapter_sequence AGATCGGAAGAGCACACGTCTGAACTCCAGTCA --cut_tail --trim_poly_x"),
    ("nextseq", ""),
    ("nextseq", "--disable_trim_poly_g"),
    ("pairs", "--cut_front --cut_tail"),
    ("pairs", "--cut_right --cut_window_size 6 --cut_mean_quality 25"),
    (
        "pairs",
        "--cut_front --cut_front_window_size 3 --cut_front_mean_quality 28 --cut_tail --cut_tail_window_size 10 --cut_tail_mean_quality 15",
    ),
    ("pairs", "--cut_front --cut_window_size 1"),
    (
        "pairs",
        "--cut_tail --cut_window_size 40 --trim_front1 3 --trim_tail1 2 --disable_length_filtering --disable_quality_filtering",
    ),
    ("pairs", "--cut_right --trim_tail1 4"),
    ("pairs", "--trim_poly_g --trim_poly_x"),
    ("pairs", "--trim_poly_g --poly_g_min_len 5 --trim_poly_x --poly_x_min_len 6"),
    ("pairs", "--trim_front1 5 --trim_tail1 3"),
    ("pairs", "--trim_front1 9 --trim_front2 2 --trim_tail2 30 --cut_front --cut_tail"),
    ("pairs", "--trim_front1 30 --trim_tail1 100 --cut_right"),
    ("pairs", "--correction"),
    (
        "pairs",
        "--correction --overlap_len_require 12 --overlap_diff_limit 3 --overlap_diff_percent_limit 10",
    ),
    ("pairs", "--correction --overlap_diff_limit 12 --overlap_diff_percent_limit 29"),
    ("pairs", "--overlap_diff_limit 0"),
    (
        "pairs",
        "--adapter_sequence AGATCGGAAGAGCACACGTCTGAACTCCAGTCA --adapter_sequence_r2 AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGT",
    ),
    ("pairs", "--adapter_sequence AGATC"),
    (
        "pairs",
        "--adapter_sequence AGATCGGAAGAGCACACGTCTGAACTCCAGTCACATCACGATCTCGTATGCCGTCTTCTGCTTGAAAAAAAAAAAAAA --overlap_len_require 80",
    ),
    ("pairs", "--disable_adapter_trimming"),
    ("pairs", "--disable_adapter_trimming --correction"),
    ("pairs", "--disable_quality_filtering --disable_length_filtering"),
    (
        "pairs",
        "--qualified_quality_phred 20 --unqualified_percent_limit 20 --n_base_limit 1 --average_qual 25",
    ),
    ("pairs", "--length_required 60 --length_limit 120"),
    ("pairs", "--max_len1 100 --max_len2 30 --length_limit 90"),
    ("pairs", "--low_complexity_filter --complexity_threshold 60"),
    ("singles", "--disable_adapter_trimming --max_len1 70 --trim_front1 2"),
    ("singles", "--adapter_sequence AGATCGGAAG --cut_front --cut_right --low_complexity_filter"),
    ("singles", "--adapter_sequence AGATCGG --trim_poly_g --average_qual 20"),
];

const QUICK_CASES: usize = 4;

const NOT_COUNTED: [&str; 9] = [
    "fastp_version",
    "command",
    "duplication",
    "quality_curves",
    "content_curves",
    "kmer_count",
    "overrepresented_sequences",
    "read1_adapter_counts",
    "read2_adapter_counts",
];

const ADAPTERS: [&[u8]; 2] = [
    b"AGATCGGAAGAGCACACGTCTGAACTCCAGTCACATCACGATCTCGTATGCCGTCTTCTGCTTG",
    b"AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGTAGATCTCGGTGGTCGCCGTATCATT",
];

/// Compares all cases on `pairs` read pairs per input. Unless `every`, only the first [`QUICK_CASES`]
/// cases run. If fastp is missing or has a different version, the comparison is recorded as
/// skipped.
pub fn compare_with_fastp(
    dir: &SampleDir<'_>,
    peers: &Peers,
    pairs: u64,
    every: bool,
    ledger: &mut Ledger,
) -> Result<()> {
    let fastp = match peers.fastp() {
        Ok(fastp) => fastp,
        Err(error) => {
            ledger.record_skipped("trim: comparison with fastp", &format!("{error:#}"));
            return Ok(());
        }
    };
    ledger.print_heading(
        "trim",
        &format!("reads trimmed during reading, compared with fastp {}", fastp.version),
    );
    if fastp.version != VERSION {
        ledger
            .record_skipped("trim: comparison with fastp", &format!("its rules are those of {VERSION}"));
        return Ok(());
    }
    let mut random = SeededRandom::new(71);
    let genome = reads::simulate_genome(&mut random);
    fs::write(dir.path("ref.fa"), reads::format_fasta(&genome))?;
    dir.run_readmill("index ref.fa")?;
    for (name, prefix) in [("pairs", "M01"), ("nextseq", "NS500")] {
        let [first, last] = random_odd_pairs(&genome[0].1, prefix, pairs, &mut random);
        fs::write(dir.path(&format!("{name}.1.fq")), first)?;
        fs::write(dir.path(&format!("{name}.2.fq")), last)?;
    }
    fs::copy(dir.path("pairs.1.fq"), dir.path("singles.1.fq"))?;
    let cases = if every { CASES.len() } else { QUICK_CASES };
    for (files, options) in &CASES[..cases] {
        let what = format!("trim: {files} {options}: records and counts");
        ledger.check(&what, || compare_case(dir, &fastp, files, options));
    }
    Ok(())
}

/// Runs both programs for one case and returns the number of equal records and report fields. Reads
/// trimmed by fastp are then aligned by readmill.
fn compare_case(dir: &SampleDir<'_>, fastp: &Tool, files: &str, options: &str) -> Result<String> {
    let ends: &[u8] = if files == "singles" { &[1] } else { &[1, 2] };
    let names = |of: &str| ends.iter().map(|end| format!("{of}.{end}.fq")).collect::<Vec<_>>();
    let (raw, trimmed) = (names(files), names("trimmed"));
    let (inputs, outputs) = (["-i", "-I"].into_iter().zip(&raw), ["-o", "-O"].into_iter().zip(&trimmed));
    let words: Vec<String> =
        inputs.chain(outputs).map(|(flag, file)| format!("{flag} {file}")).collect();
    dir.run_peer(fastp, &format!("{} -w 1 -j theirs.json -h theirs.html {options}", words.join(" ")))?;
    let flags = "--as-given -K 200000 -q";
    dir.run_readmill(&format!("align ref.fa {} {flags} -o theirs.sam", trimmed.join(" ")))?;
    let own: Vec<String> = options.split_whitespace().map(own_flag).collect();
    dir.run_readmill(&format!(
        "align ref.fa {} {flags} -o ours.sam --trim {} --json ours.json",
        raw.join(" "),
        own.join(" ")
    ))?;
    let records = |file: &str| -> Result<String> {
        let text = fs::read_to_string(dir.path(file))?;
        Ok(text
            .lines()
            .filter(|line| !line.starts_with('@'))
            .fold(String::new(), |all, line| all + line + "\n"))
    };
    let (ours, theirs) = (records("ours.sam")?, records("theirs.sam")?);
    for (our, their) in ours.lines().zip(theirs.lines()) {
        ensure!(our == their, "{our:?}, theirs {their:?}");
    }
    ensure!(ours == theirs, "{} records, theirs {}", ours.lines().count(), theirs.lines().count());
    let report = |file: &str| -> Result<Value> {
        Ok(serde_json::from_str(&fs::read_to_string(dir.path(file))?)?)
    };
    let [ours, theirs] = [report("ours.json")?["trimming"].take(), report("theirs.json")?]
        .map(|it| flatten_counted_fields(&it));
    for (name, value) in &theirs {
        let own = ours.get(name).with_context(|| format!("{name} is missing"))?;
        ensure!(own == value, "{name} is {own}, theirs {value}");
    }
    ensure!(ours.len() == theirs.len(), "{:?}", ours.keys().find(|name| !theirs.contains_key(*name)));
    let count = records("ours.sam")?.lines().count();
    Ok(format!("{count} records, {} fields", theirs.len()))
}

fn own_flag(word: &str) -> String {
    word.replace("--adapter_sequence", "--trim-adapter-sequence").replace('_', "-")
}

fn flatten_counted_fields(value: &Value) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    let mut rest = vec![(String::new(), value)];
    while let Some((name, value)) = rest.pop() {
        match value {
            Value::Object(fields) => {
                let counted = fields.iter().filter(|(name, _)| !NOT_COUNTED.contains(&&name[..]));
                rest.extend(counted.map(|(field, value)| (format!("{name}.{field}"), value)));
            }
            other => {
                all.insert(name, other.clone());
            }
        }
    }
    all
}

/// Returns random pairs as FASTQ: short templates, adapter dimers, homopolymer tails, N, low
/// qualities, and all lengths.
fn random_odd_pairs(contig: &[u8], prefix: &str, pairs: u64, random: &mut SeededRandom) -> [String; 2] {
    let mut files = [String::new(), String::new()];
    let contig = contig.to_ascii_uppercase();
    for number in 0..pairs {
        let size = match random.below(12) {
            0 => random.below(40),
            1..6 => 20 + random.below(140),
            _ => 100 + random.below(300),
        } as usize;
        let start = random.below((contig.len() - size) as u64) as usize;
        let mut template = contig[start..start + size].to_vec();
        if random.once_in(2) {
            template = reverse_complement(&template);
        }
        for (end, file) in files.iter_mut().enumerate() {
            let mut read = if end == 0 { template.clone() } else { reverse_complement(&template) };
            if random.once_in(30) {
                read.splice(0..0, ADAPTERS[end][random.below(5) as usize..].iter().copied());
            }
            read.extend_from_slice(ADAPTERS[end]);
            read.extend(if random.once_in(2) { vec![b'G'; 200] } else { random_bases(random, 200) });
            read.truncate(if random.once_in(5) { 1 + random.below(200) as usize } else { 150 });
            let rate = random.pick(&[0, 2, 2, 20, 100]);
            let (mut read, qualities) =
                (mutate(random, &read, rate), random_qualities(read.len(), random));
            damage_read(&mut read, random);
            let (bases, qualities) = (String::from_utf8_lossy(&read), &qualities[..read.len()]);
            let _ = writeln!(file, "@{prefix}:{number} {}:N:0\n{bases}\n+\n{qualities}", end + 1);
        }
    }
    files
}

/// Returns qualities that are high, low at one end, or mixed. There are 64 more than `length`,
/// because the read may get insertions afterwards.
fn random_qualities(length: usize, random: &mut SeededRandom) -> String {
    let (kind, border) = (random.below(10), random.below(length as u64 + 1) as usize);
    let of = |at: usize, random: &mut SeededRandom| match kind {
        0..5 => random.pick(b"FFFIA:"),
        5 | 6 if at < border => b'D',
        7 if at >= border => b'D',
        5..8 => b'#' + random.below(16) as u8,
        8 => random.pick(b"#/015?G"),
        _ => random.pick(b"###5"),
    };
    (0..length + 64).map(|at| char::from(of(at, random))).collect()
}

fn damage_read(read: &mut [u8], random: &mut SeededRandom) {
    let length = read.len();
    let some =
        |random: &mut SeededRandom, max_bases: u64| (random.below(max_bases) as usize).min(length);
    match random.below(40) {
        0..3 if length > 0 => {
            for _ in 0..random.below(9) {
                read[random.below(length as u64) as usize] = b'N';
            }
        }
        3 => read[..some(random, 12)].fill(b'N'),
        4 => read[length - some(random, 12)..].fill(b'N'),
        5..9 => {
            let tail = length - some(random, 60);
            let base = random.pick(b"GGGACTN");
            read[tail..].iter_mut().for_each(|it| {
                if !random.once_in(15) {
                    *it = base;
                }
            });
        }
        9 => read.fill(b'A'),
        10 => read.make_ascii_lowercase(),
        _ => {}
    }
}
