//! The table of add-ons, and the list of those that a plan requests.

use std::sync::Arc;

use super::add_on::AddOn;
use super::call::CallRequest;
use super::coverage::CoverageRequest;
use super::fastqc::FastqcRequest;
use super::fingerprint::FingerprintRequest;
use super::page::PageRequest;
use super::qc::QcRequest;
use super::tallies::ReadTally;

/// The row of an add-on in [`ADD_ONS`].
#[derive(Clone, Copy, Debug)]
pub struct AddOnRow {
    /// The [name](AddOn::name) of the add-on.
    pub name: &'static str,
    /// The add-on's turn when memory is divided, add-ons start and pieces are added; the lowest is
    /// first. The turn differs from the order of rows, because it determines the sizes of memory
    /// shares and which of two errors is reported.
    turn: u8,
}

/// All add-ons, in the order of their flags, checks and files. An add-on is registered only here.
pub static ADD_ONS: [AddOnRow; 7] = [
    AddOnRow { name: ReadTally::NAME, turn: 5 },
    AddOnRow { name: QcRequest::NAME, turn: 4 },
    AddOnRow { name: CoverageRequest::NAME, turn: 1 },
    AddOnRow { name: FastqcRequest::NAME, turn: 2 },
    AddOnRow { name: FingerprintRequest::NAME, turn: 3 },
    AddOnRow { name: CallRequest::NAME, turn: 6 },
    AddOnRow { name: PageRequest::NAME, turn: 7 },
];

/// The add-ons that a plan requests, in the order of [`ADD_ONS`]. Add-ons outside the table are
/// last.
///
/// ```
/// use readmill::addons::{AddOns, FingerprintRequest, ReadTally};
/// use readmill_stats::flagstat;
///
/// let mut add_ons = AddOns::default();
/// add_ons.push(FingerprintRequest { file: "a.fingerprint".into(), sites: "sites.vcf".into() });
/// add_ons.push(ReadTally::new(&flagstat::SPEC, "a.flagstat"));
/// let names = add_ons.iter().map(|add_on| add_on.name());
/// assert_eq!(Vec::from_iter(names), ["read tallies", "fingerprint"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct AddOns(Vec<Arc<dyn AddOn>>);

impl AddOns {
    /// Adds a request. Requests for the same add-on keep the order in which they are added.
    pub fn push(&mut self, add_on: impl AddOn) {
        let place = place_in_table(add_on.name());
        let after = self.0.iter().position(|other| place_in_table(other.name()) > place);
        self.0.insert(after.unwrap_or(self.0.len()), Arc::new(add_on));
    }

    /// Returns the requests in table order. The index of a request in this order is its number in a
    /// run.
    pub fn iter(&self) -> impl Iterator<Item = &dyn AddOn> {
        self.0.iter().map(|add_on| &**add_on)
    }

    /// Returns the requests in the order of their turns, each with its number.
    pub fn by_turn(&self) -> Vec<(usize, &dyn AddOn)> {
        let mut by_turn = Vec::from_iter(self.iter().enumerate());
        by_turn.sort_by_key(|(_, add_on)| {
            ADD_ONS.get(place_in_table(add_on.name())).map_or(u8::MAX, |row| row.turn)
        });
        by_turn
    }
}

/// Returns the row index of an add-on, or the number of rows if it has none.
fn place_in_table(name: &str) -> usize {
    ADD_ONS.iter().position(|row| row.name == name).unwrap_or(ADD_ONS.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_starts_keep_their_order() {
        let mut rows = ADD_ONS;
        rows.sort_by_key(|row| row.turn);
        let names = rows.map(|row| row.name);
        let wanted =
            ["coverage", "FastQC", "fingerprint", "quality metrics", "read tallies", "variants", "page"];
        assert_eq!(names, wanted);
    }
}
