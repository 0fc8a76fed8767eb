//! Compares mate information with Picard FixMateInformation and samtools fixmate.

use std::fs;

use anyhow::{Result, ensure};

use super::dictionary::sequences;
use crate::parity::commands::SampleDir;
use crate::parity::ledger::Ledger;
use crate::parity::lines::{Printed, same, tags_in_order};
use crate::parity::random::SeededRandom;

/// Compares on `in.bam`, after damaging all mate information.
pub fn compare(dir: &SampleDir<'_>, ledger: &mut Ledger) {
    ledger.check("mates.bam: what mates know of each other is broken", || broken(dir));
    ledger.check("mates.bam: filter --fix-mates samtools as samtools fixmate -m", || {
        dir.readmill("filter mates.bam -o ours.bam --fix-mates samtools")?;
        dir.newest("fixmate -m --no-PG mates.bam theirs.bam")?;
        records(dir, |_| true)
    });
    let picard = "FixMateInformation ASSUME_SORTED=true";
    ledger.check(&format!("mates.bam: filter --fix-mates picard as Picard's {picard}"), || {
        dir.readmill("filter mates.bam -o ours.bam --fix-mates picard")?;
        let codes = dir.picard_each(&[format!("{picard} I=mates.bam O=theirs.bam")])?;
        ensure!(codes == [0], "Picard ends with {codes:?}");
        records(dir, tags_in_order)
    });
    ledger.check("mates.bam sorted by coordinate is refused", || {
        dir.newest("sort -o sorted.bam mates.bam")?;
        let refused = dir.readmill_command("filter sorted.bam -o ours.bam --fix-mates picard");
        ensure!({ refused }.output()?.status.code() == Some(2), "it is not");
        let header = Printed::newest(dir, "view -H --no-PG sorted.bam")?.text()?;
        fs::write(dir.path("silent.header"), header.replace("SO:coordinate", "SO:unknown"))?;
        let silent = Printed::by(dir.newest_command("reheader -P silent.header sorted.bam"))?;
        fs::write(dir.path("silent.bam"), silent.bytes()?)?;
        let refused = dir.readmill_command("filter silent.bam -o ours.bam --fix-mates picard");
        ensure!({ refused }.output()?.status.code() == Some(2), "it is not where the header is silent");
        Ok(String::new())
    });
}

fn records(dir: &SampleDir<'_>, normal: crate::parity::lines::Normal) -> Result<String> {
    let [ours, theirs] = ["view ours.bam", "view theirs.bam"].map(|words| Printed::newest(dir, words));
    Ok(format!("{} records", same(ours?, theirs?, normal)?))
}

/// Writes `mates.bam`: the reads of `in.bam` with other strands, without mate information or with
/// wrong information, some beyond the ends of sequences, some with secondary alignments, some without their mate.
fn broken(dir: &SampleDir<'_>) -> Result<String> {
    let text = Printed::newest(dir, "view -h --no-PG in.bam")?.text()?;
    let lengths = sequences(&text);
    let (mut random, mut out) = (SeededRandom::new(5), String::new());
    for line in text.lines() {
        if line.starts_with('@') {
            out += &format!("{}\n", line.replace("SO:coordinate", "SO:unsorted"));
        } else if !random.once_in(60) {
            out += &broken_read(line, &lengths, &mut random);
        }
    }
    fs::write(dir.path("mates.sam"), &out)?;
    dir.newest("view --no-PG -b -o mates.bam mates.sam")?;
    Ok(format!("{} lines", out.lines().count()))
}

fn broken_read(line: &str, lengths: &[(&str, u64)], random: &mut SeededRandom) -> String {
    let mut columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
    let mut flags: u32 = columns[1].parse().unwrap_or(0);
    flags ^= if random.once_in(4) { 0x10 } else { 0 };
    if flags & 1 != 0 {
        flags ^= random.pick(&[0, 0x2, 0x8, 0x20, 0x28]);
        if random.once_in(3) {
            (columns[6], columns[7]) = (random.pick(lengths).0.to_owned(), "7".to_owned());
        }
        columns[8] = random.pick(&["0", "33", "-5"]).to_owned();
        columns.retain(|field| !field.starts_with("MC:Z:") && !field.starts_with("MQ:i:"));
        for wrong in ["MQ:i:77", "MC:Z:1M2S", "ms:i:3"] {
            if random.once_in(4) {
                let at = 11 + random.below(columns.len() as u64 - 10) as usize;
                columns.insert(at, wrong.to_owned());
            }
        }
    }
    columns[1] = flags.to_string();
    let length = lengths.iter().find(|(name, _)| *name == columns[2]).map(|(_, length)| *length);
    let plain: Option<u64> = columns[5].strip_suffix('M').and_then(|n| n.parse().ok());
    if let (Some(length), Some(bases), true) = (length, plain, random.once_in(30)) {
        columns[3] = (length - random.below(bases) + 1).min(length).to_string();
    }
    let mut lines = columns.join("\t") + "\n";
    if random.once_in(20) && flags & 0x904 == 0 {
        columns[1] = (flags | 0x100).to_string();
        (columns[9], columns[10]) = ("*".to_owned(), "*".to_owned());
        lines += &(columns.join("\t") + "\n");
    }
    lines
}
