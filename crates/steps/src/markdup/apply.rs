//! Flags on records.

use std::sync::Arc;

use readmill_record::{Batch, Flags, RecordRef, Result, edit, tag};

use super::Marks;
use crate::Step;

/// Sets 0x400 on marked records, clears it on all others, removes DT (as Picard's CLEAR_DT does by
/// default), and on request leaves marked records out.
#[derive(Clone)]
pub struct ApplyMarks {
    marks: Arc<Marks>,
    remove: bool,
    clear_dt: bool,
    flagged: u64,
}

impl ApplyMarks {
    /// Applies `marks`; `clear_dt` when any record may have a DT field.
    pub fn new(marks: Arc<Marks>, remove: bool, clear_dt: bool) -> Self {
        ApplyMarks { marks, remove, clear_dt, flagged: 0 }
    }
}

impl Step for ApplyMarks {
    fn name(&self) -> &'static str {
        "mark-duplicates"
    }

    fn fork(&self) -> Box<dyn Step> {
        Box::new(self.clone())
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        let (marks, flagged) = (&self.marks, &mut self.flagged);
        batch.edit(|stamp, raw| {
            let flags = RecordRef::new(raw).flags().0;
            let marked = marks.is_marked(stamp);
            *flagged += u64::from(marked);
            edit::set_flags(
                raw,
                if marked { flags | Flags::DUPLICATE } else { flags & !Flags::DUPLICATE },
            );
        });
        if self.clear_dt {
            batch.rewrite(|record, out| {
                edit::copy_without(record, tag::DT, out);
                Ok(())
            })?;
        }
        if self.remove {
            batch.retain(|record| !record.flags().is_duplicate());
        }
        Ok(())
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![(if self.remove { "duplicates removed" } else { "duplicates flagged" }, self.flagged)]
    }
}
