//! Compares `readmill sort` with samtools sort, on samples and on records that no aligner writes.
//! Also checks inputs with htsjdk's blocks, and validates readmill's outputs with Picard.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Stdio;

use anyhow::{Result, ensure};

use crate::commands::SampleDir;
use crate::ledger::Ledger;
use crate::outputs::{
    ProgramLines, compare_bam_records, compare_files, compare_lines, skip_program_lines,
};

/// Compares a coordinate sort with samtools: header, records, `@PG` chains, SAM input, and
/// spilling. Leaves `sorted.bam` (readmill's) and `samtools.bam` (samtools') for later comparisons.
pub fn compare_with_samtools(dir: &SampleDir<'_>, must_spill: bool, ledger: &mut Ledger) {
    ledger.check("sort: header and records as samtools sort, as text", || {
        dir.run_samtools("sort -o samtools.bam in.bam")?;
        dir.run_readmill("sort in.bam -o sorted.bam -@ 2 -m 1G")?;
        let lines = compare_lines(
            start_view(dir, "sorted.bam")?,
            start_view(dir, "samtools.bam")?,
            skip_program_lines,
        )?;
        Ok(format!("{lines} lines"))
    });
    ledger.check("sort: records as samtools sort, byte for byte", || {
        let bytes = compare_bam_records(dir, "sorted.bam", "samtools.bam")?;
        Ok(format!("{bytes} bytes"))
    });
    ledger.check("sort: the @PG lines of the input are kept, one is added to each chain", || {
        let (ours, theirs) =
            (read_program_lines(dir, "sorted.bam")?, read_program_lines(dir, "samtools.bam")?);
        ensure!(ours == theirs, "ours {ours:?}, theirs {theirs:?}");
        Ok(format!("{} lines", ours.len()))
    });
    ledger.check("sort: SAM text as input", || {
        dir.run_samtools("view -h --no-PG -o in.sam in.bam")?;
        dir.run_samtools("sort -o samtools.from-sam.bam in.sam")?;
        dir.run_readmill("sort in.sam -o sorted.from-sam.bam -@ 2 -m 1G")?;
        let (ours, theirs) = ("sorted.from-sam.bam", "samtools.from-sam.bam");
        let lines = compare_lines(start_view(dir, ours)?, start_view(dir, theirs)?, skip_program_lines)?;
        std::fs::remove_file(dir.path("in.sam"))?;
        Ok(format!("{lines} lines"))
    });
    ledger.check("sort: the least memory, the same bytes", || {
        let arguments = "sort in.bam -o spilled.bam -@ 1";
        let min_memory = dir.query_min_memory(arguments)?;
        let said = dir.run_readmill(&format!("{arguments} -m {min_memory}"))?;
        compare_files(dir, "spilled.bam", "sorted.bam")?;
        let spilled = spill_summary(&said);
        ensure!(!must_spill || !spilled.ends_with(" in 0 runs"), "nothing was spilled: {said}");
        Ok(format!("-m {min_memory}, {spilled}"))
    });
}

fn start_view(dir: &SampleDir<'_>, file: &str) -> Result<ProgramLines> {
    ProgramLines::start_samtools(dir, &format!("view -h --no-PG {file}"))
}

/// Returns the `@PG` lines of a file. A line that is not in the input is reduced to its PP field,
/// because name and command line differ between the programs.
fn read_program_lines(dir: &SampleDir<'_>, file: &str) -> Result<Vec<String>> {
    let lines = |file: &str| -> Result<Vec<String>> {
        let header =
            ProgramLines::start_samtools(dir, &format!("view -H --no-PG {file}"))?.read_text()?;
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

/// Returns the last part of the log's last line, which states how much was spilled and in how many
/// runs.
fn spill_summary(said: &str) -> String {
    let line = said.lines().last().unwrap_or_default();
    line.rsplit("; ").next().unwrap_or_default().to_owned()
}

const UNUSUAL_HEADER: &str = "\
@HD\tVN:1.4\tSO:queryname\tGO:none\tSS:coordinate:minhash
@CO\ttext\twith tabs
@SQ\tSN:c1\tLN:100000000
@SQ\tSN:c2\tLN:600000000
@RG\tID:a\tSM:s
@PG\tID:x\tPN:x
@PG\tID:y\tPN:y\tPP:x
@PG\tID:z\tPN:z
@PG\tID:readmill\tPN:another
@PG\tID:samtools\tPN:another
";

/// Records with all tag types at their limits, a repeated tag, and unusual bases, qualities, CIGARs
/// and positions.
const UNUSUAL_RECORDS: &str = "\
tags\t0\tc1\t100\t60\t4M\t*\t0\t0\tACGT\tIIII\tXA:A:!\tXi:i:-1\tXj:i:4294967295\tXk:i:-2147483648\tXf:f:3.14159\tXz:Z:\tXh:H:1AE3\tXb:B:c,-1,2\tXB:B:C,255\tXs:B:s,-300\tXS:B:S,65535\tXl:B:i,-70000\tXL:B:I,4000000000\tXF:B:f,1.5,-2e10,1e-9\tXE:B:c\tXQ:f:1e+20\tXR:f:-0\tXT:f:123456789
twice\t0\tc1\t100\t60\t4M\t*\t0\t0\tACGT\tIIII\tNM:i:1\tNM:i:2
clips\t16\tc1\t100\t60\t1S2=1X1H\t*\t0\t0\t=acg\t!~5I
codes\t0\tc1\t99\t60\t2M3N2I1D\t*\t0\t0\tRYKM\t*
unplaced\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*
unplaced-reverse\t20\t*\t0\t0\t*\t*\t0\t0\tAC\tII
unplaced-with-pos\t4\t*\t50\t0\t*\t*\t0\t0\tACG\tIII
placed-unmapped\t4\tc2\t5\t0\t*\t*\t0\t0\tN\tI
beyond-bai\t0\tc2\t536870912\t60\t3M\t*\t0\t0\tACG\tIII
far-mate\t99\tc1\t50\t60\t3M\tc2\t2147483\t-2147483647\tACG\tIII
no-cigar\t0\tc1\t3\t60\t*\t*\t0\t0\tACG\tIII
no-position\t0\tc1\t0\t60\t3M\t*\t0\t0\tACG\tIII
no-bases\t0\tc1\t3\t60\t3M\t*\t0\t0\t*\t*
zero-length\t1\tc1\t3\t60\t0M3M\t*\t0\t0\tACG\tIII
*\t1\tc1\t3\t60\t3M\t*\t0\t0\tACG\tIII
";

pub fn compare_unusual(dir: &SampleDir<'_>, ledger: &mut Ledger) {
    ledger.print_heading("odd", "records as no aligner writes them");
    for input in ["odd.sam", "odd.bam"] {
        ledger.check(&format!("sort: {input} as samtools sort, as text and byte for byte"), || {
            fs::write(dir.path("odd.sam"), unusual_records())?;
            dir.run_samtools("view --no-PG -b -o odd.bam odd.sam")?;
            dir.run_samtools(&format!("sort -o theirs.bam {input}"))?;
            dir.run_readmill(&format!("sort {input} -o ours.bam"))?;
            let ours = ProgramLines::start_samtools(dir, "view -h --no-PG ours.bam")?;
            let theirs = ProgramLines::start_samtools(dir, "view -h --no-PG theirs.bam")?;
            let lines = compare_lines(ours, theirs, skip_program_lines)?;
            compare_bam_records(dir, "ours.bam", "theirs.bam")?;
            Ok(format!("{lines} lines"))
        });
    }
}

/// Returns a SAM file of records that no aligner writes, but that the SAM specification allows.
pub fn unusual_records() -> String {
    let mut text = format!("{UNUSUAL_HEADER}{UNUSUAL_RECORDS}");
    // BAM has 16 bits for the number of CIGAR operators. One record has the maximum, and one has
    // more, which needs a CG tag.
    for operators in [65_535, 70_000] {
        let (cigar, bases) = ("1M".repeat(operators), "A".repeat(operators));
        let _ = writeln!(text, "long-{operators}\t0\tc1\t7\t60\t{cigar}\t*\t0\t0\t{bases}\t*");
    }
    // The maximum length of a read name.
    let _ = writeln!(text, "{}\t0\tc1\t3\t60\t3M\t*\t0\t0\tACG\tIII", "n".repeat(254));
    text
}

/// Sorts the same reads from htsjdk's and from htslib's BGZF blocks. Block boundaries must not
/// affect readmill's output.
pub fn compare_block_writers(dir: &SampleDir<'_>, ledger: &mut Ledger) {
    ledger.check("input: the same bytes from blocks of htsjdk and of htslib", || {
        dir.run_samtools("view --no-PG -b -o htslib.bam picard.template.bam")?;
        let arguments = "--sort coordinate --mark-duplicates -m 1G";
        dir.run_readmill(&format!("prep picard.template.bam -o from-htsjdk.bam {arguments}"))?;
        dir.run_readmill(&format!("prep htslib.bam -o from-htslib.bam {arguments}"))?;
        let bytes = compare_files(dir, "from-htsjdk.bam", "from-htslib.bam")?;
        compare_files(dir, "from-htsjdk.bam.bai", "from-htslib.bam.bai")?;
        Ok(format!("{bytes} bytes"))
    });
}

/// Validates readmill's and the peers' outputs with Picard's ValidateSamFile. Every error in
/// readmill's must also occur in the peers'.
pub fn validate_outputs(dir: &SampleDir<'_>, ledger: &mut Ledger) {
    ledger.check("output: ValidateSamFile finds nothing that samtools sort's file has not", || {
        let (ours, theirs) =
            (run_validate_sam_file(dir, "coordinate.bam")?, run_validate_sam_file(dir, "samtools.bam")?);
        ensure_no_more_findings(&ours, &theirs)
    });
    if dir.path("five.bam").exists() {
        ledger.check("five steps: ValidateSamFile finds nothing that the chain's file has not", || {
            let (ours, theirs) =
                (run_validate_sam_file(dir, "five.bam")?, run_validate_sam_file(dir, "chain.bam")?);
            ensure_no_more_findings(&ours, &theirs)
        });
    }
}

fn run_validate_sam_file(dir: &SampleDir<'_>, file: &str) -> Result<BTreeMap<String, u64>> {
    let report = dir.path("validation.txt");
    let _ = fs::remove_file(&report);
    // Its exit code only tells whether it found anything.
    let words = format!("ValidateSamFile I={file} O=validation.txt MODE=SUMMARY");
    dir.picard_command(&words).stderr(Stdio::null()).stdout(Stdio::null()).status()?;
    let text = fs::read_to_string(report)?;
    ensure!(text.contains("No errors found") || text.contains("Error Type"), "no summary: {text}");
    let found = text.lines().filter_map(|line| line.split_once('\t'));
    Ok(found.filter_map(|(kind, count)| Some((kind.to_owned(), count.parse().ok()?))).collect())
}

fn ensure_no_more_findings(
    ours: &BTreeMap<String, u64>,
    theirs: &BTreeMap<String, u64>,
) -> Result<String> {
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
