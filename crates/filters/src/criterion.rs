//! The step of all filters that only drop reads.

use readmill_record::{Batch, Changes, RecordRef, Result, Step};

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

    /// Whether it looks at no more of a read than FLAG, RNAME, POS, MAPQ, CIGAR, RNEXT and PNEXT, so that other data need not be
    /// decoded.
    fn places_only(&self) -> bool {
        false
    }

    /// Whether it looks only at what every record has, from its name to its qualities.
    fn without_fields(&self) -> bool {
        self.places_only()
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

    fn places_only(&self) -> bool {
        self.criterion.places_only()
    }

    fn without_fields(&self) -> bool {
        self.criterion.without_fields()
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
