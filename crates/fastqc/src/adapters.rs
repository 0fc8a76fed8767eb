//! Finds adapters in reads by their first twelve bases, like FastQC.
//!
//! A filter with two bits per base finds the positions whose first eight bases may be those of an
//! adapter; only there are all twelve letters compared. The filter uses byte operations on adjacent
//! positions, which the compiler vectorises.

pub(crate) const ADAPTERS: [(&str, &[u8; ADAPTER_BASES]); 5] = [
    ("Illumina Universal Adapter", b"AGATCGGAAGAG"),
    ("Illumina Small RNA 3' Adapter", b"TGGAATTCTCGG"),
    ("Illumina Small RNA 5' Adapter", b"GATCGTCGGACT"),
    ("Nextera Transposase Sequence", b"CTGTCTCTTATA"),
    ("SOLID Small RNA Adapter", b"CGCCTTGGCCGT"),
];

pub(crate) const ADAPTER_BASES: usize = 12;

const WINDOW_BASES: usize = 512;

/// Two-bit codes of bases 1 to 4 and of bases 5 to 8 of each adapter.
const ADAPTER_CODES: [[u8; 2]; ADAPTERS.len()] = {
    let (mut codes, mut n) = ([[0; 2]; ADAPTERS.len()], 0);
    while n < ADAPTERS.len() {
        let mut at = 0;
        while at < 8 {
            codes[n][at / 4] |= base_code(ADAPTERS[n].1[at]) << (2 * (at % 4));
            at += 1;
        }
        n += 1;
    }
    codes
};

/// Returns a two-bit code that differs for A, C, G and T. Other letters share a code with one of
/// them.
const fn base_code(letter: u8) -> u8 {
    letter >> 1 & 3
}

pub(crate) struct AdapterFinder {
    fours: [u8; WINDOW_BASES],
    found: [u8; WINDOW_BASES],
}

impl Default for AdapterFinder {
    fn default() -> Self {
        AdapterFinder { fours: [0; WINDOW_BASES], found: [0; WINDOW_BASES] }
    }
}

impl AdapterFinder {
    /// Calls `each` with the index of each adapter in the read and the position (0-based) of its
    /// first occurrence.
    #[inline]
    pub fn find_adapters(&mut self, bases: &[u8], mut each: impl FnMut(usize, usize)) {
        let (mut from, mut seen) = (0, [false; ADAPTERS.len()]);
        while from + ADAPTER_BASES <= bases.len() {
            let window = &bases[from..bases.len().min(from + WINDOW_BASES)];
            if self.mark_candidates(window) {
                let places = (self.found.iter().zip(window.windows(ADAPTER_BASES))).enumerate();
                for (at, (_, start)) in places.filter(|(_, (found, _))| **found != 0) {
                    for (number, (_, adapter)) in ADAPTERS.iter().enumerate() {
                        if !seen[number] && start == *adapter {
                            seen[number] = true;
                            each(number, from + at);
                        }
                    }
                }
            }
            from += WINDOW_BASES - ADAPTER_BASES + 1;
        }
    }

    /// Marks in `found` the positions where eight bases have the codes of an adapter. Returns
    /// whether there are any.
    #[inline]
    fn mark_candidates(&mut self, window: &[u8]) -> bool {
        let places = window.len() + 1 - ADAPTER_BASES;
        let (fours, found) = (&mut self.fours[..places + 4], &mut self.found[..places]);
        let shifted = window[1..].iter().zip(&window[2..]).zip(&window[3..]);
        for (four, (a, ((b, c), d))) in fours.iter_mut().zip(window.iter().zip(shifted)) {
            *four = base_code(*a) | base_code(*b) << 2 | base_code(*c) << 4 | base_code(*d) << 6;
        }
        let mut any = 0;
        for ((found, first), next) in found.iter_mut().zip(&*fours).zip(&fours[4..]) {
            let mut is_one = 0;
            for [wanted, then] in ADAPTER_CODES {
                is_one |= u8::from(*first == wanted) & u8::from(*next == then);
            }
            *found = is_one;
            any |= is_one;
        }
        any != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(read: &[u8]) -> Vec<(usize, usize)> {
        let (mut found, mut finder) = (Vec::new(), AdapterFinder::default());
        finder.find_adapters(read, |adapter, at| found.push((adapter, at)));
        found.sort_unstable();
        found
    }

    #[test]
    fn adapters_are_found_where_they_start_first() {
        assert_eq!(found(b""), []);
        assert_eq!(found(b"AGATCGGAAGA"), []);
        assert_eq!(found(b"AGATCGGAAGAG"), [(0, 0)]);
        assert_eq!(found(b"AAGATCGGAAGAGAGATCGGAAGAG"), [(0, 1)]);
        assert_eq!(found(b"AAGATCGGAANAGCTGTCTCTTATA"), [(3, 13)]);
        assert_eq!(found(b"ANATCGGAAGAGAAAAAAAAAA"), [], "N has the code of G");
        for at in [0, 490, 499, 500, 501, 502, 511, 512, 1003, 1988] {
            let mut read = vec![b'T'; 2000];
            read[at..at + ADAPTER_BASES].copy_from_slice(ADAPTERS[2].1);
            assert_eq!(found(&read), [(2, at)]);
        }
    }
}
