//! The tally of all metrics: each record is prepared once, and given to all collectors.

use std::sync::Arc;

use readmill_format::intervals::NamedIntervals;
use readmill_format::metrics;
use readmill_format::reference::Reference;
use readmill_record::{Batch, DynOrderedTally, Error, Header, Ledger, ReportText, Result, Tally};
use serde::{Deserialize, Serialize};

use crate::adapters::Adapters;
use crate::alignment::{Alignments, Context};
use crate::artifacts::{ArtifactContext, Artifacts, Libraries};
use crate::cycles::{CycleBases, CycleQualities};
use crate::gc_bias::{GcBias, GcContext, GcScan, GcWindows};
use crate::insert_size::InsertSizes;
use crate::levels::{GroupFinder, Levels, Unit};
use crate::options::{Options, Program};
use crate::ordered::{OrderedCounts, Regions};
use crate::oxog::OxoGTotals;
use crate::qualities::Qualities;
use crate::quality_yield::QualityYield;
use crate::read::Read;
use crate::reference::{ReferenceContigs, ReferencePages};
use crate::rna::{self, Genes, RnaTotals};
use crate::room::{self, Room};
use crate::targets::{self, TargetGc, TargetRules, TargetTotals};
use crate::wgs::{self, TerritoryScan, WgsTotals};

/// Counts the metrics of Picard.
pub struct QcTally {
    options: Options,
    /// A bit for each program that is wanted.
    wanted: u32,
    levels: Arc<Levels>,
    contigs: Vec<(Vec<u8>, u32)>,
    /// TARGET_INTERVALS.
    targets: Option<NamedIntervals>,
    libraries: Libraries,
    adapters: Adapters,
    reference: Option<ReferenceContigs>,
    ordered: OrderedCounts,
    room: Room,
    /// Bytes of memory that grow with the header and the files of the options.
    bytes: u64,
}

/// The bytes of counts that a run of usual reads takes on a thread.
const THREAD_BYTES: u64 = 2 << 20;

impl QcTally {
    /// The name of its memory.
    pub const NAME: &'static str = "quality metrics";

    /// Bytes of memory that these metrics take on so many `threads`, whatever the header and the reads are.
    pub fn least_bytes(options: &Options, has_reference: bool, threads: u64) -> u64 {
        let has_gc = options.has(Program::CollectGcBiasMetrics);
        let scan = if has_gc { GcScan::THREAD_BYTES * threads } else { 0 };
        let has_pages = has_reference && compares(options);
        let pages = if has_pages { ReferenceContigs::THREAD_BYTES * threads } else { 0 };
        THREAD_BYTES * (threads + 1) + scan + pages + OrderedCounts::min_bytes(options, threads)
    }

    /// Creates the tally for reads under `header`, on so many `threads`, which may take `more` bytes beside
    /// [`QcTally::least_bytes`]. Without a reference there are no mismatches.
    ///
    /// # Errors
    /// The reference is another one than that of the reads.
    pub fn new(
        options: Options,
        header: &Header,
        reference: Option<Reference>,
        regions: Regions,
        threads: u64,
        more: u64,
    ) -> Result<Self> {
        let (has_order, targets) = (options.needs_order(), regions.targets.targets.clone());
        let is_needed = options.programs.iter().any(|program| program.needs_reference());
        let reference = reference.filter(|_| compares(&options) || has_order);
        let reference =
            reference.map(|reference| ReferenceContigs::new(reference, header)).transpose()?;
        if is_needed && reference.is_none() {
            return Err(Error::bug("metrics are counted that need a reference, and there is none"));
        }
        let by_library = [Program::CollectSequencingArtifactMetrics, Program::CollectOxoGMetrics];
        let by_library = by_library.into_iter().any(|program| options.has(program));
        let libraries = if by_library { Libraries::new(header) } else { Libraries::default() };
        let level_bytes = Levels::most_bytes(header, &options.metric_accumulation_level);
        let levels = Arc::new(Levels::new(header, &options.metric_accumulation_level));
        let ordered =
            OrderedCounts::new(&options, header, reference.as_ref(), regions, &libraries, &levels)?;
        let in_order = ordered.result_bytes();
        Ok(QcTally {
            contigs: header.references().iter().map(|it| (it.name.clone(), it.length)).collect(),
            levels,
            targets,
            adapters: Adapters::new(&options.adapter_sequence),
            wanted: options.programs.iter().fold(0, |all, &program| all | 1 << program as u32),
            options,
            reference,
            room: room::of(THREAD_BYTES * (threads + 1) + more),
            ordered,
            bytes: in_order + libraries.bytes() + level_bytes,
            libraries,
        })
    }
}

/// Whether reads are compared with the reference one by one.
fn compares(options: &Options) -> bool {
    let comparing = [
        Program::CollectAlignmentSummaryMetrics,
        Program::CollectGcBiasMetrics,
        Program::CollectSequencingArtifactMetrics,
    ];
    comparing.into_iter().any(|program| options.has(program))
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
    artifacts: Artifacts,
    #[serde(skip)]
    scratch: Scratch,
}

impl QcPartial {
    /// Completes the sums of the reads so far: all that is not skipped above.
    fn flush(&mut self) {
        self.bases_by_cycle.flush();
        self.quals_by_cycle.flush();
        self.original_by_cycle.flush();
        self.qualities.flush();
    }
}

/// The counts of one group of reads.
#[derive(Clone, Default, Serialize, Deserialize)]
struct GroupCounts {
    alignments: Alignments,
    insert_sizes: InsertSizes,
    gc_bias: GcBias,
}

/// Memory that a thread uses again for each record.
#[derive(Default)]
struct Scratch {
    codes: Vec<u8>,
    pages: ReferencePages,
    group: GroupFinder,
}

impl Tally for QcTally {
    type Partial = QcPartial;
    type Total = QcTotal;

    fn bytes(&self, _: u64) -> u64 {
        self.bytes
    }

    fn observe(&self, partial: &mut QcPartial, batch: &Batch) -> Result<()> {
        if self.options.programs.iter().all(|program| program.needs_order()) {
            return Ok(());
        }
        if partial.groups.len() < self.levels.groups {
            self.room.lengthen(&mut partial.groups, self.levels.groups, self.levels.groups)?;
        }
        let counts_all = self.wants(Program::CollectGcBiasMetrics)
            || self.wants(Program::CollectSequencingArtifactMetrics);
        let mut codes = std::mem::take(&mut partial.scratch.codes);
        for (_, record) in batch.records() {
            let is_primary = record.flags().is_primary();
            if is_primary || counts_all {
                self.count(partial, &Read::new(record, &mut codes), is_primary)?;
            }
        }
        partial.flush();
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
                into.gc_bias.merge(&from.gc_bias);
            }
        }
        into.bases_by_cycle.merge(&from.bases_by_cycle);
        into.quals_by_cycle.merge(&from.quals_by_cycle);
        into.original_by_cycle.merge(&from.original_by_cycle);
        into.qualities.merge(&from.qualities);
        into.quality_yield.merge(&from.quality_yield);
        into.artifacts.merge(&from.artifacts);
    }

    fn finish(&self, mut total: QcPartial) -> Result<QcTotal> {
        total.groups.resize_with(self.levels.groups, GroupCounts::default);
        let (units, libraries) = (self.levels.units.clone(), self.libraries.clone());
        let options = self.options.clone();
        let OrderedCounts { wgs, oxog, targets, rna } = &self.ordered;
        let oxog = oxog.as_ref().map(|it| it.finish()).transpose()?;
        let depths = wgs.as_ref().map_or_else(Vec::new, |depths| {
            let totals = depths.finish();
            let of = |&program: &Program| {
                let number = depths.rules_of(program, &options)?;
                Some((program, totals.get(number)?.clone()))
            };
            options.programs.iter().filter_map(of).collect()
        });
        let targets = targets.as_ref().map_or_else(Vec::new, |it| it.finish());
        let rna = rna.as_ref().map(|it| it.finish());
        let contigs = self.contigs.clone();
        Ok(QcTotal { counts: total, units, libraries, depths, oxog, targets, rna, contigs, options })
    }
}

impl QcTally {
    #[inline]
    fn wants(&self, program: Program) -> bool {
        self.wanted & 1 << program as u32 != 0
    }

    /// The scan of the reference that the texts need, if they need one.
    pub fn gc_scan(&self) -> Option<GcScan> {
        let reference = self.reference.as_ref().filter(|_| self.wants(Program::CollectGcBiasMetrics));
        reference.map(|it| GcScan::new(it.file().clone(), self.options.scan_window_size))
    }

    /// Returns the ordered tallies whose results this tally needs at its end; they are charged to `ledger`.
    pub fn ordered_tallies(&self, ledger: &Ledger) -> Vec<Arc<dyn DynOrderedTally>> {
        self.ordered.tallies(ledger)
    }

    /// The scan of the reference for positions that count, if the texts need it.
    pub fn territory_scan(&self) -> Option<TerritoryScan> {
        self.ordered.wgs.as_ref().map(|depths| depths.scan())
    }

    /// The reference of the targets, if the texts need it.
    pub fn target_gc(&self) -> Option<TargetGc> {
        let (reference, targets) = (self.reference.clone()?, self.targets.clone()?);
        Some(TargetGc::new(reference, targets))
    }

    /// Gives a read to all collectors, and one that is not primary to those that count all records.
    #[inline]
    fn count(&self, partial: &mut QcPartial, read: &Read<'_>, is_primary: bool) -> Result<()> {
        let (options, room, reference) = (&self.options, &self.room, self.reference.as_ref());
        let group = partial.scratch.group.find_by_name(&self.levels, read.fields.read_group);
        let (counts, pages) = (&mut partial.groups[group], &mut partial.scratch.pages);
        let mut mismatches = None;
        if is_primary && self.wants(Program::CollectAlignmentSummaryMetrics) {
            let context = Context { options, adapters: &self.adapters, reference, room };
            mismatches = counts.alignments.add(read, &context, pages)?;
        }
        if let Some(reference) = reference.filter(|_| self.wants(Program::CollectGcBiasMetrics)) {
            let context = GcContext { reference, window: options.scan_window_size, room };
            counts.gc_bias.add(read, mismatches, &context, pages)?;
        }
        let wants_artifacts = self.wants(Program::CollectSequencingArtifactMetrics);
        if let Some(reference) = reference.filter(|_| wants_artifacts) {
            let context = ArtifactContext { options, libraries: &self.libraries, reference, room };
            partial.artifacts.add(read, &context, pages)?;
        }
        if !is_primary {
            return Ok(());
        }
        if self.wants(Program::CollectInsertSizeMetrics) {
            counts.insert_sizes.add(read, options, room)?;
        }
        if self.wants(Program::CollectQualityYieldMetrics) {
            partial.quality_yield.add(read, options);
        }
        let is_left_out = options.pf_reads_only && read.flags.is_qc_fail()
            || options.aligned_reads_only && read.flags.is_unmapped();
        if is_left_out {
            return Ok(());
        }
        if self.wants(Program::CollectBaseDistributionByCycle) {
            partial.bases_by_cycle.add(read, room)?;
        }
        if self.wants(Program::MeanQualityByCycle) {
            partial.quals_by_cycle.add(read, read.quals, 0, room)?;
            if let Some(original) = read.fields.original_quals {
                partial.original_by_cycle.add(read, original, 33, room)?;
            }
        }
        if self.wants(Program::QualityScoreDistribution) {
            partial.qualities.add(read, options.include_no_calls, room)?;
        }
        Ok(())
    }
}

/// What is counted of the reference.
#[derive(Clone, Debug, Default)]
pub struct ReferenceCounts {
    /// Windows by their share of G and C.
    pub windows: GcWindows,
    /// Positions that reads could cover.
    pub territory: u64,
    /// The share of G and C of each target, if there is a reference.
    pub target_gc: Option<Vec<f64>>,
}

/// The counts of all reads.
pub struct QcTotal {
    counts: QcPartial,
    units: Vec<Unit>,
    libraries: Libraries,
    /// The depths of each program that counts them.
    depths: Vec<(Program, WgsTotals)>,
    oxog: Option<OxoGTotals>,
    targets: Vec<(TargetRules, Vec<TargetTotals>)>,
    rna: Option<(Genes, bool, Vec<RnaTotals>)>,
    contigs: Vec<(Vec<u8>, u32)>,
    options: Options,
}

impl QcTotal {
    /// Returns the number of aligned bases if genes were looked at, and not one of these bases lies in a gene.
    pub fn only_intergenic_bases(&self) -> Option<u64> {
        let (_, _, totals) = self.rna.as_ref()?;
        let [intergenic, in_genes @ ..] = totals.first()?.counts.by_function;
        (intergenic > 0 && in_genes == [0; 3]).then_some(intergenic)
    }

    /// Formats the files, in the order of [`Options::endings`]. `reference` is what was counted of it, where it was scanned,
    /// `command` returns the command line for a program, and the run `started` at a date in any form.
    pub fn texts(
        mut self,
        reference: &ReferenceCounts,
        command: &dyn Fn(&str) -> String,
        started: &str,
    ) -> Vec<ReportText> {
        let mut all = Vec::new();
        for program in self.options.programs.clone() {
            let mut begin = metrics::comments(&command(program.name()), started);
            begin.push(b'\n');
            let files = if program.counts_targets() { 1 } else { program.endings().len() };
            let mut texts = vec![begin; files];
            self.put(program, reference, &mut texts);
            texts.iter_mut().for_each(|text| text.push(b'\n'));
            all.extend(texts.into_iter().map(ReportText::from));
            self.put_coverage(program, reference, &mut all);
        }
        all
    }

    /// Appends the files of targets and of their bases, if the program writes them.
    fn put_coverage(
        &mut self,
        program: Program,
        reference: &ReferenceCounts,
        texts: &mut Vec<ReportText>,
    ) {
        let counted = self.targets.iter_mut().find(|(rules, _)| rules.program == program);
        let Some((rules, [totals, ..])) = counted.map(|(rules, rows)| (rules, &mut rows[..])) else {
            return;
        };
        if rules.per_target {
            let mut text = Vec::new();
            let gc = reference.target_gc.as_deref().unwrap_or_default();
            targets::put_per_target(&mut text, rules, totals, gc, &self.contigs);
            texts.push(text.into());
        }
        if rules.per_base {
            let text = targets::per_base_text(rules, totals, &self.contigs);
            texts.push(ReportText::Parts(Box::new(text)));
        }
    }

    fn put_rna(&self, text: &mut Vec<u8>) {
        let Some((genes, has_ribosomal, rows)) = &self.rna else { return };
        let units = self.units.iter().zip(rows);
        let units: Vec<_> =
            units.filter(|(unit, totals)| !unit.is_found || totals.counts.records > 0).collect();
        rna::put(text, genes, *has_ribosomal, &units, &self.options);
    }

    fn put_targets(&self, program: Program, reference: &ReferenceCounts, text: &mut Vec<u8>) {
        let counted = self.targets.iter().find(|(rules, _)| rules.program == program);
        let Some((rules, rows)) = counted else { return };
        let units = self.units.iter().zip(rows);
        let units: Vec<_> =
            units.filter(|(unit, totals)| !unit.is_found || totals.counts.records > 0).collect();
        let genome = self.contigs.iter().map(|(_, length)| u64::from(*length)).sum();
        let gc = reference.target_gc.as_deref();
        targets::put(text, rules, &units, gc, genome, self.options.sample_size);
    }

    fn put(&self, program: Program, reference: &ReferenceCounts, texts: &mut [Vec<u8>]) {
        let (counts, options) = (&self.counts, &self.options);
        match (program, texts) {
            (Program::CollectAlignmentSummaryMetrics, [text]) => {
                let mut units = self.units(|sum: &mut Alignments, group| sum.merge(&group.alignments));
                units.retain(|(unit, sum)| !unit.is_found || !sum.is_empty());
                Alignments::put(text, &units);
            }
            (Program::CollectInsertSizeMetrics, [text]) => {
                let units = self.units(|sum: &mut InsertSizes, group| sum.merge(&group.insert_sizes));
                InsertSizes::put(text, &units, options);
            }
            (Program::CollectBaseDistributionByCycle, [text]) => counts.bases_by_cycle.put(text),
            (Program::MeanQualityByCycle, [text]) => {
                text.push(b'\n');
                let mut columns = vec![counts.quals_by_cycle.column("MEAN_QUALITY")];
                if !counts.original_by_cycle.is_empty() {
                    columns.push(counts.original_by_cycle.column("MEAN_ORIGINAL_QUALITY"));
                }
                metrics::put_histograms(text, "java.lang.Integer", "CYCLE", &columns);
            }
            (Program::QualityScoreDistribution, [text]) => counts.qualities.put(text),
            (Program::CollectQualityYieldMetrics, [text]) => counts.quality_yield.put(text),
            (Program::CollectGcBiasMetrics, [details, summary]) => {
                let units = self.units(|sum: &mut GcBias, group| sum.merge(&group.gc_bias));
                GcBias::put([details, summary], &units, &reference.windows, options);
            }
            (Program::CollectSequencingArtifactMetrics, texts) => {
                if let Ok(texts) = texts.try_into() {
                    counts.artifacts.put(texts, &self.libraries, options);
                }
            }
            (Program::CollectOxoGMetrics, [text]) => {
                self.oxog.iter().for_each(|oxog| oxog.put(text, &self.libraries));
            }
            (Program::CollectRnaSeqMetrics, [text]) => self.put_rna(text),
            (program, [text]) if program.counts_targets() => {
                self.put_targets(program, reference, text);
            }
            (program, [text]) if program.needs_order() => {
                if let Some((_, totals)) = self.depths.iter().find(|(it, _)| *it == program) {
                    wgs::put(text, program, totals, reference.territory, options);
                }
            }
            (program, _) => unreachable!("{program:?} has another number of files"),
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
