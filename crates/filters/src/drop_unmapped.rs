//! Drops unmapped reads.

use readmill_record::{Batch, RecordRef, Result};

use readmill_record::{Changes, Step};

/// Drops reads flagged unmapped (0x4); the strict form also those without a reference sequence or position,
/// whatever their flag (elPrep's `--filter-unmapped-reads-strict`).
#[derive(Clone, Default)]
pub struct DropUnmapped {
    strict: bool,
    dropped: u64,
}

impl DropUnmapped {
    /// The step, strict or not.
    pub fn new(strict: bool) -> Self {
        DropUnmapped { strict, dropped: 0 }
    }

    fn drops(&self, record: RecordRef<'_>) -> bool {
        record.flags().is_unmapped() || self.strict && (record.ref_id() < 0 || record.pos() < 0)
    }
}

impl Step for DropUnmapped {
    fn name(&self) -> &'static str {
        "drop-unmapped"
    }

    fn fork(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn changes(&self) -> Changes {
        Changes::drops()
    }

    fn by_record(&self) -> bool {
        true
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        let before = batch.len();
        batch.retain(|_, record| !self.drops(record));
        self.dropped += (before - batch.len()) as u64;
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("unmapped reads dropped", self.dropped)]
    }
}
