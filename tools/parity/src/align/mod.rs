//! Compares whole records of `readmill align` with `bwa mem` and `minibwa map`, adapters
//! with Picard, and index files with bwa-mem2 and minibwa.

mod adapters;
pub mod reads;

use std::fs::{self, File};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use readmill_peers::{Peers, Tool};
use readmill_simulate::{Profile, Sample};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::outputs::{LineFilter, ProgramLines, compare_bam_records, compare_files, compare_lines};
use crate::random::SeededRandom;

/// Sets of bwa options that each change the records. They run on pairs with a small `-K`, so that
/// cohort ends split batches.
const OPTIONS: [&str; 21] = [
    "",
    "-a",
    "-M",
    "-Y",
    "-5",
    "-q",
    "-5 -q -Y",
    "-a -Y -M",
    "-T 15",
    "-T 60 -k 25",
    "-k 13 -r 1 -y 0",
    "-w 5 -d 20",
    "-A 2 -L 8,3",
    "-B 6 -O 5,8 -E 2,1",
    "-U 3 -m 2",
    "-S",
    "-P",
    "-a -S -P",
    "-h 1,20",
    "-c 10 -D 0.9 -W 40",
    "-I 300,60,700,10",
];

/// Other input layouts, cohort sizes and references. A cohort is the set of reads from which the
/// insert size is estimated.
const LAYOUTS: [AlignCase; 15] = [
    AlignCase { reference: "ref", files: PAIRS, flags: "", options: "-K 100000000" },
    AlignCase { reference: "ref", files: PAIRS, flags: "", options: "-K 10000" },
    AlignCase { reference: "ref", files: "1.fq.gz 2.fq.gz", flags: COHORTS, options: "" },
    AlignCase { reference: "ref", files: "both.fq", flags: "-p -K 100000", options: "" },
    AlignCase { reference: "ref", files: "both.fq", flags: "-p -K 100000", options: "-a -Y" },
    AlignCase { reference: "ref", files: "mixed.fq", flags: "-p -K 100000", options: "" },
    AlignCase { reference: "ref", files: "mixed.fq", flags: "-p -K 1000", options: "-a" },
    AlignCase { reference: "alt", files: "mixed.fq", flags: "-p -K 10000", options: "" },
    AlignCase { reference: "ref", files: "1.fq", flags: COHORTS, options: "" },
    AlignCase { reference: "ref", files: "1.fq", flags: COHORTS, options: "-a" },
    AlignCase {
        reference: "ref",
        files: PAIRS,
        flags: r"-K 100000 -R @RG\tID:a.1\tSM:s\tLB:l",
        options: "",
    },
    AlignCase { reference: "alt", files: PAIRS, flags: COHORTS, options: "" },
    AlignCase { reference: "alt", files: PAIRS, flags: COHORTS, options: "-a" },
    AlignCase { reference: "alt", files: "1.fq", flags: COHORTS, options: "" },
    AlignCase { reference: "simulated", files: "r1.fq r2.fq", flags: "-K 1000000 -Y -M", options: "" },
];

/// Command lines that readmill must refuse (rows 104 to 106): the reads, the options, and part of
/// the expected message.
const REFUSED: [(&str, &str, &str); 10] = [
    (PAIRS, "-V", "not supported"),
    (PAIRS, "-j", "not supported"),
    (PAIRS, "-x pacbio", "not supported"),
    (PAIRS, "-C", "the readmill flag of the same name"),
    (PAIRS, "-H", "not supported"),
    (PAIRS, "-p", "--interleaved"),
    ("1.fq fewer.fq", "", "fewer.fq"),
    ("1.fq other.fq", "", "read:3"),
    ("long-read.fq", "", "200,000"),
    ("long-name.fq", "", "254"),
];

/// Compares alignments of `pairs` read pairs. A full run also compares indexes and the minibwa
/// kernel, whose peers are built from source.
pub fn compare_aligners(
    dir: &SampleDir<'_>,
    peers: &Peers,
    pairs: u64,
    full: bool,
    ledger: &mut Ledger,
) -> Result<()> {
    ledger.print_heading("align", "whole records, compared with bwa mem and minibwa map");
    write_inputs(dir, pairs)?;
    match peers.bwa() {
        Ok(bwa) => compare_with_bwa(dir, &bwa, ledger),
        Err(error) => ledger.check("align: bwa", || Err(error)),
    }
    adapters::compare_adapter_marks(dir, 2 * pairs, ledger);
    if full {
        match peers.bwa_mem2() {
            Ok(tool) => compare_bwa_mem2_indexes(dir, &tool, ledger),
            Err(error) => ledger.check("align: bwa-mem2", || Err(error)),
        }
        compare_with_minibwa(dir, peers, ledger);
    }
    Ok(())
}

/// Compares records with `bwa mem`, which gets the same options and the same `-K`.
///
/// The system's bwa is used. The results must match 0.7.17; later versions write MQ and HN, which
/// are then ignored (row 103 of docs/parity.md).
fn compare_with_bwa(dir: &SampleDir<'_>, bwa: &Tool, ledger: &mut Ledger) {
    ledger.check("align: indexes of three references", || make_indexes(dir, bwa));
    let normal = line_filter_for(&bwa.version);
    let options =
        OPTIONS.map(|options| AlignCase { reference: "ref", files: PAIRS, flags: COHORTS, options });
    for (number, case) in options.iter().chain(&LAYOUTS).enumerate() {
        let AlignCase { reference, files, flags, options } = case;
        let what = format!("align: as bwa {} mem {flags} {options} {reference} {files}", bwa.version);
        ledger.check(&what, || case.compare_case(dir, bwa, normal, 1 + number % 3));
    }
    for (files, options, word) in REFUSED {
        ledger.check(&format!("align: {files} {options} is refused"), || {
            ensure_refused(dir, files, options, word)
        });
    }
}

/// Writes the references and all FASTQ files that the cases read, including those that must be
/// refused.
fn write_inputs(dir: &SampleDir<'_>, pairs: u64) -> Result<()> {
    let write = |name: &str, text: &[u8]| {
        fs::write(dir.path(name), text).with_context(|| format!("cannot write {name}"))
    };
    let random = &mut SeededRandom::new(pairs);
    let genome = reads::simulate_genome(random);
    let files = reads::simulate_pairs(random, &genome, pairs);
    for name in ["ref.fa", "alt.fa"] {
        write(name, reads::format_fasta(&genome).as_bytes())?;
    }
    for name in ["alt.fa.alt", "bwa.alt.alt"] {
        write(name, b"@HD\tVN:1.6\nthree\t0\tone\t40001\t60\t12000M\t*\t0\t0\t*\t*\n")?;
    }
    let (first, last) = (files.first, files.last);
    let fewer = last.trim_end().rsplitn(5, '\n').last().unwrap_or_default();
    write("fewer.fq", format!("{fewer}\n").as_bytes())?;
    write("other.fq", last.replacen("@read:3", "@another", 1).as_bytes())?;
    let (long, name) = (200_001, "n".repeat(255));
    write("long-read.fq", format!("@r\n{}\n+\n{}\n", "A".repeat(long), "I".repeat(long)).as_bytes())?;
    write("long-name.fq", format!("@{name}\nACGT\n+\nIIII\n").as_bytes())?;
    // `mixed.fq` lacks read 1 of every fifth pair and read 2 of every seventh, so that it has both
    // pairs and single reads.
    let lines: Vec<&str> = files.both.split_inclusive('\n').collect();
    let kept = lines
        .chunks(4)
        .enumerate()
        .filter(|(read, _)| !(read / 2 % 5 == 1 && read % 2 == 1 || read / 2 % 7 == 3 && read % 2 == 0));
    write("mixed.fq", kept.flat_map(|(_, record)| record).copied().collect::<String>().as_bytes())?;
    for (name, text) in [("1.fq", first), ("2.fq", last), ("both.fq", files.both)] {
        write(name, text.as_bytes())?;
        let mut gzip = Command::new("gzip");
        gzip.current_dir(dir.directory()).args(["-k", "-f", "-1", name]);
        dir.run_to_end(gzip)?;
    }
    let sample = Sample::new(Profile::small().with_pairs(pairs));
    let (mut fasta, mut first, mut last) = (Vec::new(), Vec::new(), Vec::new());
    sample.write_fasta(&mut fasta)?;
    sample.write_fastq(&mut first, &mut last)?;
    for (name, text) in [("simulated.fa", fasta), ("r1.fq", first), ("r2.fq", last)] {
        write(name, &text)?;
    }
    Ok(())
}

fn make_indexes(dir: &SampleDir<'_>, bwa: &Tool) -> Result<String> {
    for name in ["ref", "alt", "simulated"] {
        dir.run_readmill(&format!("index --unpacked {name}.fa"))?;
        dir.run_peer(bwa, &format!("index -p bwa.{name} {name}.fa"))?;
    }
    Ok(String::new())
}

impl AlignCase {
    /// Aligns with both programs and compares headers and records as SAM text, in file order.
    /// Returns an error if there are fewer lines than reads, because then nothing was compared.
    fn compare_case(
        &self,
        dir: &SampleDir<'_>,
        bwa: &Tool,
        normal: LineFilter,
        threads: usize,
    ) -> Result<String> {
        let AlignCase { reference, files, flags, options } = self;
        let words = format!("align {reference}.fa {files} -o ours.bam -@ {threads} {flags}");
        let mut ours = dir.readmill_command(&words);
        ours.arg("--bwa").arg(options);
        dir.run_to_end(ours)?;
        let words = format!("mem -t 1 {flags} {options} bwa.{reference} {files}");
        let mut theirs = dir.peer_command(bwa, &words);
        theirs.stderr(File::create(dir.path("bwa.err"))?);
        let ours = ProgramLines::start_samtools_1_24(dir, "view -h --no-PG ours.bam")?;
        let lines = compare_lines(ours, ProgramLines::start(theirs)?, normal)?;
        let reads = self.count_reads(dir)?;
        ensure!(lines > reads, "{lines} lines of {reads} reads were compared");
        Ok(format!("{lines} lines"))
    }

    fn count_reads(&self, dir: &SampleDir<'_>) -> Result<u64> {
        let count = |name: &str| -> Result<u64> {
            let text = fs::read(dir.path(name.trim_end_matches(".gz")))?;
            Ok(text.iter().filter(|&&byte| byte == b'\n').count() as u64 / 4)
        };
        self.files.split(' ').map(count).sum()
    }
}

/// Returns the normalization for this bwa version: versions after 0.7.17 write fields that 0.7.17
/// does not.
fn line_filter_for(version: &str) -> LineFilter {
    if version.starts_with("0.7.17") { normalize_line } else { normalize_line_without_mq }
}

/// Normalizes a line for bwa 0.7.17: skips `@PG` and `@HD`, which it does not write, and reads `pa`
/// as a number (row 102).
fn normalize_line(line: &mut Vec<u8>) -> bool {
    normalize_fields(line, |_| true)
}

/// Normalizes a line for later bwa versions, which also write MQ and HN (row 103).
fn normalize_line_without_mq(line: &mut Vec<u8>) -> bool {
    normalize_fields(line, |field| !field.starts_with(b"MQ:i:") && !field.starts_with(b"HN:i:"))
}

fn normalize_fields(line: &mut Vec<u8>, keep: fn(&[u8]) -> bool) -> bool {
    if line.starts_with(b"@") {
        return skip_hd_and_program_lines(line);
    }
    let fields = line.split(|&byte| byte == b'\t').enumerate();
    let fields = fields.filter(|(at, field)| *at < 11 || keep(field)).map(|(at, field)| {
        let number = field.strip_prefix(b"pa:f:").filter(|_| at >= 11);
        let number = number.and_then(|text| std::str::from_utf8(text).ok()?.parse::<f32>().ok());
        number.map_or_else(|| field.to_vec(), |number| format!("pa:f:{number}").into_bytes())
    });
    *line = fields.collect::<Vec<_>>().join(&b'\t');
    true
}

/// Checks that readmill refuses the input with a message that contains `word`, and leaves no output
/// file.
fn ensure_refused(dir: &SampleDir<'_>, files: &str, options: &str, word: &str) -> Result<String> {
    let mut command = dir.readmill_command(&format!("align ref.fa {files} -o refused.bam"));
    command.arg("--bwa").arg(options).stdin(Stdio::null());
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success(), "it is taken");
    ensure!(said.contains(word), "{word} is not in: {said}");
    ensure!(!dir.path("refused.bam").exists(), "an output is left behind");
    Ok(String::new())
}

fn compare_bwa_mem2_indexes(dir: &SampleDir<'_>, tool: &Tool, ledger: &mut Ledger) {
    for name in ["ref", "simulated"] {
        ledger.check(&format!("index: {name}.fa, as bwa-mem2 {} index", tool.version), || {
            dir.run_peer(tool, &format!("index -p mem2.{name} {name}.fa"))?;
            let mut bytes = 0;
            for end in ["amb", "ann", "pac", "bwt.2bit.64", "0123"] {
                bytes += compare_files(dir, &format!("{name}.fa.{end}"), &format!("mem2.{name}.{end}"))?;
            }
            Ok(format!("{bytes} bytes"))
        });
    }
}

struct AlignCase {
    reference: &'static str,
    files: &'static str,
    /// Flags with the same spelling in both programs.
    flags: &'static str,
    /// Options of the aligner, passed to readmill after `--bwa` or `--minibwa`.
    options: &'static str,
}

const PAIRS: &str = "1.fq 2.fq";

const COHORTS: &str = "-K 100000";

#[expect(clippy::ptr_arg, reason = "it is a `Normal`")]
fn skip_hd_and_program_lines(line: &mut Vec<u8>) -> bool {
    !line.starts_with(b"@HD\t") && !line.starts_with(b"@PG\t")
}

/// Sets of minibwa options that each change the records. They run on pairs with a small
/// `-K`.
const MINIBWA_OPTIONS: [&str; 19] = [
    "",
    "-b MD",
    "-b cs -Y",
    "-b ds --eqx",
    "-5",
    "-P",
    "--hic",
    "--outn=9 --xa=9",
    "--outn=20 --outs=0.5 -N 50 -p 0.3",
    "--xa=50",
    "-k 13 -c 100",
    "-k 25 -s 60",
    "-w 5 -W 50 -g 50",
    "-m 10 -s 10",
    "-A 2 -B 6 -O 8,20 -E 3,1",
    "-U 3 --rescue=0",
    "-l 100",
    "-x sr",
    "-x lr -b MD",
];

const MINIBWA_LAYOUTS: [AlignCase; 7] = [
    AlignCase { reference: "ref", files: PAIRS, flags: "", options: "" },
    AlignCase { reference: "ref", files: PAIRS, flags: "-K 10000", options: "-I 300,60,700,10" },
    AlignCase { reference: "ref", files: "1.fq.gz 2.fq.gz", flags: COHORTS, options: "" },
    AlignCase { reference: "ref", files: "both.fq", flags: COHORTS, options: "" },
    AlignCase { reference: "ref", files: "1.fq", flags: COHORTS, options: "--outn=9" },
    AlignCase {
        reference: "ref",
        files: PAIRS,
        flags: r"-K 100000 -R @RG\tID:a.1\tSM:s\tLB:l",
        options: "",
    },
    AlignCase { reference: "simulated", files: "r1.fq r2.fq", flags: "-K 1000000", options: "-b MD -Y" },
];

/// Compares with minibwa on the same files as with bwa. If readmill was built without this kernel,
/// the comparisons are recorded as skipped.
///
/// Both programs get the same options and the same `-K`. minibwa comes from the crate whose C code
/// the kernel calls, and is built with its own Makefile. samtools converts its output to BAM, so
/// that field types are compared as well.
fn compare_with_minibwa(dir: &SampleDir<'_>, peers: &Peers, ledger: &mut Ledger) {
    match has_kernel(dir) {
        Ok(true) => {}
        Ok(false) => {
            let why = "this readmill is built without --features minibwa";
            return ledger.record_skipped("align: whole records, compared with minibwa map", why);
        }
        Err(error) => return ledger.check("align: the kernels of readmill", || Err(error)),
    }
    let tool = match peers.minibwa() {
        Ok(tool) => tool,
        Err(error) => return ledger.check("align: minibwa", || Err(error)),
    };
    for name in ["ref", "simulated"] {
        let what = format!("index: {name}.fa, as minibwa {} index", tool.version);
        ledger.check(&what, || compare_minibwa_index(dir, &tool, name));
    }
    let options = MINIBWA_OPTIONS.map(|options| AlignCase {
        reference: "ref",
        files: PAIRS,
        flags: COHORTS,
        options,
    });
    for (number, case) in options.iter().chain(&MINIBWA_LAYOUTS).enumerate() {
        let AlignCase { reference, files, flags, options } = case;
        let what =
            format!("align: as minibwa {} map {flags} {options} {reference} {files}", tool.version);
        ledger.check(&what, || compare_minibwa_case(dir, &tool, case, 1 + number % 3));
    }
}

fn has_kernel(dir: &SampleDir<'_>) -> Result<bool> {
    let help = dir.readmill_command("align --help").output()?;
    ensure!(help.status.success(), "readmill align --help: {}", String::from_utf8_lossy(&help.stderr));
    Ok(String::from_utf8_lossy(&help.stdout).contains("--minibwa"))
}

fn compare_minibwa_index(dir: &SampleDir<'_>, tool: &Tool, name: &str) -> Result<String> {
    dir.run_readmill(&format!("index --kernel minibwa {name}.fa"))?;
    dir.run_peer(tool, &format!("index {name}.fa minibwa.{name}"))?;
    let mut bytes = 0;
    for end in ["l2b", "mbw"] {
        bytes += compare_files(dir, &format!("{name}.fa.{end}"), &format!("minibwa.{name}.{end}"))?;
    }
    Ok(format!("{bytes} bytes"))
}

/// Aligns with both programs. Compares header and records as SAM text, and records as BAM bytes, in
/// file order.
fn compare_minibwa_case(
    dir: &SampleDir<'_>,
    tool: &Tool,
    case: &AlignCase,
    threads: usize,
) -> Result<String> {
    let AlignCase { reference, files, flags, options } = case;
    // minibwa treats adjacent records with the same name in a single file as a pair; readmill needs
    // `-p` for that.
    let both = if *files == "both.fq" { "-p" } else { "" };
    let words = format!(
        "align --kernel minibwa {reference}.fa {files} {both} -o ours.minibwa.bam -@ {threads} {flags}"
    );
    let mut ours = dir.readmill_command(&words);
    ours.arg("--minibwa").arg(options);
    dir.run_to_end(ours)?;
    let words = format!("map -t 1 {flags} {options} minibwa.{reference} {files}");
    let mut theirs = dir.peer_command(tool, &words);
    theirs.stdout(File::create(dir.path("minibwa.sam"))?).stderr(File::create(dir.path("minibwa.err"))?);
    ensure!(theirs.status()?.success(), "minibwa {words} failed: see minibwa.err");
    dir.run_samtools_1_24("view --no-PG -b -o minibwa.bam minibwa.sam")?;
    let print = |file: &str| ProgramLines::start_samtools_1_24(dir, &format!("view -h --no-PG {file}"));
    let lines =
        compare_lines(print("ours.minibwa.bam")?, print("minibwa.sam")?, skip_hd_and_program_lines)?;
    let reads = case.count_reads(dir)?;
    ensure!(lines > reads, "{lines} lines of {reads} reads were compared");
    let bytes = compare_bam_records(dir, "ours.minibwa.bam", "minibwa.bam")?;
    Ok(format!("{lines} lines, {bytes} bytes of records"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_compared(rule: LineFilter, line: &str) -> Option<String> {
        let mut line = line.as_bytes().to_vec();
        rule(&mut line).then(|| String::from_utf8(line).unwrap())
    }

    #[test]
    fn accepted_differences_and_no_others_are_left_out() {
        let record = |fields: &str| format!("r\t0\tc\t1\t60\t4M\t*\t0\t0\tACGT\tIIII\tNM:i:0{fields}");
        let strict = line_filter_for("0.7.17-r1188");
        assert_eq!(as_compared(strict, "@HD\tVN:1.6"), None);
        assert_eq!(as_compared(strict, "@PG\tID:bwa"), None);
        assert!(as_compared(strict, "@SQ\tSN:c\tLN:9").is_some());
        let number = as_compared(strict, &record("\tpa:f:0.850"));
        assert_eq!(number, as_compared(strict, &record("\tpa:f:0.85")));
        assert_ne!(number, as_compared(strict, &record("\tpa:f:0.851")));
        for other in ["\tMQ:i:60", "\tXS:i:0", ""] {
            assert_eq!(as_compared(strict, &record(other)), Some(record(other)));
        }
        let later = line_filter_for("0.7.18-r1243");
        assert_eq!(as_compared(later, &record("\tMQ:i:60\tXS:i:0")), Some(record("\tXS:i:0")));
    }
}
