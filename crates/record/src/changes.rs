//! The kinds of changes that a step may make.

use crate::tag::Tag;

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
