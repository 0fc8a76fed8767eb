//! Whole records of `readmill align --kernel minibwa` beside `minibwa map`, and its index.
//!
//! Both get the same options and the same `-K`. minibwa is that of the crate whose C code the kernel calls, built by
//! its own Makefile. What it prints becomes BAM by samtools, so that types of fields are compared, too.

use std::fs::File;

use anyhow::{Result, ensure};

use super::case::{AlignCase, COHORTS, PAIRS, not_of_the_program};
use crate::parity::commands::SampleDir;
use crate::parity::ledger::Ledger;
use crate::parity::lines::{Printed, same, same_bytes, same_records};
use crate::peers::{Peers, Tool};

/// Sets of options, each of which makes other records; tried on pairs, in cohorts whose borders cut batches.
const OPTIONS: [&str; 19] = [
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

/// Other layouts and cohorts, and references.
const LAYOUTS: [AlignCase; 7] = [
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

/// Compares on the files that bwa was compared on; says so if this readmill has no such kernel.
pub fn compare(dir: &SampleDir<'_>, peers: &Peers, ledger: &mut Ledger) {
    match has_kernel(dir) {
        Ok(true) => {}
        Ok(false) => {
            let why = "this readmill is built without --features minibwa";
            return ledger.left_out("align: whole records beside minibwa map", why);
        }
        Err(error) => return ledger.check("align: the kernels of readmill", || Err(error)),
    }
    let tool = match peers.minibwa() {
        Ok(tool) => tool,
        Err(error) => return ledger.check("align: minibwa", || Err(error)),
    };
    for name in ["ref", "simulated"] {
        let what = format!("index: {name}.fa, as minibwa {} index", tool.version);
        ledger.check(&what, || same_index(dir, &tool, name));
    }
    let options =
        OPTIONS.map(|options| AlignCase { reference: "ref", files: PAIRS, flags: COHORTS, options });
    for (number, case) in options.iter().chain(&LAYOUTS).enumerate() {
        let AlignCase { reference, files, flags, options } = case;
        let what =
            format!("align: as minibwa {} map {flags} {options} {reference} {files}", tool.version);
        ledger.check(&what, || same_as(dir, &tool, case, 1 + number % 3));
    }
}

/// Whether `--kernel minibwa` can be had.
fn has_kernel(dir: &SampleDir<'_>) -> Result<bool> {
    let help = dir.readmill_command("align --help").output()?;
    ensure!(help.status.success(), "readmill align --help: {}", String::from_utf8_lossy(&help.stderr));
    Ok(String::from_utf8_lossy(&help.stdout).contains("--minibwa"))
}

/// Makes the index of each, and compares the files byte for byte.
fn same_index(dir: &SampleDir<'_>, tool: &Tool, name: &str) -> Result<String> {
    dir.readmill(&format!("index --kernel minibwa {name}.fa"))?;
    dir.peer(tool, &format!("index {name}.fa minibwa.{name}"))?;
    let mut bytes = 0;
    for end in ["l2b", "mbw"] {
        bytes += same_bytes(dir, &format!("{name}.fa.{end}"), &format!("minibwa.{name}.{end}"))?;
    }
    Ok(format!("{bytes} bytes"))
}

/// Compares headers and records as SAM text, and records as BAM bytes, in their order.
fn same_as(dir: &SampleDir<'_>, tool: &Tool, case: &AlignCase, threads: usize) -> Result<String> {
    let AlignCase { reference, files, flags, options } = case;
    // minibwa itself takes neighbours of one name in a single file for a pair.
    let both = if *files == "both.fq" { "-p" } else { "" };
    let words = format!(
        "align --kernel minibwa {reference}.fa {files} {both} -o ours.minibwa.bam -@ {threads} {flags}"
    );
    let mut ours = dir.readmill_command(&words);
    ours.arg("--minibwa").arg(options);
    dir.finish(ours)?;
    let words = format!("map -t 1 {flags} {options} minibwa.{reference} {files}");
    let mut theirs = dir.peer_command(tool, &words);
    theirs.stdout(File::create(dir.path("minibwa.sam"))?).stderr(File::create(dir.path("minibwa.err"))?);
    ensure!(theirs.status()?.success(), "minibwa {words} failed: see minibwa.err");
    dir.newest("view --no-PG -b -o minibwa.bam minibwa.sam")?;
    let print = |file: &str| Printed::newest(dir, &format!("view -h --no-PG {file}"));
    let lines = same(print("ours.minibwa.bam")?, print("minibwa.sam")?, not_of_the_program)?;
    let reads = case.reads(dir)?;
    ensure!(lines > reads, "{lines} lines of {reads} reads were compared");
    let bytes = same_records(dir, "ours.minibwa.bam", "minibwa.bam")?;
    Ok(format!("{lines} lines, {bytes} bytes of records"))
}
