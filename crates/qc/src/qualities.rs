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

/// Numbers of bases by quality. Neighbours in a read, whose qualities are often equal, are counted in different lists: adding
/// to one number again and again would wait for the sum.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ByQuality(Vec<u64>);

/// The number of these lists.
const LISTS: usize = 4;

impl Default for ByQuality {
    fn default() -> Self {
        ByQuality(vec![0; LISTS * 256])
    }
}

impl ByQuality {
    /// Counts qualities, above `offset`, of called bases, or of all if `no_calls` are counted, too.
    #[inline]
    fn add(&mut self, quals: &[u8], offset: u8, bases: &[u8], no_calls: bool) {
        let Ok(counts) = <&mut [u64; LISTS * 256]>::try_from(&mut self.0[..]) else { return };
        let place = |list: usize, qual: u8| list * 256 + usize::from(qual.wrapping_sub(offset));
        let (each, rest) = quals.as_chunks::<LISTS>();
        for quals in each {
            quals.iter().enumerate().for_each(|(list, &qual)| counts[place(list, qual)] += 1);
        }
        rest.iter().for_each(|&qual| counts[place(0, qual)] += 1);
        if !no_calls && bases.contains(&N) {
            let uncalled = quals.iter().zip(bases).enumerate().filter(|(_, (_, base))| **base == N);
            for (i, (&qual, _)) in uncalled {
                let list = if i < each.len() * LISTS { i % LISTS } else { 0 };
                counts[place(list, qual)] -= 1;
            }
        }
    }

    fn column(&self, label: &str) -> HistogramColumn {
        let sum = |qual: usize| self.0.iter().skip(qual).step_by(256).sum::<u64>() as f64;
        let bins = (0..MOST).map(|qual| (qual as i64, sum(qual))).filter(|&(_, n)| n > 0.0).collect();
        HistogramColumn { label: label.as_bytes().to_vec(), bins }
    }
}

impl Qualities {
    /// Counts a read.
    #[inline]
    pub fn add(&mut self, read: &Read<'_>, no_calls: bool) {
        self.quals.add(read.quals, 0, read.bases, no_calls);
        if let Some(original) = read.fields.original_quals {
            // Picard goes through OQ as far as there are qualities.
            let original = &original[..original.len().min(read.quals.len())];
            self.original.add(original, 33, read.bases, no_calls);
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
