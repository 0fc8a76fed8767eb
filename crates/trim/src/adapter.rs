//! Adapters by their sequence.

use crate::shifts::Shifts;

/// So many bases that match may have one among them that does not.
const FOR_EACH_OTHER: usize = 8;

/// The read must have more bases than this from the start of an adapter on.
const LEAST: usize = 4;

/// Where an adapter starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdapterStart {
    /// With this base of the read.
    Inside(usize),
    /// Before the read, which lacks so many of its bases, as dimers of adapters do.
    Before(usize),
}

/// Returns where the adapter starts, if it is in the read. Its bases are A, C, G and T, four at least.
pub fn find(read: &[u8], adapter: &[u8], shifts: &mut Shifts) -> Option<AdapterStart> {
    if adapter.len() < LEAST {
        return None;
    }
    let farthest = match adapter.len() {
        16.. => 4,
        12.. => 3,
        8.. => 2,
        _ => 0,
    };
    for lacking in (1..=farthest).rev().filter(|lacking| read.len() + lacking > LEAST) {
        // Bases before the read count as equal.
        let length = (read.len() + lacking).min(adapter.len());
        let rest = adapter.get(lacking..length).unwrap_or_default();
        if is_like(read, rest, length) {
            return Some(AdapterStart::Before(lacking));
        }
    }
    let starts = 0..read.len().saturating_sub(LEAST);
    if starts.is_empty() {
        return None;
    }
    shifts.set(read);
    let most = adapter.len() / FOR_EACH_OTHER;
    let found = shifts.find(adapter, starts, most, |start| {
        let length = (read.len() - start).min(adapter.len());
        is_like(&read[start..], &adapter[..length], length)
    });
    found.map(AdapterStart::Inside)
}

/// Whether a read is like these bases of an adapter, of which so many are compared.
fn is_like(read: &[u8], adapter: &[u8], length: usize) -> bool {
    let differing = read.iter().zip(adapter).filter(|(base, other)| base != other).count();
    differing <= length / FOR_EACH_OTHER
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADAPTER: &[u8] = b"AGATCGGAAGAGCACACGTCTGAACTCCAGTCA";

    fn start(read: &str, adapter: &[u8]) -> Option<AdapterStart> {
        find(read.as_bytes(), adapter, &mut Shifts::default())
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
