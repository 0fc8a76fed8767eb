//! MeanQualityByCycle and CollectBaseDistributionByCycle: qualities and bases by cycle. The cycle
//! is the 1-based position in the sequenced read.

use readmill_format::metrics::{HistogramColumn, MetricsRow};
use readmill_format::report::ReportContents;
use readmill_record::Result;
use serde::{Deserialize, Serialize};

use crate::counts::add_each;
use crate::options::QcOptions;
use crate::room::CountingRoom;
use crate::{MetricSetup, PicardProgram, PreparedRead, ReadContext, ReadMetric, RunEnd};

/// Maximum number of cycles that are counted. Bases of later cycles are ignored.
pub const MAX_CYCLES: usize = 1 << 16;

const COLUMNS: [&str; 7] = ["READ_END", "CYCLE", "PCT_A", "PCT_C", "PCT_G", "PCT_T", "PCT_N"];

/// The base codes that have columns, in column order. All other codes are counted as N.
const BASES: [u8; 4] = [1, 2, 4, 8];

/// Number of reads after which small sums are added to the large ones: 255 ones fit in 8 bits, and
/// 255 qualities fit in 16 bits.
const MAX_READS: u32 = 255;

/// Sums by cycle. Values of recent reads are added to small integers, because vector instructions
/// add many of them at a time. Values are in the order of the record, so forward and reverse reads
/// have separate sums: in `forward` the first element is cycle 1, in `reverse` the last element is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct CycleSums<T> {
    sums: Vec<u64>,
    #[serde(skip)]
    forward: Vec<T>,
    #[serde(skip)]
    reverse: Vec<T>,
    /// The number of cycles of the longest read since the last flush.
    longest: usize,
}

impl<T: Copy + Default + Into<u64>> CycleSums<T> {
    /// Returns the small sums to which the values of a read are added, and the values that have a
    /// sum: at most [`MAX_CYCLES`], from the beginning of the read as sequenced.
    #[inline(always)]
    fn recent_sums_for<'a, 'b>(
        &'a mut self,
        values: &'b [u8],
        is_reverse: bool,
        room: &CountingRoom,
    ) -> Result<(&'a mut [T], &'b [u8])> {
        let length = values.len().min(MAX_CYCLES);
        if self.forward.len() < length {
            self.lengthen_sums(length, room)?;
        }
        self.longest = self.longest.max(length);
        Ok(if is_reverse {
            let from = self.reverse.len() - length;
            (&mut self.reverse[from..], &values[values.len() - length..])
        } else {
            (&mut self.forward[..length], &values[..length])
        })
    }

    #[cold]
    fn lengthen_sums(&mut self, length: usize, room: &CountingRoom) -> Result<()> {
        self.flush_recent();
        room.lengthen_list(&mut self.sums, length, MAX_CYCLES)?;
        room.lengthen_list(&mut self.forward, length, MAX_CYCLES)?;
        room.lengthen_list(&mut self.reverse, length, MAX_CYCLES)
    }

    fn flush_recent(&mut self) {
        let longest = std::mem::take(&mut self.longest);
        let forward = self.forward.iter_mut().take(longest);
        let reverse = self.reverse.iter_mut().rev().take(longest);
        for (sum, (forward, reverse)) in self.sums.iter_mut().zip(forward.zip(reverse)) {
            *sum += std::mem::take(forward).into() + std::mem::take(reverse).into();
        }
    }

    fn merge(&mut self, from: &CycleSums<T>) {
        add_each(&mut self.sums, &from.sums);
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct CycleReads {
    /// The number of reads whose last cycle is this one, by cycle.
    ended: Vec<u64>,
    /// The number of reads since the last flush of the small sums.
    few: u32,
}

impl CycleReads {
    /// Counts a read of this length. Returns whether the small sums are full and must be flushed.
    #[inline]
    fn count_length(&mut self, length: usize, room: &CountingRoom) -> Result<bool> {
        let length = length.min(MAX_CYCLES);
        room.lengthen_list(&mut self.ended, length, MAX_CYCLES)?;
        self.ended[length - 1] += 1;
        self.few = (self.few + 1) % MAX_READS;
        Ok(self.few == 0)
    }

    fn merge(&mut self, from: &CycleReads) {
        add_each(&mut self.ended, &from.ended);
    }

    /// Returns, for each cycle, the number of reads that are long enough to have it.
    fn reads_by_cycle(&self) -> Vec<u64> {
        let mut reads = self.ended.clone();
        for cycle in (1..reads.len()).rev() {
            reads[cycle - 1] += reads[cycle];
        }
        reads
    }
}

/// Sums of qualities by cycle, for read 1 (or an unpaired read) and read 2.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct CycleQualities {
    ends: [EndQualities; 2],
    /// Whether any read was counted, including reads without qualities.
    has_reads: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct EndQualities {
    quals: CycleSums<u16>,
    reads: CycleReads,
}

impl CycleQualities {
    /// Adds the qualities of a read, after subtracting `offset` from each: 0 for QUAL, 33 for the
    /// text of OQ.
    #[inline]
    fn add_quals(
        &mut self,
        read: &PreparedRead<'_>,
        quals: &[u8],
        offset: u8,
        room: &CountingRoom,
    ) -> Result<()> {
        self.has_reads = true;
        if quals.is_empty() {
            return Ok(());
        }
        let end = &mut self.ends[usize::from(read.is_second_of_pair())];
        let is_full = end.reads.count_length(quals.len(), room)?;
        let (sums, quals) = end.quals.recent_sums_for(quals, read.flags.is_reverse(), room)?;
        for (sum, qual) in sums.iter_mut().zip(quals) {
            *sum += u16::from(qual.wrapping_sub(offset));
        }
        if is_full {
            end.quals.flush_recent();
        }
        Ok(())
    }

    fn flush(&mut self) {
        for end in &mut self.ends {
            end.quals.flush_recent();
            end.reads.few = 0;
        }
    }

    fn merge(&mut self, from: &CycleQualities) {
        self.has_reads |= from.has_reads;
        for (into, from) in self.ends.iter_mut().zip(&from.ends) {
            into.quals.merge(&from.quals);
            into.reads.merge(&from.reads);
        }
    }

    /// Returns the mean quality of each cycle. The cycles of read 2 follow the cycles of read 1, as
    /// in Picard.
    fn mean_quality_column(&self, label: &str) -> HistogramColumn {
        let [first, second] = &self.ends;
        let mut bins = Vec::new();
        let mut last = 0;
        for (cycle, (&sum, reads)) in
            (1..).zip(first.quals.sums.iter().zip(first.reads.reads_by_cycle()))
        {
            if sum > 0 {
                bins.push((cycle, sum as f64 / reads as f64));
                last = cycle;
            }
        }
        for (cycle, (&sum, reads)) in
            (1..).zip(second.quals.sums.iter().zip(second.reads.reads_by_cycle()))
        {
            if reads > 0 {
                bins.push((last + cycle, sum as f64 / reads as f64));
            }
        }
        HistogramColumn { label: label.as_bytes().to_vec(), bins }
    }

    fn is_empty(&self) -> bool {
        !self.has_reads
    }
}

pub(crate) struct MeanQuality(QcOptions);

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct BothQualities {
    quals: CycleQualities,
    original: CycleQualities,
}

impl ReadMetric for MeanQuality {
    const PROGRAM: PicardProgram =
        PicardProgram { name: "MeanQualityByCycle", endings: &[".quality_by_cycle_metrics"] };
    type Counts = BothQualities;

    fn start_run(setup: &MetricSetup<'_>) -> Result<Self> {
        Ok(MeanQuality(setup.options().clone()))
    }

    fn count_read(
        &self,
        counts: &mut BothQualities,
        read: &PreparedRead<'_>,
        context: &mut ReadContext<'_>,
    ) -> Result<()> {
        if self.0.leaves_out(read) {
            return Ok(());
        }
        counts.quals.add_quals(read, read.quals, 0, context.room)?;
        match read.fields.original_quals {
            Some(original) => counts.original.add_quals(read, original, 33, context.room),
            None => Ok(()),
        }
    }

    fn flush_sums(&self, counts: &mut BothQualities) {
        counts.quals.flush();
        counts.original.flush();
    }

    fn merge_counts(&self, into: &mut BothQualities, from: BothQualities) {
        into.quals.merge(&from.quals);
        into.original.merge(&from.original);
    }

    fn make_reports(&self, total: BothQualities, end: &RunEnd<'_>) -> Result<Vec<ReportContents>> {
        let mut columns = vec![total.quals.mean_quality_column("MEAN_QUALITY")];
        if !total.original.is_empty() {
            columns.push(total.original.mean_quality_column("MEAN_ORIGINAL_QUALITY"));
        }
        Ok(end.make_files(&Self::PROGRAM, |[file]| {
            file.set_histograms("java.lang.Integer", "CYCLE", columns)
        }))
    }
}

/// Adds 1 to the sum of each base's code. As a separate function with separate lists, the compiler
/// knows that they do not overlap and can use vector instructions.
#[inline(never)]
fn count_each(bases: &[u8], a: &mut [u8], c: &mut [u8], g: &mut [u8], t: &mut [u8]) {
    let sums = a.iter_mut().zip(c).zip(g.iter_mut().zip(t));
    for (&base, ((a, c), (g, t))) in bases.iter().zip(sums) {
        for (sum, code) in [a, c, g, t].into_iter().zip(BASES) {
            *sum += u8::from(base == code);
        }
    }
}

/// CollectBaseDistributionByCycle: the percentage of each base by cycle, for read 1 and read 2.
pub(crate) struct BaseDistribution(QcOptions);

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct EndBases {
    bases: [CycleSums<u8>; BASES.len()],
    reads: CycleReads,
}

impl ReadMetric for BaseDistribution {
    const PROGRAM: PicardProgram = PicardProgram {
        name: "CollectBaseDistributionByCycle",
        endings: &[".base_distribution_by_cycle_metrics"],
    };
    type Counts = [EndBases; 2];

    fn start_run(setup: &MetricSetup<'_>) -> Result<Self> {
        Ok(BaseDistribution(setup.options().clone()))
    }

    fn count_read(
        &self,
        counts: &mut [EndBases; 2],
        read: &PreparedRead<'_>,
        context: &mut ReadContext<'_>,
    ) -> Result<()> {
        if read.bases.is_empty() || self.0.leaves_out(read) {
            return Ok(());
        }
        let room = context.room;
        let end = &mut counts[usize::from(read.is_second_of_pair())];
        let is_full = end.reads.count_length(read.bases.len(), room)?;
        let [a, c, g, t] = &mut end.bases;
        let is_reverse = read.flags.is_reverse();
        let (a, bases) = a.recent_sums_for(read.bases, is_reverse, room)?;
        let (c, _) = c.recent_sums_for(bases, is_reverse, room)?;
        let (g, _) = g.recent_sums_for(bases, is_reverse, room)?;
        let (t, _) = t.recent_sums_for(bases, is_reverse, room)?;
        count_each(bases, a, c, g, t);
        if is_full {
            end.bases.iter_mut().for_each(CycleSums::flush_recent);
        }
        Ok(())
    }

    fn flush_sums(&self, counts: &mut [EndBases; 2]) {
        for end in counts {
            end.bases.iter_mut().for_each(CycleSums::flush_recent);
            end.reads.few = 0;
        }
    }

    fn merge_counts(&self, into: &mut [EndBases; 2], from: [EndBases; 2]) {
        for (into, from) in into.iter_mut().zip(&from) {
            into.bases.iter_mut().zip(&from.bases).for_each(|(into, from)| into.merge(from));
            into.reads.merge(&from.reads);
        }
    }

    fn make_reports(&self, total: [EndBases; 2], end: &RunEnd<'_>) -> Result<Vec<ReportContents>> {
        let (mut rows, mut last) = (Vec::new(), 0);
        for (number, counts) in (1_u64..).zip(&total) {
            let after = if number == 1 { 0 } else { last };
            for (n, all) in
                counts.reads.reads_by_cycle().into_iter().enumerate().filter(|(_, all)| *all > 0)
            {
                let cycle = n as u64 + 1;
                let bases = counts.bases.each_ref().map(|it| it.sums.get(n).copied().unwrap_or(0));
                let others = all - bases.iter().sum::<u64>();
                let mut row = MetricsRow::default();
                row.push_integer(number).push_integer(after + cycle);
                let bases = bases.into_iter().chain([others]);
                bases.for_each(|n| _ = row.push_decimal(100.0 * n as f64 / all as f64));
                rows.push(row);
                last = last.max(if number == 1 { cycle } else { 0 });
            }
        }
        let class = "picard.analysis.BaseDistributionByCycleMetrics";
        Ok(end.make_files(&Self::PROGRAM, |[file]| file.set_table(class, &COLUMNS, rows)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_reads_of_any_length_and_number_are_by_cycle() {
        let (mut sums, room) = (CycleSums::<u8>::default(), crate::room::counting_room(1 << 20));
        let add = |sums: &mut CycleSums<u8>, values: &[u8], is_reverse: bool| {
            let (sums, values) = sums.recent_sums_for(values, is_reverse, &room).unwrap();
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        };
        for n in 0..300 {
            add(&mut sums, &[1, 0, 1], false);
            add(&mut sums, &[1, 0, 0, 0], true);
            if n % 100 == 99 {
                sums.flush_recent();
            }
        }
        add(&mut sums, &[0, 0, 0, 0, 1, 1], true);
        sums.flush_recent();
        assert_eq!(sums.sums[..6], [301, 1, 300, 300, 0, 0]);
    }
}
