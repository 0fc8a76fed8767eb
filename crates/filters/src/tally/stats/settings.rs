//! Everything about the reads that is known before they are counted.

use readmill_format::region::Part;
use readmill_record::{Header, Ledger, Result};

use super::options::StatsOptions;
use super::selection::Selection;
use super::targets::Targets;

/// The options, applied to the header of the reads. Shared by all threads.
#[derive(Clone, Debug, Default)]
pub struct StatsSettings {
    pub(super) options: StatsOptions,
    pub(super) selection: Selection,
    pub(super) targets: Option<Targets>,
}

impl StatsSettings {
    /// Applies `options` to reads under `header`. If the options name no file of target regions,
    /// `regions` are the targets, if given.
    ///
    /// # Errors
    /// The file of regions cannot be read.
    pub fn new(
        options: &StatsOptions,
        regions: Option<&[Part]>,
        header: &Header,
        ledger: &Ledger,
    ) -> Result<Self> {
        let targets = match (&options.targets, regions) {
            (Some(path), _) => Some(Targets::read(path, header, ledger)?),
            (None, Some(parts)) => Some(Targets::of_parts(parts, header, ledger)?),
            (None, None) => None,
        };
        Ok(StatsSettings {
            options: options.clone(),
            selection: Selection::new(options, header),
            targets,
        })
    }
}
