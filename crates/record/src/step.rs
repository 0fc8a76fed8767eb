//! The trait of all steps of a pipeline, and the kinds of changes that a step may make.
//!
//! A [`Step`] changes or drops the reads of a batch; a [`Tally`](crate::Tally) counts something of them. Both see one batch
//! at a time, on any thread, in any order. `examples/` has a program that adds one of each. Within a version 0.x these
//! traits and [`Changes`] change only with x.

use crate::batch::Batch;
use crate::detail::Detail;
use crate::error::Result;
use crate::tag::Tag;

/// Changes or drops the reads of a batch.
pub trait Step: Send + Sync {
    /// The name of the step, which is that of its flag.
    fn name(&self) -> &'static str;

    /// A thread's private copy, scratch included.
    fn fork(&self) -> Box<dyn Step>;

    /// Most bytes by which it may lengthen a record.
    fn growth(&self) -> usize {
        0
    }

    /// The changes it may make. `--verify` checks that it makes no others.
    fn changes(&self) -> Changes;

    /// Whether it looks at each record by itself, and drops it, changes it where it is, or amends it
    /// ([`Batch::amend`]), but rewrites no batch. Several such steps in a row are given a few records of a batch at a
    /// time, which caches hold from one to the next.
    fn by_record(&self) -> bool {
        false
    }

    /// How much of each read it looks at; the rest need not be decoded.
    fn detail(&self) -> Detail {
        Detail::Whole
    }

    /// Changes the batch.
    fn apply(&mut self, batch: &mut Batch) -> Result<()>;

    /// Reads it dropped or changed so far, in this copy, by a name fit for the summary.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// The changes that a step may make to reads. All else must stay the same, and `--verify` fails if it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Which reads there are: it drops or adds some.
    pub reads: bool,
    /// FLAG, apart from 0x400, which may change anyway.
    pub flags: bool,
    /// RNAME, POS, MAPQ, CIGAR, RNEXT, PNEXT, TLEN.
    pub alignment: bool,
    /// SEQ.
    pub bases: bool,
    /// QUAL.
    pub qualities: bool,
    /// Optional fields.
    pub tags: Tags,
}

/// Optional fields that may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tags {
    /// These.
    Some(Vec<Tag>),
    /// Any.
    All,
}

impl Default for Tags {
    fn default() -> Self {
        Tags::Some(Vec::new())
    }
}

impl Changes {
    /// Nothing is changed.
    pub fn nothing() -> Self {
        Changes::default()
    }

    /// Reads are dropped; those that stay are not changed.
    pub fn drops() -> Self {
        Changes { reads: true, ..Changes::default() }
    }

    /// These optional fields are written or removed.
    pub fn tags(tags: &[Tag]) -> Self {
        Changes { tags: Tags::Some(tags.to_vec()), ..Changes::default() }
    }

    /// The changes that two steps together may make.
    pub fn and(mut self, other: &Changes) -> Self {
        self.reads |= other.reads;
        self.flags |= other.flags;
        self.alignment |= other.alignment;
        self.bases |= other.bases;
        self.qualities |= other.qualities;
        self.tags = match (self.tags, &other.tags) {
            (Tags::Some(mut tags), Tags::Some(more)) => {
                tags.extend(more.iter().filter(|tag| !tags.contains(tag)).copied().collect::<Vec<_>>());
                Tags::Some(tags)
            }
            _ => Tags::All,
        };
        self
    }
}
