//! Read groups of recalibration: those of one platform unit are one.

use std::collections::HashMap;
use std::sync::Arc;

use readmill_record::{Charge, Error, Header, Ledger, Prepaid, Result};

/// The read groups of a header, by the name under which reports list them: the platform unit, else the
/// identifier (GATK 4.6.2, `ReadGroupCovariate`). Clones share them.
#[derive(Clone, Debug)]
pub struct ReadGroups(Arc<ReadGroupIndex>);

#[derive(Debug)]
struct ReadGroupIndex {
    by_id: HashMap<Vec<u8>, u32>,
    names: Vec<Vec<u8>>,
    _charge: Charge,
}

/// Bytes of a read group, without its name and identifier: one entry in the list of names and one in each of two
/// hash tables. Each of these three may be half empty, and exists twice while it grows.
const ENTRY: usize = 2 * 3 * 2 * size_of::<(Vec<u8>, u32)>();

impl ReadGroups {
    /// Numbers the read groups of a header, as it is after all steps that change it; the memory is charged to
    /// `ledger`.
    pub fn new(header: &Header, ledger: &Ledger) -> Result<Self> {
        let (mut by_id, mut names) = (HashMap::new(), Vec::new());
        let mut prepaid = Prepaid::new(ledger.empty("read groups"));
        let mut numbers: HashMap<&[u8], u32> = HashMap::new();
        for line in header.lines_of(b"RG") {
            let Some(id) = line.get(b"ID") else { continue };
            let name = line.get(b"PU").filter(|name| !name.is_empty()).unwrap_or(id);
            prepaid.block(ENTRY + id.len()).and(prepaid.block(name.len()))?;
            let number = *numbers.entry(name).or_insert_with(|| {
                names.push(name.to_vec());
                names.len() as u32 - 1
            });
            by_id.insert(id.to_vec(), number);
        }
        if names.is_empty() {
            return Err(Error::input(
                "the header has no read group, and recalibration counts by read group",
            )
            .hint("put all reads into one by prep --read-group 'ID:… SM:… PL:ILLUMINA'"));
        }
        Ok(ReadGroups(Arc::new(ReadGroupIndex { by_id, names, _charge: prepaid.into_charge() })))
    }

    /// The number of the read group with this identifier, unless the header lacks it.
    pub fn number(&self, id: &[u8]) -> Option<usize> {
        self.0.by_id.get(id).map(|&number| number as usize)
    }

    /// The names, by number.
    pub fn names(&self) -> &[Vec<u8>] {
        &self.0.names
    }
}
