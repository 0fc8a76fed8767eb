//! The renaming of the IDs that records of one input use.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The new IDs of one kind for one input, and all IDs of the merged header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdRenames {
    own: BTreeMap<Vec<u8>, Vec<u8>>,
    merged: Arc<BTreeSet<Vec<u8>>>,
}

/// The change that a field with an ID needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate<'a> {
    /// None.
    Keep,
    /// It gets this ID.
    Become(&'a [u8]),
    /// It must be removed: this input does not define the ID, but another input does, so the field would get a
    /// wrong meaning. (`samtools merge` drops every ID that the input does not define.)
    Remove,
}

impl IdRenames {
    /// New IDs by the IDs in the input, and all IDs of the merged header.
    pub(super) fn new(own: BTreeMap<Vec<u8>, Vec<u8>>, merged: Arc<BTreeSet<Vec<u8>>>) -> Self {
        IdRenames { own, merged }
    }

    /// The change that a field with this ID needs.
    pub fn fate(&self, id: &[u8]) -> Fate<'_> {
        match self.own.get(id) {
            Some(new) if new == id => Fate::Keep,
            Some(new) => Fate::Become(new),
            None if self.merged.contains(id) => Fate::Remove,
            None => Fate::Keep,
        }
    }

    /// The IDs that change, each with its new form.
    pub fn changed(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let own = self.own.iter().filter(|(old, new)| old != new);
        own.map(|(old, new)| (old.as_slice(), new.as_slice()))
    }

    /// Whether every ID, known or not, stays the same.
    pub fn is_identity(&self) -> bool {
        self.own.len() == self.merged.len() && self.changed().next().is_none()
    }

    /// The most bytes by which an ID becomes longer.
    pub fn growth(&self) -> usize {
        self.changed().map(|(old, new)| new.len().saturating_sub(old.len())).max().unwrap_or(0)
    }
}
