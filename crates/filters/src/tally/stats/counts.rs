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
    /// Statistics that depend on the order of reads, if they were counted.
    pub(super) order: Option<OrderTotals>,
}
