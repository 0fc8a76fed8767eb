//! CollectQualityYieldMetrics: numbers of reads and bases, and of bases with quality 20 or 30 and
//! higher.

use readmill_format::metrics::MetricsRow;
use readmill_format::report::ReportContents;
use readmill_record::Result;
use serde::{Deserialize, Serialize};

use crate::counts::count_bytes;
use crate::{MetricSetup, PicardProgram, PreparedRead, ReadContext, ReadMetric, RunEnd};

const COLUMNS: [&str; 11] = [
    "TOTAL_READS",
    "PF_READS",
    "READ_LENGTH",
    "TOTAL_BASES",
    "PF_BASES",
    "Q20_BASES",
    "PF_Q20_BASES",
    "Q30_BASES",
    "PF_Q30_BASES",
    "Q20_EQUIVALENT_YIELD",
    "PF_Q20_EQUIVALENT_YIELD",
];

pub(crate) struct QualityYield {
    /// Whether OQ is used instead of QUAL if a read has it (Picard's USE_ORIGINAL_QUALITIES).
    use_original: bool,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Yield {
    reads: u64,
    bases: u64,
    q20: u64,
    q30: u64,
    sum: u64,
}

impl ReadMetric for QualityYield {
    const PROGRAM: PicardProgram =
        PicardProgram { name: "CollectQualityYieldMetrics", endings: &[".quality_yield_metrics"] };
    /// Counts of reads that fail vendor quality checks, and of reads that pass them.
    type Counts = [Yield; 2];

    fn start_run(setup: &MetricSetup<'_>) -> Result<Self> {
        Ok(QualityYield { use_original: !setup.options().ignore_original_qualities })
    }

    fn count_read(
        &self,
        counts: &mut [Yield; 2],
        read: &PreparedRead<'_>,
        _: &mut ReadContext<'_>,
    ) -> Result<()> {
        let counts = &mut counts[usize::from(!read.flags.is_qc_fail())];
        counts.reads += 1;
        counts.bases += read.bases.len() as u64;
        match read.fields.original_quals.filter(|_| self.use_original) {
            Some(original) => counts.add_quals(original, 33),
            None => counts.add_quals(read.quals, 0),
        }
        Ok(())
    }

    fn merge_counts(&self, into: &mut [Yield; 2], from: [Yield; 2]) {
        into.iter_mut().zip(&from).for_each(|(into, from)| *into = into.plus(from));
    }

    fn make_reports(
        &self,
        [failing, passing]: [Yield; 2],
        end: &RunEnd<'_>,
    ) -> Result<Vec<ReportContents>> {
        let all = failing.plus(&passing);
        let mut row = MetricsRow::default();
        row.push_integer(all.reads).push_integer(passing.reads);
        row.push_integer(all.bases.checked_div(all.reads).unwrap_or(0) as i32);
        row.push_integer(all.bases)
            .push_integer(passing.bases)
            .push_integer(all.q20)
            .push_integer(passing.q20);
        row.push_integer(all.q30)
            .push_integer(passing.q30)
            .push_integer(all.sum / 20)
            .push_integer(passing.sum / 20);
        let class = "picard.analysis.CollectQualityYieldMetrics$QualityYieldMetrics";
        Ok(end.make_files(&Self::PROGRAM, |[file]| file.set_table(class, &COLUMNS, [row])))
    }
}

impl Yield {
    fn add_quals(&mut self, quals: &[u8], offset: u8) {
        let at_least = |min_qual: u8| count_bytes(quals, |qual| qual >= min_qual + offset);
        self.q20 += at_least(20);
        self.q30 += at_least(30);
        let few = |quals: &[u8]| u64::from(quals.iter().map(|&qual| u32::from(qual)).sum::<u32>());
        let sum: u64 = quals.chunks(1 << 16).map(few).sum();
        self.sum += sum - u64::from(offset) * quals.len() as u64;
    }

    fn plus(&self, other: &Yield) -> Yield {
        Yield {
            reads: self.reads + other.reads,
            bases: self.bases + other.bases,
            q20: self.q20 + other.q20,
            q30: self.q30 + other.q30,
            sum: self.sum + other.sum,
        }
    }
}
