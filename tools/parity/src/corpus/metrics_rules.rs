//! Rules for accepted differences in quality metrics and coverage. Each rule uses the contents of
//! the file or a message, never the file name. The constants are row numbers of docs/parity.md.

use anyhow::Result;

use crate::commands::SampleDir;
use crate::corpus::file::record_lines;
use crate::corpus::report::CorpusVerdict;
use crate::outputs::ProgramLines;
use crate::stats;

/// Statistics of cycles after the 1,000th, and barcode sections.
const OMITTED_STATS: u32 = 93;
/// No pair has an insert size.
const NO_TABLE: u32 = 177;
/// No read passes quality control.
const NONE_PASSES: u32 = 178;
/// Mapped reads without bases or qualities.
const BARE_READS: u32 = 179;
/// A pair on two contigs that has a TLEN.
const TWO_CONTIGS: u32 = 180;
/// A library that is missing from the header.
const NO_LIBRARY: u32 = 189;
/// Reads that extend beyond the end of their contig.
const BEYOND_CONTIG: u32 = 191;
/// Reads without bases, and the minimum base quality for depths.
const NO_BASES: u32 = 204;
/// The ring buffer of depths in `samtools stats`.
const RING: u32 = 247;
/// Mates that align no base.
const ALIGNS_NOTHING: u32 = 276;
/// Headers without contigs.
const NO_CONTIGS: u32 = 277;

/// Returns an accepted difference if `row` is given, otherwise a defect.
fn accepted_or_defect(row: Option<u32>, what: String) -> CorpusVerdict {
    match row {
        Some(row) => CorpusVerdict::Numbered(row, what),
        None => CorpusVerdict::Defect(what),
    }
}

/// Returns the records that `samtools view` prints with these options.
fn view_records(dir: &SampleDir<'_>, bam: &str, options: &str) -> Result<Vec<String>> {
    Ok(record_lines(
        &ProgramLines::start_samtools_1_24(dir, &format!("view {options} {bam}"))?.read_bytes()?,
    ))
}

/// Judges a file that readmill refuses but another program processes. Such programs need not
/// examine all fields.
pub fn judge_refusal(dir: &SampleDir<'_>, bam: &str, ours: String) -> Result<CorpusVerdict> {
    let view = dir.samtools_1_24_command(&format!("view -h -o viewed.sam {bam}")).output()?;
    Ok(match view.status.success() {
        true => CorpusVerdict::Defect(format!("readmill alone refuses it: {ours}")),
        false => CorpusVerdict::Refused(format!("{ours}; samtools view refuses it, too")),
    })
}

/// Judges a missing Picard file, for which readmill's file has no table.
pub fn judge_missing_file() -> CorpusVerdict {
    CorpusVerdict::Numbered(NO_TABLE, "Picard writes no file".to_owned())
}

/// Judges a Picard program that throws an exception where readmill succeeds.
pub fn judge_picard_exception(
    dir: &SampleDir<'_>,
    bam: &str,
    program: &str,
    said: &str,
) -> Result<CorpusVerdict> {
    let row = match row_of_exception(program, said) {
        Some(BARE_READS) if !view_records(dir, bam, "-F 0x904")?.iter().any(|it| is_bare(it)) => None,
        row => row,
    };
    Ok(accepted_or_defect(row, format!("Picard alone refuses it: {said}")))
}

/// Returns the row to which an exception of a Picard program belongs.
fn row_of_exception(program: &str, said: &str) -> Option<u32> {
    const EXCEPTIONS: [(&str, &str, u32); 4] = [
        ("CollectAlignmentSummaryMetrics", "Input file contains no PF_READS", NONE_PASSES),
        ("CollectAlignmentSummaryMetrics", "ArrayIndexOutOfBoundsException", BARE_READS),
        ("CollectInsertSizeMetrics", "both reads aligned to the same reference", TWO_CONTIGS),
        ("CollectSequencingArtifactMetrics", "missing from header: UnknownLibrary", NO_LIBRARY),
    ];
    let is_of = |it: &&(&str, &str, u32)| it.0 == program && said.contains(it.1);
    EXCEPTIONS.iter().find(is_of).map(|it| it.2)
}

/// Returns whether a read lacks bases or qualities.
fn is_bare(record: &str) -> bool {
    record.split('\t').skip(9).take(2).any(|column| column == "*")
}

/// Judges a mosdepth run that throws an exception where readmill succeeds.
pub fn judge_mosdepth_exception(dir: &SampleDir<'_>, bam: &str, said: &str) -> Result<CorpusVerdict> {
    let header = ProgramLines::start_samtools_1_24(dir, &format!("view -H {bam}"))?.read_text()?;
    let has_contigs = header.lines().any(|line| line.starts_with("@SQ\t"));
    let row = match () {
        () if !has_contigs && said.contains("the container is empty") => Some(NO_CONTIGS),
        () if said.contains(" not in 0 .. ") => Some(BEYOND_CONTIG),
        () => None,
    };
    Ok(accepted_or_defect(row, format!("mosdepth alone refuses it: {said}")))
}

/// Judges a difference in coverage.
pub fn judge_coverage(dir: &SampleDir<'_>, bam: &str, what: String) -> Result<CorpusVerdict> {
    let all = view_records(dir, bam, "-f 0x2")?;
    Ok(accepted_or_defect(all.iter().any(|it| aligns_nothing(it)).then_some(ALIGNS_NOTHING), what))
}

/// Returns whether the CIGAR of a read is a single operator that aligns no base.
fn aligns_nothing(record: &str) -> bool {
    let operators: Vec<char> = cigar(record).map(|(_, operator)| operator).collect();
    matches!(operators[..], [operator] if !"M=X".contains(operator))
}

/// Returns the CIGAR operators of a record with their lengths.
fn cigar(record: &str) -> impl Iterator<Item = (u64, char)> {
    let cigar = record.split('\t').nth(5).unwrap_or_default();
    let operators = cigar.split_inclusive(|c: char| !c.is_ascii_digit());
    operators.filter_map(|it| {
        let operator = it.chars().last()?;
        Some((it.strip_suffix(operator)?.parse().ok()?, operator))
    })
}

/// Judges a difference in depths.
pub fn judge_depths(dir: &SampleDir<'_>, bam: &str, line: &str, what: String) -> Result<CorpusVerdict> {
    let has_min_quality = line.starts_with("depth") && line.contains(" -q ");
    let all = view_records(dir, bam, "-F 0x704")?;
    let has_no_bases = all.iter().any(|it| it.split('\t').nth(9) == Some("*"));
    Ok(accepted_or_defect((has_min_quality && has_no_bases).then_some(NO_BASES), what))
}

/// Judges a difference in statistics.
pub fn judge_statistics(
    dir: &SampleDir<'_>,
    bam: &str,
    line: &str,
    what: String,
) -> Result<CorpusVerdict> {
    let words = format!("{line} {bam}");
    let theirs = stats::comparable_rows(&ProgramLines::start_samtools_1_24(dir, &words)?.read_text()?);
    let ours = stats::comparable_rows(
        &ProgramLines::start(dir.readmill_command(&format!("samtools {words}")))?.read_text()?,
    );
    let differ = |is_compared: fn(&&String) -> bool| {
        !ours.iter().filter(is_compared).eq(theirs.iter().filter(is_compared))
    };
    let row = match () {
        () if !differ(|row| !is_left_out(row)) => Some(OMITTED_STATS),
        () if !differ(|row| !is_left_out(row) && !row.starts_with("COV\t"))
            && view_records(dir, bam, "-F 4")?.iter().any(|it| reference_span(it) > MIN_MIXED_SPAN) =>
        {
            Some(RING)
        }
        () => None,
    };
    Ok(accepted_or_defect(row, what))
}

/// Width of a read on its contig, in bases, above which samtools' ring buffer of depths mixes
/// positions, for reads of up to 300 bases.
const MIN_MIXED_SPAN: u64 = 1_500;

/// Returns the number of contig bases that a read spans.
fn reference_span(record: &str) -> u64 {
    cigar(record).filter(|(_, operator)| "MDN=X".contains(*operator)).map(|(length, _)| length).sum()
}

/// Returns whether a row is about a cycle after the 1,000th or about barcodes.
fn is_left_out(row: &str) -> bool {
    const CYCLES: [&str; 8] = ["FFQ", "LFQ", "MPC", "GCC", "GCT", "FBC", "LBC", "IC"];
    const BARCODES: [&str; 8] = ["BCC", "CRC", "OXC", "RXC", "QTQ", "CYQ", "BZQ", "QXQ"];
    let mut columns = row.split('\t');
    let section = columns.next().unwrap_or_default();
    let cycle = columns.next().and_then(|cycle| cycle.parse::<u64>().ok());
    let is_late = CYCLES.contains(&section) && cycle.is_some_and(|cycle| cycle > 1_000);
    is_late || BARCODES.contains(&section.trim_end_matches(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(cigar: &str, bases: &str, quals: &str) -> String {
        format!("r\t0\tc\t1\t60\t{cigar}\t*\t0\t0\t{bases}\t{quals}\tRG:Z:a")
    }

    #[test]
    fn rows_of_statistics_that_are_left_out() {
        let left_out = |row: &str| is_left_out(row);
        assert!(left_out("FFQ\t1001\t0\t3") && left_out("BCC1\t1\t50.00") && left_out("QTQ2\t1\t0"));
        assert!(
            !left_out("FFQ\t1000\t0\t3") && !left_out("RL\t2000\t1") && !left_out("COV\t[1-1]\t1\t8")
        );
    }

    #[test]
    fn what_reads_have() {
        assert!(aligns_nothing(&record("1I", "A", "I")) && aligns_nothing(&record("9S", "*", "*")));
        assert!(!aligns_nothing(&record("9M", "*", "*")) && !aligns_nothing(&record("5I4S", "*", "*")));
        assert!(!aligns_nothing(&record("*", "A", "I")));
        assert_eq!(reference_span(&record("5S10M100N3I2D40=", "*", "*")), 152);
        assert!(is_bare(&record("1M", "*", "*")) && is_bare(&record("1M", "A", "*")));
        assert!(!is_bare(&record("1M", "A", "I")));
    }

    #[test]
    fn exceptions_have_rows_by_program() {
        let none = "picard.PicardException: Input file contains no PF_READS.";
        assert_eq!(row_of_exception("CollectAlignmentSummaryMetrics", none), Some(NONE_PASSES));
        assert_eq!(row_of_exception("MeanQualityByCycle", none), None);
    }
}
