//! Compares `readmill samtools markdup` with samtools markdup on random reads. Most reads share
//! their ends with others, and many have the same score, so that ties are frequent.

use std::fmt::Write;
use std::fs;

use anyhow::{Context, Result, ensure};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::outputs::{compare_bam_records, compare_files};
use crate::random::SeededRandom;

const TEMPLATES: usize = 400;

const OPTIONS: [&str; 9] = [
    "",
    "-m s -c",
    "-S -r",
    "-S --include-fails",
    "-m s --barcode-tag RX -S -r -c",
    "--use-read-groups",
    "-d 100 -t -S --duplicate-count",
    "-d 40 -t -S --include-fails --no-multi-dup -c",
    "-d 2000 -m s -r --barcode-tag RX",
];

/// The option set for which no report is compared: samtools writes a row per read group, readmill
/// none.
const WITHOUT_REPORT: &str = "--use-read-groups";

pub fn compare_samtools_markdup(dir: &SampleDir<'_>, cases: u64, ledger: &mut Ledger) {
    ledger.check("duplicates by samtools' rules: inputs whose mates are fixed", || {
        for case in 0..cases {
            write_input(dir, case).with_context(|| format!("case {case}"))?;
        }
        Ok(format!("{cases} inputs"))
    });
    for options in OPTIONS {
        ledger.check(&format!("samtools markdup {options}: as samtools"), || {
            let mut bytes = 0;
            for case in 0..cases {
                bytes += compare_case(dir, case, options).with_context(|| format!("case {case}"))?;
            }
            ensure!(bytes > 0, "no records");
            Ok(format!("{cases} inputs, {bytes} bytes of records"))
        });
    }
}

/// Runs both programs on one input and compares the records, and the reports without their command
/// line. Returns the size of the records in bytes.
fn compare_case(dir: &SampleDir<'_>, case: u64, options: &str) -> Result<u64> {
    let report = |name: &str| match options {
        WITHOUT_REPORT => String::new(),
        _ => format!("-f {name}.txt"),
    };
    let line =
        |name: &str| format!("markdup --no-PG {options} {} marks-{case}.bam {name}.bam", report(name));
    dir.run_readmill(&format!("samtools {}", line("ours")))?;
    dir.run_samtools_1_24(&line("theirs"))?;
    if options != WITHOUT_REPORT {
        for name in ["ours", "theirs"] {
            let path = dir.path(&format!("{name}.txt"));
            let text = fs::read_to_string(&path)?;
            let (_, rows) = text.split_once('\n').context("a report has rows")?;
            fs::write(path, rows)?;
        }
        compare_files(dir, "ours.txt", "theirs.txt")?;
    }
    compare_bam_records(dir, "ours.bam", "theirs.bam")
}

fn write_input(dir: &SampleDir<'_>, case: u64) -> Result<()> {
    fs::write(dir.path("names.sam"), random_sam(&mut SeededRandom::new(case)))?;
    dir.run_samtools_1_24("fixmate --no-PG -m names.sam fixed.bam")?;
    dir.run_samtools_1_24(&format!("sort --no-PG -o marks-{case}.bam fixed.bam")).map(|_| ())
}

struct OddRead {
    contig: &'static str,
    pos: u64,
    cigar: String,
    bases: String,
    qualities: String,
    reverse: u16,
}

impl OddRead {
    fn random(random: &mut SeededRandom) -> Self {
        let front = random.pick(&[0, 0, 1, 3]);
        let back = random.pick(&[0, 0, 2]);
        let hard = random.pick(&["", "", "", "1H"]);
        let aligned = random.pick(&["5M", "5M", "2M1D3M", "2M1I2M", "3=2X", "2M4N3M"]);
        let clip = |bases: usize| if bases == 0 { String::new() } else { format!("{bases}S") };
        let length = front + 5 + back;
        let qualities = match random.below(4) {
            0 => "*".to_owned(),
            1 => (0..length).map(|_| random.pick(&['!', '0', '5', 'I'])).collect(),
            _ => "I".repeat(length),
        };
        OddRead {
            contig: random.pick(&["a", "a", "a", "b"]),
            pos: 1_000 + random.below(4),
            cigar: format!("{hard}{}{aligned}{}", clip(front), clip(back)),
            bases: "A".repeat(length),
            qualities,
            reverse: 16 * random.below(2) as u16,
        }
    }

    fn sam_line(&self, name: &str, flag: u16, next: &str, fields: &str) -> String {
        let OddRead { contig, pos, cigar, bases, qualities, reverse } = self;
        let flag = flag | reverse;
        format!(
            "{name}\t{flag}\t{contig}\t{pos}\t60\t{cigar}\t{next}\t0\t{bases}\t{qualities}{fields}\n"
        )
    }
}

/// Returns SAM text of templates with adjacent records: pairs, single reads, half-mapped pairs, and
/// pairs with a supplementary record.
fn random_sam(random: &mut SeededRandom) -> String {
    let mut text = String::from(
        "@HD\tVN:1.6\tGO:query\n@SQ\tSN:a\tLN:9000\n@SQ\tSN:b\tLN:9000\n@RG\tID:x\n@RG\tID:y\n",
    );
    for number in 0..TEMPLATES {
        let name = format!("n{}x{number}", random.below(1_000));
        let fails = if random.once_in(10) { 0x200 } else { 0 };
        let marked = if random.once_in(20) { 0x400 } else { 0 };
        let flags = fails | marked;
        let mut fields = random.pick(&["", "\tRG:Z:x", "\tRG:Z:y", "\tRG:Z:z"]).to_owned();
        fields += random.pick(&["", "\tRX:Z:AC", "\tRX:Z:AG", "\tRX:i:5"]);
        let (one, two) = (OddRead::random(random), OddRead::random(random));
        match random.below(8) {
            0 | 1 => text += &one.sam_line(&name, flags, "*\t0", &fields),
            2 => {
                let (contig, pos) = (one.contig, one.pos);
                text += &one.sam_line(&name, 73 | flags, &format!("=\t{pos}"), &fields);
                let (bases, qualities) = (&two.bases, &two.qualities);
                let flag = 133 | fails | (2 * one.reverse);
                // Writing to a String cannot fail.
                let _ = writeln!(
                    text,
                    "{name}\t{flag}\t{contig}\t{pos}\t0\t*\t=\t{pos}\t0\t{bases}\t{qualities}{fields}"
                );
            }
            kind => {
                let is_split = kind == 3;
                let split = if is_split { "\tSA:Z:a,1,+,5M,60,0;" } else { "" };
                let next = |of: &OddRead| format!("{}\t{}", of.contig, of.pos);
                let of_one = format!("{fields}{split}");
                text += &one.sam_line(&name, 65 | flags | (2 * two.reverse), &next(&two), &of_one);
                text += &two.sam_line(&name, 129 | flags | (2 * one.reverse), &next(&one), &fields);
                if is_split {
                    text += &one.sam_line(&name, 2113 | (2 * two.reverse), &next(&two), &fields);
                }
            }
        }
    }
    text
}
