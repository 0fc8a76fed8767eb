//! The trait of all steps of a pipeline, and the changes that a step may make to reads.
//!
//! A [`Step`] changes or drops the reads of a batch; a [`Tally`](crate::Tally) counts them or their
//! properties. Both see one batch at a time, on any thread and in any order. `examples/gc-content` is a
//! program that adds one of each. These traits and [`Changes`] change only with a new minor version
//! (0.x).

use crate::batch::Batch;
use crate::detail::Detail;
use crate::error::Result;
use crate::tag::Tag;

/// A filter or an edit: changes or drops the reads of each batch.
///
/// The pipeline calls [`Step::fork_for_thread`] once for each thread, then [`Step::apply`] for each
/// batch on whatever thread has it, and adds the [`Step::counts`] of all copies when the input
/// ends. A step must treat each template independently of the batches that it saw before, so that
/// the output does not depend on threads.
///
/// ```
/// use readmill_record::{Batch, Changes, Result, Step};
///
/// /// Drops reads shorter than this.
/// #[derive(Clone)]
/// struct DropShorter(usize);
///
/// impl Step for DropShorter {
///     fn name(&self) -> &'static str {
///         "drop-shorter"
///     }
///     fn fork_for_thread(&self) -> Box<dyn Step> {
///         Box::new(self.clone())
///     }
///     fn changes(&self) -> Changes {
///         Changes::dropping_reads()
///     }
///     fn apply(&mut self, batch: &mut Batch) -> Result<()> {
///         batch.retain(|_, record| record.l_seq() >= self.0);
///         Ok(())
///     }
/// }
///
/// let mut step = DropShorter(30).fork_for_thread();
/// step.apply(&mut Batch::default())?;
/// assert!(step.changes().reads && !step.changes().flags);
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub trait Step: Send + Sync {
    fn name(&self) -> &'static str;

    /// Returns a copy for one thread, with its own scratch memory and with counts of 0.
    fn fork_for_thread(&self) -> Box<dyn Step>;

    /// Returns the maximum number of bytes by which the step may lengthen a record. It determines the
    /// memory for batches.
    fn max_growth_bytes(&self) -> usize {
        0
    }

    /// Returns the changes that the step may make. `--verify` fails a run in which the step makes any
    /// other change.
    fn changes(&self) -> Changes;

    /// Returns whether the step looks at each record on its own, and drops it, changes it in place or
    /// amends it ([`Batch::amend_records`]), but never rewrites the batch. Consecutive steps of this
    /// kind get a few records at a time, which stay in the CPU caches from one step to the next.
    fn is_per_record(&self) -> bool {
        false
    }

    /// Returns how much of each read the step needs. Readers do not decode the rest.
    fn detail(&self) -> Detail {
        Detail::Whole
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()>;

    /// Returns the numbers of reads that this copy has dropped or changed so far, each with its label in
    /// the summary.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// The parts of reads that a step may change. Everything else must stay the same; `--verify` compares
/// the reads before and after.
///
/// ```
/// use readmill_record::{ChangedTags, Changes, tag};
///
/// let both = Changes::dropping_reads().union(&Changes::of_tags(&[tag::RG]));
/// assert!(both.reads && !both.bases);
/// assert_eq!(both.tags, ChangedTags::Some(vec![tag::RG]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub reads: bool,
    /// FLAG except the duplicate bit (0x400), which every step may change.
    pub flags: bool,
    pub alignment: bool,
    pub bases: bool,
    pub qualities: bool,
    pub tags: ChangedTags,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedTags {
    Some(Vec<Tag>),
    All,
}

impl Default for ChangedTags {
    fn default() -> Self {
        ChangedTags::Some(Vec::new())
    }
}

impl Changes {
    pub fn nothing() -> Self {
        Changes::default()
    }

    /// Returns the changes of a filter, which drops reads and leaves the others unchanged.
    pub fn dropping_reads() -> Self {
        Changes { reads: true, ..Changes::default() }
    }

    pub fn of_tags(tags: &[Tag]) -> Self {
        Changes { tags: ChangedTags::Some(tags.to_vec()), ..Changes::default() }
    }

    pub fn union(mut self, other: &Changes) -> Self {
        self.reads |= other.reads;
        self.flags |= other.flags;
        self.alignment |= other.alignment;
        self.bases |= other.bases;
        self.qualities |= other.qualities;
        self.tags = match (self.tags, &other.tags) {
            (ChangedTags::Some(mut tags), ChangedTags::Some(more)) => {
                tags.extend(more.iter().filter(|tag| !tags.contains(tag)).copied().collect::<Vec<_>>());
                ChangedTags::Some(tags)
            }
            _ => ChangedTags::All,
        };
        self
    }
}
