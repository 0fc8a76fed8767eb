//! MeanQualityByCycle and CollectBaseDistributionByCycle: qualities and bases by cycle, the position in the read as it was
//! sequenced.

use readmill_format::metrics::{self, HistogramColumn, MetricsRow};
use readmill_record::{ReportText, Result};
use serde::{Deserialize, Serialize};

use crate::counts::add_each;
use crate::options::QcOptions;
use crate::room::CountingRoom;
use crate::{MetricSetup, PicardProgram, PreparedRead, ReadContext, ReadMetric, RunEnd};

/// Cycles that have rows; later ones are not counted.
pub const MAX_CYCLES: usize = 1 << 16;

/// Columns of the table of bases.
const COLUMNS: [&str; 7] = ["READ_END", "CYCLE", "PCT_A", "PCT_C", "PCT_G", "PCT_T", "PCT_N"];

/// The codes of the bases that have columns, in their order; all others are in the column of N.
const BASES: [u8; 4] = [1, 2, 4, 8];

/// Reads after which small sums are added to large ones: 255 ones fit into 8 bits, and 255 qualities into 16.
const MAX_READS: u32 = 255;

/// Sums by cycle. Those of the last few reads are small numbers, of which the processor adds many at once, in the order of
/// the record: sums of forward reads begin with the first cycle, those of reverse reads end with it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct CycleSums<T> {
    sums: Vec<u64>,
    #[serde(skip)]
    forward: Vec<T>,
    #[serde(skip)]
    reverse: Vec<T>,
    /// The cycles of the longest read that is counted in small sums.
    longest: usize,
}

impl<T: Copy + Default + Into<u64>> CycleSums<T> {
    /// Returns the small sums to which the values of a read are added, and those of the values that have a sum.
    #[inline(always)]
    fn places<'a, 'b>(
        &'a mut self,
        values: &'b [u8],
        is_reverse: bool,
        room: &CountingRoom,
    ) -> Result<(&'a mut [T], &'b [u8])> {
        let length = values.len().min(MAX_CYCLES);
        if self.forward.len() < length {
            self.lengthen(length, room)?;
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
    fn lengthen(&mut self, length: usize, room: &CountingRoom) -> Result<()> {
        self.flush();
        room.lengthen_list(&mut self.sums, length, MAX_CYCLES)?;
        room.lengthen_list(&mut self.forward, length, MAX_CYCLES)?;
        room.lengthen_list(&mut self.reverse, length, MAX_CYCLES)
    }

    /// Adds the small sums to the large ones.
    fn flush(&mut self) {
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

/// How many reads have a cycle.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct CycleReads {
    /// Reads by their last cycle.
    ended: Vec<u64>,
    /// Reads in small sums.
    few: u32,
}

impl CycleReads {
    /// Counts a read of this length; returns whether small sums are full with it.
    #[inline]
    fn add(&mut self, length: usize, room: &CountingRoom) -> Result<bool> {
        let length = length.min(MAX_CYCLES);
        room.lengthen_list(&mut self.ended, length, MAX_CYCLES)?;
        self.ended[length - 1] += 1;
        self.few = (self.few + 1) % MAX_READS;
        Ok(self.few == 0)
    }

    fn merge(&mut self, from: &CycleReads) {
        add_each(&mut self.ended, &from.ended);
    }

    /// The reads that have each cycle.
    fn lasting(&self) -> Vec<u64> {
        let mut reads = self.ended.clone();
        for cycle in (1..reads.len()).rev() {
            reads[cycle - 1] += reads[cycle];
        }
        reads
    }
}

/// Sums of qualities by cycle, of first and second reads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct CycleQualities {
    ends: [EndQualities; 2],
    /// Whether there was any read, with qualities or not.
    has_reads: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct EndQualities {
    quals: CycleSums<u16>,
    reads: CycleReads,
}

impl CycleQualities {
    /// Counts a read with these qualities.
    #[inline]
    fn add(
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
        let end = &mut self.ends[usize::from(read.is_second())];
        let is_full = end.reads.add(quals.len(), room)?;
        let (sums, quals) = end.quals.places(quals, read.flags.is_reverse(), room)?;
        for (sum, qual) in sums.iter_mut().zip(quals) {
            *sum += u16::from(qual.wrapping_sub(offset));
        }
        if is_full {
            end.quals.flush();
        }
        Ok(())
    }

    /// Completes the sums of the reads so far.
    fn flush(&mut self) {
        for end in &mut self.ends {
            end.quals.flush();
            end.reads.few = 0;
        }
    }

    /// Adds other sums.
    fn merge(&mut self, from: &CycleQualities) {
        self.has_reads |= from.has_reads;
        for (into, from) in self.ends.iter_mut().zip(&from.ends) {
            into.quals.merge(&from.quals);
            into.reads.merge(&from.reads);
        }
    }

    /// The mean qualities by cycle, those of second reads after those of first ones.
    fn column(&self, label: &str) -> HistogramColumn {
        let [first, second] = &self.ends;
        let mut bins = Vec::new();
        let mut last = 0;
        for (cycle, (&sum, reads)) in (1..).zip(first.quals.sums.iter().zip(first.reads.lasting())) {
            if sum > 0 {
                bins.push((cycle, sum as f64 / reads as f64));
                last = cycle;
            }
        }
        for (cycle, (&sum, reads)) in (1..).zip(second.quals.sums.iter().zip(second.reads.lasting())) {
            if reads > 0 {
                bins.push((last + cycle, sum as f64 / reads as f64));
            }
        }
        HistogramColumn { label: label.as_bytes().to_vec(), bins }
    }

    /// Whether there was no read.
    fn is_empty(&self) -> bool {
        !self.has_reads
    }
}

pub(crate) struct MeanQuality(QcOptions);

/// Qualities by cycle, of QUAL and OQ.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct BothQualities {
    quals: CycleQualities,
    original: CycleQualities,
}

impl ReadMetric for MeanQuality {
    const PROGRAM: PicardProgram =
        PicardProgram { name: "MeanQualityByCycle", endings: &[".quality_by_cycle_metrics"] };
    type Counts = BothQualities;

    fn start(setup: &MetricSetup<'_>) -> Result<Self> {
        Ok(MeanQuality(setup.options().clone()))
    }

    fn add(
        &self,
        counts: &mut BothQualities,
        read: &PreparedRead<'_>,
        context: &mut ReadContext<'_>,
    ) -> Result<()> {
        if self.0.leaves_out(read) {
            return Ok(());
        }
        counts.quals.add(read, read.quals, 0, context.room)?;
        match read.fields.original_quals {
            Some(original) => counts.original.add(read, original, 33, context.room),
            None => Ok(()),
        }
    }

    fn flush(&self, counts: &mut BothQualities) {
        counts.quals.flush();
        counts.original.flush();
    }

    fn merge(&self, into: &mut BothQualities, from: BothQualities) {
        into.quals.merge(&from.quals);
        into.original.merge(&from.original);
    }

    fn texts(&self, total: BothQualities, end: &RunEnd<'_>) -> Result<Vec<ReportText>> {
        let mut columns = vec![total.quals.column("MEAN_QUALITY")];
        if !total.original.is_empty() {
            columns.push(total.original.column("MEAN_ORIGINAL_QUALITY"));
        }
        Ok(end.files(&Self::PROGRAM, |[text]| {
            text.push(b'\n');
            metrics::append_histograms(text, "java.lang.Integer", "CYCLE", &columns);
        }))
    }
}

/// Adds each base to the sums of its code. It is a function of its own so that the compiler knows that the lists do not overlap,
/// and adds many numbers at once.
#[inline(never)]
fn count_each(bases: &[u8], a: &mut [u8], c: &mut [u8], g: &mut [u8], t: &mut [u8]) {
    let sums = a.iter_mut().zip(c).zip(g.iter_mut().zip(t));
    for (&base, ((a, c), (g, t))) in bases.iter().zip(sums) {
        for (sum, code) in [a, c, g, t].into_iter().zip(BASES) {
            *sum += u8::from(base == code);
        }
    }
}

/// CollectBaseDistributionByCycle: numbers of bases by cycle, of first and second reads.
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

    fn start(setup: &MetricSetup<'_>) -> Result<Self> {
        Ok(BaseDistribution(setup.options().clone()))
    }

    fn add(
        &self,
        counts: &mut [EndBases; 2],
        read: &PreparedRead<'_>,
        context: &mut ReadContext<'_>,
    ) -> Result<()> {
        if read.bases.is_empty() || self.0.leaves_out(read) {
            return Ok(());
        }
        let room = context.room;
        let end = &mut counts[usize::from(read.is_second())];
        let is_full = end.reads.add(read.bases.len(), room)?;
        let [a, c, g, t] = &mut end.bases;
        let is_reverse = read.flags.is_reverse();
        let (a, bases) = a.places(read.bases, is_reverse, room)?;
        let (c, _) = c.places(bases, is_reverse, room)?;
        let (g, _) = g.places(bases, is_reverse, room)?;
        let (t, _) = t.places(bases, is_reverse, room)?;
        count_each(bases, a, c, g, t);
        if is_full {
            end.bases.iter_mut().for_each(CycleSums::flush);
        }
        Ok(())
    }

    fn flush(&self, counts: &mut [EndBases; 2]) {
        for end in counts {
            end.bases.iter_mut().for_each(CycleSums::flush);
            end.reads.few = 0;
        }
    }

    fn merge(&self, into: &mut [EndBases; 2], from: [EndBases; 2]) {
        for (into, from) in into.iter_mut().zip(&from) {
            into.bases.iter_mut().zip(&from.bases).for_each(|(into, from)| into.merge(from));
            into.reads.merge(&from.reads);
        }
    }

    fn texts(&self, total: [EndBases; 2], end: &RunEnd<'_>) -> Result<Vec<ReportText>> {
        let (mut rows, mut last) = (Vec::new(), 0);
        for (number, counts) in (1_u64..).zip(&total) {
            let after = if number == 1 { 0 } else { last };
            for (n, all) in counts.reads.lasting().into_iter().enumerate().filter(|(_, all)| *all > 0) {
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
        Ok(end.files(&Self::PROGRAM, |[text]| {
            metrics::append_table(
                text,
                "picard.analysis.BaseDistributionByCycleMetrics",
                &COLUMNS,
                &rows,
            );
            text.push(b'\n');
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_reads_of_any_length_and_number_are_by_cycle() {
        let (mut sums, room) = (CycleSums::<u8>::default(), crate::room::of(1 << 20));
        let add = |sums: &mut CycleSums<u8>, values: &[u8], is_reverse: bool| {
            let (sums, values) = sums.places(values, is_reverse, &room).unwrap();
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        };
        for n in 0..300 {
            add(&mut sums, &[1, 0, 1], false);
            add(&mut sums, &[1, 0, 0, 0], true);
            if n % 100 == 99 {
                sums.flush();
            }
        }
        add(&mut sums, &[0, 0, 0, 0, 1, 1], true);
        sums.flush();
        assert_eq!(sums.sums[..6], [301, 1, 300, 300, 0, 0]);
    }
}
