//! The recalibration that a report defines (spec D7), and that of one read group's qualities (spec D7.36).

use std::sync::Arc;

use readmill_record::{Charge, Error, Ledger, Result};

use super::counters::{Event, cycle_index};
use super::covariates::{Cycles, LONGEST_CONTEXT, QUALITIES, empty_context};
use super::report::{Covariate, CovariateRow, GroupRows, Report};
use super::results::{ApplyOptions, Maps, Results, ZERO};

/// The most cycles of a table: each takes memory in every row.
pub const MOST_CYCLES: u32 = 1_000_000;

/// The map from reported to recalibrated qualities.
#[derive(Clone, Debug)]
pub struct Recalibration {
    /// Bases of a context, that of the base itself included.
    pub context_size: u8,
    /// Bases of at most this quality at either end of a read have no context; none if negative.
    pub low_quality_tail: i8,
    /// A read with a cycle beyond it is an error.
    pub maximum_cycle: u32,
    /// The map for a read whose group is not in the report, if that is allowed. It also maps qualities below
    /// [`ApplyOptions::preserve_below`].
    pub without_group: [u8; QUALITIES],
    /// By name.
    groups: Vec<GroupRecalibration>,
    _charge: Arc<Charge>,
}

impl Recalibration {
    /// Computes the map from a report. Its memory is charged to `ledger`.
    pub fn new(report: &Report, applying: &ApplyOptions, ledger: &Ledger) -> Result<Recalibration> {
        let maps = Maps::new(&report.quantization, applying)?;
        let context_size = report.arguments.mismatches_context_size;
        if context_size > LONGEST_CONTEXT {
            return Err(Error::input(format!(
                "the table has contexts of {context_size} bases, and {LONGEST_CONTEXT} are the most"
            ))
            .hint("make it with a smaller --mismatches-context-size"));
        }
        let most = report.arguments.maximum_cycle_value;
        if most > MOST_CYCLES {
            return Err(Error::input(format!(
                "the table allows {most} cycles, and {MOST_CYCLES} are the most"
            ))
            .hint("make it with a smaller --maximum-cycle-value"));
        }
        let sizes =
            report.groups.iter().map(|group| GroupRecalibration::bytes(group, context_size) as u64);
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
            without_group: std::array::from_fn(|quality| maps.map(quality)),
            groups,
            _charge: Arc::new(charge),
        })
    }

    /// Returns the recalibration of a read group by name, which is its PU or, without that, its ID.
    pub fn group(&self, name: &[u8]) -> Option<&GroupRecalibration> {
        self.groups.binary_search_by(|group| group.name().cmp(name)).ok().map(|at| &self.groups[at])
    }
}

/// Maps the qualities of one read group to new ones.
///
/// The empirical quality of the group is the expected quality of each reported quality; the empirical quality
/// of that is the expected quality of its contexts and cycles. Their differences (deltas) are added up. GATK
/// computes an empirical quality once, at its first use; all uses expect the same quality.
#[derive(Clone, Debug)]
pub struct GroupRecalibration {
    name: Vec<u8>,
    /// The lowest quality that is changed, and the number of qualities from there on.
    changed: (u8, u8),
    slots: Slots,
    /// By context, then slot: the empirical quality of the reported one, the context's delta, and [`ZERO`]. Bases
    /// without context come last.
    contexts: Vec<u8>,
    /// By the index of the cycle, then slot: the cycle's delta, and [`ZERO`].
    cycles: Vec<u8>,
    results: Results,
}

/// Dense slots for the reported qualities that have rows of contexts or cycles; one more for all others.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    /// The slot of each reported quality, including invalid ones.
    of: [u8; 256],
    /// The number of slots.
    pub width: usize,
}

impl Slots {
    /// Makes a slot for each quality with a row of mismatches.
    pub fn of(group: &GroupRows) -> Self {
        let reported = group.qualities.iter().map(|row| (row.event, row.quality));
        let covariates = group.covariates.iter().map(|row| (row.event, row.quality));
        let mut slots = Slots { of: [0; 256], width: 1 };
        for (_, quality) in reported.chain(covariates).filter(|(event, _)| *event == Event::Mismatch) {
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

/// Returns the number of cycle indexes, up to the highest that the group has a row of.
fn cycles(group: &GroupRows) -> usize {
    let rows = group.covariates.iter().filter(|row| row.event == Event::Mismatch);
    let index = |row: &CovariateRow| match row.covariate {
        Covariate::Cycle(cycle) => cycle_index(cycle) + 1,
        Covariate::Context { .. } => 0,
    };
    rows.map(index).max().unwrap_or(0)
}

/// Returns the number of contexts of `size` bases, the empty one, and one for bases without context.
pub(super) fn contexts(size: u8) -> usize {
    usize::from(empty_context(size)) + 2
}

impl GroupRecalibration {
    /// Bytes that it takes for a group of a report.
    pub(super) fn bytes(group: &GroupRows, context_size: u8) -> usize {
        let width = Slots::of(group).width;
        size_of::<Self>() + group.name.len() + width * (contexts(context_size) + cycles(group))
    }

    pub(super) fn new(
        group: &GroupRows,
        context_size: u8,
        applying: &ApplyOptions,
        maps: &Maps,
    ) -> Result<Self> {
        let Some(all) = &group.events[Event::Mismatch.index()] else {
            let name = String::from_utf8_lossy(&group.name);
            return Err(Error::input(format!(
                "the read group {name} has no row of event M in RecalTable0"
            )));
        };
        let whole =
            all.expecting(applying.global_prior.filter(|&prior| prior > 0.0).unwrap_or(all.reported));
        let mut empirical = [whole; QUALITIES];
        for row in group.qualities.iter().filter(|row| row.event == Event::Mismatch) {
            empirical[usize::from(row.quality)] = row.recal_datum.expecting(f64::from(whole));
        }
        let lowest = applying.preserve_below;
        let mut it = GroupRecalibration {
            name: group.name.clone(),
            changed: (lowest, (QUALITIES as u8).saturating_sub(lowest)),
            slots: Slots::of(group),
            contexts: Vec::new(),
            cycles: Vec::new(),
            results: maps.results(),
        };
        it.fill(group, context_size, &empirical);
        Ok(it)
    }

    /// Adds the deltas, given the empirical qualities of reported ones.
    fn fill(&mut self, group: &GroupRows, context_size: u8, empirical: &[u8; QUALITIES]) {
        let width = self.slots.width;
        let mut bases = vec![0; width];
        for (&empirical, quality) in empirical.iter().zip(0..) {
            bases[self.slots.slot(quality)] = empirical + ZERO;
        }
        self.contexts = bases.repeat(contexts(context_size));
        self.cycles = vec![ZERO; cycles(group) * width];
        for row in group.covariates.iter().filter(|row| row.event == Event::Mismatch) {
            let base = empirical[usize::from(row.quality)];
            let delta = row.recal_datum.expecting(f64::from(base)) as i8 - base as i8;
            let slot = self.slots.slot(row.quality);
            match row.covariate {
                Covariate::Context { size, code } if size == context_size || size == 0 => {
                    let code = if size == 0 { empty_context(context_size).into() } else { code };
                    let at = code as usize * width + slot;
                    self.contexts[at] = self.contexts[at].saturating_add_signed(delta);
                }
                // No read has such a context.
                Covariate::Context { .. } => {}
                Covariate::Cycle(cycle) => {
                    let at = cycle_index(cycle) * width + slot;
                    self.cycles[at] = ZERO.saturating_add_signed(delta);
                }
            }
        }
    }

    /// PU, or ID if there is none.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Changes the qualities of a read (Phred, 0 to 93; higher ones stay), given the contexts of its bases, in the
    /// order of the record, and their cycles.
    pub fn recalibrate(&self, qualities: &mut [u8], contexts: &[u16], cycles: Cycles) {
        let width = self.slots.width;
        let without = self.contexts.len() / width - 1;
        let bases = qualities.iter_mut().zip(contexts).zip(cycles.each());
        for ((quality, &context), cycle) in bases {
            let context = usize::from(context).min(without) * width;
            *quality = self.changed(*quality, context, cycle * width);
        }
    }

    /// The new quality of one base, by its context and the index of its cycle.
    pub fn quality(&self, reported: u8, context: u16, cycle: usize) -> u8 {
        let width = self.slots.width;
        let without = self.contexts.len() / width - 1;
        self.changed(reported, usize::from(context).min(without) * width, cycle.wrapping_mul(width))
    }

    /// Returns a new quality, by the starts of the rows of its context and cycle. A missing row adds 0.
    #[inline]
    fn changed(&self, reported: u8, context: usize, cycle: usize) -> u8 {
        let slot = self.slots.slot(reported);
        let Some(&base) = self.contexts.get(context + slot) else { return reported };
        let delta = self.cycles.get(cycle + slot).copied().unwrap_or(ZERO);
        let changed = self.results.at(base, delta);
        if reported.wrapping_sub(self.changed.0) < self.changed.1 { changed } else { reported }
    }
}
