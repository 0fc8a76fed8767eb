//! Turns a report into a map from reported to recalibrated qualities.
//!
//! The new quality of a base is a sum (GATK 4.6.2, ApplyBQSR):
//!
//! ```text
//!   empirical quality of its reported quality   (prior: empirical quality of the read group)
//! + delta of its context                        (prior: empirical quality of the reported quality)
//! + delta of its cycle                          (prior: empirical quality of the reported quality)
//! ```
//!
//! The sum is then bounded and quantized (`results`).

use std::sync::Arc;

use readmill_record::{Charge, Error, Ledger, Result};

use super::counters::{ErrorEvent, cycle_index};
use super::covariates::{Cycles, MAX_CONTEXT_SIZE, QUALITIES, empty_context};
use super::report::{Covariate, CovariateRow, GroupRows, RecalReport};
use super::results::{ApplyOptions, DELTA_OFFSET, QuantizationMaps, WrittenQualities};

/// Maximum number of cycles in a table that can be applied. Each cycle takes memory for every
/// quality.
pub const MAX_CYCLES: u32 = 1_000_000;

/// The map from reported to recalibrated qualities, for all read groups of a report.
///
/// [`ApplyRecalibration`](crate::ApplyRecalibration) uses it to change records.
///
/// The documentation of the [crate] has an example.
#[derive(Clone, Debug)]
pub struct Recalibration {
    pub context_size: u8,
    /// Bases in both tails of a read have no context if their quality is at most this. A negative
    /// value disables this rule.
    pub low_quality_tail: i8,
    pub maximum_cycle: u32,
    /// The map for reads whose read group is not in the report. It also changes qualities below
    /// [`ApplyOptions::preserve_below`].
    pub quantized_only: [u8; QUALITIES],
    groups: Vec<GroupRecalibration>,
    _charge: Arc<Charge>,
}

impl Recalibration {
    /// Computes the map of a report, and charges its memory to `ledger`.
    ///
    /// # Errors
    /// Fails if the contexts or the number of cycles exceed the limits of this crate, or if a read
    /// group has no row for mismatches.
    pub fn new(report: &RecalReport, applying: &ApplyOptions, ledger: &Ledger) -> Result<Recalibration> {
        let maps = QuantizationMaps::new(&report.quantization, applying)?;
        let context_size = report.arguments.mismatches_context_size;
        if context_size > MAX_CONTEXT_SIZE {
            return Err(Error::input(format!(
                "the table has contexts of {context_size} bases, but the maximum is {MAX_CONTEXT_SIZE}"
            ))
            .hint("make the table with a smaller --mismatches-context-size"));
        }
        let max_cycles = report.arguments.maximum_cycle_value;
        if max_cycles > MAX_CYCLES {
            return Err(Error::input(format!(
                "the table allows {max_cycles} cycles, but the maximum is {MAX_CYCLES}"
            ))
            .hint("make the table with a smaller --maximum-cycle-value"));
        }
        let sizes = report
            .groups
            .iter()
            .map(|group| GroupRecalibration::memory_bytes(group, context_size) as u64);
        let charge = ledger.charge("recalibration", sizes.fold(0, u64::saturating_add))?;
        let mut groups = Vec::with_capacity(report.groups.len());
        for group in &report.groups {
            groups.push(GroupRecalibration::new(group, context_size, applying, &maps)?);
        }
        groups.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(Recalibration {
            context_size,
            low_quality_tail: report.arguments.low_quality_tail,
            maximum_cycle: report.arguments.maximum_cycle_value,
            quantized_only: std::array::from_fn(|quality| maps.map_without_group(quality)),
            groups,
            _charge: Arc::new(charge),
        })
    }

    /// Returns the recalibration of the read group with this name: its PU, or its ID if there is no
    /// PU.
    pub fn group(&self, name: &[u8]) -> Option<&GroupRecalibration> {
        self.groups.binary_search_by(|group| group.name().cmp(name)).ok().map(|at| &self.groups[at])
    }
}

/// Maps the qualities of one read group to new ones.
///
/// The empirical quality of the group is the expected quality for each reported quality. The
/// empirical quality of a reported quality is the expected quality for its contexts and cycles.
/// GATK caches an empirical quality at its first use. The results are the same, because all uses
/// have the same expected quality.
#[derive(Clone, Debug)]
pub struct GroupRecalibration {
    name: Vec<u8>,
    /// The lowest quality that is changed, and the number of qualities from there up to 93.
    changed_range: (u8, u8),
    slots: Slots,
    /// For each context, one value per slot: the empirical quality of the reported quality, plus
    /// the delta of the context, plus [`DELTA_OFFSET`]. The last row is for bases without context.
    contexts: Vec<u8>,
    /// For each cycle index, one value per slot: the delta of the cycle plus [`DELTA_OFFSET`].
    cycles: Vec<u8>,
    results: WrittenQualities,
}

/// Numbers the reported qualities in a report. All other qualities share slot 0.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    of: [u8; 256],
    pub width: usize,
}

impl Slots {
    /// Assigns a slot to each quality that has a row for mismatches.
    pub fn of_group(group: &GroupRows) -> Self {
        let reported = group.qualities.iter().map(|row| (row.event, row.quality));
        let covariates = group.covariates.iter().map(|row| (row.event, row.quality));
        let mut slots = Slots { of: [0; 256], width: 1 };
        for (_, quality) in
            reported.chain(covariates).filter(|(event, _)| *event == ErrorEvent::Mismatch)
        {
            let slot = &mut slots.of[usize::from(quality)];
            if *slot == 0 {
                *slot = slots.width as u8;
                slots.width += 1;
            }
        }
        slots
    }

    #[inline]
    fn slot(&self, quality: u8) -> usize {
        usize::from(self.of[usize::from(quality)])
    }
}

/// Returns the number of cycle indexes: the highest index in the group's rows plus one, or 0 if
/// there are none.
fn count_cycle_indexes(group: &GroupRows) -> usize {
    let rows = group.covariates.iter().filter(|row| row.event == ErrorEvent::Mismatch);
    let index = |row: &CovariateRow| match row.covariate {
        Covariate::Cycle(cycle) => cycle_index(cycle) + 1,
        Covariate::Context { .. } => 0,
    };
    rows.map(index).max().unwrap_or(0)
}

/// Returns the number of context rows: contexts of `size` bases, the empty context, and no context.
pub(super) fn count_context_rows(size: u8) -> usize {
    usize::from(empty_context(size)) + 2
}

impl GroupRecalibration {
    pub(super) fn memory_bytes(group: &GroupRows, context_size: u8) -> usize {
        let width = Slots::of_group(group).width;
        size_of::<Self>()
            + group.name.len()
            + width * (count_context_rows(context_size) + count_cycle_indexes(group))
    }

    pub(super) fn new(
        group: &GroupRows,
        context_size: u8,
        applying: &ApplyOptions,
        maps: &QuantizationMaps,
    ) -> Result<Self> {
        let Some(all) = &group.events[ErrorEvent::Mismatch.index()] else {
            let name = String::from_utf8_lossy(&group.name);
            return Err(Error::input(format!(
                "the read group {name} has no row with event M in RecalTable0"
            )));
        };
        let whole = all.empirical_with_prior(
            applying.global_prior.filter(|&prior| prior > 0.0).unwrap_or(all.reported),
        );
        let mut empirical = [whole; QUALITIES];
        for row in group.qualities.iter().filter(|row| row.event == ErrorEvent::Mismatch) {
            empirical[usize::from(row.quality)] = row.recal_datum.empirical_with_prior(f64::from(whole));
        }
        let lowest = applying.preserve_below;
        let mut it = GroupRecalibration {
            name: group.name.clone(),
            changed_range: (lowest, (QUALITIES as u8).saturating_sub(lowest)),
            slots: Slots::of_group(group),
            contexts: Vec::new(),
            cycles: Vec::new(),
            results: maps.make_results(),
        };
        it.fill_deltas(group, context_size, &empirical);
        Ok(it)
    }

    /// Fills the context and cycle tables. `empirical` has the empirical quality of each reported
    /// quality.
    fn fill_deltas(&mut self, group: &GroupRows, context_size: u8, empirical: &[u8; QUALITIES]) {
        let width = self.slots.width;
        let mut bases = vec![0; width];
        for (&empirical, quality) in empirical.iter().zip(0..) {
            bases[self.slots.slot(quality)] = empirical + DELTA_OFFSET;
        }
        self.contexts = bases.repeat(count_context_rows(context_size));
        self.cycles = vec![DELTA_OFFSET; count_cycle_indexes(group) * width];
        for row in group.covariates.iter().filter(|row| row.event == ErrorEvent::Mismatch) {
            let base = empirical[usize::from(row.quality)];
            let delta = row.recal_datum.empirical_with_prior(f64::from(base)) as i8 - base as i8;
            let slot = self.slots.slot(row.quality);
            match row.covariate {
                Covariate::Context { size, code } if size == context_size || size == 0 => {
                    let code = if size == 0 { empty_context(context_size).into() } else { code };
                    let at = code as usize * width + slot;
                    self.contexts[at] = self.contexts[at].saturating_add_signed(delta);
                }
                // Reads never have contexts of this size.
                Covariate::Context { .. } => {}
                Covariate::Cycle(cycle) => {
                    let at = cycle_index(cycle) * width + slot;
                    self.cycles[at] = DELTA_OFFSET.saturating_add_signed(delta);
                }
            }
        }
    }

    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Replaces the qualities of a read (Phred). Values above 93 do not change.
    ///
    /// `contexts` has one element per base, in the order of SEQ.
    pub fn recalibrate_read(&self, qualities: &mut [u8], contexts: &[u16], cycles: Cycles) {
        let width = self.slots.width;
        let without = self.contexts.len() / width - 1;
        let bases = qualities.iter_mut().zip(contexts).zip(cycles.each_cycle());
        for ((quality, &context), cycle) in bases {
            let context = usize::from(context).min(without) * width;
            *quality = self.new_quality(*quality, context, cycle * width);
        }
    }

    pub fn quality(&self, reported: u8, context: u16, cycle: usize) -> u8 {
        let width = self.slots.width;
        let without = self.contexts.len() / width - 1;
        self.new_quality(reported, usize::from(context).min(without) * width, cycle.wrapping_mul(width))
    }

    /// Returns the new quality. `context` and `cycle` are the starts of their rows in the tables;
    /// if there is no row for the cycle, its delta is 0.
    #[inline]
    fn new_quality(&self, reported: u8, context: usize, cycle: usize) -> u8 {
        let slot = self.slots.slot(reported);
        let Some(&base) = self.contexts.get(context + slot) else { return reported };
        let delta = self.cycles.get(cycle + slot).copied().unwrap_or(DELTA_OFFSET);
        let changed = self.results.at(base, delta);
        if reported.wrapping_sub(self.changed_range.0) < self.changed_range.1 {
            changed
        } else {
            reported
        }
    }
}
