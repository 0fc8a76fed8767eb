//! Everything about the reads that is known before they are counted.

use readmill_format::region::ContigPart;
use readmill_record::{Header, Ledger, Result};

use super::options::StatsOptions;
use super::selection::ReadSelection;
use super::targets::Targets;

/// The options, applied to the header of the reads. Shared by all threads.
#[derive(Clone, Debug, Default)]
pub struct StatsSettings {
    pub(super) options: StatsOptions,
    pub(super) selection: ReadSelection,
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
        regions: Option<&[ContigPart]>,
        header: &Header,
        ledger: &Ledger,
    ) -> Result<Self> {
        let targets = match (&options.targets, regions) {
            (Some(path), _) => Some(Targets::read_file(path, header, ledger)?),
            (None, Some(parts)) => Some(Targets::from_parts(parts, header, ledger)?),
            (None, None) => None,
        };
        Ok(StatsSettings {
            options: options.clone(),
            selection: ReadSelection::new(options, header),
            targets,
        })
    }
}
