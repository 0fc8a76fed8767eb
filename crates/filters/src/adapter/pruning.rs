//! Prunes the list of adapters, when enough have been found.

use std::sync::OnceLock;

use readmill_record::ReadBatch;

use super::marker::{Marker, MarkerBuffers};
use super::rules::Pruning;

/// Adapters found in the templates of one input so far, in its order.
#[derive(Debug, Default)]
pub struct Tally {
    /// Each adapter that was found, in the order of first occurrence, and its number of templates.
    seen: Vec<(usize, u64)>,
}

/// The marker of the remaining adapters, shared by all threads.
#[derive(Debug, Default)]
pub struct Kept(OnceLock<Marker>);

impl Marker {
    /// Whether adapters may be dropped at all.
    pub fn prunes(&self) -> bool {
        self.rules.pruning.is_some() && self.adapters.len() > 1
    }

    /// Counts the adapters of the next batch in input order, and corrects marks of adapters that are dropped.
    /// Templates before the deciding one keep their marks: Picard has written them by then. (3.4.0,
    /// `AdapterMarker.tallyFoundAdapter`.)
    pub fn settle(
        &self,
        tally: &mut Tally,
        kept: &Kept,
        found_in: &[(usize, usize)],
        reads: &mut ReadBatch,
    ) {
        let mut scratch = MarkerBuffers::default();
        for &(template, adapter) in found_in {
            if let Some(marker) = kept.0.get() {
                clear(reads, template);
                marker.mark_template(reads, template, &mut scratch);
                continue;
            }
            tally.add(adapter);
            let Some(numbers) = self.rules.pruning.and_then(|pruning| tally.judge(self, pruning)) else {
                continue;
            };
            if !numbers.contains(&adapter) {
                clear(reads, template);
            }
            kept.0.get_or_init(|| self.only(&numbers));
        }
    }
}

impl Kept {
    /// Returns the marker of the remaining adapters; `None` until they are known.
    pub fn marker(&self) -> Option<&Marker> {
        self.0.get()
    }
}

impl Tally {
    fn add(&mut self, adapter: usize) {
        match self.seen.iter_mut().find(|(known, _)| *known == adapter) {
            Some((_, templates)) => *templates += 1,
            None => self.seen.push((adapter, 1)),
        }
    }

    /// Returns the remaining adapters, most frequent first; `None` while too few were found. Of equally
    /// frequent ones only one stays, the last in the order of a Java `HashMap` with 16 buckets.
    fn judge(&self, marker: &Marker, pruning: Pruning) -> Option<Vec<usize>> {
        let templates: u64 = self.seen.iter().map(|(_, templates)| templates).sum();
        if templates < pruning.after {
            return None;
        }
        let bucket = |&(adapter, _): &(usize, u64)| {
            let hash = marker.adapters[adapter].java_hash() as u32;
            (hash ^ hash >> 16) & 15
        };
        let mut by_bucket = self.seen.clone();
        by_bucket.sort_by_key(bucket);
        by_bucket.reverse();
        by_bucket.sort_by_key(|&(_, templates)| std::cmp::Reverse(templates));
        by_bucket.dedup_by_key(|&mut (_, templates)| templates);
        Some(by_bucket.into_iter().take(pruning.keep).map(|(adapter, _)| adapter).collect())
    }
}

/// Removes the marks of a template.
fn clear(reads: &mut ReadBatch, template: usize) {
    let segments = reads.segments().max(1);
    (0..segments).for_each(|segment| reads.set_adapter(template * segments + segment, None));
}
