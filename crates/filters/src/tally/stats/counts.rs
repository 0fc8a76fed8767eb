//! Named counters, and histograms that grow.

/// The counters that a read adds to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Count {
    Secondary,
    Supplementary,
    /// First segments, and reads that are not paired.
    First,
    Last,
    /// Segments that are neither, or both.
    Other,
    Unmapped,
    MappedAlone,
    MappedInPair,
    Proper,
    Paired,
    Duplicates,
    QcFailed,
    MapqZero,
    OtherContig,
    Bases,
    FirstBases,
    LastBases,
    DuplicateBases,
    MappedBases,
    CigarBases,
}

/// Counts by name.
#[derive(Clone, Debug, Default)]
pub(super) struct NamedCounts([u64; Count::CigarBases as usize + 1]);

impl NamedCounts {
    pub fn add(&mut self, count: Count, n: u64) {
        self.0[count as usize] += n;
    }

    pub fn of(&self, count: Count) -> u64 {
        self.0[count as usize]
    }

    pub fn merge(&mut self, from: &NamedCounts) {
        for (into, from) in self.0.iter_mut().zip(from.0) {
            *into += from;
        }
    }
}

/// Numbers by index; missing ones are 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram(Vec<u64>);

impl Histogram {
    pub fn add(&mut self, index: usize) {
        if index >= self.0.len() {
            self.0.resize((index + 1).next_power_of_two(), 0);
        }
        self.0[index] += 1;
    }

    pub fn of(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }

    pub fn merge(&mut self, mut from: Histogram) {
        if from.0.len() > self.0.len() {
            std::mem::swap(self, &mut from);
        }
        for (into, from) in self.0.iter_mut().zip(from.0) {
            *into += from;
        }
    }

    /// Returns the numbers that are not 0, by index.
    pub fn counted(&self) -> impl Iterator<Item = (usize, u64)> {
        self.0.iter().copied().enumerate().filter(|&(_, count)| count > 0)
    }
}
