//! What is known before reads are counted: options, and what they say of reads under a header.

use readmill_format::region::Part;
use readmill_record::{Header, Ledger, Result};

use super::options::StatsOptions;
use super::selection::Selection;
use super::targets::Targets;

/// The options, as they apply to reads under a header.
#[derive(Clone, Debug, Default)]
pub struct StatsSettings {
    pub(super) options: StatsOptions,
    pub(super) selection: Selection,
    pub(super) targets: Option<Targets>,
}

impl StatsSettings {
    /// The settings for reads under `header`. Without a file of regions, `regions` are those in which bases count, if there are
    /// any.
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
