//! What a report makes of the qualities of one read group (spec D7.36).

use readmill_record::{Error, Result};

use super::applying::Applying;
use super::covariates::{Cycles, empty_context};
use super::report::{Covariate, CovariateRow, Group};
use super::results::{Maps, Results, ZERO};
use super::tables::{Event, QUALITIES, cycle_index};

/// What becomes of the qualities of one read group.
///
/// What is expected of the group gives its empirical quality, which is expected of each reported quality in turn,
/// and the quality found for that is expected of its contexts and cycles. What these differ from it is added
/// up. In GATK an empirical quality is worked out once, by whoever asks first; but all who ask expect the same.
#[derive(Clone, Debug)]
pub struct GroupRecalibration {
    name: Vec<u8>,
    /// The lowest quality that is changed, and how many are from there on.
    changed: (u8, u8),
    slots: Slots,
    /// By context, then slot: the empirical quality of the reported one, the context's delta, and [`ZERO`]. Bases
    /// without context come last.
    contexts: Vec<u8>,
    /// By the index of the cycle, then slot: the cycle's delta, and [`ZERO`].
    cycles: Vec<u8>,
    results: Results,
}

/// Reported qualities that have rows of contexts or cycles, side by side; one more for all others.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    /// By reported quality. The others', and those that there cannot be, have slots too.
    of: [u8; 256],
    /// How many there are.
    pub width: usize,
}

impl Slots {
    /// A slot for each quality with a row of mismatches.
    pub fn of(group: &Group) -> Self {
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

/// Indexes of cycles up to the highest that the group has a row of.
fn cycles(group: &Group) -> usize {
    let rows = group.covariates.iter().filter(|row| row.event == Event::Mismatch);
    let index = |row: &CovariateRow| match row.covariate {
        Covariate::Cycle(cycle) => cycle_index(cycle) + 1,
        Covariate::Context { .. } => 0,
    };
    rows.map(index).max().unwrap_or(0)
}

/// Contexts of so many bases, that of no bases, and one more for bases without.
pub(super) fn contexts(size: u8) -> usize {
    usize::from(empty_context(size)) + 2
}

impl GroupRecalibration {
    /// Bytes that it takes for a group of a report.
    pub(super) fn bytes(group: &Group, context_size: u8) -> usize {
        let width = Slots::of(group).width;
        size_of::<Self>() + group.name.len() + width * (contexts(context_size) + cycles(group))
    }

    pub(super) fn new(
        group: &Group,
        context_size: u8,
        applying: &Applying,
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
            empirical[usize::from(row.quality)] = row.evidence.expecting(f64::from(whole));
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
    fn fill(&mut self, group: &Group, context_size: u8, empirical: &[u8; QUALITIES]) {
        let width = self.slots.width;
        let mut bases = vec![0; width];
        for (&empirical, quality) in empirical.iter().zip(0..) {
            bases[self.slots.slot(quality)] = empirical + ZERO;
        }
        self.contexts = bases.repeat(contexts(context_size));
        self.cycles = vec![ZERO; cycles(group) * width];
        for row in group.covariates.iter().filter(|row| row.event == Event::Mismatch) {
            let base = empirical[usize::from(row.quality)];
            let delta = row.evidence.expecting(f64::from(base)) as i8 - base as i8;
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

    /// A new quality, by where the rows of its context and cycle begin. What has no row adds nothing.
    #[inline]
    fn changed(&self, reported: u8, context: usize, cycle: usize) -> u8 {
        let slot = self.slots.slot(reported);
        let Some(&base) = self.contexts.get(context + slot) else { return reported };
        let delta = self.cycles.get(cycle + slot).copied().unwrap_or(ZERO);
        let changed = self.results.at(base, delta);
        if reported.wrapping_sub(self.changed.0) < self.changed.1 { changed } else { reported }
    }
}
