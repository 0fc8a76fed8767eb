//! The step of all filters that only drop reads.

use readmill_record::{Batch, Changes, Detail, RecordRef, Result, Step};

/// Says which reads stay.
pub trait Criterion: Clone + Send + Sync + 'static {
    /// The name of its step, which is that of its flag.
    fn name(&self) -> &'static str;

    /// The name of the dropped reads in the summary.
    fn dropped(&self) -> &'static str;

    /// Whether a read stays.
    ///
    /// # Errors
    /// If that cannot be said of this read.
    fn keeps(&mut self, record: RecordRef<'_>) -> Result<bool>;

    /// How much of each read it looks at.
    fn detail(&self) -> Detail {
        Detail::Whole
    }

    /// Makes the step.
    fn step(self) -> Keep<Self> {
        Keep { criterion: self, dropped: 0 }
    }
}

/// Keeps the reads that a criterion is true of.
#[derive(Clone)]
pub struct Keep<C> {
    criterion: C,
    dropped: u64,
}

impl<C: Criterion> Step for Keep<C> {
    fn name(&self) -> &'static str {
        self.criterion.name()
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

    fn detail(&self) -> Detail {
        self.criterion.detail()
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        let (before, mut failed) = (batch.len(), None);
        batch.retain(|stamp, record| {
            self.criterion.keeps(record).unwrap_or_else(|error| {
                failed.get_or_insert_with(|| error.record(stamp.ordinal()).qname(record.qname()));
                false
            })
        });
        self.dropped += (before - batch.len()) as u64;
        failed.map_or(Ok(()), Err)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![(self.criterion.dropped(), self.dropped)]
    }
}
