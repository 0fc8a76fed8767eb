//! Compares the sort with samtools sort, on records that no aligner writes.

use std::fmt::Write as _;
use std::fs;

use super::commands::SampleDir;
use super::ledger::Ledger;
use super::lines::{Printed, same, same_records, without_programs};

const HEADER: &str = "\
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

/// All types of tags at their limits, a repeated tag, unusual bases, qualities and positions.
const RECORDS: &str = "\
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

/// Sorts them as SAM and as BAM.
pub fn compare(dir: &SampleDir<'_>, ledger: &mut Ledger) {
    ledger.title("odd", "records as no aligner writes them");
    for input in ["odd.sam", "odd.bam"] {
        ledger.check(&format!("sort: {input} as samtools sort, as text and byte for byte"), || {
            fs::write(dir.path("odd.sam"), text())?;
            dir.samtools("view --no-PG -b -o odd.bam odd.sam")?;
            dir.samtools(&format!("sort -o theirs.bam {input}"))?;
            dir.readmill(&format!("sort {input} -o ours.bam"))?;
            let ours = Printed::samtools(dir, "view -h --no-PG ours.bam")?;
            let theirs = Printed::samtools(dir, "view -h --no-PG theirs.bam")?;
            let lines = same(ours, theirs, without_programs)?;
            same_records(dir, "ours.bam", "theirs.bam")?;
            Ok(format!("{lines} lines"))
        });
    }
}

/// The records under their header.
pub fn text() -> String {
    let mut text = format!("{HEADER}{RECORDS}");
    // As many operators as a record has room for, and more, which go into a CG tag.
    for operators in [65_535, 70_000] {
        let (cigar, bases) = ("1M".repeat(operators), "A".repeat(operators));
        let _ = writeln!(text, "long-{operators}\t0\tc1\t7\t60\t{cigar}\t*\t0\t0\t{bases}\t*");
    }
    // The longest name that is allowed.
    let _ = writeln!(text, "{}\t0\tc1\t3\t60\t3M\t*\t0\t0\tACG\tIII", "n".repeat(254));
    text
}
