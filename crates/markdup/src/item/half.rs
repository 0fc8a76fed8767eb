//! A half: one read of a pair whose mate has not been seen, to be joined with it by name.
//!
//! Halves sort by the 128-bit hash of their name, so after sorting all records of one name are
//! adjacent. Within a name they are in the order in which Picard would meet them ([`HalfOrder`]).

use super::bits::{self, Field, get, get_code, put, put_code};
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

/// The order of the halves of one name. It decides which records are taken as mates if a name occurs
/// more than twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HalfOrder {
    Place,
    Input,
}

const NAME: usize = 128;
const PLACE: usize = 59;
const ORDINAL: usize = 40;
const FIVE_PRIME: Field = Field(227, 33);
const SCORE: Field = Field(260, 16);
const LOCATION: Field = Field(276, bits::LOCATION);
const NEXT: Field = Field(340, 27);
const GROUP: Field = Field(367, 16);
const FIRST_SEGMENT: Field = Field(383, 1);
const CODE: usize = 384;

const BYSTANDER: u64 = (1 << 27) - 1;
const ALONE: u64 = BYSTANDER - 1;
const FIVE_PRIME_BIAS: i64 = 1 << 28;

/// Returns the fields of place (reference, position, strand) and ordinal. The one that sorts first
/// comes first.
fn order_fields(order: HalfOrder) -> (Field, Field) {
    match order {
        HalfOrder::Place => (Field(NAME, PLACE), Field(NAME + PLACE, ORDINAL)),
        HalfOrder::Input => (Field(NAME + ORDINAL, PLACE), Field(NAME, ORDINAL)),
    }
}

/// Packs a read with the 128-bit hash of its name. The distance to the first record of the template
/// is not stored.
pub fn half<S: ItemLayout>(name: u128, read: &ReadSummary, kind: HalfKind, order: HalfOrder) -> Half<S> {
    let mut item = Half::<S>::ZERO;
    let words = item.as_mut();
    (words[0], words[1]) = ((name >> 64) as u64, name as u64);
    let (place, ordinal) = order_fields(order);
    let pos = bits::biased(read.pos.into(), 1, 31);
    let ref_id = bits::biased(read.end.ref_id.into(), 1, 27);
    put(words, place, ref_id << 32 | pos << 1 | u64::from(read.end.reverse));
    put(words, ordinal, read.ordinal);
    put(words, FIVE_PRIME, bits::biased(read.end.five_prime, FIVE_PRIME_BIAS, FIVE_PRIME.1));
    put(words, SCORE, bits::by_score(read.score));
    put(words, LOCATION, bits::by_location(read.location));
    let next = match kind {
        HalfKind::Paired => bits::biased(read.next_ref_id.into(), 1, 27).min(ALONE - 1),
        HalfKind::Alone => ALONE,
        HalfKind::Bystander => BYSTANDER,
    };
    put(words, NEXT, next);
    put(words, GROUP, read.read_group.into());
    put(words, FIRST_SEGMENT, read.first_segment.into());
    put_code::<S>(words, CODE, read.code);
    item
}

fn count_half_from<S: ItemLayout>(item: &mut Half<S>, order: HalfOrder, base: u64) {
    bits::add(item.as_mut(), order_fields(order).1, base);
}

/// Renumbers a half in [`HalfOrder::Place`] of a slice whose first record is record `base` of the
/// input.
pub fn count_half_by_place_from<S: ItemLayout>(item: &mut Half<S>, base: u64) {
    count_half_from::<S>(item, HalfOrder::Place, base);
}

/// Renumbers a half in [`HalfOrder::Input`] of a slice whose first record is record `base` of the
/// input.
pub fn count_half_by_input_from<S: ItemLayout>(item: &mut Half<S>, base: u64) {
    count_half_from::<S>(item, HalfOrder::Input, base);
}

pub fn half_name<S: ItemLayout>(item: &Half<S>) -> [u64; 2] {
    let words = item.as_ref();
    [words[0], words[1]]
}

/// Unpacks a half. `library` maps a read group to its library; the distance to the first record of
/// the template is lost and returned as 0.
pub fn half_read<S: ItemLayout>(
    item: &Half<S>,
    order: HalfOrder,
    library: impl Fn(u16) -> u16,
) -> (HalfKind, ReadSummary) {
    let words = item.as_ref();
    let (place, ordinal) = order_fields(order);
    let place = get(words, place);
    let (kind, next_ref_id) = match get(words, NEXT) {
        ALONE => (HalfKind::Alone, -1),
        BYSTANDER => (HalfKind::Bystander, -1),
        next => (HalfKind::Paired, next as i32 - 1),
    };
    let read_group = get(words, GROUP) as u16;
    let read = ReadSummary {
        end: End {
            library: library(read_group),
            ref_id: (place >> 32) as i32 - 1,
            five_prime: get(words, FIVE_PRIME) as i64 - FIVE_PRIME_BIAS,
            reverse: place & 1 == 1,
        },
        pos: (place >> 1 & 0x7fff_ffff) as i32 - 1,
        score: (i32::from(i16::MAX) - get(words, SCORE) as i32) as i16,
        location: bits::location(get(words, LOCATION)),
        read_group,
        first_segment: get(words, FIRST_SEGMENT) == 1,
        next_ref_id,
        ordinal: get(words, ordinal),
        template_offset: 0,
        first_record_participates: false,
        code: get_code::<S>(words, CODE),
    };
    (kind, read)
}
