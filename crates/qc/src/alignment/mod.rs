//! CollectAlignmentSummaryMetrics: how many reads are aligned, and how well.
//!
//! Read 1, read 2 and unpaired reads are counted separately. The row PAIR is the sum of the first
//! two.

mod compare;
pub(crate) mod options;
mod table;

use std::sync::Arc;

use readmill_format::report::ReportContents;
use readmill_record::Result;
use readmill_record::cigar::{HARD_CLIP, SOFT_CLIP};
use serde::{Deserialize, Serialize};

use self::options::AlignmentOptions;
use crate::adapters::{Adapters, DEFAULT_ADAPTERS};
use crate::collector::ByGroup;
use crate::counts::{KeyCounts, add_each};
use crate::cycles::MAX_CYCLES;
use crate::flags::given_or;
use crate::levels::Levels;
use crate::read::{N, Orientation};
use crate::room::CountingRoom;
use crate::{MetricSetup, PicardProgram, PreparedRead, ProgramNeeds, ReadContext, ReadMetric, RunEnd};

/// CollectAlignmentSummaryMetrics. Without a reference, no mismatches are counted.
pub(crate) struct AlignmentSummary {
    adapters: Adapters,
    max_insert_size: i32,
    expected_orientations: Vec<Orientation>,
    levels: Arc<Levels>,
}

impl AlignmentSummary {
    fn new(options: &AlignmentOptions, levels: &Arc<Levels>) -> Self {
        let adapters = given_or(&options.adapter_sequence, &DEFAULT_ADAPTERS.map(str::to_owned));
        AlignmentSummary {
            adapters: Adapters::new(&adapters),
            max_insert_size: options.max_insert_size.unwrap_or(100_000),
            expected_orientations: given_or(&options.expected_pair_orientations, &[Orientation::Fr]),
            levels: Arc::clone(levels),
        }
    }

    /// Returns whether a mapped pair is chimeric in Picard's sense: too far apart, on two contigs,
    /// with a supplementary alignment, or in an unexpected orientation.
    fn is_chimeric(&self, read: &PreparedRead<'_>) -> bool {
        // Java's Math.abs returns the smallest int unchanged.
        read.record.tlen().wrapping_abs() > self.max_insert_size
            || read.fields.has_supplementary
            || read.orientation().is_none_or(|it| !self.expected_orientations.contains(&it))
    }
}

impl ReadMetric for AlignmentSummary {
    const PROGRAM: PicardProgram = PicardProgram {
        name: "CollectAlignmentSummaryMetrics",
        endings: &[".alignment_summary_metrics"],
    };
    const NEEDS: ProgramNeeds = ProgramNeeds { compares: true, ..ProgramNeeds::NOTHING };
    type Counts = ByGroup<Alignments>;

    fn start_run(setup: &MetricSetup<'_>) -> Result<Self> {
        Ok(AlignmentSummary::new(&setup.options().alignment, &setup.levels))
    }

    fn count_read(
        &self,
        counts: &mut ByGroup<Alignments>,
        read: &PreparedRead<'_>,
        context: &mut ReadContext<'_>,
    ) -> Result<()> {
        counts.group_counts(read.group, context)?.count_read(self, read, context)
    }

    fn merge_counts(&self, into: &mut ByGroup<Alignments>, from: ByGroup<Alignments>) {
        into.merge_groups(from, Alignments::merge);
    }

    fn make_reports(&self, total: ByGroup<Alignments>, end: &RunEnd<'_>) -> Result<Vec<ReportContents>> {
        let mut units = total.sum_by_unit(&self.levels, Alignments::merge);
        units.retain(|(unit, sum)| !unit.is_found || !sum.is_empty());
        Ok(end.make_files(&Self::PROGRAM, |[file]| Alignments::fill(file, &units)))
    }
}

/// Minimum mapping quality of high-quality alignments, and minimum quality of high-quality bases
/// (Picard's Q20).
const HIGH_QUALITY: u8 = 20;

/// The counters of one category of reads, as indices of a list.
#[derive(Clone, Copy, Debug)]
enum AlignmentCounter {
    Reads,
    PassingReads,
    NoiseReads,
    AlignedReads,
    AlignedBases,
    HighQualityReads,
    HighQualityBases,
    HighQualityQ20Bases,
    Mismatches,
    HighQualityMismatches,
    Indels,
    AlignedInPairs,
    ImproperPairs,
    Forward,
    Chimeras,
    PossibleChimeras,
    AdapterReads,
    SoftClipped,
    HardClipped,
    ThreePrimeClipped,
    ThreePrimeClippedReads,
}

const NUMBERS: usize = AlignmentCounter::ThreePrimeClippedReads as usize + 1;

/// The counts of all categories: read 1, read 2, and unpaired reads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Alignments([EndAlignments; 3]);

const FIRST: usize = 0;
const SECOND: usize = 1;
const UNPAIRED: usize = 2;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct EndAlignments {
    numbers: [u64; NUMBERS],
    lengths: KeyCounts,
    aligned_lengths: KeyCounts,
    /// Histogram of mismatches per read. Reads below mapping quality 20 are counted with 0
    /// mismatches, as in Picard.
    mismatches: KeyCounts,
    /// By cycle, the number of reads whose base there is N or differs from the reference.
    bad_cycles: Vec<u64>,
}

impl Alignments {
    #[inline]
    fn count_read(
        &mut self,
        metric: &AlignmentSummary,
        read: &PreparedRead<'_>,
        context: &mut ReadContext<'_>,
    ) -> Result<()> {
        let end = match (read.flags.is_paired(), read.flags.is_first()) {
            (true, true) => FIRST,
            (true, false) => SECOND,
            (false, _) => UNPAIRED,
        };
        self.0[end].count_read(metric, read, context)
    }

    fn merge(&mut self, from: &Alignments) {
        self.0.iter_mut().zip(&from.0).for_each(|(into, from)| into.merge(from));
    }
}

impl EndAlignments {
    fn add_to_counter(&mut self, of: AlignmentCounter, n: u64) {
        self.numbers[of as usize] += n;
    }

    fn count_read(
        &mut self,
        metric: &AlignmentSummary,
        read: &PreparedRead<'_>,
        context: &mut ReadContext<'_>,
    ) -> Result<()> {
        let flags = read.flags;
        self.add_to_counter(AlignmentCounter::Reads, 1);
        if !flags.is_qc_fail() {
            self.count_passing_read(metric, read, context.room)?;
            if !flags.is_unmapped() {
                return self.add_bases(read, context);
            }
        }
        self.add_no_calls(read, context.room)
    }

    /// Counts a read that passes vendor quality checks: lengths, clips and adapters.
    fn count_passing_read(
        &mut self,
        metric: &AlignmentSummary,
        read: &PreparedRead<'_>,
        room: &CountingRoom,
    ) -> Result<()> {
        let flags = read.flags;
        self.add_to_counter(AlignmentCounter::PassingReads, 1);
        self.add_to_counter(AlignmentCounter::NoiseReads, u64::from(read.fields.is_noise));
        let (mut aligned, mut hard, mut soft) = (0_u64, 0, 0);
        for (op, n) in read.record.cigar().ops() {
            match op {
                0 | 1 | 7 | 8 => aligned += u64::from(n),
                HARD_CLIP => hard += u64::from(n),
                SOFT_CLIP => soft += u64::from(n),
                _ => {}
            }
        }
        self.lengths.count_key(read.bases.len() as u32, room)?;
        self.aligned_lengths.count_key(u32::try_from(aligned).unwrap_or(u32::MAX), room)?;
        self.add_to_counter(AlignmentCounter::HardClipped, hard);
        let is_candidate = flags.is_unmapped() || read.record.mapq() == 0;
        let reverse = !flags.is_unmapped() && flags.is_reverse();
        if is_candidate && metric.adapters.is_read_adapter(read.bases, reverse) {
            self.add_to_counter(AlignmentCounter::AdapterReads, 1);
        }
        if !flags.is_unmapped() {
            self.count_aligned_read(metric, read, soft);
        }
        Ok(())
    }

    /// Counts an aligned read that passes vendor quality checks. `soft` is the number of its
    /// soft-clipped bases.
    fn count_aligned_read(&mut self, metric: &AlignmentSummary, read: &PreparedRead<'_>, soft: u64) {
        let (flags, record) = (read.flags, read.record);
        let cigar = record.cigar();
        self.add_to_counter(AlignmentCounter::SoftClipped, soft);
        let three_prime = if soft == 0 {
            0
        } else if flags.is_reverse() {
            clipped_after_aligned(cigar.ops().rev())
        } else {
            clipped_after_aligned(cigar.ops())
        };
        self.add_to_counter(AlignmentCounter::ThreePrimeClipped, three_prime);
        self.add_to_counter(AlignmentCounter::ThreePrimeClippedReads, u64::from(three_prime > 0));
        self.add_to_counter(AlignmentCounter::AlignedReads, 1);
        self.add_to_counter(
            AlignmentCounter::ImproperPairs,
            u64::from(flags.is_paired() && !flags.is_proper()),
        );
        self.add_to_counter(AlignmentCounter::Forward, u64::from(!flags.is_reverse()));
        let sure = record.mapq() >= HIGH_QUALITY;
        if read.is_mapped_pair() {
            self.add_to_counter(AlignmentCounter::AlignedInPairs, 1);
            let mate = read.fields.mate_mapq;
            if mate.is_none_or(|mate| mate >= i64::from(HIGH_QUALITY) && sure) {
                self.add_to_counter(AlignmentCounter::PossibleChimeras, 1);
                self.add_to_counter(AlignmentCounter::Chimeras, u64::from(metric.is_chimeric(read)));
            }
        } else if sure {
            self.add_to_counter(AlignmentCounter::PossibleChimeras, 1);
            self.add_to_counter(AlignmentCounter::Chimeras, u64::from(read.fields.has_supplementary));
        }
    }

    /// Counts the cycles of N for a read that is unmapped or fails vendor quality checks.
    fn add_no_calls(&mut self, read: &PreparedRead<'_>, room: &CountingRoom) -> Result<()> {
        if !read.has_n {
            return Ok(());
        }
        for (i, _) in read.bases.iter().enumerate().filter(|(_, base)| **base == N) {
            self.add_bad_cycle(read, i, room)?;
        }
        Ok(())
    }

    /// Counts a bad base in its cycle. As in Picard, `i` counts from the start of the aligned
    /// block, not of the read.
    fn add_bad_cycle(&mut self, read: &PreparedRead<'_>, i: usize, room: &CountingRoom) -> Result<()> {
        let cycle = if read.flags.is_reverse() { read.bases.len() - i } else { i + 1 };
        if cycle > MAX_CYCLES {
            return Ok(());
        }
        if self.bad_cycles.len() < cycle {
            room.lengthen_list(&mut self.bad_cycles, cycle, MAX_CYCLES)?;
        }
        self.bad_cycles[cycle - 1] += 1;
        Ok(())
    }

    fn merge(&mut self, from: &EndAlignments) {
        self.numbers.iter_mut().zip(from.numbers).for_each(|(into, from)| *into += from);
        self.lengths.merge(&from.lengths);
        self.aligned_lengths.merge(&from.aligned_lengths);
        self.mismatches.merge(&from.mismatches);
        add_each(&mut self.bad_cycles, &from.bad_cycles);
    }
}

/// Returns the number of soft-clipped bases after the first operation that is not a clip.
fn clipped_after_aligned(ops: impl Iterator<Item = (u32, u32)>) -> u64 {
    let after = ops.skip_while(|&(op, _)| op == SOFT_CLIP || op == HARD_CLIP);
    after.filter(|&(op, _)| op == SOFT_CLIP).map(|(_, n)| u64::from(n)).sum()
}
