//! Finds the adapter in a read by its sequence, by fastp's rules.
//!
//! Used for single reads, and for pairs whose overlap does not show where the adapter starts. One
//! mismatch is allowed per eight compared bases.

use crate::shifts::Shifts;

/// One mismatch is allowed per this many compared bases.
const BASES_PER_MISMATCH: usize = 8;

/// Minimum length of an adapter. A match must start more than this many bases before the end of the
/// read.
const MIN_ADAPTER_BASES: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterStart {
    /// The 0-based index of the adapter's first base in the read.
    Inside(usize),
    /// The adapter starts before the read, which lacks the adapter's first N bases. Typical of
    /// adapter dimers.
    Before(usize),
}

/// Returns where the adapter starts, or `None` if the read does not contain it.
///
/// Matches that start before the read are tried first, with up to 4 missing bases (fewer for
/// adapters shorter than 16 bases). An adapter shorter than four bases is never found. `shifts` is
/// scratch memory.
pub fn find_adapter(read: &[u8], adapter: &[u8], shifts: &mut Shifts) -> Option<AdapterStart> {
    if adapter.len() < MIN_ADAPTER_BASES {
        return None;
    }
    let farthest = match adapter.len() {
        16.. => 4,
        12.. => 3,
        8.. => 2,
        _ => 0,
    };
    for lacking in (1..=farthest).rev().filter(|lacking| read.len() + lacking > MIN_ADAPTER_BASES) {
        // fastp counts the missing bases as equal, so they raise the number of allowed mismatches.
        let length = (read.len() + lacking).min(adapter.len());
        let rest = adapter.get(lacking..length).unwrap_or_default();
        if starts_like_adapter(read, rest, length) {
            return Some(AdapterStart::Before(lacking));
        }
    }
    let starts = 0..read.len().saturating_sub(MIN_ADAPTER_BASES);
    if starts.is_empty() {
        return None;
    }
    shifts.set_text(read);
    let max_mismatches = adapter.len() / BASES_PER_MISMATCH;
    let found = shifts.find_shift(adapter, starts, max_mismatches, |start| {
        let length = (read.len() - start).min(adapter.len());
        starts_like_adapter(&read[start..], &adapter[..length], length)
    });
    found.map(AdapterStart::Inside)
}

/// Returns whether the read starts with `adapter`, allowing one mismatch per eight of `length`
/// bases.
fn starts_like_adapter(read: &[u8], adapter: &[u8], length: usize) -> bool {
    let differing = read.iter().zip(adapter).filter(|(base, other)| base != other).count();
    differing <= length / BASES_PER_MISMATCH
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADAPTER: &[u8] = b"AGATCGGAAGAGCACACGTCTGAACTCCAGTCA";

    fn start(read: &str, adapter: &[u8]) -> Option<AdapterStart> {
        find_adapter(read.as_bytes(), adapter, &mut Shifts::default())
    }

    #[test]
    fn an_adapter_may_differ_in_one_of_eight_bases() {
        // The example of fastp's own test.
        let read = "TTTTAACCCCCCCCCCCCCCCCCCCCCCCCCCCCAATTTTAAAATTTTCCCCGGGG";
        assert_eq!(start(read, b"TTTTCCACGGGGATACTACTG"), Some(AdapterStart::Inside(44)));
        assert_eq!(start("CCTTGACAGATCGGAAG", ADAPTER), Some(AdapterStart::Inside(7)));
        assert_eq!(start("CCTTGACAGATCGCAAG", ADAPTER), Some(AdapterStart::Inside(7)));
        assert_eq!(start("CCTTGACAGATAGCAAG", ADAPTER), None);
    }

    #[test]
    fn more_than_four_bases_are_needed() {
        assert_eq!(start("CCTTGACAGATC", ADAPTER), Some(AdapterStart::Inside(7)));
        assert_eq!(start("CCTTGACAGAT", ADAPTER), None);
        assert_eq!(start("", ADAPTER), None);
        assert_eq!(start("CCTTGACAGATC", b"AGA"), None);
    }

    #[test]
    fn dimers_may_lack_the_first_bases() {
        assert_eq!(start("GATCGGAAGAGCACACGT", ADAPTER), Some(AdapterStart::Before(1)));
        assert_eq!(start("CGGAAGAGCACACGTCTG", ADAPTER), Some(AdapterStart::Before(4)));
        assert_eq!(start("GGAAGAGCACACGTCTGA", ADAPTER), None);
        assert_eq!(start("TCGGAAG", b"AGATCGGA"), None, "two at most, of eight bases");
    }
}
