//! Writes the file of CollectAlignmentSummaryMetrics: the table and the histogram of read lengths.

use readmill_format::metrics::{HistogramColumn, MetricsFile, MetricsRow};

use super::{AlignmentCounter, Alignments, EndAlignments, FIRST, SECOND, UNPAIRED};
use crate::counts::{SortedCounts, divide_or_zero};
use crate::levels::MetricsUnit;

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
const MIN_BAD_SHARE: f64 = 0.8;

impl Alignments {
    /// Sets the table of these rows, and the histogram of read lengths.
    pub fn fill(file: &mut MetricsFile, units: &[(&MetricsUnit, Alignments)]) {
        let mut rows = Vec::new();
        for (unit, Alignments(ends)) in units {
            let mut add =
                |name: &str, end: &EndAlignments, bad| rows.push(end.make_row(name, unit, bad));
            let [first, second, unpaired] = [FIRST, SECOND, UNPAIRED].map(|end| &ends[end]);
            if first.counter(AlignmentCounter::Reads) > 0 {
                let bad = [first.bad_cycle_count(), second.bad_cycle_count()];
                add("FIRST_OF_PAIR", first, bad[0]);
                add("SECOND_OF_PAIR", second, bad[1]);
                add("PAIR", &sum_of_pair(ends), bad[0] + bad[1]);
            }
            if unpaired.counter(AlignmentCounter::Reads) > 0
                || first.counter(AlignmentCounter::Reads) == 0
            {
                add("UNPAIRED", unpaired, unpaired.bad_cycle_count());
            }
        }
        file.set_table("picard.analysis.AlignmentSummaryMetrics", &COLUMNS, rows);
        // The histogram is for all reads. If they are a row, it is the first one.
        let all = units
            .first()
            .filter(|(unit, _)| unit.column_values() == [None; 3] && !unit.groups.is_empty());
        let Some((_, Alignments(ends))) = all else { return };
        let pair = sum_of_pair(ends);
        let column = |label: &str, bins: SortedCounts| HistogramColumn {
            label: label.as_bytes().to_vec(),
            bins: bins.to_histogram_bins(),
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
        self.0.iter().all(|end| end.counter(AlignmentCounter::Reads) == 0)
    }
}

fn sum_of_pair(ends: &[EndAlignments; 3]) -> EndAlignments {
    let mut pair = ends[FIRST].clone();
    pair.merge(&ends[SECOND]);
    pair
}

impl EndAlignments {
    fn counter(&self, of: AlignmentCounter) -> u64 {
        self.numbers[of as usize]
    }

    /// Returns the number of bad cycles. 0 if no read passes vendor quality checks.
    fn bad_cycle_count(&self) -> u64 {
        let reads = self.counter(AlignmentCounter::Reads) as f64;
        let is_bad = |&&n: &&u64| n > 0 && n as f64 / reads >= MIN_BAD_SHARE;
        if self.counter(AlignmentCounter::PassingReads) == 0 {
            0
        } else {
            self.bad_cycles.iter().filter(is_bad).count() as u64
        }
    }

    fn make_row(&self, category: &str, unit: &MetricsUnit, bad_cycles: u64) -> MetricsRow {
        let of = |of| self.counter(of);
        let share = |part, whole| divide_or_zero(self.counter(part) as f64, self.counter(whole) as f64);
        let lengths = self.lengths.bins();
        let bases = lengths.sum();
        let mut row = MetricsRow::default();
        row.push_text(category.as_bytes());
        row.push_integer(of(AlignmentCounter::Reads)).push_integer(of(AlignmentCounter::PassingReads));
        row.push_decimal(share(AlignmentCounter::PassingReads, AlignmentCounter::Reads))
            .push_integer(of(AlignmentCounter::NoiseReads));
        row.push_integer(of(AlignmentCounter::AlignedReads))
            .push_decimal(share(AlignmentCounter::AlignedReads, AlignmentCounter::PassingReads));
        row.push_integer(of(AlignmentCounter::AlignedBases))
            .push_integer(of(AlignmentCounter::HighQualityReads));
        row.push_integer(of(AlignmentCounter::HighQualityBases))
            .push_integer(of(AlignmentCounter::HighQualityQ20Bases));
        row.push_decimal(self.mismatches.bins().median());
        row.push_decimal(share(AlignmentCounter::Mismatches, AlignmentCounter::AlignedBases));
        row.push_decimal(share(
            AlignmentCounter::HighQualityMismatches,
            AlignmentCounter::HighQualityBases,
        ));
        row.push_decimal(share(AlignmentCounter::Indels, AlignmentCounter::AlignedBases));
        if lengths.is_empty() {
            (0..7).for_each(|_| _ = row.push_decimal(0.0));
        } else {
            row.push_decimal(lengths.mean()).push_decimal(lengths.standard_deviation());
            row.push_decimal(lengths.median()).push_decimal(lengths.median_absolute_deviation());
            row.push_decimal(lengths.min() as f64).push_decimal(lengths.max() as f64);
            row.push_decimal(self.aligned_lengths.bins().mean());
        }
        row.push_integer(of(AlignmentCounter::AlignedInPairs))
            .push_decimal(share(AlignmentCounter::AlignedInPairs, AlignmentCounter::AlignedReads));
        row.push_integer(of(AlignmentCounter::ImproperPairs))
            .push_decimal(share(AlignmentCounter::ImproperPairs, AlignmentCounter::AlignedReads));
        row.push_integer(bad_cycles)
            .push_decimal(share(AlignmentCounter::Forward, AlignmentCounter::AlignedReads));
        row.push_decimal(share(AlignmentCounter::Chimeras, AlignmentCounter::PossibleChimeras));
        row.push_decimal(share(AlignmentCounter::AdapterReads, AlignmentCounter::PassingReads));
        row.push_decimal(divide_or_zero(of(AlignmentCounter::SoftClipped) as f64, bases));
        row.push_decimal(divide_or_zero(of(AlignmentCounter::HardClipped) as f64, bases));
        row.push_decimal(share(
            AlignmentCounter::ThreePrimeClipped,
            AlignmentCounter::ThreePrimeClippedReads,
        ));
        unit.column_values().into_iter().for_each(|name| _ = row.push_optional(name));
        row
    }
}
