//! Checks before recalibration: whether reads have read groups, and whether their qualities are
//! already recalibrated.

use readmill_bqsr::ReadGroups;
use readmill_input::Claim;
use readmill_process::console::Console;
use readmill_record::header::HeaderLine;
use readmill_record::{Batch, Header, Ledger, Result, tag};

use crate::pipeline::inputs::{FirstReads, InputTask, Inputs};
use crate::plan::{Plan, Recalibration, TableSource};

/// Warns if the base qualities are already recalibrated, according to the `@PG` lines of the header
/// or to OQ fields in the first reads. Does not warn if the run starts from the original qualities
/// in OQ.
pub fn warn_if_recalibrated(plan: &Plan, inputs: &mut Inputs, console: &Console) -> Result<()> {
    let wanted = plan.steps.recalibration.as_ref().filter(|wanted| !uses_original_qualities(wanted));
    if wanted.is_none() || inputs.prepared_input().is_some() {
        return Ok(());
    }
    let before = find_recalibrating_program(inputs.header());
    let kept = first_reads_have_oq(inputs)?;
    let why = match (&before, kept) {
        (Some(id), _) => format!("@PG line {id:?}"),
        (None, Some(true)) => "reads have OQ".into(),
        (None, _) => return Ok(()),
    };
    let way = match kept {
        Some(true) => "to start from the qualities in OQ, add --use-original-qualities",
        Some(false) => "the reads have no OQ, so use the file from before recalibration",
        None => "if the reads have OQ, add --use-original-qualities to start from it",
    };
    let at = inputs.files().first().map_or_else(String::new, |it| format!("{}: ", it.path.display()));
    console.write_warning(&format!("{at}base qualities are already recalibrated ({why}); {way}"));
    Ok(())
}

/// Refuses to recalibrate reads without read groups, before any work is done. Accepts a file
/// without reads, for which GATK also writes an empty file.
///
/// # Errors
/// Fails if there are reads, but the header has no read group.
pub fn require_read_groups(
    plan: &Plan,
    inputs: &mut Inputs,
    header: &Header,
    ledger: &Ledger,
) -> Result<()> {
    if plan.steps.recalibration.is_none() {
        return Ok(());
    }
    let groups = ReadGroups::new(header, ledger)?;
    if groups.names().is_empty() && inputs.prepared_input().is_none() {
        return match inputs.first_reads()? {
            FirstReads::Read { batch, .. } if !batch.is_empty() => {
                groups.require_any().map_err(|error| match inputs.files().as_ref() {
                    [only] => error.file(&only.path),
                    _ => error,
                })
            }
            _ => Ok(()), // no reads so far; the first read will be refused
        };
    }
    Ok(())
}

fn uses_original_qualities(wanted: &Recalibration) -> bool {
    match &wanted.source {
        TableSource::Reads(request) => request.counting.use_original,
        TableSource::File(_) => wanted.apply.as_ref().is_some_and(|apply| apply.writing.use_original),
    }
}

fn find_recalibrating_program(header: &Header) -> Option<String> {
    let line = header.lines_of_kind(b"PG").find(|line| is_recalibrating_program(line))?;
    Some(String::from_utf8_lossy(line.get(b"ID")?).into_owned())
}

/// Returns whether a `@PG` line is from a program that recalibrates: GATK 4 ApplyBQSR
/// under any ID, GATK 3 PrintReads with a table, or readmill and elPrep with their BQSR
/// flags.
fn is_recalibrating_program(line: &HeaderLine) -> bool {
    let text = |key| String::from_utf8_lossy(line.get(key).unwrap_or_default()).to_lowercase();
    let (name, command) = (text(b"ID") + " " + &text(b"PN"), text(b"CL"));
    let mut words = command.split_ascii_whitespace();
    if name.contains("applybqsr") {
        return true;
    }
    if name.contains("printreads") {
        return words.any(|word| word.strip_prefix("bqsr=").is_some_and(|table| table != "null"));
    }
    let has_flags = name.contains("readmill") || name.contains("elprep");
    has_flags && words.any(|word| matches!(word, "--bqsr" | "--bqsr-apply"))
}

/// Returns whether any of the first reads has an OQ field. Returns `None` if this takes too much
/// work, as for CRAM.
fn first_reads_have_oq(inputs: &mut Inputs) -> Result<Option<bool>> {
    if matches!(inputs.peek_task()?, Some(InputTask::Piece(_, Claim::Container(..)))) {
        return Ok(None);
    }
    let first = inputs.first_reads()?;
    let has_original = |batch: &Batch| batch.records().any(|(_, it)| it.field(tag::OQ).is_some());
    Ok(first.batch().map(has_original))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recalibration_note(line: &str) -> Option<String> {
        find_recalibrating_program(&Header::parse(format!("@PG\tID:bwa\n{line}\n").as_bytes()).unwrap())
    }

    #[test]
    fn programs_that_recalibrate_are_told_from_those_that_do_not() {
        for (line, id) in [
            (
                "@PG\tID:GATK ApplyBQSR\tVN:4.6.2.0\tCL:ApplyBQSR --input a.bam\tPN:GATK ApplyBQSR",
                "GATK ApplyBQSR",
            ),
            ("@PG\tID:x\tPN:GATK ApplyBQSRSpark", "x"),
            ("@PG\tID:GATK PrintReads\tCL:readGroup=null BQSR=a.grp", "GATK PrintReads"),
            ("@PG\tID:readmill\tPN:readmill\tCL:readmill prep --bqsr --reference r.fa", "readmill"),
            ("@PG\tID:readmill.1\tPN:readmill\tCL:readmill bqsr apply --bqsr-apply t", "readmill.1"),
            ("@PG\tID:elprep\tPN:elprep\tCL:elprep sfm a.bam b.bam --bqsr b.recal", "elprep"),
        ] {
            assert_eq!(recalibration_note(line).as_deref(), Some(id), "{line}");
        }
        for line in [
            "@PG\tID:GATK PrintReads\tCL:readGroup=null BQSR=null",
            "@PG\tID:GATK BaseRecalibrator\tPN:GATK BaseRecalibrator",
            "@PG\tID:readmill\tPN:readmill\tCL:readmill bqsr table --bqsr-table-only",
            "@PG\tID:samtools\tPN:samtools\tCL:samtools view --bqsr",
        ] {
            assert_eq!(recalibration_note(line), None, "{line}");
        }
    }
}
