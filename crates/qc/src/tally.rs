//! The tally of all metrics: each record is prepared once, and given to all collectors.

use readmill_format::metrics;
use readmill_format::reference::Reference;
use readmill_record::{Batch, Header, Result, Tally};
use serde::{Deserialize, Serialize};

use crate::adapters::Adapters;
use crate::alignment::{Alignments, Context};
use crate::cycles::{CycleBases, CycleQualities};
use crate::insert_size::InsertSizes;
use crate::levels::{Levels, Unit};
use crate::options::{Options, Program};
use crate::qualities::Qualities;
use crate::quality_yield::QualityYield;
use crate::read::Read;
use crate::reference::{ReferenceContigs, ReferencePages};
use crate::room::Room;

/// Counts the metrics of Picard.
pub struct QcTally {
    options: Options,
    levels: Levels,
    adapters: Adapters,
    reference: Option<ReferenceContigs>,
    room: Room,
    bytes: u64,
}

/// The bytes of counts that a run of usual reads takes on a thread.
const THREAD_BYTES: u64 = 2 << 20;

/// The part of the whole memory that counts may take beside those.
const PART: u64 = 16;

impl QcTally {
    /// Creates the tally for reads under `header`, on so many `threads`, where the run has so much `memory`. Without a
    /// reference there are no mismatches.
    ///
    /// # Errors
    /// The reference is another one than that of the reads.
    pub fn new(
        options: Options,
        header: &Header,
        reference: Option<Reference>,
        threads: u64,
        memory: u64,
    ) -> Result<Self> {
        let reference = reference.filter(|_| options.has(Program::CollectAlignmentSummaryMetrics));
        let reference =
            reference.map(|reference| ReferenceContigs::new(reference, header)).transpose()?;
        let room = THREAD_BYTES * (threads + 1) + memory / PART;
        let pages = reference.as_ref().map_or(0, |_| ReferenceContigs::THREAD_BYTES * threads);
        Ok(QcTally {
            levels: Levels::new(header, &options.metric_accumulation_level),
            adapters: Adapters::new(&options.adapter_sequence),
            options,
            reference,
            room: Room::of(room),
            bytes: room + pages,
        })
    }
}

/// The counts of one thread.
#[derive(Default, Serialize, Deserialize)]
pub struct QcPartial {
    groups: Vec<GroupCounts>,
    bases_by_cycle: CycleBases,
    quals_by_cycle: CycleQualities,
    original_by_cycle: CycleQualities,
    qualities: Qualities,
    quality_yield: QualityYield,
    #[serde(skip)]
    scratch: Scratch,
}

/// The counts of one group of reads.
#[derive(Clone, Default, Serialize, Deserialize)]
struct GroupCounts {
    alignments: Alignments,
    insert_sizes: InsertSizes,
}

/// Memory that a thread uses again for each record.
#[derive(Default)]
struct Scratch {
    codes: Vec<u8>,
    pages: ReferencePages,
    /// The last read group, and its group.
    read_group: Vec<u8>,
    group: Option<usize>,
}

impl Scratch {
    fn group(&mut self, levels: &Levels, read_group: Option<&[u8]>) -> usize {
        let name = read_group.unwrap_or_default();
        match self.group {
            Some(group) if self.read_group == name => group,
            _ => {
                self.read_group.clear();
                self.read_group.extend_from_slice(name);
                *self.group.insert(levels.group(read_group))
            }
        }
    }
}

impl Tally for QcTally {
    type Partial = QcPartial;
    type Total = QcTotal;

    fn bytes(&self, _: u64) -> u64 {
        self.bytes
    }

    fn observe(&self, partial: &mut QcPartial, batch: &Batch) -> Result<()> {
        if partial.groups.len() < self.levels.groups {
            self.room.lengthen(&mut partial.groups, self.levels.groups, self.levels.groups)?;
        }
        let mut codes = std::mem::take(&mut partial.scratch.codes);
        for (_, record) in batch.records() {
            if record.flags().is_primary() {
                self.count(partial, &Read::new(record, &mut codes))?;
            }
        }
        codes.shrink_to(1 << 16);
        partial.scratch.codes = codes;
        Ok(())
    }

    fn merge(&self, into: &mut QcPartial, from: QcPartial) {
        if into.groups.is_empty() {
            into.groups = from.groups;
        } else {
            for (into, from) in into.groups.iter_mut().zip(&from.groups) {
                into.alignments.merge(&from.alignments);
                into.insert_sizes.merge(&from.insert_sizes);
            }
        }
        into.bases_by_cycle.merge(&from.bases_by_cycle);
        into.quals_by_cycle.merge(&from.quals_by_cycle);
        into.original_by_cycle.merge(&from.original_by_cycle);
        into.qualities.merge(&from.qualities);
        into.quality_yield.merge(&from.quality_yield);
    }

    fn finish(&self, mut total: QcPartial) -> Result<QcTotal> {
        total.groups.resize_with(self.levels.groups, GroupCounts::default);
        Ok(QcTotal { counts: total, units: self.levels.units.clone(), options: self.options.clone() })
    }
}

impl QcTally {
    /// Gives a read to all collectors.
    #[inline]
    fn count(&self, partial: &mut QcPartial, read: &Read<'_>) -> Result<()> {
        let (options, room) = (&self.options, &self.room);
        let group = partial.scratch.group(&self.levels, read.fields.read_group);
        let counts = &mut partial.groups[group];
        if options.has(Program::CollectAlignmentSummaryMetrics) {
            let context =
                Context { options, adapters: &self.adapters, reference: self.reference.as_ref(), room };
            counts.alignments.add(read, &context, &mut partial.scratch.pages)?;
        }
        if options.has(Program::CollectInsertSizeMetrics) {
            counts.insert_sizes.add(read, options, room)?;
        }
        if options.has(Program::CollectQualityYieldMetrics) {
            partial.quality_yield.add(read, options);
        }
        let is_left_out = options.pf_reads_only && read.flags.is_qc_fail()
            || options.aligned_reads_only && read.flags.is_unmapped();
        if is_left_out {
            return Ok(());
        }
        if options.has(Program::CollectBaseDistributionByCycle) {
            partial.bases_by_cycle.add(read, room)?;
        }
        if options.has(Program::MeanQualityByCycle) {
            partial.quals_by_cycle.add(read, read.quals, 0, room)?;
            if let Some(original) = read.fields.original_quals {
                partial.original_by_cycle.add(read, original, 33, room)?;
            }
        }
        if options.has(Program::QualityScoreDistribution) {
            partial.qualities.add(read, options.include_no_calls);
        }
        Ok(())
    }
}

/// The counts of all reads.
pub struct QcTotal {
    counts: QcPartial,
    units: Vec<Unit>,
    options: Options,
}

impl QcTotal {
    /// Formats the file of each program, in the order of [`Options::programs`]. `command` returns the command line for a
    /// program, and the run `started` at a date in any form.
    pub fn texts(&self, command: &dyn Fn(&str) -> String, started: &str) -> Vec<Vec<u8>> {
        let text = |&program: &Program| {
            let mut text = metrics::comments(&command(program.name()), started);
            text.push(b'\n');
            self.put(program, &mut text);
            text.push(b'\n');
            text
        };
        self.options.programs.iter().map(text).collect()
    }

    fn put(&self, program: Program, text: &mut Vec<u8>) {
        let counts = &self.counts;
        match program {
            Program::CollectAlignmentSummaryMetrics => {
                let mut units = self.units(|sum: &mut Alignments, group| sum.merge(&group.alignments));
                units.retain(|(unit, sum)| !unit.is_found || !sum.is_empty());
                Alignments::put(text, &units);
            }
            Program::CollectInsertSizeMetrics => {
                let units = self.units(|sum: &mut InsertSizes, group| sum.merge(&group.insert_sizes));
                InsertSizes::put(text, &units, &self.options);
            }
            Program::CollectBaseDistributionByCycle => counts.bases_by_cycle.put(text),
            Program::MeanQualityByCycle => {
                text.push(b'\n');
                let mut columns = vec![counts.quals_by_cycle.column("MEAN_QUALITY")];
                if !counts.original_by_cycle.is_empty() {
                    columns.push(counts.original_by_cycle.column("MEAN_ORIGINAL_QUALITY"));
                }
                metrics::put_histograms(text, "java.lang.Integer", "CYCLE", &columns);
            }
            Program::QualityScoreDistribution => counts.qualities.put(text),
            Program::CollectQualityYieldMetrics => counts.quality_yield.put(text),
        }
    }

    /// The sum of the groups of each unit.
    fn units<T: Default>(&self, add: impl Fn(&mut T, &GroupCounts)) -> Vec<(&Unit, T)> {
        let sum = |unit: &Unit| {
            let mut sum = T::default();
            unit.groups.iter().for_each(|&group| add(&mut sum, &self.counts.groups[group]));
            sum
        };
        self.units.iter().map(|unit| (unit, sum(unit))).collect()
    }
}
