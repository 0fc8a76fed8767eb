//! Compares NM, MD and UQ with Picard SetNmMdAndUqTags and samtools calmd.

use std::fs::File;
use std::io::BufWriter;

use anyhow::{Result, ensure};
use readmill_simulate::Profile;

use crate::parity::commands::SampleDir;
use crate::parity::ledger::Ledger;
use crate::parity::lines::{Normal, Printed, same, tags_in_order};
use crate::parity::random::SeededRandom;

/// Compares on simulated reads some of whose bases, NM, MD and UQ were changed, sorted and not.
pub fn compare(dir: &SampleDir<'_>, pairs: u64, ledger: &mut Ledger) {
    ledger.check("altered.bam: bases, NM, MD and UQ are changed", || altered(dir, pairs));
    let picard = "SetNmMdAndUqTags";
    ledger.check(&format!("altered.bam: filter --nm-md-uq as Picard's {picard}"), || {
        dir.readmill("filter altered.bam -o ours.bam --nm-md-uq --reference told.fasta")?;
        let call = format!("{picard} I=altered.bam O=theirs.bam R=told.fasta");
        let codes = dir.picard_each(&[call])?;
        ensure!(codes == [0], "Picard ends with {codes:?}");
        records(dir, "ours.bam", "theirs.bam", tags_in_order)
    });
    ledger.check("altered.bam: filter --nm-md-uq as samtools calmd, where no base is N", || {
        let theirs = Printed::by(dir.newest_command("calmd -Q -b --no-PG altered.bam told.fasta"))?;
        std::fs::write(dir.path("theirs.bam"), theirs.bytes()?)?;
        records(dir, "ours.bam", "theirs.bam", without_n_and_uq)
    });
    ledger.check("altered.bam in another order, then sorted, is the same", || {
        dir.newest("sort -n -o by-name.bam altered.bam")?;
        let flags = "--nm-md-uq --reference told.fasta";
        dir.readmill(&format!("prep by-name.bam -o sorted.bam --sort coordinate {flags}"))?;
        dir.readmill(&format!("filter by-name.bam -o filtered.bam {flags}"))?;
        dir.newest("sort --no-PG -o again.bam filtered.bam")?;
        records(dir, "sorted.bam", "again.bam", |_| true)
    });
}

fn records(dir: &SampleDir<'_>, ours: &str, theirs: &str, normal: Normal) -> Result<String> {
    let [ours, theirs] = [ours, theirs].map(|file| Printed::newest(dir, &format!("view {file}")));
    Ok(format!("{} records", same(ours?, theirs?, normal)?))
}

/// Records without UQ, and none whose bases, or those of the reference below them, may be N (row 86).
fn without_n_and_uq(line: &mut Vec<u8>) -> bool {
    let text = String::from_utf8_lossy(line).into_owned();
    let fields: Vec<&str> = text.split('\t').filter(|field| !field.starts_with("UQ:i:")).collect();
    *line = fields.join("\t").into_bytes();
    let told = |field: &&str| field.starts_with("MD:Z:") && field[5..].contains('N');
    !fields[9].contains('N') && !fields.iter().any(told) && tags_in_order(line)
}

/// Writes `told.fasta` and, sorted by coordinate, `altered.bam`.
fn altered(dir: &SampleDir<'_>, pairs: u64) -> Result<String> {
    let mut profile = Profile::small().with_pairs(pairs).with_seed(12);
    profile.supplementary_per_mille = 100;
    profile.introns = true;
    let sample = readmill_simulate::Sample::new(profile);
    sample.write_fasta(&mut BufWriter::new(File::create(dir.path("told.fasta"))?))?;
    dir.newest("faidx told.fasta")?;
    dir.newest("dict -o told.dict told.fasta")?;
    let mut raw = Vec::new();
    sample.raw_header(&mut raw);
    let mut records = sample.records();
    while records.next(&mut raw) {}
    std::fs::write(dir.path("told.raw"), raw)?;
    let text = Printed::newest(dir, "view --verbosity 1 -h --no-PG told.raw")?.text()?;
    let (mut random, mut out) = (SeededRandom::new(9), String::new());
    for line in text.lines() {
        out += &if line.starts_with('@') { line.to_owned() } else { altered_read(line, &mut random) };
        out.push('\n');
    }
    std::fs::write(dir.path("altered.sam"), out)?;
    dir.newest("sort --no-PG -o altered.bam altered.sam")?;
    Ok(format!("{} lines", text.lines().count()))
}

fn altered_read(line: &str, random: &mut SeededRandom) -> String {
    let mut columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
    if columns[9] != "*" && random.once_in(2) {
        let mut bases: Vec<char> = columns[9].chars().collect();
        for _ in 0..random.below(6) {
            let at = random.below(bases.len() as u64) as usize;
            bases[at] = random.pick(&['A', 'C', 'G', 'T', 'T', 'G', 'C', 'N', 'R']);
        }
        columns[9] = bases.into_iter().collect();
    }
    if random.once_in(50) {
        columns[10] = "*".to_owned();
    }
    match random.below(4) {
        0 => columns.retain(|field| !field.starts_with("NM:") && !field.starts_with("MD:")),
        1 => columns.push("UQ:i:7".to_owned()),
        _ => {}
    }
    columns.join("\t")
}
