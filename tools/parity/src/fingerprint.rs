//! Compares fingerprints with samtools mpileup: the base counts at each site.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, ensure};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::outputs::ProgramLines;
use crate::samples;

const SITE_STEP_BASES: u64 = 97;

/// mpileup with the filters of a fingerprint: MAPQ 10, base quality 20, and no unmapped,
/// secondary, failed, duplicate or supplementary reads.
const MPILEUP_COMMAND: &str = "mpileup -A -B -x -d 0 -q 10 -Q 20 --ff 0xf04 -l sites.bed marked.bam";

pub fn compare_with_mpileup(dir: &SampleDir<'_>, pairs: u64, ledger: &mut Ledger) -> Result<()> {
    let sample = samples::simulated_samples(pairs).into_iter().find(|sample| sample.has_all_kinds);
    sample.context("a sample with all kinds of templates")?.write_input_bam(dir)?;
    dir.run_readmill("prep in.bam -o marked.bam --sort coordinate --mark-duplicates")?;
    ledger.check("fingerprint: the bases of samtools mpileup", || {
        let header = ProgramLines::start_samtools_1_24(dir, "view -H marked.bam")?.read_text()?;
        let (mut vcf, mut bed) = (String::from("#CHROM\tPOS\tID\tREF\tALT\n"), String::new());
        for line in header.lines().filter(|line| line.starts_with("@SQ")) {
            let value = |key: &str| line.split('\t').find_map(|field| field.strip_prefix(key));
            let (name, length) = value("SN:").zip(value("LN:")).context("a contig")?;
            for pos in (1..=length.parse::<u64>()?).step_by(SITE_STEP_BASES as usize) {
                writeln!(vcf, "{name}\t{pos}\t.\tA\tC")?;
                writeln!(bed, "{name}\t{}\t{pos}", pos - 1)?;
            }
        }
        fs::write(dir.path("sites.vcf"), vcf)?;
        fs::write(dir.path("sites.bed"), bed)?;
        let theirs = ProgramLines::start_samtools_1_24(dir, MPILEUP_COMMAND)?.read_text()?;
        let theirs: HashMap<String, [u64; 3]> = theirs.lines().filter_map(parse_mpileup_line).collect();
        dir.run_readmill("fingerprint count marked.bam --sites sites.vcf -o ours.fingerprint")?;
        let ours = fs::read_to_string(dir.path("ours.fingerprint"))?;
        let (mut sites, mut sum) = (0, 0);
        for line in ours.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [name, pos, _, _, counts @ ..] = &fields[..] else { anyhow::bail!("{line:?}") };
            let counts: Vec<u64> = counts.iter().map(|n| n.parse()).collect::<Result<_, _>>()?;
            let other = theirs.get(&format!("{name}\t{pos}")).copied().unwrap_or_default();
            ensure!(counts == other, "{line:?}, theirs {other:?}");
            sites += 1;
            sum += counts.iter().sum::<u64>();
        }
        ensure!(
            sum > 0 && theirs.values().flatten().sum::<u64>() == sum,
            "{sum} bases of {sites} sites"
        );
        Ok(format!("{sum} bases of {sites} sites"))
    });
    Ok(())
}

/// Parses a line of mpileup output created without a reference. Returns contig and position, and
/// the counts of A, of C and of other bases.
fn parse_mpileup_line(line: &str) -> Option<(String, [u64; 3])> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [name, pos, _, _, column, ..] = &fields[..] else { return None };
    let (mut counts, mut letters) = ([0; 3], column.bytes());
    while let Some(letter) = letters.next() {
        match letter.to_ascii_uppercase() {
            b'^' => drop(letters.next()), // MAPQ follows
            b'+' | b'-' => {
                let mut rest = letters.clone();
                let mut length = 0;
                while let Some(digit) = rest.clone().next().filter(u8::is_ascii_digit) {
                    length = 10 * length + usize::from(digit - b'0');
                    rest.next();
                }
                letters = rest;
                letters.by_ref().take(length).for_each(drop);
            }
            b'A' => counts[0] += 1,
            b'C' => counts[1] += 1,
            b'G' | b'T' | b'N' => counts[2] += 1,
            _ => {} // a deletion, a skipped region, the end of a read
        }
    }
    Some((format!("{name}\t{pos}"), counts))
}
