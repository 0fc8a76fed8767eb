//! Finds the base at which an adapter starts in a read: a fast scan finds possible positions, and
//! an exact comparison checks each of them.

use super::Stringency;
use super::prefix_scan::{BaseBlock, PrefixScan, mask_up_to};

/// The distinct adapter sequences of read 1 or read 2.
#[derive(Clone, Debug)]
pub(super) struct AdapterSearch {
    sequences: Vec<Vec<u8>>,
    scans: Vec<(PrefixScan, Vec<usize>)>,
    stringency: Stringency,
}

impl AdapterSearch {
    /// Creates a search for these sequences, which must not be empty. Also returns, for each adapter, the index of its sequence, because several adapters may share a sequence.
    pub(super) fn new<'a>(
        adapters: impl Iterator<Item = &'a [u8]>,
        stringency: Stringency,
    ) -> (Self, Vec<usize>) {
        let mut sequences: Vec<Vec<u8>> = Vec::new();
        let number = |adapter: &[u8]| {
            sequences.iter().position(|known| known == adapter).unwrap_or_else(|| {
                sequences.push(adapter.to_vec());
                sequences.len() - 1
            })
        };
        let numbers = adapters.map(number).collect();
        let mut shared: Vec<(&[u8], Vec<usize>)> = Vec::new();
        for (number, sequence) in sequences.iter().enumerate() {
            let prefix_scan = PrefixScan::prefix_of(sequence);
            match shared.iter_mut().find(|(known, _)| *known == prefix_scan) {
                Some((_, numbers)) => numbers.push(number),
                None => shared.push((prefix_scan, vec![number])),
            }
        }
        let prefix_scan = |(bases, numbers): (&[u8], Vec<usize>)| {
            let longest = numbers.iter().map(|&number| sequences[number].len()).max().unwrap_or(0);
            (PrefixScan::new(bases, |left| stringency.max_mismatches(left), longest), numbers)
        };
        let scans = shared.into_iter().map(prefix_scan).collect();
        (AdapterSearch { sequences, scans, stringency }, numbers)
    }

    /// Writes to `found`, for each sequence, the last position at which the read matches the
    /// adapter up to the end of the read or of the adapter. Positions are 0-based; `None` if there
    /// is no match. (Picard 3.4.0, `ClippingUtility.findIndexOfClipSequence`.)
    pub(super) fn find_starts(&self, bases: &[u8], found: &mut Vec<Option<usize>>) {
        found.clear();
        found.resize(self.sequences.len(), None);
        let Some(last) = bases.len().checked_sub(self.stringency.min_bases) else { return };
        let mut behind = None;
        for block in (0..=last / 64).rev() {
            let block_bases = BaseBlock::new(bases, block, behind.as_ref());
            for (prefix_scan, numbers) in &self.scans {
                let mut places =
                    prefix_scan.possible_starts(&block_bases, bases.len()) & mask_up_to(last + 1, block);
                while places != 0 {
                    let bit = places.ilog2() as usize;
                    places ^= 1 << bit;
                    let start = block * 64 + bit;
                    for &number in numbers {
                        if found[number].is_none() && self.is_adapter(&bases[start..], number) {
                            found[number] = Some(start);
                        }
                    }
                }
            }
            behind = Some(block_bases);
        }
    }

    /// Returns whether the rest of a read matches an adapter with at most the allowed mismatches. N
    /// in the adapter matches any base; N in the read is a mismatch.
    fn is_adapter(&self, rest: &[u8], number: usize) -> bool {
        let adapter = &self.sequences[number];
        let mut allowed = self.stringency.max_mismatches(rest.len().min(adapter.len()));
        rest.iter().zip(adapter).all(|(base, &wanted)| {
            if wanted == b'N' || base.to_ascii_uppercase() == wanted {
                return true;
            }
            let is_allowed = allowed > 0;
            allowed = allowed.saturating_sub(1);
            is_allowed
        })
    }
}

#[cfg(test)]
mod tests {
    use readmill_simulate::Rng;

    use super::*;

    /// Finds the last start of the adapter by comparing letters, without bit words.
    fn find_start_by_letters(bases: &[u8], adapter: &[u8], stringency: Stringency) -> Option<usize> {
        let last = bases.len().checked_sub(stringency.min_bases)?;
        (0..=last).rev().find(|&start| {
            let compared = bases[start..].iter().zip(adapter);
            let differ = compared.filter(|(a, b)| **b != b'N' && a.to_ascii_uppercase() != **b).count();
            let length = adapter.len().min(bases.len() - start);
            differ <= (length as f64 * stringency.error_rate) as usize
        })
    }

    #[test]
    fn words_find_what_letters_find() {
        let mut random = Rng::new(7);
        let mut below = |bound: usize| random.index(bound);
        let mut hits = 0;
        for round in 0..20_000 {
            let letters: &[u8] = [&b"ACGT"[..], b"AC", b"ACGTNacgtn.R"][round % 3];
            let adapters: Vec<Vec<u8>> = (0..1 + below(3))
                .map(|_| {
                    let mut adapter: Vec<u8> = (0..1 + below(40)).map(|_| b"ACGTN"[below(5)]).collect();
                    let same = adapter.len().min(1 + below(3));
                    adapter[..same].fill(b'A');
                    if below(2) == 0 {
                        b"ACGTACGTACGTA".iter().copied().chain(adapter).collect()
                    } else {
                        adapter
                    }
                })
                .collect();
            let error_rate = [0.0, 0.1, 0.07, 0.25, 0.5, 1.0][below(6)];
            let stringency = Stringency { min_bases: 1 + below(14), error_rate };
            let mut read: Vec<u8> = (0..below(200)).map(|_| letters[below(letters.len())]).collect();
            if below(3) > 0 {
                read.extend_from_slice(&adapters[0]);
                read.extend((0..below(70)).map(|_| letters[below(letters.len())]));
                for _ in 0..below(4) {
                    let at = below(read.len());
                    read[at] = letters[below(letters.len())];
                }
            }
            read.truncate(below(220));
            let (search, numbers) = AdapterSearch::new(adapters.iter().map(Vec::as_slice), stringency);
            let mut found = Vec::new();
            search.find_starts(&read, &mut found);
            for (adapter, number) in adapters.iter().zip(numbers) {
                let wanted = find_start_by_letters(&read, adapter, stringency);
                assert_eq!(found[number], wanted, "{round}: {} in {}", text(adapter), text(&read));
                hits += usize::from(wanted.is_some());
            }
        }
        assert!(hits > 5_000, "{hits}");
    }

    fn text(bases: &[u8]) -> String {
        String::from_utf8_lossy(bases).into_owned()
    }
}
