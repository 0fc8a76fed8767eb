//! The edit of [`super::Order::Minhash`]: reads without a reference sequence get the direction of their
//! smallest k-mer.

use readmill_record::{Batch, Result};

use super::key::minimise;
use readmill_record::{Changes, Step};

/// Edits reads without a reference sequence as `samtools sort -M` does. It must run after the sort, whose
/// keys are those of the unedited records.
#[derive(Clone, Copy, Default)]
pub struct Minimise;

impl Step for Minimise {
    fn name(&self) -> &'static str {
        "minhash"
    }

    fn fork(&self) -> Box<dyn Step> {
        Box::new(*self)
    }

    fn changes(&self) -> Changes {
        let Changes { reads, tags, .. } = Changes::nothing();
        Changes { reads, tags, flags: true, alignment: true, bases: true, qualities: true }
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        if batch.records().all(|(_, record)| record.ref_id() >= 0) {
            return Ok(());
        }
        batch.rewrite(|_, record, out| {
            minimise(record, out);
            Ok(())
        })
    }
}
