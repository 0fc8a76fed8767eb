//! The result of all reads.

use std::sync::Arc;

use super::join::OrderTotals;
use super::partial::StatsPartial;
use super::settings::StatsSettings;

/// The counts.
#[derive(Debug)]
pub struct StatsCounts {
    pub(super) counted: StatsPartial,
    pub(super) sorted: bool,
    pub(super) settings: Arc<StatsSettings>,
    /// What the order of reads tells, if it was looked at.
    pub(super) order: Option<OrderTotals>,
}
