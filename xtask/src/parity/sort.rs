//! Compares the sort with samtools sort.

use anyhow::{Result, ensure};

use super::commands::SampleDir;
use super::ledger::Ledger;
use super::lines::{Printed, same, same_bytes, same_records, without_programs};

/// Leaves `sorted.bam` (ours) and `samtools.bam` (theirs).
pub fn compare(dir: &SampleDir<'_>, must_spill: bool, ledger: &mut Ledger) {
    ledger.check("sort: header and records as samtools sort, as text", || {
        dir.samtools("sort -o samtools.bam in.bam")?;
        dir.readmill("sort in.bam -o sorted.bam -@ 2 -m 1G")?;
        let lines = same(view(dir, "sorted.bam")?, view(dir, "samtools.bam")?, without_programs)?;
        Ok(format!("{lines} lines"))
    });
    ledger.check("sort: records as samtools sort, byte for byte", || {
        let bytes = same_records(dir, "sorted.bam", "samtools.bam")?;
        Ok(format!("{bytes} bytes"))
    });
    ledger.check("sort: the @PG lines of the input are kept, one is added to each chain", || {
        let (ours, theirs) = (programs(dir, "sorted.bam")?, programs(dir, "samtools.bam")?);
        ensure!(ours == theirs, "ours {ours:?}, theirs {theirs:?}");
        Ok(format!("{} lines", ours.len()))
    });
    ledger.check("sort: SAM text as input", || {
        dir.samtools("view -h --no-PG -o in.sam in.bam")?;
        dir.samtools("sort -o samtools.from-sam.bam in.sam")?;
        dir.readmill("sort in.sam -o sorted.from-sam.bam -@ 2 -m 1G")?;
        let (ours, theirs) = ("sorted.from-sam.bam", "samtools.from-sam.bam");
        let lines = same(view(dir, ours)?, view(dir, theirs)?, without_programs)?;
        std::fs::remove_file(dir.path("in.sam"))?;
        Ok(format!("{lines} lines"))
    });
    ledger.check("sort: the least memory, the same bytes", || {
        let arguments = "sort in.bam -o spilled.bam -@ 1";
        let least = dir.least_memory(arguments)?;
        let said = dir.readmill(&format!("{arguments} -m {least}"))?;
        same_bytes(dir, "spilled.bam", "sorted.bam")?;
        let spilled = spilled(&said);
        ensure!(!must_spill || !spilled.ends_with(" in 0 runs"), "nothing was spilled: {said}");
        Ok(format!("-m {least}, {spilled}"))
    });
}

fn view(dir: &SampleDir<'_>, file: &str) -> Result<Printed> {
    Printed::samtools(dir, &format!("view -h --no-PG {file}"))
}

/// The `@PG` lines; of those that are not in the input, only what PP names.
fn programs(dir: &SampleDir<'_>, file: &str) -> Result<Vec<String>> {
    let lines = |file: &str| -> Result<Vec<String>> {
        let header = Printed::samtools(dir, &format!("view -H --no-PG {file}"))?.text()?;
        Ok(header.lines().filter(|line| line.starts_with("@PG")).map(str::to_owned).collect())
    };
    let input = lines("in.bam")?;
    let previous = |line: &str| {
        line.split('\t').find(|field| field.starts_with("PP:")).unwrap_or("no PP").to_owned()
    };
    let reduced = |line: String| {
        if input.contains(&line) { line } else { format!("added, {}", previous(&line)) }
    };
    Ok(lines(file)?.into_iter().map(reduced).collect())
}

/// The part of the last line that says what was spilled.
fn spilled(said: &str) -> String {
    let line = said.lines().last().unwrap_or_default();
    line.rsplit("; ").next().unwrap_or_default().to_owned()
}
