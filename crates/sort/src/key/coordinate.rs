//! Keys by position.
//!
//! [`Coordinate`] orders records as `samtools sort` does (`bam_sort.c` of samtools 1.24): by
//! reference sequence (records without one are last), then position, then strand (forward first).
//! Neither the name nor any other FLAG bit is compared, not even whether a read is mapped.
//!
//! [`Minimisers`] orders records as `samtools sort -M` does with its default options: reads without
//! a reference sequence are sorted by their smallest k-mer (20 bases, either strand, homopolymers
//! not collapsed), so that reads with a common sequence become neighbours and compress well.
//! [`Minimise`] also edits these reads: if the smallest k-mer is on the reverse strand, the read is
//! reverse complemented and its FLAG changed. All of them lose both positions and the template
//! length. Keys are computed before this edit.

use readmill_record::{Batch, Changes, Flags, Header, RecordRef, Result, Step, edit};

use super::bits::{Bits, bits_needed};

/// Number of bits for a position plus 1 (at most 2^31) and the strand.
const POSITION_BITS: u32 = 33;

/// Encodes reference sequence, position and strand of a record as one number that has the sort
/// order.
#[derive(Clone, Copy)]
pub struct Coordinate {
    n_ref: u32,
    bits: u32,
}

impl Coordinate {
    pub fn new(header: &Header) -> Self {
        let n_ref = header.n_ref().cast_unsigned();
        Coordinate { n_ref, bits: POSITION_BITS + bits_needed(u64::from(n_ref)) }
    }

    /// Returns the sort key of the record: reference ID (at most 31 bits), 1-based position,
    /// reverse strand. Records without a reference sequence get the number of reference sequences
    /// as their ID.
    #[inline]
    pub fn sort_number(self, record: RecordRef<'_>) -> u64 {
        let id = u32::try_from(record.ref_id()).unwrap_or(self.n_ref);
        let position = (i64::from(record.pos()) + 1).cast_unsigned();
        u64::from(id) << POSITION_BITS | position << 1 | u64::from(record.flags().is_reverse())
    }

    pub fn put_position(self, record: RecordRef<'_>, key: &mut impl Bits) {
        key.put_bits(self.sort_number(record), self.bits);
    }
}

const KMER_BASES: usize = 20;
const KMER_BITS: u64 = (1 << (2 * KMER_BASES)) - 1;

/// XORed with each k-mer, so that homopolymers are not the smallest k-mers.
const KMER_MASK: u64 = 0xdead_7878_beef_7878 & KMER_BITS;

/// Added to k-mers, so that -1, the value of a read without a k-mer, sorts before all others.
const LEAD: u64 = 1 << 30;

/// Place value of a k-mer that starts at the first base. Each later start is one less, down to 0.
const FIRST_BASE_PLACE: i64 = 65535;

const MAX_PLACE: i64 = FIRST_BASE_PLACE + KMER_BASES as i64 - 1;

#[derive(Clone, Copy)]
pub struct Minimisers {
    coordinate: Coordinate,
    n_ref: u64,
}

impl Minimisers {
    pub fn new(header: &Header) -> Self {
        let n_ref = u64::from(header.n_ref().cast_unsigned());
        Minimisers { coordinate: Coordinate::new(header), n_ref }
    }

    pub fn put_key(self, record: RecordRef<'_>, key: &mut impl Bits) {
        if record.ref_id() >= 0 {
            return self.coordinate.put_position(record, key);
        }
        let found = Minimiser::find_smallest(record);
        key.put_bits(self.n_ref, bits_needed(self.n_ref));
        key.put_bits(found.kmer.wrapping_add(LEAD), 2 * KMER_BASES as u32 + 1);
        let place = (FIRST_BASE_PLACE - found.place).max(0);
        key.put_bits((MAX_PLACE - place).cast_unsigned(), bits_needed(MAX_PLACE as u64));
        key.put_bits(u64::from(record.flags().is_reverse() != found.reverse), 1);
    }
}

/// Appends `record` to `out`, edited as `samtools sort -M` does. Reads with a reference sequence
/// are copied unchanged.
fn append_minimised(record: RecordRef<'_>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(record.raw());
    if record.ref_id() >= 0 {
        return;
    }
    let raw = &mut out[start..];
    if Minimiser::find_smallest(record).reverse {
        reverse_complement(record, raw);
        edit::set_flags(raw, record.flags().0 ^ Flags::REVERSE);
    }
    raw[8..12].copy_from_slice(&(-1i32).to_le_bytes()); // position
    edit::set_next_pos(raw, -1);
    edit::set_tlen(raw, 0);
}

#[derive(Debug, PartialEq, Eq)]
struct Minimiser {
    /// The k-mer, two bits per base, XORed with [`KMER_MASK`]. All bits are 1 (-1 in samtools) if
    /// the read is shorter than a k-mer.
    kmer: u64,
    /// 0-based offset of the k-mer's first base, counted on the k-mer's own strand.
    place: i64,
    reverse: bool,
}

impl Minimiser {
    /// Finds the smallest k-mer of a read: the leftmost in SEQ if it occurs several times. The
    /// reverse strand is used only if its k-mer is smaller.
    fn find_smallest(record: RecordRef<'_>) -> Self {
        let (seq, length) = (record.seq(), record.l_seq());
        let none = Minimiser { kmer: u64::MAX, place: 1 - KMER_BASES as i64, reverse: false };
        let (mut forward, mut reverse) = (0, 0);
        let (mut min_forward, mut min_reverse) =
            (none, Minimiser { kmer: u64::MAX, place: 0, reverse: true });
        for i in 0..length {
            let base = usize::from(seq[i / 2] >> (4 * (1 - i % 2)) & 15);
            forward = (forward << 2 | NUMBER[base]) & KMER_BITS;
            reverse = reverse >> 2 | COMPLEMENT_NUMBER[base] << (2 * (KMER_BASES - 1));
            if i + 1 < KMER_BASES {
                continue;
            }
            let (there, here) = (reverse ^ KMER_MASK, forward ^ KMER_MASK);
            if here < min_forward.kmer {
                min_forward =
                    Minimiser { kmer: here, place: (i + 1 - KMER_BASES) as i64, reverse: false };
            }
            if there < min_reverse.kmer {
                let place = (length - 1 - i) as i64;
                min_reverse = Minimiser { kmer: there, place, reverse: true };
            }
        }
        if min_reverse.kmer < min_forward.kmer { min_reverse } else { min_forward }
    }
}

/// Two-bit codes of the base codes `=ACMGRSVTWYHKDBN` (SAM specification, section 4.2). All codes
/// except A, C, G and T count as A.
const NUMBER: [u64; 16] = [0, 0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0];

const COMPLEMENT_NUMBER: [u64; 16] = [0, 3, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Complements of the base codes as in samtools 1.24: `=` becomes N, and Y stays Y.
const COMPLEMENT: [u8; 16] = [15, 8, 4, 12, 2, 10, 6, 14, 1, 9, 10, 13, 3, 11, 7, 15];

fn reverse_complement(record: RecordRef<'_>, raw: &mut [u8]) {
    let (seq, length) = (record.seq(), record.l_seq());
    let quals = record.fields_start() - length;
    let seqs = quals - seq.len();
    for i in 0..length {
        let from = length - 1 - i;
        let base = COMPLEMENT[usize::from(seq[from / 2] >> (4 * (1 - from % 2)) & 15)];
        let into = &mut raw[seqs + i / 2];
        *into = if i % 2 == 0 { base << 4 | *into & 15 } else { *into & 0xf0 | base };
    }
    raw[quals..quals + length].reverse();
}

/// Edits reads without a reference sequence as `samtools sort -M` does. This step must run after
/// the sort, because keys are computed from the unedited records.
#[derive(Clone, Copy, Default)]
pub struct Minimise;

impl Step for Minimise {
    fn name(&self) -> &'static str {
        "minhash"
    }

    fn fork_for_thread(&self) -> Box<dyn Step> {
        Box::new(*self)
    }

    fn changes(&self) -> Changes {
        let Changes { reads, tags, .. } = Changes::nothing();
        Changes { reads, tags, flags: true, alignment: true, bases: true, qualities: true }
    }

    fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        if batch.records().all(|(_, record)| record.ref_id() >= 0) {
            return Ok(());
        }
        batch.rewrite_records(|_, record, out| {
            append_minimised(record, out);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TestRead, header};
    use super::super::{Key, Keyer, Order};
    use super::*;

    #[test]
    fn reference_then_position_then_strand_and_none_last() {
        let coordinate = Coordinate::new(&header(3));
        let in_order = [
            (0, -1, 0x10),
            (0, 0, 0x4),
            (0, 0, 0x10),
            (0, i32::MAX, 0x10),
            (2, 5, 0),
            (-1, -1, 0x4),
            (-1, -1, 0x14),
            (-1, 0, 0),
        ];
        let numbers: Vec<u64> = in_order
            .iter()
            .map(|&(ref_id, pos, flags)| {
                let raw = TestRead { ref_id, pos, flags, ..TestRead::default() }.raw();
                coordinate.sort_number(RecordRef::new(&raw))
            })
            .collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:x?}");
        assert_eq!(numbers[4], 2 << 33 | 6 << 1);
    }

    fn unplaced(bases: &str, flags: u16) -> Vec<u8> {
        let mut raw = TestRead { ref_id: -1, pos: 70, next_pos: 9, flags, ..TestRead::default() }.raw();
        raw[20..24].copy_from_slice(&(bases.len() as u32).to_le_bytes());
        raw[32..36].copy_from_slice(&77i32.to_le_bytes());
        let code = |base: &u8| readmill_record::bases::CODES[usize::from(*base)];
        for pair in bases.as_bytes().chunks(2) {
            raw.push(code(&pair[0]) << 4 | pair.get(1).map_or(0, code));
        }
        raw.extend(0..bases.len() as u8);
        edit::set_block_size(&mut raw, 0);
        raw
    }

    fn bases(record: RecordRef<'_>) -> String {
        let base = |i: usize| record.seq()[i / 2] >> (4 * (1 - i % 2)) & 15;
        (0..record.l_seq())
            .map(|i| char::from(readmill_record::bases::LETTERS[usize::from(base(i))]))
            .collect()
    }

    fn key(raw: &[u8]) -> Key {
        let keyer = Keyer::new(Order::Minhash, &header(3));
        keyer.key(RecordRef::new(raw)).unwrap()
    }

    /// The 20-mer that equals [`KMER_MASK`] (0x78beef7878) with two bits per base, so its XOR with
    /// the mask is 0.
    const SMALLEST: &str = "CTGAGTTGTGTTCTGACTGA";

    #[test]
    fn the_smallest_kmer_is_found_on_either_strand() {
        let found = |bases: &str| Minimiser::find_smallest(RecordRef::new(&unplaced(bases, 0)));
        let at = |kmer, place, reverse| Minimiser { kmer, place, reverse };
        assert_eq!(found(SMALLEST), at(0, 0, false));
        assert_eq!(found(&format!("ACC{SMALLEST}{SMALLEST}")), at(0, 3, false));
        assert_eq!(found("TCAGTCAGAACACAACTCAG"), at(0, 0, true));
        assert_eq!(found("TCAGTCAGAACACAACTCAGAC"), at(0, 2, true));
        assert_eq!(found("TCAGTCAGAACACAACTCAGTCAGTCAGAACACAACTCAG"), at(0, 20, true));
        assert_eq!(found(&SMALLEST[1..]), at(u64::MAX, -19, false));
        assert_eq!(found(""), at(u64::MAX, -19, false));
    }

    #[test]
    fn a_read_is_turned_to_the_strand_of_its_kmer() {
        let (mut out, raw) = (vec![1], unplaced("=MRYTCAGTCAGAACACAACTCAGNV", 0x14));
        append_minimised(RecordRef::new(&raw), &mut out);
        let edited = RecordRef::new(&out[1..]);
        assert_eq!(bases(edited), "BNCTGAGTTGTGTTCTGACTGAYYKN");
        assert_eq!(edited.qual(), (0..26).rev().collect::<Vec<u8>>());
        assert_eq!((edited.flags().0, edited.pos(), edited.next_pos(), edited.tlen()), (0x4, -1, -1, 0));
        assert_eq!(RecordRef::check(&out[1..], 3), Ok(()));

        let raw = unplaced(SMALLEST, 0x10);
        let mut out = Vec::new();
        append_minimised(RecordRef::new(&raw), &mut out);
        assert_eq!((bases(RecordRef::new(&out)), out[18]), (SMALLEST.to_string(), 0x10));

        let mut odd = unplaced("TCAGTCAGAACACAACTCAGA", 0);
        odd[38 + 10] |= 5; // the unused half of the last byte is kept
        let mut out = Vec::new();
        append_minimised(RecordRef::new(&odd), &mut out);
        assert_eq!((bases(RecordRef::new(&out)), out[48] & 15), (format!("T{SMALLEST}"), 5));

        let placed = TestRead { pos: 70, next_pos: 9, ..TestRead::default() }.raw();
        let mut out = Vec::new();
        append_minimised(RecordRef::new(&placed), &mut out);
        assert_eq!(out, placed);
    }

    #[test]
    fn unplaced_reads_follow_placed_ones_and_earlier_kmers_come_first() {
        let late = TestRead { ref_id: 2, pos: i32::MAX, flags: 0x10, ..TestRead::default() }.raw();
        let in_order = [
            late,
            unplaced("ACGT", 0),
            unplaced("AC", 0x10),
            unplaced(&format!("A{SMALLEST}"), 0),
            unplaced("TCAGTCAGAACACAACTCAGA", 0), // on the other strand
            unplaced(&format!("AA{SMALLEST}"), 0),
            unplaced("TTTTTTTTTTTTTTTTTTTT", 0x10),
        ];
        let keys: Vec<Key> = in_order.iter().map(|raw| key(raw)).collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:x?}");
        assert!(keys.iter().all(|key| key.is_decided()));
    }

    #[test]
    fn beyond_a_length_places_are_alike() {
        let far = |n: usize| format!("{}{SMALLEST}", "A".repeat(n));
        let key = |n| {
            let (bases, mut head) = (far(n), super::super::bits::KeyHead::default());
            let raw = long(&bases);
            Minimisers::new(&header(1)).put_key(RecordRef::new(&raw), &mut head);
            head.key()
        };
        assert!(key(65534) < key(65535));
        assert_eq!(key(65535), key(65600));
    }

    fn long(bases: &str) -> Vec<u8> {
        let mut raw = TestRead { ref_id: -1, ..TestRead::default() }.raw();
        raw[20..24].copy_from_slice(&(bases.len() as u32).to_le_bytes());
        let code = |base: &u8| readmill_record::bases::CODES[usize::from(*base)];
        for pair in bases.as_bytes().chunks(2) {
            raw.push(code(&pair[0]) << 4 | pair.get(1).map_or(0, code));
        }
        raw.resize(raw.len() + bases.len(), 0xff);
        edit::set_block_size(&mut raw, 0);
        raw
    }
}
