//! Compares `readmill index`, `faidx`, `dict`, `cat` and `reheader` with samtools and tabix, on
//! many small files.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use readmill_peers::{Peers, Tool};

use crate::commands::SampleDir;
use crate::indexes::random_long_alignments;
use crate::ledger::{FULL_RUN, Ledger};
use crate::outputs::compare_files;
use crate::random::SeededRandom;

/// Runs each comparison on `files` files. Structural variants need htslib 1.24 through pysam, so
/// quick runs skip them.
pub fn compare_index_commands(
    dir: &SampleDir<'_>,
    peers: &Peers,
    files: u64,
    quick: bool,
    ledger: &mut Ledger,
) {
    ledger.print_heading("index", "indexes of files that exist, and small commands on whole files");
    for flag in ["-b", "-c", "-m 12"] {
        ledger.check(&format!("index {flag}: BAM, byte for byte"), || {
            compare_on_random_files(dir, files, |dir| {
                dir.run_samtools_1_24("view --no-PG -b -o in.bam in.sam")?;
                compare_indexes(dir, flag, "in.bam")
            })
        });
    }
    ledger.check("index: SAM by bgzip, byte for byte", || {
        compare_on_random_files(dir, files, |dir| {
            dir.run_samtools_1_24("view --no-PG -h -O sam.gz -o in.sam.gz in.sam")?;
            compare_indexes(dir, "-c", "in.sam.gz")
        })
    });
    for options in
        ["no_ref=1", "no_ref=1,multi_seq_per_slice=1", "no_ref=1,version=3.1,seqs_per_slice=50"]
    {
        ledger.check(&format!("index: CRAM, {options}, inflated"), || {
            compare_on_random_files(dir, files, |dir| {
                dir.run_samtools_1_24(&format!("view --no-PG -O cram,{options} -o in.cram in.sam"))?;
                dir.run_readmill("index -q -o ours in.cram")?;
                dir.run_samtools_1_24("index -o theirs.crai in.cram")?;
                compare_inflated(dir, "ours", "theirs.crai")
            })
        });
    }
    if let Err(why) = peers.tabix() {
        ledger.record_skipped("index: VCF, BED and GFF, compared with tabix", &format!("{why:#}"));
    } else {
        for (preset, end) in [("vcf", "tbi"), ("bed", "tbi"), ("gff", "tbi"), ("bed", "csi")] {
            ledger.check(&format!("index: {preset}, {end}, inflated"), || {
                compare_tabix_indexes(dir, files, preset, end)
            });
        }
    }
    if quick {
        ledger
            .record_skipped("index: structural variants, compared with tabix of htslib 1.24", FULL_RUN);
    } else {
        ledger.check("index: structural variants, as tabix of htslib 1.24, inflated", || {
            peers.tabix()?; // for bgzip
            compare_structural_variants(dir, &peers.pysam()?, files)
        });
    }
    ledger.check("faidx, faidx of regions, and dict", || compare_fasta_commands(dir, files));
    ledger.check("cat and reheader: records", || compare_cat_and_reheader(dir, files));
}

/// Generates `files` small sorted files `in.sam` with long alignments, and calls `compare` for
/// each. An error names the seed of its file.
fn compare_on_random_files(
    dir: &SampleDir<'_>,
    files: u64,
    compare: impl Fn(&SampleDir<'_>) -> Result<()>,
) -> Result<String> {
    for seed in 0..files {
        let lengths = [[500_000_000, 20_000, 70_000], [5_000, 16_384, 1_000_000]];
        fs::write(dir.path("raw.sam"), random_long_alignments(seed, &lengths[seed as usize % 2]))?;
        dir.run_samtools_1_24("sort --no-PG -O sam -o in.sam raw.sam")?;
        compare(dir).with_context(|| format!("seed {seed}"))?;
    }
    Ok(format!("{files} files"))
}

fn compare_indexes(dir: &SampleDir<'_>, flag: &str, file: &str) -> Result<()> {
    dir.run_readmill(&format!("index {flag} -q -o ours {file}"))?;
    dir.run_samtools_1_24(&format!("index {flag} -o theirs {file}"))?;
    compare_files(dir, "ours", "theirs").map(drop)
}

fn compare_inflated(dir: &SampleDir<'_>, ours: &str, theirs: &str) -> Result<()> {
    let read = |file: &str| -> Result<Vec<u8>> { Ok(dir.inflate_command(file).output()?.stdout) };
    ensure!(read(ours)? == read(theirs)?, "{ours} and {theirs} differ");
    Ok(())
}

fn compare_tabix_indexes(dir: &SampleDir<'_>, files: u64, preset: &str, end: &str) -> Result<String> {
    for seed in 0..files {
        let mut random = SeededRandom::new(seed);
        let mut text = match preset {
            "vcf" => "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n".to_string(),
            _ => "# comment\n".to_string(),
        };
        for contig in ["c1", "c10", "c2"] {
            let mut starts: Vec<u64> = (0..random.below(300)).map(|_| random.below(3_000_000)).collect();
            starts.sort_unstable();
            for start in starts {
                let (first, last) = (start + 1, start + 1 + random.below(60_000));
                text += &match preset {
                    "vcf" if random.once_in(3) => {
                        format!("{contig}\t{first}\t.\tA\t<DEL>\t.\t.\tDP=3;END={last}\n")
                    }
                    "vcf" => format!("{contig}\t{first}\t.\tACGT\tA\t.\t.\t.\n"),
                    "bed" => format!("{contig}\t{start}\t{last}\n"),
                    _ => format!("{contig}\ts\texon\t{first}\t{last}\t.\t+\t.\tID=x\n"),
                };
            }
        }
        let plain = format!("in.{preset}");
        fs::write(dir.path(&plain), text)?;
        let run = |program: &str, words: &str| -> Result<()> {
            let mut command = Command::new(program);
            command.current_dir(dir.directory()).args(words.split(' '));
            dir.run_to_end(command).map(drop)
        };
        run("bgzip", &format!("-f {plain}"))?;
        let flag = if end == "csi" { "-C " } else { "" };
        run("tabix", &format!("-f {flag}-p {preset} {plain}.gz"))?;
        let flag = if end == "csi" { "-c " } else { "" };
        dir.run_readmill(&format!("index {flag}-q -o ours {plain}.gz"))?;
        let compared = compare_inflated(dir, "ours", &format!("{plain}.gz.{end}"));
        compared.with_context(|| format!("seed {seed}"))?;
    }
    Ok(format!("{files} files"))
}

/// Compares indexes of VCF records whose end is given by END, SVLEN or LEN. The peer is pysam,
/// which follows the rules of htslib 1.24.
fn compare_structural_variants(dir: &SampleDir<'_>, pysam: &Tool, files: u64) -> Result<String> {
    const INDEX: &str =
        "import pysam; pysam.tabix_index('in.vcf.gz', preset='vcf', force=True, keep_original=True)";
    for seed in 0..files {
        fs::write(dir.path("in.vcf"), random_structural_vcf(&mut SeededRandom::new(seed)))?;
        let mut bgzip = Command::new("bgzip");
        bgzip.current_dir(dir.directory()).args(["-f", "in.vcf"]);
        dir.run_to_end(bgzip)?;
        let mut python = pysam.command();
        python.current_dir(dir.directory()).args(["-c", INDEX]);
        dir.run_to_end(python)?;
        dir.run_readmill("index -q -o ours in.vcf.gz")?;
        compare_inflated(dir, "ours", "in.vcf.gz.tbi").with_context(|| format!("seed {seed}"))?;
    }
    Ok(format!("{files} files"))
}

fn random_structural_vcf(random: &mut SeededRandom) -> String {
    const ALLELES: [&str; 12] = [
        "A",
        "<DEL>",
        "<DUP>",
        "<INS>",
        "<INV>",
        "<CNV>",
        "<DEL:ME>",
        "<CNV:TR>",
        "<DELX>",
        "N[c2:5[",
        "<*>",
        "<NON_REF>",
    ];
    let mut text = "##fileformat=VCFv4.5\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ta\tb\n"
        .to_string();
    for contig in ["c1", "c2"] {
        let mut start = 0;
        for _ in 0..random.below(60) {
            start += 1 + random.below(30_000);
            let number = 1 + random.below(3);
            let alleles: Vec<&str> = (0..number).map(|_| ALLELES[random.below(12) as usize]).collect();
            let length = |random: &mut SeededRandom| match random.below(4) {
                0 => ".".to_string(),
                1 => format!("-{}", random.below(900_000)),
                _ => random.below(900_000).to_string(),
            };
            let lengths: Vec<String> = (0..1 + random.below(3)).map(|_| length(random)).collect();
            let mut info = vec!["DP=3,4".to_string()];
            if random.once_in(2) {
                info.insert(random.below(2) as usize, format!("SVLEN={}", lengths.join(",")));
            }
            if random.once_in(3) {
                info.insert(0, format!("END={}", (start + random.below(400_000)).saturating_sub(9)));
            }
            if random.once_in(4) {
                info.insert(0, "XSVLEN=7".into());
            }
            let (first, second) = (random.below(90_000), random.below(90_000));
            let reference = "ACGT".repeat(1 + random.below(3) as usize);
            let samples = match random.below(3) {
                0 => "GT:LEN\t0/0\t0/1".to_string(),
                1 => format!("GT:LEN\t0/0:{first}\t0/1:{second}"),
                _ => format!("LEN:GT\t{first}:0/0\t{second}:0/1"),
            };
            let (alleles, info) = (alleles.join(","), info.join(";"));
            text += &format!("{contig}\t{start}\t.\t{reference}\t{alleles}\t.\t.\t{info}\t{samples}\n");
        }
    }
    text
}

fn compare_fasta_commands(dir: &SampleDir<'_>, files: u64) -> Result<String> {
    for seed in 0..files.min(30) {
        let mut random = SeededRandom::new(seed);
        let mut text = String::new();
        for contig in 0..=random.below(5) {
            let length = 1 + random.below(2_000);
            text += &format!(">c{contig} about it\n");
            let bases: String =
                (0..length).map(|_| char::from(b"ACGTNacgt"[random.below(9) as usize])).collect();
            let width = 1 + random.below(90) as usize;
            for line in bases.as_bytes().chunks(width) {
                text += &format!("{}\n", String::from_utf8_lossy(line));
            }
        }
        fs::write(dir.path("in.fa"), text)?;
        dir.run_samtools_1_24("faidx --fai-idx theirs.fai in.fa")?;
        dir.run_readmill("faidx -q in.fa")?;
        compare_files(dir, "in.fa.fai", "theirs.fai")?;
        dir.run_samtools_1_24("faidx -o theirs.txt in.fa c0 c0:5-300 c0:17")?;
        dir.run_readmill("faidx -o ours.txt in.fa c0 c0:5-300 c0:17")?;
        compare_files(dir, "ours.txt", "theirs.txt")?;
        dir.run_samtools_1_24("dict -A -a as -s sp -o theirs.dict in.fa")?;
        dir.run_readmill("dict -A -a as -s sp -o ours.dict in.fa")?;
        compare_files(dir, "ours.dict", "theirs.dict")?;
    }
    Ok(format!("{} files", files.min(30)))
}

fn compare_cat_and_reheader(dir: &SampleDir<'_>, files: u64) -> Result<String> {
    compare_on_random_files(dir, files.min(30), |dir| {
        dir.run_samtools_1_24("view --no-PG -b -o a.bam in.sam")?;
        dir.run_samtools_1_24("cat --no-PG -o theirs.bam a.bam a.bam")?;
        dir.run_readmill("cat --no-PG -q -o ours.bam a.bam a.bam")?;
        compare_as_sam(dir, "ours.bam", "theirs.bam")?;
        let header = fs::read_to_string(dir.path("in.sam"))?;
        let header: String =
            header.split_inclusive('\n').take_while(|line| line.starts_with('@')).collect();
        fs::write(dir.path("new.sam"), header.replace("SN:c", "SN:chr"))?;
        dir.run_samtools_1_24("view --no-PG -O cram,no_ref=1 -o a.cram in.sam")?;
        for file in ["a.bam", "a.cram"] {
            let mut command = dir.samtools_1_24_command(&format!("reheader -P new.sam {file}"));
            command.stdout(fs::File::create(dir.path("theirs"))?);
            dir.run_to_end(command)?;
            dir.run_readmill(&format!("reheader -P -q new.sam {file} -o ours"))?;
            compare_as_sam(dir, "ours", "theirs")?;
        }
        Ok(())
    })
}

fn compare_as_sam(dir: &SampleDir<'_>, ours: &str, theirs: &str) -> Result<()> {
    dir.run_samtools_1_24(&format!("view --no-PG -h -o ours.txt {ours}"))?;
    dir.run_samtools_1_24(&format!("view --no-PG -h -o theirs.txt {theirs}"))?;
    compare_files(dir, "ours.txt", "theirs.txt").map(drop)
}
