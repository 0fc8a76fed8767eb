//! Keeps or drops reads by an expression.

use readmill_record::{Batch, Result};

use crate::expression::Expression;
use readmill_record::{Changes, Step};

/// Keeps the reads for which an expression is true (`--include`, samtools' `view -e`), or drops them
/// (`--exclude`).
#[derive(Clone)]
pub struct Select {
    expression: Expression,
    keep: bool,
    dropped: u64,
}

impl Select {
    /// The step that keeps the reads of `expression`, or drops them where `keep` is false.
    pub fn new(expression: Expression, keep: bool) -> Self {
        Select { expression, keep, dropped: 0 }
    }
}

impl Step for Select {
    fn name(&self) -> &'static str {
        if self.keep { "include" } else { "exclude" }
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
        let (before, mut failed) = (batch.len(), None);
        batch.retain(|stamp, record| match self.expression.matches(record) {
            Ok(matches) => matches == self.keep,
            Err(error) => {
                failed.get_or_insert_with(|| error.record(stamp.ordinal()).qname(record.qname()));
                false
            }
        });
        self.dropped += (before - batch.len()) as u64;
        failed.map_or(Ok(()), Err)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let what = if self.keep {
            "reads dropped that the --include expression does not hold for"
        } else {
            "reads dropped that the --exclude expression holds for"
        };
        vec![(what, self.dropped)]
    }
}
