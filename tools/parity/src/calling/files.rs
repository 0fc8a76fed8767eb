//! Compares whole VCF files of `readmill call` with those of GATK HaplotypeCaller.

use std::fs::{self, File};
use std::io::BufWriter;

use anyhow::{Result, ensure};
use readmill_peers::{Peers, Tool};
use readmill_simulate::Profile;

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::samples::sample_of_profile;

/// Bases of a simulated pair.
const PAIR_BASES: u64 = 300;

/// What is called: a name, options of GATK, and options of readmill.
const CALLS: [(&str, &str, &str); 7] = [
    ("GVCF", "-ERC GVCF", "-@ 2"),
    ("BP_RESOLUTION", "-ERC BP_RESOLUTION", "--mode bp -@ 1 -m 300M"),
    ("only variants", "-ERC NONE", "--mode vcf -@ 2"),
    ("GVCF of one contig", "-ERC GVCF -L chr2", "-L chr2 -@ 8"),
    (
        "GVCF of padded intervals",
        "-ERC GVCF -L targets.bed -L chrM:100-300 -ip 120",
        "-L targets.bed -L chrM:100-300 --interval-padding 120 -@ 3",
    ),
    (
        "variants without intervals",
        "-ERC NONE -L chr1 -XL targets.bed",
        "--mode vcf -L chr1 --exclude-intervals targets.bed -@ 2",
    ),
    (
        "BP_RESOLUTION of an interval",
        "-ERC BP_RESOLUTION -L chr1:5001-9000",
        "--mode bp -L chr1:5001-9000",
    ),
];

/// Targets of various lengths, some of which touch or end with the contig.
const TARGETS: &str = "chr1\t1000\t1500\nchr1\t1500\t1501\nchr1\t20000\t45000\nchr1\t45150\t45400\n\
                       chr2\t0\t300\nchr2\t88000\t90000\n";

/// Calls simulated samples of different depth in each mode, whole and in intervals.
pub fn compare_files(dir: &SampleDir<'_>, peers: &Peers, ledger: &mut Ledger) -> Result<()> {
    if !std::is_x86_feature_detected!("avx512f") {
        ledger.record_skipped("call: VCF files", "GATK gives the expected records only with AVX-512");
        return Ok(());
    }
    let gatk = peers.gatk()?;
    let samples = [("30-fold", 30, false), ("8-fold with introns", 8, true)];
    for (seed, (name, depth, introns)) in (21..).zip(samples) {
        let dir = dir.make_empty_subdirectory(&format!("depth{depth}"))?;
        let contigs = [("chr1", 210_000), ("chr2", 90_000), ("chrM", 16_569), ("empty", 1_000)];
        let contigs = Vec::from(contigs.map(|(name, length)| (name.to_owned(), length)));
        let pairs =
            contigs.iter().map(|(_, length)| u64::from(*length)).sum::<u64>() * depth / PAIR_BASES;
        let profile = Profile { contigs, introns, libraries: 1, ..Profile::small() };
        write_sample(&dir, profile.with_seed(seed).with_pairs(pairs))?;
        for (what, gatk_options, options) in CALLS {
            ledger.check(&format!("call: {what}, {name}"), || {
                compare_call(&dir, &gatk, gatk_options, options)
            });
        }
    }
    Ok(())
}

/// Writes `marked.bam`, sorted and with duplicates marked, `ref.fa` with its index and dictionary, and the
/// targets.
fn write_sample(dir: &SampleDir<'_>, profile: Profile) -> Result<()> {
    let simulated = readmill_simulate::Sample::new(profile.clone());
    simulated.write_fasta(&mut BufWriter::new(File::create(dir.path("ref.fa"))?))?;
    sample_of_profile(profile).write_input_bam(dir)?;
    fs::write(dir.path("targets.bed"), TARGETS)?;
    dir.run_readmill("prep in.bam --sort coordinate --mark-duplicates -o marked.bam")?;
    dir.run_readmill("index ref.fa")?;
    dir.run_samtools("faidx ref.fa")?;
    dir.run_readmill("dict ref.fa --as-picard -o ref.dict")?;
    Ok(())
}

fn compare_call(dir: &SampleDir<'_>, gatk: &Tool, gatk_options: &str, options: &str) -> Result<String> {
    dir.run_readmill(&format!("call marked.bam --reference ref.fa -o ours.vcf.gz {options}"))?;
    let given = "-I marked.bam -R ref.fa -O gatk.vcf --QUIET true --verbosity ERROR";
    dir.run_peer(gatk, &format!("HaplotypeCaller {given} {gatk_options}"))?;
    let ours = dir.run_to_end(dir.inflate_command("ours.vcf.gz"))?;
    let gatk = fs::read_to_string(dir.path("gatk.vcf"))?;
    let is_compared =
        |line: &&str| !line.starts_with("##GATKCommandLine") && !line.starts_with("##readmillVersion");
    let (mut ours, mut gatk) = (ours.lines().filter(is_compared), gatk.lines().filter(is_compared));
    let mut records = 0;
    loop {
        let (our_line, gatk_line) = (ours.next(), gatk.next());
        ensure!(our_line == gatk_line, "ours {our_line:?}\nGATK {gatk_line:?}");
        let Some(line) = our_line else { break };
        records += usize::from(!line.starts_with('#'));
    }
    ensure!(records > 0, "no record was compared");
    Ok(format!("{records} records"))
}
