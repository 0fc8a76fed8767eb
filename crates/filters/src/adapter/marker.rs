//! Searches adapters in single reads and pairs, and marks them.

use std::sync::OnceLock;

use readmill_record::{Error, ReadBatch, Result};
use serde::{Deserialize, Serialize};

use super::search::Search;
use super::{AdapterPair, AdapterRules, Pruning, Stringency};

/// Finds adapters.
#[derive(Clone, Debug)]
pub struct Marker {
    pub(super) adapters: Vec<AdapterPair>,
    pub(super) rules: AdapterRules,
    single: Search,
    first: Search,
    last: Search,
    /// Which sequences of `first` and `last` each pair has. Those of `single` are those of `first`.
    numbers: Vec<(usize, usize)>,
}

/// The buffers of one thread.
#[derive(Default)]
pub(super) struct MarkerBuffers {
    first: Vec<Option<usize>>,
    last: Vec<Option<usize>>,
}

/// An adapter in the reads of a template.
struct AdapterMatch {
    /// Its start in each read, 0-based; `None` if the read ends before.
    starts: [Option<usize>; 2],
    /// Its index among the marker's adapters.
    adapter: usize,
}

/// Templates of a batch in which an adapter was found: their numbers, and the index of the adapter.
pub type FoundIn = Vec<(usize, usize)>;

impl Marker {
    /// Creates a marker for the adapters of these rules; adapters that are equal after truncation are merged.
    pub fn new(rules: &AdapterRules) -> Result<Self> {
        for Stringency { least_bases, error_rate } in [rules.single, rules.pair] {
            if least_bases == 0 {
                return Err(Error::usage("an adapter of no bases is everywhere")
                    .hint("have one base match at least; Picard's defaults are 12, and 6 in pairs"));
            }
            if !(0.0..=1.0).contains(&error_rate) {
                return Err(Error::usage(format!("{error_rate} is no rate of mismatches"))
                    .hint("it is between 0 and 1; Picard's default is 0.1"));
            }
        }
        let mut adapters: Vec<AdapterPair> = Vec::new();
        for pair in &rules.adapters {
            let pair = pair.truncated(rules.longest)?;
            if !adapters.contains(&pair) {
                adapters.push(pair);
            }
        }
        if adapters.is_empty() {
            return Err(Error::usage("there is no adapter to look for"));
        }
        Ok(Self::of(adapters, rules))
    }

    fn of(adapters: Vec<AdapterPair>, rules: &AdapterRules) -> Self {
        let firsts = || adapters.iter().map(|pair| &pair.first[..]);
        let lasts = adapters.iter().map(|pair| &pair.last[..]);
        let (single, _) = Search::new(firsts(), rules.single);
        let (first, of_first) = Search::new(firsts(), rules.pair);
        let (last, of_last) = Search::new(lasts, rules.pair);
        let numbers = of_first.into_iter().zip(of_last).collect();
        Marker { adapters, rules: rules.clone(), single, first, last, numbers }
    }

    /// Returns a marker for some of the adapters, in this order.
    pub(super) fn only(&self, kept: &[usize]) -> Self {
        Self::of(kept.iter().map(|&at| self.adapters[at].clone()).collect(), &self.rules)
    }

    /// Marks where adapters start in reads; returns the templates that have one.
    pub fn mark(&self, reads: &mut ReadBatch) -> FoundIn {
        let (mut scratch, mut found_in) = (MarkerBuffers::default(), Vec::new());
        for template in 0..reads.templates() {
            if let Some(adapter) = self.mark_template(reads, template, &mut scratch) {
                found_in.push((template, adapter));
            }
        }
        found_in
    }

    /// The same for one template; returns the index of its adapter.
    pub(super) fn mark_template(
        &self,
        reads: &mut ReadBatch,
        template: usize,
        scratch: &mut MarkerBuffers,
    ) -> Option<usize> {
        let segments = reads.segments().max(1);
        let at = template * segments;
        let bases = |segment: usize| reads.read(at + segment).bases;
        let found = match segments {
            1 => self.in_single(bases(0), scratch),
            _ => self.in_pair(bases(0), bases(1), scratch),
        }?;
        for (segment, start) in found.starts.into_iter().enumerate().take(segments) {
            reads.set_adapter(at + segment, start);
        }
        Some(found.adapter)
    }

    /// Returns the first adapter that a single read has. (Picard 3.4.0, `adapterTrimIlluminaSingleRead`.)
    fn in_single(&self, bases: &[u8], scratch: &mut MarkerBuffers) -> Option<AdapterMatch> {
        self.single.places(bases, &mut scratch.first);
        let mut all = self.numbers.iter().enumerate();
        all.find_map(|(adapter, &(first, _))| {
            let start = scratch.first[first]?;
            Some(AdapterMatch { starts: [Some(start), None], adapter })
        })
    }

    /// Returns the first adapter that starts at the same base in both reads. If there is none, returns the last
    /// adapter that only one read has, with at least twice the required bases from its start to the end of that
    /// read. Then the other read is cut at the same base, too, if it is long enough; a read keeps the mark of an
    /// earlier adapter if the last one's start is beyond its end. (Picard 3.4.0,
    /// `adapterTrimIlluminaPairedReads`.)
    fn in_pair(&self, first: &[u8], last: &[u8], scratch: &mut MarkerBuffers) -> Option<AdapterMatch> {
        self.first.places(first, &mut scratch.first);
        self.last.places(last, &mut scratch.last);
        let mut one_sided: Option<AdapterMatch> = None;
        for (adapter, &(in_first, in_last)) in self.numbers.iter().enumerate() {
            let (start, len) = match (scratch.first[in_first], scratch.last[in_last]) {
                (Some(one), Some(other)) if one == other => {
                    return Some(AdapterMatch { starts: [Some(one); 2], adapter });
                }
                (Some(start), None) => (start, first.len()),
                (None, Some(start)) => (start, last.len()),
                _ => continue,
            };
            if len - start < 2 * self.rules.pair.least_bases {
                continue;
            }
            let before = one_sided.map_or([None; 2], |found| found.starts);
            let ends = |len: usize, before| if len > start { Some(start) } else { before };
            let starts = [ends(first.len(), before[0]), ends(last.len(), before[1])];
            one_sided = Some(AdapterMatch { starts, adapter });
        }
        one_sided
    }
}

/// Adapters found in the templates of one input so far, in its order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AdapterCounts {
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

    /// Sets the remaining adapters, if those found so far decide which they are.
    pub fn resume(&self, tally: &AdapterCounts, kept: &Kept) {
        let pruning = self.rules.pruning.filter(|_| !tally.seen.is_empty());
        if let Some(numbers) = pruning.and_then(|pruning| tally.judge(self, pruning)) {
            kept.0.get_or_init(|| self.only(&numbers));
        }
    }

    /// Counts the adapters of the next batch in input order, and corrects marks of adapters that are dropped.
    /// Templates before the deciding one keep their marks: Picard has written them by then. (3.4.0,
    /// `AdapterMarker.tallyFoundAdapter`.)
    pub fn settle(
        &self,
        tally: &mut AdapterCounts,
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

impl AdapterCounts {
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
