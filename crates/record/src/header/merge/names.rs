//! What becomes of the IDs that records of one input use.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The IDs of one kind in one input, and those of the merged header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdRenames {
    own: BTreeMap<Vec<u8>, Vec<u8>>,
    merged: Arc<BTreeSet<Vec<u8>>>,
}

/// What a record has to do with an ID it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate<'a> {
    /// It stays.
    Keep,
    /// It is called this now.
    Become(&'a [u8]),
    /// The input does not define it, but another input does. The field must go: it would come to mean
    /// what it never meant. (`samtools merge` drops every ID that the input does not define.)
    Remove,
}

impl IdRenames {
    /// New IDs by the IDs in the input; all IDs of the merged header.
    pub(super) fn new(own: BTreeMap<Vec<u8>, Vec<u8>>, merged: Arc<BTreeSet<Vec<u8>>>) -> Self {
        IdRenames { own, merged }
    }

    /// What becomes of an ID.
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

    /// Whether every ID, known or not, stays.
    pub fn is_identity(&self) -> bool {
        self.own.len() == self.merged.len() && self.changed().next().is_none()
    }

    /// Most bytes by which an ID becomes longer.
    pub fn growth(&self) -> usize {
        self.changed().map(|(old, new)| new.len().saturating_sub(old.len())).max().unwrap_or(0)
    }
}
