//! Compares files that other programs write and read.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;

use anyhow::{Result, ensure};

use super::commands::SampleDir;
use super::ledger::Ledger;
use super::lines::same_bytes;

/// The same reads in htsjdk's blocks and in htslib's.
pub fn written_by_htsjdk(dir: &SampleDir<'_>, ledger: &mut Ledger) {
    ledger.check("input: the same bytes from blocks of htsjdk and of htslib", || {
        dir.samtools("view --no-PG -b -o htslib.bam picard.template.bam")?;
        let arguments = "--sort coordinate --mark-duplicates -m 1G";
        dir.readmill(&format!("prep picard.template.bam -o from-htsjdk.bam {arguments}"))?;
        dir.readmill(&format!("prep htslib.bam -o from-htslib.bam {arguments}"))?;
        let bytes = same_bytes(dir, "from-htsjdk.bam", "from-htslib.bam")?;
        same_bytes(dir, "from-htsjdk.bam.bai", "from-htslib.bam.bai")?;
        Ok(format!("{bytes} bytes"))
    });
}

/// Validates our outputs and their sources with Picard: an output must not have new errors.
pub fn validate(dir: &SampleDir<'_>, ledger: &mut Ledger) {
    ledger.check("output: ValidateSamFile finds nothing that samtools sort's file has not", || {
        let (ours, theirs) = (findings(dir, "coordinate.bam")?, findings(dir, "samtools.bam")?);
        no_worse(&ours, &theirs)
    });
    if dir.path("five.bam").exists() {
        ledger.check("five steps: ValidateSamFile finds nothing that the chain's file has not", || {
            let (ours, theirs) = (findings(dir, "five.bam")?, findings(dir, "chain.bam")?);
            no_worse(&ours, &theirs)
        });
    }
}

/// The number of each kind of error and warning.
fn findings(dir: &SampleDir<'_>, file: &str) -> Result<BTreeMap<String, u64>> {
    let report = dir.path("validation.txt");
    let _ = fs::remove_file(&report);
    // Its exit code only repeats that something was found.
    let words = format!("ValidateSamFile I={file} O=validation.txt MODE=SUMMARY");
    dir.picard_command(&words).stderr(Stdio::null()).stdout(Stdio::null()).status()?;
    let text = fs::read_to_string(report)?;
    ensure!(text.contains("No errors found") || text.contains("Error Type"), "no summary: {text}");
    let found = text.lines().filter_map(|line| line.split_once('\t'));
    Ok(found.filter_map(|(kind, count)| Some((kind.to_owned(), count.parse().ok()?))).collect())
}

fn no_worse(ours: &BTreeMap<String, u64>, theirs: &BTreeMap<String, u64>) -> Result<String> {
    for (kind, count) in ours {
        let other = theirs.get(kind).copied().unwrap_or(0);
        ensure!(*count <= other, "{kind}: {count}, theirs {other}");
    }
    if ours.is_empty() {
        return Ok("no errors, no warnings".to_owned());
    }
    let list: Vec<String> = ours.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    Ok(format!("as theirs: {}", list.join(", ")))
}
