//! Writes the file of CollectAlignmentSummaryMetrics: the table and the histogram of read lengths.

use readmill_format::metrics::{HistogramColumn, MetricsFile, MetricsRow};

use super::{Alignments, EndAlignments, FIRST, Of, SECOND, UNPAIRED};
use crate::counts::{Bins, divide};
use crate::levels::Unit;

const COLUMNS: [&str; 36] = [
    "CATEGORY",
    "TOTAL_READS",
    "PF_READS",
    "PCT_PF_READS",
    "PF_NOISE_READS",
    "PF_READS_ALIGNED",
    "PCT_PF_READS_ALIGNED",
    "PF_ALIGNED_BASES",
    "PF_HQ_ALIGNED_READS",
    "PF_HQ_ALIGNED_BASES",
    "PF_HQ_ALIGNED_Q20_BASES",
    "PF_HQ_MEDIAN_MISMATCHES",
    "PF_MISMATCH_RATE",
    "PF_HQ_ERROR_RATE",
    "PF_INDEL_RATE",
    "MEAN_READ_LENGTH",
    "SD_READ_LENGTH",
    "MEDIAN_READ_LENGTH",
    "MAD_READ_LENGTH",
    "MIN_READ_LENGTH",
    "MAX_READ_LENGTH",
    "MEAN_ALIGNED_READ_LENGTH",
    "READS_ALIGNED_IN_PAIRS",
    "PCT_READS_ALIGNED_IN_PAIRS",
    "PF_READS_IMPROPER_PAIRS",
    "PCT_PF_READS_IMPROPER_PAIRS",
    "BAD_CYCLES",
    "STRAND_BALANCE",
    "PCT_CHIMERAS",
    "PCT_ADAPTER",
    "PCT_SOFTCLIP",
    "PCT_HARDCLIP",
    "AVG_POS_3PRIME_SOFTCLIP_LENGTH",
    "SAMPLE",
    "LIBRARY",
    "READ_GROUP",
];

/// Minimum fraction of reads with N or a mismatch at a cycle that Picard reports as a bad cycle.
const BAD: f64 = 0.8;

impl Alignments {
    /// Sets the table of these rows, and the histogram of read lengths.
    pub fn fill(file: &mut MetricsFile, units: &[(&Unit, Alignments)]) {
        let mut rows = Vec::new();
        for (unit, Alignments(ends)) in units {
            let mut add = |name: &str, end: &EndAlignments, bad| rows.push(end.row(name, unit, bad));
            let [first, second, unpaired] = [FIRST, SECOND, UNPAIRED].map(|end| &ends[end]);
            if first.of(Of::Reads) > 0 {
                let bad = [first.bad(), second.bad()];
                add("FIRST_OF_PAIR", first, bad[0]);
                add("SECOND_OF_PAIR", second, bad[1]);
                add("PAIR", &pair(ends), bad[0] + bad[1]);
            }
            if unpaired.of(Of::Reads) > 0 || first.of(Of::Reads) == 0 {
                add("UNPAIRED", unpaired, unpaired.bad());
            }
        }
        file.set_table("picard.analysis.AlignmentSummaryMetrics", &COLUMNS, rows);
        // The histogram is for all reads. If they are a row, it is the first one.
        let all = units.first().filter(|(unit, _)| unit.names() == [None; 3] && !unit.groups.is_empty());
        let Some((_, Alignments(ends))) = all else { return };
        let pair = pair(ends);
        let column = |label: &str, bins: Bins| HistogramColumn {
            label: label.as_bytes().to_vec(),
            bins: bins.numbers(),
        };
        let columns = vec![
            column("PAIRED_TOTAL_LENGTH_COUNT", pair.lengths.bins()),
            column("PAIRED_ALIGNED_LENGTH_COUNT", pair.aligned_lengths.bins()),
            column("UNPAIRED_TOTAL_LENGTH_COUNT", ends[UNPAIRED].lengths.bins()),
            column("UNPAIRED_ALIGNED_LENGTH_COUNT", ends[UNPAIRED].aligned_lengths.bins()),
        ];
        file.set_histograms("java.lang.Integer", "READ_LENGTH", columns);
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|end| end.of(Of::Reads) == 0)
    }
}

fn pair(ends: &[EndAlignments; 3]) -> EndAlignments {
    let mut pair = ends[FIRST].clone();
    pair.merge(&ends[SECOND]);
    pair
}

impl EndAlignments {
    fn of(&self, of: Of) -> u64 {
        self.numbers[of as usize]
    }

    /// Returns the number of bad cycles. 0 if no read passes vendor quality checks.
    fn bad(&self) -> u64 {
        let reads = self.of(Of::Reads) as f64;
        let is_bad = |&&n: &&u64| n > 0 && n as f64 / reads >= BAD;
        if self.of(Of::PassingReads) == 0 {
            0
        } else {
            self.bad_cycles.iter().filter(is_bad).count() as u64
        }
    }

    fn row(&self, category: &str, unit: &Unit, bad_cycles: u64) -> MetricsRow {
        let of = |of| self.of(of);
        let share = |part, whole| divide(self.of(part) as f64, self.of(whole) as f64);
        let lengths = self.lengths.bins();
        let bases = lengths.sum();
        let mut row = MetricsRow::default();
        row.push_text(category.as_bytes());
        row.push_integer(of(Of::Reads)).push_integer(of(Of::PassingReads));
        row.push_decimal(share(Of::PassingReads, Of::Reads)).push_integer(of(Of::NoiseReads));
        row.push_integer(of(Of::AlignedReads)).push_decimal(share(Of::AlignedReads, Of::PassingReads));
        row.push_integer(of(Of::AlignedBases)).push_integer(of(Of::HighQualityReads));
        row.push_integer(of(Of::HighQualityBases)).push_integer(of(Of::HighQualityQ20Bases));
        row.push_decimal(self.mismatches.bins().median());
        row.push_decimal(share(Of::Mismatches, Of::AlignedBases));
        row.push_decimal(share(Of::HighQualityMismatches, Of::HighQualityBases));
        row.push_decimal(share(Of::Indels, Of::AlignedBases));
        if lengths.is_empty() {
            (0..7).for_each(|_| _ = row.push_decimal(0.0));
        } else {
            row.push_decimal(lengths.mean()).push_decimal(lengths.standard_deviation());
            row.push_decimal(lengths.median()).push_decimal(lengths.median_absolute_deviation());
            row.push_decimal(lengths.min() as f64).push_decimal(lengths.max() as f64);
            row.push_decimal(self.aligned_lengths.bins().mean());
        }
        row.push_integer(of(Of::AlignedInPairs))
            .push_decimal(share(Of::AlignedInPairs, Of::AlignedReads));
        row.push_integer(of(Of::ImproperPairs)).push_decimal(share(Of::ImproperPairs, Of::AlignedReads));
        row.push_integer(bad_cycles).push_decimal(share(Of::Forward, Of::AlignedReads));
        row.push_decimal(share(Of::Chimeras, Of::PossibleChimeras));
        row.push_decimal(share(Of::AdapterReads, Of::PassingReads));
        row.push_decimal(divide(of(Of::SoftClipped) as f64, bases));
        row.push_decimal(divide(of(Of::HardClipped) as f64, bases));
        row.push_decimal(share(Of::ThreePrimeClipped, Of::ThreePrimeClippedReads));
        unit.names().into_iter().for_each(|name| _ = row.push_optional(name));
        row
    }
}
