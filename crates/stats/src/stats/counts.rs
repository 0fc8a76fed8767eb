//! The counts of all reads, from which the text is made.

use std::sync::Arc;

use super::join::OrderTotals;
use super::partial::StatsPartial;
use super::settings::StatsSettings;

/// The result of [`Stats`](super::Stats): counts in any order, counts in order, and the settings that
/// both had.
#[derive(Debug)]
pub struct StatsCounts {
    pub(super) counted: StatsPartial,
    pub(super) sorted: bool,
    pub(super) settings: Arc<StatsSettings>,
    /// `None` if the reads were not counted in order. COV and GCD are then omitted.
    pub(super) order: Option<OrderTotals>,
}
