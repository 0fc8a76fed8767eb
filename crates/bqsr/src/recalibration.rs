//! The recalibration that a report defines (spec D7).

use std::sync::Arc;

use readmill_record::{Charge, Error, Ledger, Result};

use super::apply_options::ApplyOptions;
use super::covariates::MOST_CONTEXT;
use super::group::GroupRecalibration;
use super::report::Report;
use super::results::Maps;
use super::tables::QUALITIES;

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
        if context_size > MOST_CONTEXT {
            return Err(Error::input(format!(
                "the table has contexts of {context_size} bases, and {MOST_CONTEXT} are the most"
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
