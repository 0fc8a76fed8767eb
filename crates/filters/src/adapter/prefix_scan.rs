//! Finds the positions in a read where an adapter may start, 64 positions at a time.
//!
//! The first bases of an adapter are compared with the read at all 64 positions at once:
//!
//! 1. Bit `i` of a word stands for position `i` of the block.
//! 2. For each base of the adapter, [`BaseBlock`] gives a word of the positions at which the read
//!    has a different base.
//! 3. These words are added bit by bit. Two words hold the binary digits of the sums; a third word
//!    marks sums of four or more.
//!
//! In a read without the adapter, almost no position remains after twelve bases. The few that
//! remain are compared base by base (`AdapterSearch::find_starts`).

/// Number of adapter bases that are compared at all positions.
const PREFIX_BASES: usize = 12;

const WORD_BITS: usize = 64;

const MAX_PREFIX_MISMATCHES: usize = 4;

/// A filter for the positions at which an adapter may start. It serves all adapters with the same
/// first twelve bases.
#[derive(Clone, Debug)]
pub(super) struct PrefixScan {
    /// Offset and code of each base of the prefix. N is omitted, because it matches any base.
    codes: Vec<(u32, u8)>,
    /// The minimum number of bases from a position to the end of the read for which 1, 2, 3 and 4
    /// mismatches are allowed; `usize::MAX` if they are never allowed.
    reach: [usize; MAX_PREFIX_MISMATCHES],
}

/// Returns bits 1 and 2 of an ASCII letter, which distinguish the bases in either case: A 0, C 1, T
/// 2, G 3.
fn base_code(base: u8) -> u8 {
    base >> 1 & 3
}

impl PrefixScan {
    /// Creates the filter for adapters that begin with `bases` and have at most `longest` bases.
    /// `allowed` maps a number of remaining bases to the number of allowed mismatches.
    pub(super) fn new(bases: &[u8], allowed: impl Fn(usize) -> usize, longest: usize) -> Self {
        let codes = (0..).zip(bases).filter(|(_, base)| **base != b'N');
        let codes = codes.map(|(at, &base)| (at, base_code(base))).collect();
        let reach = std::array::from_fn(|level| {
            (1..=longest).find(|&left| allowed(left) > level).unwrap_or(usize::MAX)
        });
        PrefixScan { codes, reach }
    }

    pub(super) fn prefix_of(adapter: &[u8]) -> &[u8] {
        &adapter[..adapter.len().min(PREFIX_BASES)]
    }

    /// Returns the positions of a block at which an adapter may start, as bits. `len` is the length
    /// of the read.
    ///
    /// No true position is missed. Bits of positions after the end of the read are undefined.
    pub(super) fn possible_starts(&self, block_bases: &BaseBlock, len: usize) -> u64 {
        let (mut ones, mut twos, mut more) = (0u64, 0u64, 0u64);
        for &(at, code) in &self.codes {
            let (near, far) = block_bases.others[usize::from(code & 3)];
            let differs = near >> at | far << 1 << (WORD_BITS as u32 - 1 - at);
            let carried = ones & differs;
            ones ^= differs;
            let over = twos & carried;
            twos ^= carried;
            more |= over;
        }
        let [one, two, three, four] =
            self.reach.map(|left| mask_up_to((len + 1).saturating_sub(left), block_bases.block));
        let few = !(ones | twos) | one & !twos | two & !(ones & twos) | three;
        few & !more | four
    }
}

/// 64 bases of a read, together with the next 64 bases: a prefix that starts near the end of the
/// block extends into these.
pub(super) struct BaseBlock {
    pub(super) block: usize,
    /// For each base code, the positions with a different base, in this block and in the next one.
    /// Bits of positions after the end of the read are 0.
    others: [(u64, u64); 4],
    planes: [u64; 3],
}

impl BaseBlock {
    /// Creates the block with this index. Blocks are created from the end of the read to its start,
    /// so `behind` is the next block, if it exists already.
    pub(super) fn new(bases: &[u8], block: usize, behind: Option<&BaseBlock>) -> Self {
        let near = make_code_planes(bases, block);
        let far = behind.map_or_else(|| make_code_planes(bases, block + 1), |behind| behind.planes);
        let others = |[low, high, known]: [u64; 3]| {
            [low | high, !low | high, low | !high, !(low & high)].map(|differs| differs & known)
        };
        let (here, next) = (others(near), others(far));
        let others = std::array::from_fn(|code| (here[code], next[code]));
        BaseBlock { block, others, planes: near }
    }
}

/// Returns a word in which the bits of those positions of the block are set that are among the
/// first `places` of the read.
pub(super) fn mask_up_to(places: usize, block: usize) -> u64 {
    match places.saturating_sub(block * WORD_BITS) {
        0 => 0,
        some @ 1..WORD_BITS => (1 << some) - 1,
        _ => u64::MAX,
    }
}

/// Returns two words with the code bits of 64 bases, and a third word that marks the positions
/// within the read. Letters other than A, C, G and T get the code of one of these; the exact
/// comparison counts them as mismatches later.
fn make_code_planes(bases: &[u8], block: usize) -> [u64; 3] {
    let Some(rest) = bases.get(block * WORD_BITS..).filter(|rest| !rest.is_empty()) else {
        return [0; 3];
    };
    let mut padded = [0; WORD_BITS];
    let whole = rest.first_chunk().unwrap_or_else(|| {
        padded[..rest.len()].copy_from_slice(rest);
        &padded
    });
    let (mut low, mut high) = (0, 0);
    for (at, letters) in whole.as_chunks().0.iter().enumerate() {
        let letters = u64::from_le_bytes(*letters);
        low |= gather_low_bits(letters >> 1) << (8 * at);
        high |= gather_low_bits(letters >> 2) << (8 * at);
    }
    [low, high, mask_up_to(rest.len(), 0)]
}

/// Packs the lowest bits of eight bytes into one byte. Each bit of the factor moves one of them to
/// its place, without collisions.
fn gather_low_bits(bytes: u64) -> u64 {
    (bytes & 0x0101_0101_0101_0101).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_letters_come_together() {
        let [low, high, known] = make_code_planes(b"ACGTacgtNACG", 0);
        assert_eq!((low & 0xff, high & 0xff, known), (0b0110_0110, 0b1100_1100, 0xfff));
        assert_eq!(make_code_planes(b"ACGT", 1), [0; 3]);
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
                prefix_scan.possible_starts(block_bases, read.len())
                    & mask_up_to(read.len(), block_bases.block)
            };
            (places(&first), places(&behind))
        };
        // At 56, 60 and 64, the prefix has at most three mismatches, as many as an adapter of thirty
        // bases may have.
        assert_eq!(places(&read), (1 << 60 | 1 << 56, 1));
        read[61..64].copy_from_slice(b"TTA"); // three of thirty
        assert_eq!(places(&read), (1 << 60, 1));
        assert_eq!(places(&read[..89]), (0, 0), "29 bases are left");
        read[64] = b'T';
        assert_eq!(places(&read), (0, 0));
    }
}
