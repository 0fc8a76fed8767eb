//! Keys by both ends of a template, as `samtools sort --template-coordinate` orders reads
//! (`bam_sort.c` and `bam.c` of samtools 1.24).
//!
//! A record has two ends: its own, if it is mapped, and the end of its mate, if the mate is mapped.
//! An end is a reference sequence, an unclipped 5' position and a strand. Only soft clips are
//! counted; samtools up to 1.23 also counted hard clips, so it orders templates with hard clips
//! differently. The lower end is called the first end. A record whose own end is not the lower one
//! is the *upper* record of its pair. Records are ordered by
//!
//! 1. the reference sequence of the first end, then of the second end; unmapped ends are last,
//! 2. the position of the first end, then of the second end,
//! 3. the strand of the first end, then of the second end; reverse precedes forward,
//! 4. the library (`LB` of the read group); records without a library are first,
//! 5. `CB`, then `MI` without a trailing `/` and one character,
//! 6. the name, byte by byte,
//! 7. lower before upper.
//!
//! A mapped end whose reference ID is -1 is invalid. Here it is first; in samtools it precedes or
//! follows unmapped ends, depending on an overflow.

use std::collections::HashMap;

use readmill_record::tag::{self, Field, Tag};
use readmill_record::{Header, RecordRef, Result};

use super::bits::{Bits, bits_needed};
use super::ends::{PositionEncoder, SegmentEnd, require_text};
use super::name::{NameKeys, NameStyle};

/// The optional fields that the key needs: the mate's CIGAR, read group, cell barcode and molecular
/// identifier.
const KEY_FIELDS: [Tag; 4] = [tag::MC, tag::RG, *b"CB", *b"MI"];

/// Number of bits for the distance between two ends on the same reference sequence, if it is below
/// 1,024 bases.
const NEAR_BITS: u32 = 10;

pub struct TemplateKeys {
    /// For each read group that has a library, the rank of the library's name. Rank 0 is for reads
    /// without a library.
    libraries: HashMap<Vec<u8>, u64>,
    library_bits: u32,
    /// The reference number of an unmapped end, greater than the number of any reference sequence.
    no_reference: u64,
    reference_bits: u32,
    positions: PositionEncoder,
    names: NameKeys,
}

impl TemplateKeys {
    pub fn new(header: &Header) -> Self {
        let mut groups: HashMap<Vec<u8>, &[u8]> = HashMap::new();
        for line in header.lines_of_kind(b"RG") {
            if let (Some(id), Some(library)) = (line.get(b"ID"), line.get(b"LB")) {
                groups.entry(id.to_vec()).or_insert(library);
            }
        }
        let mut ranks: Vec<&[u8]> = groups.values().copied().chain([&b""[..]]).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let rank = |library| ranks.partition_point(|other| *other < library) as u64;
        let no_reference = header.n_ref() as u64 + 1;
        TemplateKeys {
            libraries: groups.into_iter().map(|(id, library)| (id, rank(library))).collect(),
            library_bits: bits_needed(ranks.len() as u64 - 1),
            no_reference,
            reference_bits: bits_needed(no_reference),
            positions: PositionEncoder::new(header),
            names: NameKeys::new(NameStyle::Lexicographic),
        }
    }

    pub fn names(&self) -> &NameKeys {
        &self.names
    }

    /// Writes the key of `record` to `key`.
    ///
    /// # Errors
    ///
    /// The mate is mapped and the record has no `MC` field, or `MC`, `CB` or `MI` is not text.
    pub fn put_key(&self, record: RecordRef<'_>, key: &mut impl Bits) -> Result<()> {
        let [mate_cigar, group, cell, molecule] = find_key_fields(record);
        let (own, mate) = (SegmentEnd::of_record(record), SegmentEnd::of_mate(record, mate_cigar)?);
        let (cell, molecule) = (require_text(cell)?, require_text(molecule)?);
        let of = |end: SegmentEnd| (end.reference, end.position);
        let upper = of(own) > of(mate) || of(own) == of(mate) && own.reverse;
        let (first, second) = if upper { (mate, own) } else { (own, mate) };
        self.put_ends(first, second, key);
        key.put_bits(self.library_rank(group), self.library_bits);
        put_optional(cell, key, |byte| byte);
        put_optional(strip_strand_suffix(molecule), key, map_to_signed_order);
        self.names.put_name(record, key);
        key.put_bits(u64::from(upper), 1);
        Ok(())
    }

    /// Writes both ends. The second end never precedes the first and is usually close to it, so its
    /// position is written as a distance if this distance is below 1,024.
    fn put_ends(&self, first: SegmentEnd, second: SegmentEnd, key: &mut impl Bits) {
        let reference = |end: SegmentEnd| end.reference.min(self.no_reference);
        key.put_bits(reference(first), self.reference_bits);
        let together = first.reference == second.reference;
        key.put_bits(u64::from(!together), 1);
        if !together {
            key.put_bits(reference(second), self.reference_bits);
        }
        if first != SegmentEnd::UNMAPPED {
            self.positions.put_position(first.position, key);
        }
        if second != SegmentEnd::UNMAPPED {
            let distance = second.position.saturating_sub(first.position).cast_unsigned();
            let near = together && distance < 1 << NEAR_BITS;
            key.put_bits(u64::from(!near), 1);
            if near {
                key.put_bits(distance, NEAR_BITS);
            } else {
                self.positions.put_position(second.position, key);
            }
        }
        key.put_bits(u64::from(!first.reverse), 1);
        key.put_bits(u64::from(!second.reverse), 1);
    }

    fn library_rank(&self, group: Option<Field<'_>>) -> u64 {
        let id = group.filter(|group| group.kind == b'Z').map(|group| group.value);
        id.and_then(|id| self.libraries.get(id)).copied().unwrap_or(0)
    }
}

fn find_key_fields(record: RecordRef<'_>) -> [Option<Field<'_>>; KEY_FIELDS.len()] {
    let mut found = [None; KEY_FIELDS.len()];
    for field in record.fields() {
        if let Some(i) = KEY_FIELDS.iter().position(|&tag| tag == field.tag) {
            found[i].get_or_insert(field);
        }
    }
    found
}

fn strip_strand_suffix(molecule: &[u8]) -> &[u8] {
    match molecule {
        [molecule @ .., b'/', _] => molecule,
        _ => molecule,
    }
}

/// Maps a byte so that the results compare as signed bytes do: samtools compares `MI` as C's
/// `char`, which is signed. The result is never 0.
fn map_to_signed_order(byte: u8) -> u8 {
    if byte < 0x80 { byte | 0x80 } else { byte - 0x80 + 1 }
}

/// Writes text that is usually missing: one bit for whether it is present, then its bytes, mapped
/// by `each`.
fn put_optional(text: &[u8], key: &mut impl Bits, each: impl Fn(u8) -> u8) {
    key.put_bits(u64::from(!text.is_empty()), 1);
    if !text.is_empty() {
        key.put_bytes(text.iter().map(|&byte| each(byte)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TestRead, header};
    use super::super::{Key, Keyer, Order};
    use super::*;

    const PAIR: u16 = 0x1;
    const REVERSE: u16 = 0x10;
    const MATE_REVERSE: u16 = 0x20;

    fn header_with(groups: &str) -> Header {
        let mut text = header(3).to_text();
        text.extend_from_slice(groups.as_bytes());
        Header::parse(&text).unwrap()
    }

    fn full(header: &Header, read: &TestRead<'_>) -> Result<(Key, Vec<u8>)> {
        let keyer = Keyer::new(Order::TemplateCoordinate, header);
        let (raw, mut tail) = (read.raw(), Vec::new());
        let key = keyer.key(RecordRef::new(&raw))?;
        keyer.write_tail(RecordRef::new(&raw), &mut tail);
        Ok((key, tail))
    }

    fn assert_in_order(header: &Header, reads: &[TestRead<'_>]) {
        let keys: Vec<_> = reads.iter().map(|read| full(header, read).unwrap()).collect();
        for (i, pair) in keys.windows(2).enumerate() {
            assert!(pair[0] < pair[1], "{i}: {pair:x?}");
        }
    }

    /// Returns a mapped read at `pos` whose mate is mapped at `next_pos`.
    fn pair<'a>(flags: u16, pos: i32, next_pos: i32, fields: &'a [u8]) -> TestRead<'a> {
        let flags = PAIR | flags;
        TestRead {
            flags,
            pos,
            next_ref_id: 0,
            next_pos,
            cigar: &[(0, 10)],
            fields,
            ..TestRead::default()
        }
    }

    const MC: &[u8] = b"MCZ10M\0";

    #[test]
    fn parts_of_the_key_count_in_the_order_stated() {
        let other = |ref_id, next_ref_id, pos| TestRead { ref_id, next_ref_id, ..pair(0, pos, 5, MC) };
        assert_in_order(
            &header(3),
            &[
                pair(0, 3, 7, MC),
                pair(MATE_REVERSE, 3, 7, MC), // end at 17
                pair(0, 4, 9, MC),
                other(0, 1, 900),
                other(0, 2, 2),
                TestRead { flags: PAIR | 0x8, ..pair(0, 1, 7, b"") },
                other(1, 1, 0),
                other(-1, -1, 0).with_flags(PAIR | 0x4 | 0x8),
            ],
        );
    }

    #[test]
    fn reverse_comes_before_forward_and_lower_before_upper() {
        // First ends at 10, second ends at 30, in 1-based positions.
        let second_at = |pos, next, flags| pair(flags, pos, next, MC);
        assert_in_order(
            &header(3),
            &[
                second_at(0, 20, REVERSE | MATE_REVERSE),
                second_at(20, 0, REVERSE | MATE_REVERSE),
                second_at(0, 29, REVERSE),
                second_at(29, 0, MATE_REVERSE),
                second_at(9, 20, MATE_REVERSE),
                second_at(20, 9, REVERSE),
                second_at(9, 29, 0),
                second_at(29, 9, 0),
            ],
        );
    }

    #[test]
    fn of_ends_at_one_position_the_forward_one_is_first() {
        let pair = |flags| TestRead { cigar: &[(0, 1)], ..pair(flags, 5, 5, b"MCZ1M\0") };
        assert_in_order(
            &header(1),
            &[
                pair(REVERSE | MATE_REVERSE),
                pair(MATE_REVERSE), // forward, reverse, lower
                pair(REVERSE),      // the same, upper
                pair(0),
            ],
        );
    }

    #[test]
    fn soft_clips_count_and_hard_clips_do_not() {
        let at = |pos, cigar, flags| TestRead { cigar, flags, pos, ..TestRead::default() };
        let header = header(1);
        let same = |a: TestRead<'_>, b: TestRead<'_>| {
            assert_eq!(full(&header, &a).unwrap(), full(&header, &b).unwrap());
        };
        same(at(10, &[(0, 5)], 0), at(14, &[(5, 9), (4, 3), (5, 1), (4, 1), (0, 5)], 0));
        same(at(10, &[(0, 10)], REVERSE), at(10, &[(4, 4), (0, 7), (4, 3), (5, 50)], REVERSE));
        same(pair(0, 10, 40, MC), pair(0, 10, 44, b"MCZ50H4S6M\0"));
        same(pair(MATE_REVERSE, 10, 40, MC), pair(MATE_REVERSE, 10, 40, b"MCZ3S2M2I4D2N2S9H\0"));
        same(pair(0, 10, 40, b"MCZ*\0"), pair(0, 10, 40, b"MCHM\0"));
    }

    #[test]
    fn libraries_cells_and_molecules_are_compared_as_stated() {
        let header = header_with("@RG\tID:a\tLB:zoo\n@RG\tID:b\tLB:ant\n@RG\tID:c\n@RG\tID:d\tLB:zoo\n");
        let with = |fields| TestRead { fields, ..TestRead::default() };
        assert_in_order(
            &header,
            &[
                with(b"RGZc\0"),
                with(b"RGZnone\0MIZ/A\0").with_qname(b"s"),
                with(b"RGZb\0"),
                with(b"RGZa\0"),
                with(b"RGZd\0").with_qname(b"s"),
                with(b"RGZa\0MIZx\xf0\0"),
                with(b"RGZa\0MIZx1/A\0"),
                with(b"RGZd\0MIZx1/B\0").with_qname(b"s"),
                with(b"RGZa\0MIZx1/\0"),
                with(b"RGZa\0MIZx10\0"),
                with(b"RGZa\0CBZAC\0"),
                with(b"RGZa\0CBZAC-1\0MIZ2\0"),
                with(b"RGZa\0CBZAC\xf0\0"),
            ],
        );
    }

    #[test]
    fn far_positions_keep_their_order() {
        let at = |pos, cigar| TestRead { pos, cigar, ..TestRead::default() };
        let max_clips = &[(4, (1 << 28) - 1); 40];
        assert_in_order(
            &header(1),
            &[
                at(0, max_clips),
                at(1, max_clips),
                at(0, &[(4, 65538)]),
                at(0, &[(4, 65537)]),
                at(0, &[(4, 65536)]),
                at(1000 + 65534, &[]),
                at(1000 + 65535, &[]),
                at(1000 + 65536, &[]),
                at(i32::MAX, &[]),
            ],
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        for (fields, message) in [
            (&b""[..], "the CIGAR of the mate in the MC field"),
            (b"MCi\0\0\0\0", "needs MC to be text"),
            (b"MCZ*\0CBA-", "needs CB to be text"),
            (b"MCZ*\0MIc\x07", "needs MI to be text"),
        ] {
            let error = full(&header(1), &pair(0, 1, 1, fields)).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
            assert!(error.hint.is_some());
        }
        assert!(full(&header(1), &pair(0x8, 1, 1, b"")).is_ok(), "the mate is unmapped");
    }
}
