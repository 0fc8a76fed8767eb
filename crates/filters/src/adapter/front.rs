//! Where in a read an adapter may start, told for 64 places at a time.
//!
//! The first bases of an adapter are compared with the read at all places at once: bit `i` of a word is the place
//! `i`, each base of the adapter adds the bits of the places where the read has another one, and the sums, up to four,
//! stand in three words. Almost no place of a read without adapter is left after twelve bases; those that are, are looked
//! at base by base.

/// Bases that are compared at all places.
const FRONT: usize = 12;

/// Places of a word.
const WORD: usize = 64;

/// Mismatches that are told apart: none, one, two, three, more.
const LEVELS: usize = 4;

/// The first bases of one or more adapters.
#[derive(Clone, Debug)]
pub(super) struct Front {
    /// Number of each base, and its code; none where any will do.
    codes: Vec<(u32, u8)>,
    /// How many bases there must be behind a place, for 1, 2, 3 and 4 mismatches to be allowed.
    reach: [usize; LEVELS],
}

/// The number that bits 1 and 2 of a letter make, in either case: A 0, C 1, T 2, G 3.
fn code(base: u8) -> u8 {
    base >> 1 & 3
}

impl Front {
    /// Of adapters that begin with `bases`; so many mismatches are allowed where so many bases are left of the read.
    pub(super) fn new(bases: &[u8], allowed: impl Fn(usize) -> usize, longest: usize) -> Self {
        let codes = (0..).zip(bases).filter(|(_, base)| **base != b'N');
        let codes = codes.map(|(at, &base)| (at, code(base))).collect();
        let reach = std::array::from_fn(|level| {
            (1..=longest).find(|&left| allowed(left) > level).unwrap_or(usize::MAX)
        });
        Front { codes, reach }
    }

    /// The bases that adapters share which one front is made for.
    pub(super) fn of(adapter: &[u8]) -> &[u8] {
        &adapter[..adapter.len().min(FRONT)]
    }

    /// Places of a block of 64 bases at which the adapter may start; `len` is that of the read. No place at which it does is
    /// missing; places behind the end of the read mean nothing.
    pub(super) fn places(&self, stretch: &Stretch, len: usize) -> u64 {
        let (mut ones, mut twos, mut more) = (0u64, 0u64, 0u64);
        for &(at, code) in &self.codes {
            let (near, far) = stretch.others[usize::from(code & 3)];
            let differs = near >> at | far << 1 << (WORD as u32 - 1 - at);
            let carried = ones & differs;
            ones ^= differs;
            let over = twos & carried;
            twos ^= carried;
            more |= over;
        }
        let [one, two, three, four] =
            self.reach.map(|left| up_to((len + 1).saturating_sub(left), stretch.block));
        let few = !(ones | twos) | one & !twos | two & !(ones & twos) | three;
        few & !more | four
    }
}

/// 64 bases of a read, and what follows them.
pub(super) struct Stretch {
    /// Its number: the first base is `block * 64`.
    pub(super) block: usize,
    /// Bases that are not A, C, T and G, here and in the next stretch; behind the end of the read there are none.
    others: [(u64, u64); 4],
    /// The 64 bases alone.
    planes: [u64; 3],
}

impl Stretch {
    /// The stretch with this number; the one behind it, if that has been made, is not made twice.
    pub(super) fn new(bases: &[u8], block: usize, behind: Option<&Stretch>) -> Self {
        let near = planes(bases, block);
        let far = behind.map_or_else(|| planes(bases, block + 1), |behind| behind.planes);
        let others = |[low, high, known]: [u64; 3]| {
            [low | high, !low | high, low | !high, !(low & high)].map(|differs| differs & known)
        };
        let (here, next) = (others(near), others(far));
        let others = std::array::from_fn(|code| (here[code], next[code]));
        Stretch { block, others, planes: near }
    }
}

/// Bits of a block for the first `places` places of a read.
pub(super) fn up_to(places: usize, block: usize) -> u64 {
    match places.saturating_sub(block * WORD) {
        0 => 0,
        some @ 1..WORD => (1 << some) - 1,
        _ => u64::MAX,
    }
}

/// The two bits of the codes of 64 bases, and which of them the read has. What is no base has some code, too: it may look
/// like a base here.
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

/// The lowest bits of eight bytes, side by side: each factor of the product brings one of them to its place, and no two
/// meet.
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
        let front = Front::new(b"ACGTACGTACGT", |left| left / 10, 30);
        let mut read = vec![b'C'; 100];
        read[60..72].copy_from_slice(b"ACGTACGTACGT");
        let places = |read: &[u8]| {
            let behind = Stretch::new(read, 1, None);
            let first = Stretch::new(read, 0, Some(&behind));
            let places =
                |stretch: &Stretch| front.places(stretch, read.len()) & up_to(read.len(), stretch.block);
            (places(&first), places(&behind))
        };
        // At 56, 60 and 64 the front differs in three bases at most, and an adapter of thirty may.
        assert_eq!(places(&read), (1 << 60 | 1 << 56, 1));
        read[61..64].copy_from_slice(b"TTA"); // three of thirty
        assert_eq!(places(&read), (1 << 60, 1));
        assert_eq!(places(&read[..89]), (0, 0), "29 bases are left");
        read[64] = b'T';
        assert_eq!(places(&read), (0, 0));
    }
}
