//! Finds the places in a read where an adapter may start, 64 places at a time.
//!
//! The first bases of an adapter are compared with the read at all places at once: bit `i` of a word is the
//! place `i`, each base of the adapter adds the bits of the places where the read has another one, and the
//! sums, up to four, are in three words. In a read without adapter, almost no place remains after twelve
//! bases; the remaining ones are compared base by base.

/// Bases that are compared at all places.
const PREFIX: usize = 12;

/// Places of a word.
const WORD: usize = 64;

/// Numbers of mismatches that are distinguished: none, one, two, three, more.
const LEVELS: usize = 4;

/// The first bases of one or more adapters.
#[derive(Clone, Debug)]
pub(super) struct PrefixScan {
    /// Number of each base, and its code; N is left out.
    codes: Vec<(u32, u8)>,
    /// The number of bases after a place at which 1, 2, 3 and 4 mismatches are allowed.
    reach: [usize; LEVELS],
}

/// Returns bits 1 and 2 of a letter, in either case: A 0, C 1, T 2, G 3.
fn code(base: u8) -> u8 {
    base >> 1 & 3
}

impl PrefixScan {
    /// Creates the prefix scan of adapters that begin with `bases`; `allowed` maps the remaining bases of the
    /// read to allowed mismatches.
    pub(super) fn new(bases: &[u8], allowed: impl Fn(usize) -> usize, longest: usize) -> Self {
        let codes = (0..).zip(bases).filter(|(_, base)| **base != b'N');
        let codes = codes.map(|(at, &base)| (at, code(base))).collect();
        let reach = std::array::from_fn(|level| {
            (1..=longest).find(|&left| allowed(left) > level).unwrap_or(usize::MAX)
        });
        PrefixScan { codes, reach }
    }

    /// Returns the prefix of an adapter that a scan uses.
    pub(super) fn of(adapter: &[u8]) -> &[u8] {
        &adapter[..adapter.len().min(PREFIX)]
    }

    /// Returns the places of a block of 64 bases at which the adapter may start; `len` is that of the read.
    /// There are no false negatives; places after the end of the read are undefined.
    pub(super) fn places(&self, block_bases: &BaseBlock, len: usize) -> u64 {
        let (mut ones, mut twos, mut more) = (0u64, 0u64, 0u64);
        for &(at, code) in &self.codes {
            let (near, far) = block_bases.others[usize::from(code & 3)];
            let differs = near >> at | far << 1 << (WORD as u32 - 1 - at);
            let carried = ones & differs;
            ones ^= differs;
            let over = twos & carried;
            twos ^= carried;
            more |= over;
        }
        let [one, two, three, four] =
            self.reach.map(|left| up_to((len + 1).saturating_sub(left), block_bases.block));
        let few = !(ones | twos) | one & !twos | two & !(ones & twos) | three;
        few & !more | four
    }
}

/// 64 bases of a read, and those after them.
pub(super) struct BaseBlock {
    /// Its number: the first base is `block * 64`.
    pub(super) block: usize,
    /// Bases that are not A, C, T and G, here and in the next block; none after the end of the read.
    others: [(u64, u64); 4],
    /// The 64 bases alone.
    planes: [u64; 3],
}

impl BaseBlock {
    /// Makes the block with this number; `behind` is the next one, if it was made already.
    pub(super) fn new(bases: &[u8], block: usize, behind: Option<&BaseBlock>) -> Self {
        let near = planes(bases, block);
        let far = behind.map_or_else(|| planes(bases, block + 1), |behind| behind.planes);
        let others = |[low, high, known]: [u64; 3]| {
            [low | high, !low | high, low | !high, !(low & high)].map(|differs| differs & known)
        };
        let (here, next) = (others(near), others(far));
        let others = std::array::from_fn(|code| (here[code], next[code]));
        BaseBlock { block, others, planes: near }
    }
}

/// Returns the bits of a block for the first `places` places of a read.
pub(super) fn up_to(places: usize, block: usize) -> u64 {
    match places.saturating_sub(block * WORD) {
        0 => 0,
        some @ 1..WORD => (1 << some) - 1,
        _ => u64::MAX,
    }
}

/// Returns the two bits of the codes of 64 bases, and which of them the read has. Other letters have the code
/// of some base.
fn planes(bases: &[u8], block: usize) -> [u64; 3] {
    let Some(rest) = bases.get(block * WORD..).filter(|rest| !rest.is_empty()) else { return [0; 3] };
    let mut padded = [0; WORD];
    let whole = rest.first_chunk().unwrap_or_else(|| {
        padded[..rest.len()].copy_from_slice(rest);
        &padded
    });
    let (mut low, mut high) = (0, 0);
    for (at, letters) in whole.as_chunks().0.iter().enumerate() {
        let letters = u64::from_le_bytes(*letters);
        low |= gather(letters >> 1) << (8 * at);
        high |= gather(letters >> 2) << (8 * at);
    }
    [low, high, up_to(rest.len(), 0)]
}

/// Packs the lowest bits of eight bytes: each factor of the product moves one of them to its place, and no
/// two collide.
fn gather(bytes: u64) -> u64 {
    (bytes & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_letters_come_together() {
        let [low, high, known] = planes(b"ACGTacgtNACG", 0);
        assert_eq!((low & 0xff, high & 0xff, known), (0b0110_0110, 0b1100_1100, 0xfff));
        assert_eq!(planes(b"ACGT", 1), [0; 3]);
    }

    #[test]
    fn places_have_no_more_mismatches_than_allowed() {
        let prefix_scan = PrefixScan::new(b"ACGTACGTACGT", |left| left / 10, 30);
        let mut read = vec![b'C'; 100];
        read[60..72].copy_from_slice(b"ACGTACGTACGT");
        let places = |read: &[u8]| {
            let behind = BaseBlock::new(read, 1, None);
            let first = BaseBlock::new(read, 0, Some(&behind));
            let places = |block_bases: &BaseBlock| {
                prefix_scan.places(block_bases, read.len()) & up_to(read.len(), block_bases.block)
            };
            (places(&first), places(&behind))
        };
        // At 56, 60 and 64 the prefix differs in three bases at most, and an adapter of thirty may.
        assert_eq!(places(&read), (1 << 60 | 1 << 56, 1));
        read[61..64].copy_from_slice(b"TTA"); // three of thirty
        assert_eq!(places(&read), (1 << 60, 1));
        assert_eq!(places(&read[..89]), (0, 0), "29 bases are left");
        read[64] = b'T';
        assert_eq!(places(&read), (0, 0));
    }
}
