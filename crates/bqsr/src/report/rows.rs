//! The rows of a report.

use super::arguments::Arguments;
use crate::recal_datum::RecalDatum;
use crate::tables::{Event, QUALITIES};

/// A recalibration report.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The arguments of the tables.
    pub arguments: Arguments,
    /// The rows of the table Arguments, as they are printed: name and value.
    pub stated: Vec<(String, String)>,
    /// The table Quantized.
    pub quantization: Quantization,
    /// The read groups with a row in RecalTable0, in the order of Java strings.
    pub groups: Vec<GroupRows>,
}

impl Report {
    /// Returns the bytes that it takes.
    pub fn memory(&self) -> u64 {
        let stated = self.stated.iter().map(|(name, value)| name.len() + value.len());
        let stated = size_of_val(&self.stated[..]) + stated.sum::<usize>();
        let lists = |group: &GroupRows| {
            group.name.capacity()
                + group.qualities.capacity() * size_of::<QualityRow>()
                + group.covariates.capacity() * size_of::<CovariateRow>()
        };
        let groups = self.groups.capacity() * size_of::<GroupRows>();
        (size_of::<Self>() + stated + groups + self.groups.iter().map(lists).sum::<usize>()) as u64
    }
}

/// The map that reduces the number of different qualities (Phred).
#[derive(Clone, Debug, PartialEq)]
pub struct Quantization {
    /// Bases by the empirical quality of their reported quality.
    pub counts: [u64; QUALITIES],
    /// The new value of each quality.
    pub map: [u8; QUALITIES],
}

/// The rows of one read group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupRows {
    /// PU, or ID if there is none.
    pub name: Vec<u8>,
    /// Its rows of RecalTable0, by event.
    pub events: [Option<RecalDatum>; 3],
    /// Its rows of RecalTable1, by quality, then event.
    pub qualities: Vec<QualityRow>,
    /// Its rows of RecalTable2, by quality, then covariate, then event.
    pub covariates: Vec<CovariateRow>,
}

/// Bases of one reported quality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QualityRow {
    /// The reported quality, 0 to 93.
    pub quality: u8,
    /// The event.
    pub event: Event,
    /// The counts.
    pub recal_datum: RecalDatum,
}

/// Bases of one reported quality in one context, or of one cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CovariateRow {
    /// The reported quality, 0 to 93.
    pub quality: u8,
    /// The context or cycle.
    pub covariate: Covariate,
    /// The event.
    pub event: Event,
    /// The counts.
    pub recal_datum: RecalDatum,
}

/// A covariate of the quality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Covariate {
    /// A context of `size` bases, the last one being the base itself, as a number
    /// ([`context_code`](crate::tables::context_code)).
    Context {
        /// Bases.
        size: u8,
        /// Which ones.
        code: u32,
    },
    /// The cycle, negative in the second read of a pair.
    Cycle(i32),
}
