//! The common step of all filters that keep or drop each read by a yes/no decision.

use readmill_record::{Batch, Changes, Detail, RecordRef, Result, Step};

/// Decides for each read whether it is kept.
///
/// A filter that only drops reads implements this instead of [`Step`]. [`Criterion::into_step`]
/// adds the rest: it drops and counts reads, and adds the read name to errors. The criterion is
/// cloned for each thread, so it may have scratch memory.
///
/// ```
/// use readmill_filters::Criterion;
/// use readmill_record::{RecordRef, Result};
///
/// /// Drops all reads but read 1 of each pair.
/// #[derive(Clone)]
/// struct FirstOfPair;
///
/// impl Criterion for FirstOfPair {
///     fn name(&self) -> &'static str {
///         "first-of-pair"
///     }
///
///     fn dropped_label(&self) -> &'static str {
///         "reads dropped that are not the first of a pair"
///     }
///
///     fn keeps_read(&mut self, record: RecordRef<'_>) -> Result<bool> {
///         Ok(record.flags().is_first())
///     }
/// }
///
/// let step = FirstOfPair.into_step(); // a Step for the pipeline
/// # let _ = step;
/// ```
pub trait Criterion: Clone + Send + Sync + 'static {
    /// Returns the name of the step, which is the name of its flag without `--`.
    fn name(&self) -> &'static str;

    /// Returns the label of the dropped reads in the run summary.
    fn dropped_label(&self) -> &'static str;

    /// Returns whether the read is kept. Called once for each read, so it must not allocate.
    ///
    /// # Errors
    /// The read cannot be decided, for example because an expression does arithmetic with a string
    /// field. This stops the run.
    fn keeps_read(&mut self, record: RecordRef<'_>) -> Result<bool>;

    /// Returns the parts of a record that [`Criterion::keeps_read`] needs. A reader need not decode
    /// the other parts.
    fn detail(&self) -> Detail {
        Detail::Whole
    }

    fn into_step(self) -> CriterionStep<Self> {
        CriterionStep { criterion: self, dropped: 0 }
    }
}

#[derive(Clone)]
pub struct CriterionStep<C> {
    criterion: C,
    dropped: u64,
}

impl<C: Criterion> Step for CriterionStep<C> {
    fn name(&self) -> &'static str {
        self.criterion.name()
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn changes(&self) -> Changes {
        Changes::dropping_reads()
    }

    fn is_per_record(&self) -> bool {
        true
    }

    fn detail(&self) -> Detail {
        self.criterion.detail()
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        let (before, mut failed) = (batch.len(), None);
        batch.retain(|stamp, record| {
            self.criterion.keeps_read(record).unwrap_or_else(|error| {
                failed.get_or_insert_with(|| error.record(stamp.ordinal()).qname(record.qname()));
                false
            })
        });
        self.dropped += (before - batch.len()) as u64;
        failed.map_or(Ok(()), Err)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![(self.criterion.dropped_label(), self.dropped)]
    }
}
