//! Histograms such as reads by length, and the statistics that Picard computes from them.

use std::collections::BTreeMap;

use readmill_record::Result;
use serde::{Deserialize, Serialize};

use crate::room::CountingRoom;

/// Keys below this are counted in a list, which grows as needed; larger keys are counted in a map.
const MAX_DENSE_KEYS: usize = 1 << 14;

/// Memory of a map key in bytes, including its bins at the end of the run.
const MAP_KEY_BYTES: u64 = 96;

/// A histogram that counts how often each key occurs. It is fast for small keys and sparse for
/// large ones.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct KeyCounts {
    dense: Vec<u64>,
    mapped: BTreeMap<u32, u64>,
}

impl KeyCounts {
    #[inline]
    pub fn count_key(&mut self, key: u32, room: &CountingRoom) -> Result<()> {
        match self.dense.get_mut(key as usize) {
            Some(count) => *count += 1,
            None => self.add_new(key, room)?,
        }
        Ok(())
    }

    #[cold]
    fn add_new(&mut self, key: u32, room: &CountingRoom) -> Result<()> {
        if (key as usize) < MAX_DENSE_KEYS {
            room.lengthen_list(&mut self.dense, key as usize + 1, MAX_DENSE_KEYS)?;
            self.dense[key as usize] += 1;
            return Ok(());
        }
        if let Some(count) = self.mapped.get_mut(&key) {
            *count += 1;
            return Ok(());
        }
        room.take_bytes(MAP_KEY_BYTES)?;
        self.mapped.insert(key, 1);
        Ok(())
    }

    pub fn merge(&mut self, from: &KeyCounts) {
        add_each(&mut self.dense, &from.dense);
        from.mapped.iter().for_each(|(&key, &count)| *self.mapped.entry(key).or_default() += count);
    }

    pub fn bins(&self) -> SortedCounts {
        let dense = (0..).zip(&self.dense).filter(|&(_, &count)| count > 0);
        let mapped = self.mapped.iter().map(|(&key, count)| (i64::from(key), count));
        SortedCounts(dense.chain(mapped).map(|(key, &count)| (key, count)).collect())
    }
}

/// Adds the numbers of `from` to `into`, element by element. Lengthens `into` if it is shorter.
pub(crate) fn add_each(into: &mut Vec<u64>, from: &[u64]) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    into.iter_mut().zip(from).for_each(|(into, from)| *into += from);
}

/// Counts in ascending order of their keys, like htsjdk's `Histogram`. Statistics add doubles in
/// the same order as htsjdk, so that their last digits agree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SortedCounts(pub Vec<(i64, u64)>);

impl SortedCounts {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the sum of all counts.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Returns the sum of all counted values: each key times its count.
    pub fn sum(&self) -> f64 {
        self.0.iter().map(|&(key, count)| count as f64 * key as f64).sum()
    }

    /// Returns the mean, or NaN if nothing was counted.
    pub fn mean(&self) -> f64 {
        self.sum() / self.count() as f64
    }

    /// Returns the standard deviation of a sample (n − 1), or NaN for fewer than two values.
    pub fn standard_deviation(&self) -> f64 {
        let mean = self.mean();
        let square =
            |&(key, count): &(i64, u64)| count as f64 * ((key as f64 - mean) * (key as f64 - mean));
        (self.0.iter().map(square).fold(0.0, |sum, more| sum + more) / (self.count() as f64 - 1.0))
            .sqrt()
    }

    /// Returns the median, or 0 if nothing was counted.
    pub fn median(&self) -> f64 {
        weighted_median(self.0.iter().map(|&(key, count)| (key as f64, count)), self.count())
    }

    /// Returns the median of the absolute distances from the median, or 0 if nothing was counted.
    pub fn median_absolute_deviation(&self) -> f64 {
        let middle = self.median();
        let mut distances: Vec<(f64, u64)> =
            self.0.iter().map(|&(key, count)| ((key as f64 - middle).abs(), count)).collect();
        distances.sort_by(|a, b| a.0.total_cmp(&b.0));
        weighted_median(distances.into_iter(), self.count())
    }

    /// Returns the first key at which the cumulative count reaches the fraction `share` of all
    /// counts. 0 if nothing was counted.
    pub fn percentile(&self, share: f64) -> f64 {
        let (all, mut seen) = (self.count() as f64, 0.0);
        for &(key, count) in &self.0 {
            seen += count as f64;
            if seen / all >= share {
                return key as f64;
            }
        }
        0.0
    }

    /// Returns the key with the largest count, the smallest of several such keys. 0 if nothing was
    /// counted.
    pub fn mode(&self) -> f64 {
        let mut max_bin = (0, 0);
        for &(key, count) in &self.0 {
            if count > max_bin.1 {
                max_bin = (key, count);
            }
        }
        max_bin.0 as f64
    }

    pub fn min(&self) -> i64 {
        self.0.first().map_or(0, |bin| bin.0)
    }

    pub fn max(&self) -> i64 {
        self.0.last().map_or(0, |bin| bin.0)
    }

    pub fn remove_keys_above(&mut self, width: i64) {
        self.0.truncate(self.0.partition_point(|&(key, _)| key <= width));
    }

    /// Returns the bins with their counts as floating-point numbers, as histogram columns need
    /// them.
    pub fn to_histogram_bins(&self) -> Vec<(i64, f64)> {
        self.0.iter().map(|&(key, count)| (key, count as f64)).collect()
    }
}

/// Returns the median of `count` values, which `bins` has in ascending order as pairs of a value
/// and its count. 0 if there are none.
fn weighted_median(bins: impl Iterator<Item = (f64, u64)>, count: u64) -> f64 {
    let (low, high) = if count.is_multiple_of(2) {
        (count / 2, count / 2 + 1)
    } else {
        (count.div_ceil(2), count.div_ceil(2))
    };
    let (mut seen, mut at_low) = (0, None);
    for (key, n) in bins {
        seen += n;
        if at_low.is_none() && seen >= low {
            at_low = Some(key);
        }
        if seen >= high {
            return (at_low.unwrap_or(key) + key) / 2.0;
        }
    }
    0.0
}

/// Returns the number of positions at which `meets` is true for the bytes of `a` and `b`. Partial
/// sums of up to 255 bytes fit in one byte, so that the compiler can use vector instructions.
#[inline]
pub(crate) fn count_pairs(a: &[u8], b: &[u8], meets: impl Fn(u8, u8) -> bool) -> u64 {
    let n = a.len().min(b.len());
    let (mut a, mut b, mut sum) = (&a[..n], &b[..n], 0);
    while !a.is_empty() {
        let few = a.len().min(255);
        let pairs = a[..few].iter().zip(&b[..few]);
        sum += u64::from(pairs.fold(0_u8, |sum, (&a, &b)| sum + u8::from(meets(a, b))));
        (a, b) = (&a[few..], &b[few..]);
    }
    sum
}

#[inline]
pub(crate) fn count_bytes(bytes: &[u8], meets: impl Fn(u8) -> bool) -> u64 {
    count_pairs(bytes, bytes, |byte, _| meets(byte))
}

/// Returns the Phred score of an error rate, rounded.
pub(crate) fn error_rate_to_phred(rate: f64) -> i64 {
    (-10.0 * rate.log10() + 0.5).floor() as i64
}

/// Divides `a` by `b`. As in Picard, the quotient is 0 if `b` is 0.
pub(crate) fn divide_or_zero(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a / b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_those_of_a_small_sample() {
        let bins = SortedCounts(vec![(1, 2), (4, 1), (10, 1)]);
        assert_eq!((bins.count(), bins.sum(), bins.mean()), (4, 16.0, 4.0));
        assert_eq!((bins.median(), bins.median_absolute_deviation()), (2.5, 1.5));
        assert_eq!((bins.mode(), bins.min(), bins.max()), (1.0, 1, 10));
        assert_eq!(bins.standard_deviation(), (54.0_f64 / 3.0).sqrt());
        assert_eq!(SortedCounts(vec![(7, 1)]).median(), 7.0);
        assert!(SortedCounts(vec![(7, 1)]).standard_deviation().is_nan());
        assert_eq!(SortedCounts::default().median(), 0.0);
    }

    #[test]
    fn far_keys_are_counted_while_there_is_room() {
        let (mut counts, room) = (KeyCounts::default(), crate::room::counting_room(1 << 20));
        for key in [3, 3, 500_000, 500_000, 70_000] {
            counts.count_key(key, &room).unwrap();
        }
        let mut twice = counts.clone();
        twice.merge(&counts);
        assert_eq!(twice.bins().0, [(3, 4), (70_000, 2), (500_000, 4)]);
        let error = (1 << 20..1 << 21).try_for_each(|key| counts.count_key(key, &room)).unwrap_err();
        assert!(error.to_string().contains("raise -m"), "{error}");
    }
}
