//! Searches reads for adapters and marks the base at which an adapter begins.
//!
//! All threads share one [`Marker`]. Batches are searched in parallel ([`Marker::mark_batch`]). The
//! adapters found are then counted in input order ([`Marker::settle_batch`]), because Picard drops
//! rare adapters once it has found enough, and the order of the reads decides which ones.

use std::sync::OnceLock;

use readmill_record::{Error, ReadBatch, Result};
use serde::{Deserialize, Serialize};

use super::search::AdapterSearch;
use super::{AdapterPair, AdapterRules, Pruning, Stringency};

/// Searches for adapters in single reads and in pairs, as Picard MarkIlluminaAdapters does.
///
/// A run creates one marker from its [`AdapterRules`] and shares it among its threads.
///
/// ```
/// use readmill_filters::adapter::{AdapterPair, AdapterRules, Marker, Stringency};
/// use readmill_record::{Read, ReadBatch};
///
/// # fn main() -> readmill_record::Result<()> {
/// let rules = AdapterRules {
///     adapters: vec![AdapterPair::new("ACACTCTTTCCC", "AGATCGGAAGAGC")?],
///     single: Stringency { min_bases: 12, error_rate: 0.1 },
///     pair: Stringency { min_bases: 6, error_rate: 0.1 },
///     max_adapter_bases: 30,
///     pruning: None,
/// };
/// let mut reads = ReadBatch::new(1, 0); // single reads
/// let bases = b"TTTTTAGATCGGAAGAGC";
/// reads.push_read(Read { name: b"r1", comment: b"", bases, qualities: None });
/// let found_in = Marker::new(&rules)?.mark_batch(&mut reads);
/// assert_eq!(found_in, [(0, 0)]); // template 0 contains adapter 0
/// assert_eq!(reads.adapter_start(0), Some(6)); // from the sixth base on
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Marker {
    pub(super) adapters: Vec<AdapterPair>,
    pub(super) rules: AdapterRules,
    single: AdapterSearch,
    first: AdapterSearch,
    last: AdapterSearch,
    /// For each adapter pair, the indexes of its sequences in `first` and in `last`. `single` uses
    /// the same indexes as `first`, because both are made from the sequences of read 1.
    numbers: Vec<(usize, usize)>,
}

#[derive(Default)]
pub(super) struct MarkerBuffers {
    first: Vec<Option<usize>>,
    last: Vec<Option<usize>>,
}

/// An adapter found in a template. `starts` has the index of the adapter's first base in each read
/// (0-based), or `None` if the read ends before the adapter.
struct AdapterMatch {
    starts: [Option<usize>; 2],
    adapter: usize,
}

/// The templates of a batch in which an adapter was found: index of the template in the batch, and
/// index of the adapter in the marker's list.
pub type FoundIn = Vec<(usize, usize)>;

impl Marker {
    /// Creates a marker for the adapters of `rules`. Adapters that are equal after truncation are
    /// merged.
    ///
    /// # Errors
    /// A stringency is out of range, an adapter has only N after truncation, or there is no
    /// adapter.
    pub fn new(rules: &AdapterRules) -> Result<Self> {
        for Stringency { min_bases, error_rate } in [rules.single, rules.pair] {
            if min_bases == 0 {
                return Err(Error::usage("the minimum number of matching adapter bases is 0")
                    .hint("require at least 1; Picard's defaults are 12, and 6 in pairs"));
            }
            if !(0.0..=1.0).contains(&error_rate) {
                return Err(Error::usage(format!("{error_rate} is not a mismatch rate"))
                    .hint("use a rate from 0 to 1; Picard's default is 0.1"));
            }
        }
        let mut adapters: Vec<AdapterPair> = Vec::new();
        for pair in &rules.adapters {
            let pair = pair.truncate_to(rules.max_adapter_bases)?;
            if !adapters.contains(&pair) {
                adapters.push(pair);
            }
        }
        if adapters.is_empty() {
            return Err(Error::usage("no adapters are given"));
        }
        Ok(Self::from_adapters(adapters, rules))
    }

    fn from_adapters(adapters: Vec<AdapterPair>, rules: &AdapterRules) -> Self {
        let firsts = || adapters.iter().map(|pair| &pair.first[..]);
        let lasts = adapters.iter().map(|pair| &pair.last[..]);
        let (single, _) = AdapterSearch::new(firsts(), rules.single);
        let (first, of_first) = AdapterSearch::new(firsts(), rules.pair);
        let (last, of_last) = AdapterSearch::new(lasts, rules.pair);
        let numbers = of_first.into_iter().zip(of_last).collect();
        Marker { adapters, rules: rules.clone(), single, first, last, numbers }
    }

    /// Returns a marker for only the adapters with these indexes, in this order. Used once the rare
    /// adapters have been dropped.
    pub(super) fn restrict_to(&self, kept: &[usize]) -> Self {
        Self::from_adapters(kept.iter().map(|&at| self.adapters[at].clone()).collect(), &self.rules)
    }

    /// Marks the start of the adapter in each read of the batch. Returns the templates with an
    /// adapter, for [`Marker::settle_batch`].
    pub fn mark_batch(&self, reads: &mut ReadBatch) -> FoundIn {
        let (mut scratch, mut found_in) = (MarkerBuffers::default(), Vec::new());
        for template in 0..reads.template_count() {
            if let Some(adapter) = self.mark_template(reads, template, &mut scratch) {
                found_in.push((template, adapter));
            }
        }
        found_in
    }

    /// Marks the reads of one template. Returns the index of the adapter that was found. `scratch`
    /// is reused across templates.
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
            1 => self.find_in_single(bases(0), scratch),
            _ => self.find_in_pair(bases(0), bases(1), scratch),
        }?;
        for (segment, start) in found.starts.into_iter().enumerate().take(segments) {
            reads.set_adapter_start(at + segment, start);
        }
        Some(found.adapter)
    }

    /// Returns the first adapter of the list that is found in a single read (Picard 3.4.0,
    /// `adapterTrimIlluminaSingleRead`).
    fn find_in_single(&self, bases: &[u8], scratch: &mut MarkerBuffers) -> Option<AdapterMatch> {
        self.single.find_starts(bases, &mut scratch.first);
        let mut all = self.numbers.iter().enumerate();
        all.find_map(|(adapter, &(first, _))| {
            let start = scratch.first[first]?;
            Some(AdapterMatch { starts: [Some(start), None], adapter })
        })
    }

    /// Returns the adapter of a pair (Picard 3.4.0, `adapterTrimIlluminaPairedReads`):
    ///
    /// 1. The first adapter of the list that starts at the same base in both reads.
    /// 2. Otherwise, the last adapter that was found in only one read, provided that at least twice
    ///    the required number of bases remain from its start to the end of that read. The other
    ///    read is cut at the same base if it is long enough. If it is too short, it keeps the mark
    ///    of an adapter that was tried earlier.
    fn find_in_pair(
        &self,
        first: &[u8],
        last: &[u8],
        scratch: &mut MarkerBuffers,
    ) -> Option<AdapterMatch> {
        self.first.find_starts(first, &mut scratch.first);
        self.last.find_starts(last, &mut scratch.last);
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
            if len - start < 2 * self.rules.pair.min_bases {
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

/// Number of templates with each adapter, counted in the order of one input. A job in stages stores
/// these counts, so that the next stage continues them ([`Marker::resume_pruning`]).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AdapterCounts {
    seen: Vec<(usize, u64)>,
}

/// The marker for the adapters that remain after pruning. It is set once for each input. Then all
/// threads read it without a lock.
#[derive(Debug, Default)]
pub struct RemainingAdapters(OnceLock<Marker>);

impl Marker {
    /// Returns whether this marker may drop adapters. If so, [`Marker::settle_batch`] must be
    /// called for each batch.
    pub fn may_prune(&self) -> bool {
        self.rules.pruning.is_some() && self.adapters.len() > 1
    }

    /// Sets the remaining adapters if the counts of an earlier stage already determine them. Call
    /// this before the first batch of an input is read.
    pub fn resume_pruning(&self, tally: &AdapterCounts, kept: &RemainingAdapters) {
        let pruning = self.rules.pruning.filter(|_| !tally.seen.is_empty());
        if let Some(numbers) = pruning.and_then(|pruning| tally.choose_remaining(self, pruning)) {
            kept.0.get_or_init(|| self.restrict_to(&numbers));
        }
    }

    /// Counts the adapters of the next batch in input order, and corrects the marks of adapters
    /// that have been dropped since the batch was searched.
    ///
    /// Templates before the deciding one keep their marks, because Picard has already written them
    /// (3.4.0, `AdapterMarker.tallyFoundAdapter`).
    pub fn settle_batch(
        &self,
        tally: &mut AdapterCounts,
        kept: &RemainingAdapters,
        found_in: &[(usize, usize)],
        reads: &mut ReadBatch,
    ) {
        let mut scratch = MarkerBuffers::default();
        for &(template, adapter) in found_in {
            if let Some(marker) = kept.0.get() {
                clear_marks(reads, template);
                marker.mark_template(reads, template, &mut scratch);
                continue;
            }
            tally.add_template(adapter);
            let Some(numbers) =
                self.rules.pruning.and_then(|pruning| tally.choose_remaining(self, pruning))
            else {
                continue;
            };
            if !numbers.contains(&adapter) {
                clear_marks(reads, template);
            }
            kept.0.get_or_init(|| self.restrict_to(&numbers));
        }
    }
}

impl RemainingAdapters {
    /// Returns the marker for the remaining adapters, or `None` until enough adapters were found to
    /// choose them.
    pub fn marker(&self) -> Option<&Marker> {
        self.0.get()
    }
}

impl AdapterCounts {
    fn add_template(&mut self, adapter: usize) {
        match self.seen.iter_mut().find(|(known, _)| *known == adapter) {
            Some((_, templates)) => *templates += 1,
            None => self.seen.push((adapter, 1)),
        }
    }

    /// Returns the adapters that remain, most frequent first, or `None` until enough were found.
    ///
    /// As in Picard, only one of several equally frequent adapters remains: the last one in the
    /// order of a Java `HashMap` with 16 buckets, which depends on `AdapterPair::java_hash`.
    fn choose_remaining(&self, marker: &Marker, pruning: Pruning) -> Option<Vec<usize>> {
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

fn clear_marks(reads: &mut ReadBatch, template: usize) {
    let segments = reads.segments().max(1);
    (0..segments).for_each(|segment| reads.set_adapter_start(template * segments + segment, None));
}
