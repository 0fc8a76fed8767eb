//! QualityScoreDistribution: numbers of bases by quality.

use readmill_format::metrics::{self, HistogramColumn};
use serde::{Deserialize, Serialize};

use crate::read::{N, Read};

/// Qualities that have rows. Larger ones do not exist in SAM.
const MOST: usize = 128;

/// Numbers of bases by quality, of QUAL and OQ.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Qualities {
    quals: ByQuality,
    original: ByQuality,
}

/// Numbers of bases by quality.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ByQuality(Vec<u64>);

impl Default for ByQuality {
    fn default() -> Self {
        ByQuality(vec![0; 256])
    }
}

impl ByQuality {
    /// Counts qualities of called bases, or of all if `no_calls` are counted, too.
    #[inline]
    fn add(&mut self, quals: impl Iterator<Item = u8> + Clone, bases: &[u8], no_calls: bool) {
        let Ok(counts) = <&mut [u64; 256]>::try_from(&mut self.0[..]) else { return };
        quals.clone().for_each(|qual| counts[usize::from(qual)] += 1);
        if !no_calls && bases.contains(&N) {
            let called = quals.zip(bases).filter(|(_, base)| **base == N);
            called.for_each(|(qual, _)| counts[usize::from(qual)] -= 1);
        }
    }

    fn column(&self, label: &str) -> HistogramColumn {
        let counts = (0..).zip(&self.0).take(MOST).filter(|&(_, &count)| count > 0);
        let bins = counts.map(|(qual, &count)| (qual, count as f64)).collect();
        HistogramColumn { label: label.as_bytes().to_vec(), bins }
    }
}

impl Qualities {
    /// Counts a read.
    #[inline]
    pub fn add(&mut self, read: &Read<'_>, no_calls: bool) {
        self.quals.add(read.quals.iter().copied(), read.bases, no_calls);
        if let Some(original) = read.fields.original_quals {
            // Picard goes through OQ as far as there are qualities.
            let original = original.iter().take(read.quals.len()).map(|c| c - 33);
            self.original.add(original, read.bases, no_calls);
        }
    }

    /// Adds other numbers.
    pub fn merge(&mut self, from: &Qualities) {
        for (into, from) in [(&mut self.quals, &from.quals), (&mut self.original, &from.original)] {
            into.0.iter_mut().zip(&from.0).for_each(|(into, from)| *into += from);
        }
    }

    /// The histogram.
    pub fn put(&self, text: &mut Vec<u8>) {
        let columns = [self.quals.column("COUNT_OF_Q"), self.original.column("COUNT_OF_OQ")];
        text.push(b'\n');
        metrics::put_histograms(text, "java.lang.Byte", "QUALITY", &columns);
    }
}
