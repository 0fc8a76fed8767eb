//! A half: one read of a pair whose mate has not been seen yet. Halves are joined with their mates
//! by name.
//!
//! Halves sort by the 128-bit hash of their name, so that all records with one name are adjacent.
//! Within a name, they are in the order in which Picard would read them ([`HalfOrder`]).

use super::bits::{self, BitField, get_code, get_field, put_code, put_field};
use super::{End, Item, ItemLayout, ReadSummary};

pub type Half<S> = <S as ItemLayout>::Half;

/// Maximum number of reference sequences: a half has 27 bits for the mate's reference, and some
/// values are reserved for reads without a mate.
pub const HALF_REFS: i32 = (1 << 27) - 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HalfKind {
    Paired,
    Alone,
    /// A record that is not compared but gets the marks of its template: secondary, supplementary or
    /// unmapped.
    Bystander,
}

/// The order of the halves with one name. It decides which records are taken as mates if a name
/// occurs more than twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HalfOrder {
    Place,
    Input,
}

const NAME: usize = 128;
const PLACE: usize = 59;
const ORDINAL: usize = 40;
const FIVE_PRIME: BitField = BitField(227, 33);
const SCORE: BitField = BitField(260, 16);
const LOCATION: BitField = BitField(276, bits::LOCATION);
const NEXT: BitField = BitField(340, 27);
const GROUP: BitField = BitField(367, 16);
const FIRST_SEGMENT: BitField = BitField(383, 1);
const CODE: usize = 384;

const BYSTANDER: u64 = (1 << 27) - 1;
const ALONE: u64 = BYSTANDER - 1;
const FIVE_PRIME_BIAS: i64 = 1 << 28;

/// Returns the field for the place (reference, position, strand) and the field for the ordinal. The
/// field that decides the order is stored first.
fn order_fields(order: HalfOrder) -> (BitField, BitField) {
    match order {
        HalfOrder::Place => (BitField(NAME, PLACE), BitField(NAME + PLACE, ORDINAL)),
        HalfOrder::Input => (BitField(NAME + ORDINAL, PLACE), BitField(NAME, ORDINAL)),
    }
}

/// Packs a read with the 128-bit hash of its name. The template offset is not stored.
pub fn pack_half<S: ItemLayout>(
    name: u128,
    read: &ReadSummary,
    kind: HalfKind,
    order: HalfOrder,
) -> Half<S> {
    let mut item = Half::<S>::ZERO;
    let words = item.as_mut();
    (words[0], words[1]) = ((name >> 64) as u64, name as u64);
    let (place, ordinal) = order_fields(order);
    let pos = bits::add_bias(read.pos.into(), 1, 31);
    let ref_id = bits::add_bias(read.end.ref_id.into(), 1, 27);
    put_field(words, place, ref_id << 32 | pos << 1 | u64::from(read.end.reverse));
    put_field(words, ordinal, read.ordinal);
    put_field(words, FIVE_PRIME, bits::add_bias(read.end.five_prime, FIVE_PRIME_BIAS, FIVE_PRIME.1));
    put_field(words, SCORE, bits::pack_score(read.score));
    put_field(words, LOCATION, bits::pack_location(read.location));
    let next = match kind {
        HalfKind::Paired => bits::add_bias(read.next_ref_id.into(), 1, 27).min(ALONE - 1),
        HalfKind::Alone => ALONE,
        HalfKind::Bystander => BYSTANDER,
    };
    put_field(words, NEXT, next);
    put_field(words, GROUP, read.read_group.into());
    put_field(words, FIRST_SEGMENT, read.first_segment.into());
    put_code::<S>(words, CODE, read.code);
    item
}

fn renumber_half<S: ItemLayout>(item: &mut Half<S>, order: HalfOrder, base: u64) {
    bits::add_to_field(item.as_mut(), order_fields(order).1, base);
}

/// Converts the ordinal of a half in [`HalfOrder::Place`] from its slice to the whole input. The
/// slice's first record is record `base` of the input.
pub fn renumber_half_by_place<S: ItemLayout>(item: &mut Half<S>, base: u64) {
    renumber_half::<S>(item, HalfOrder::Place, base);
}

/// Converts the ordinal of a half in [`HalfOrder::Input`] from its slice to the whole input. The
/// slice's first record is record `base` of the input.
pub fn renumber_half_by_input<S: ItemLayout>(item: &mut Half<S>, base: u64) {
    renumber_half::<S>(item, HalfOrder::Input, base);
}

pub fn half_name<S: ItemLayout>(item: &Half<S>) -> [u64; 2] {
    let words = item.as_ref();
    [words[0], words[1]]
}

/// Unpacks a half. `library` maps a read group to its library. The template offset is not stored,
/// so it is 0.
pub fn unpack_half<S: ItemLayout>(
    item: &Half<S>,
    order: HalfOrder,
    library: impl Fn(u16) -> u16,
) -> (HalfKind, ReadSummary) {
    let words = item.as_ref();
    let (place, ordinal) = order_fields(order);
    let place = get_field(words, place);
    let (kind, next_ref_id) = match get_field(words, NEXT) {
        ALONE => (HalfKind::Alone, -1),
        BYSTANDER => (HalfKind::Bystander, -1),
        next => (HalfKind::Paired, next as i32 - 1),
    };
    let read_group = get_field(words, GROUP) as u16;
    let read = ReadSummary {
        end: End {
            library: library(read_group),
            ref_id: (place >> 32) as i32 - 1,
            five_prime: get_field(words, FIVE_PRIME) as i64 - FIVE_PRIME_BIAS,
            reverse: place & 1 == 1,
        },
        pos: (place >> 1 & 0x7fff_ffff) as i32 - 1,
        score: (i32::from(i16::MAX) - get_field(words, SCORE) as i32) as i16,
        location: bits::unpack_location(get_field(words, LOCATION)),
        read_group,
        first_segment: get_field(words, FIRST_SEGMENT) == 1,
        next_ref_id,
        ordinal: get_field(words, ordinal),
        template_offset: 0,
        first_record_participates: false,
        code: get_code::<S>(words, CODE),
    };
    (kind, read)
}
