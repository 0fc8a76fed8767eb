//! The rules of each order, written as slow comparisons that are applied one after another.

use std::cmp::Ordering;

use readmill_sort::Order;
use readmill_sort::key::Within;

use super::reads::{FieldValue, SampleRead, reverse_complement};

/// Read group IDs and their libraries.
const LIBRARIES: [(&str, &str); 5] = [("1", "zoo"), ("2", "ant"), ("3", ""), ("4", "zoo"), ("5", "an")];

/// Compares names as sequences of numbers and bytes. Leading zeros of a number are ignored; a
/// number with fewer digits sorts first.
fn compare_natural(a: &[u8], b: &[u8]) -> Ordering {
    type NamePart = Result<Vec<u8>, u8>;
    fn parts(mut name: &[u8]) -> Vec<NamePart> {
        let mut parts = Vec::new();
        while let Some((&byte, rest)) = name.split_first() {
            let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let zeros = name.iter().take_while(|&&byte| byte == b'0').count();
            parts.push(if digits > 0 { Ok(name[zeros..digits].to_vec()) } else { Err(byte) });
            name = if digits > 0 { &name[digits..] } else { rest };
        }
        parts
    }
    let one = |(a, b): (&NamePart, &NamePart)| match (a, b) {
        (Ok(a), Ok(b)) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
        (Ok(_), Err(b)) => b'0'.cmp(b),
        (Err(a), Ok(_)) => a.cmp(&b'0'),
        (Err(a), Err(b)) => a.cmp(b),
    };
    let (a, b) = (parts(a), parts(b));
    let differs = a.iter().zip(&b).map(one).find(|order| order.is_ne());
    differs.unwrap_or(a.len().cmp(&b.len()))
}

fn by_name(a: &SampleRead, b: &SampleRead, names: fn(&[u8], &[u8]) -> Ordering) -> Ordering {
    let line = |read: &SampleRead| (read.flags >> 6 & 3, read.has(0x100), read.has(0x800));
    names(&a.name, &b.name).then_with(|| line(a).cmp(&line(b)))
}

fn bytes(a: &[u8], b: &[u8]) -> Ordering {
    a.cmp(b)
}

fn by_coordinate(a: &SampleRead, b: &SampleRead) -> Ordering {
    let place = |read: &SampleRead| (read.ref_id as u32, read.pos, read.has(0x10));
    place(a).cmp(&place(b))
}

fn by_queryname(a: &SampleRead, b: &SampleRead) -> Ordering {
    let segment = |read: &SampleRead| match read.flags & 0xc0 {
        _ if !read.has(1) => 4,
        0 => 0,
        0x40 => 1,
        0xc0 => 2,
        _ => 3,
    };
    let hit = |read: &SampleRead| match read.hit {
        Some(FieldValue::Number(hit)) => Some(hit as i64),
        _ => None,
    };
    let line =
        |read: &SampleRead| (segment(read), read.has(0x10), read.has(0x100), read.has(0x800), hit(read));
    a.name.cmp(&b.name).then_with(|| line(a).cmp(&line(b)))
}

fn by_tag(a: &SampleRead, b: &SampleRead, within: Within) -> Ordering {
    let class = |read: &SampleRead| match read.tagged {
        None => 0,
        Some(FieldValue::Byte(_)) => 1,
        Some(FieldValue::Array) => 2,
        Some(FieldValue::Text(_)) => 3,
        Some(FieldValue::Number(_)) => 4,
    };
    let value = || match (&a.tagged, &b.tagged) {
        (Some(FieldValue::Byte(a)), Some(FieldValue::Byte(b))) => a.cmp(b),
        (Some(FieldValue::Text(a)), Some(FieldValue::Text(b))) => a.cmp(b),
        (Some(FieldValue::Number(a)), Some(FieldValue::Number(b))) => a.partial_cmp(b).unwrap(),
        _ => Ordering::Equal,
    };
    class(a).cmp(&class(b)).then_with(value).then_with(|| match within {
        Within::Coordinate => by_coordinate(a, b),
        Within::Natural => by_name(a, b, compare_natural),
        Within::Lexicographic => by_name(a, b, bytes),
    })
}

/// Reference sequence, unclipped 5' position, and whether the read is forward.
type TemplateEnd = (i32, i64, bool);

fn end_of(
    mapped: bool,
    ref_id: i32,
    pos: i32,
    reverse: bool,
    cigar: &[(char, i64)],
    own: bool,
) -> TemplateEnd {
    if !mapped {
        return (i32::MAX, i64::MAX, true);
    }
    let soft = |ops: &mut dyn Iterator<Item = &(char, i64)>| -> i64 {
        let clips = ops.take_while(|(op, _)| "SH".contains(*op));
        clips.filter(|(op, _)| *op == 'S').map(|(_, n)| n).sum()
    };
    let pos = i64::from(pos);
    let reference = |op: char| "MDN=X".contains(op);
    if !reverse {
        return (ref_id, pos + 1 - soft(&mut cigar.iter()), true);
    }
    let span: i64 = cigar.iter().filter(|(op, _)| reference(*op)).map(|(_, n)| n).sum();
    if own {
        return (ref_id, pos + span.max(1) + soft(&mut cigar.iter().rev()), false);
    }
    // Every soft clip of a mate after the first aligned base is counted.
    let aligned = cigar.iter().skip_while(|(op, _)| !reference(*op));
    let clips: i64 = aligned.filter(|(op, _)| *op == 'S').map(|(_, n)| n).sum();
    (ref_id, pos + span + clips, false)
}

fn by_template(a: &SampleRead, b: &SampleRead) -> Ordering {
    let ends = |read: &SampleRead| {
        let (reverse, mate_mapped) = (read.has(0x10), read.has(1) && !read.has(8));
        let own = end_of(!read.has(4), read.ref_id, read.pos, reverse, &read.cigar, true);
        let (next, pos) = (read.next_ref_id, read.next_pos);
        let mate = end_of(mate_mapped, next, pos, read.has(0x20), &read.mate_cigar, false);
        let lower = (own.0, own.1) < (mate.0, mate.1) || (own.0, own.1) == (mate.0, mate.1) && own.2;
        if lower { (own, mate, false) } else { (mate, own, true) }
    };
    let library = |read: &SampleRead| {
        LIBRARIES.iter().find(|(id, _)| Some(*id) == read.group).map_or("", |(_, library)| library)
    };
    let molecule = |read: &SampleRead| {
        let mut molecule = read.molecule.clone().unwrap_or_default();
        if molecule.len() > 1 && molecule[molecule.len() - 2] == b'/' {
            molecule.truncate(molecule.len() - 2);
        }
        molecule.into_iter().map(u8::cast_signed).collect::<Vec<i8>>()
    };
    let key = |read: &SampleRead| {
        let (first, second, upper) = ends(read);
        let places = (first.0, second.0, first.1, second.1, first.2, second.2);
        let cell = read.cell.clone().unwrap_or_default();
        (places, library(read), cell, molecule(read), read.name.clone(), upper)
    };
    key(a).cmp(&key(b))
}

/// Finds the smallest k-mer after XOR on both strands by a plain text search. Returns the k-mer,
/// its start and whether it is on the reverse strand.
fn find_minimiser(seq: &[u8]) -> (u64, i64, bool) {
    let turned = reverse_complement(seq);
    let number = |kmer: &[u8]| {
        let digit = |base: &u8| b"ACGT".iter().position(|known| known == base).unwrap_or(0) as u64;
        kmer.iter().fold(0, |number, base| number << 2 | digit(base)) ^ 0x78beef7878
    };
    let forward = seq.windows(20).map(number).enumerate().min_by_key(|(_, kmer)| *kmer);
    // If k-mers on the reverse strand are equal, the last one is chosen.
    let reverse = turned.windows(20).map(number).enumerate().rev().min_by_key(|(_, kmer)| *kmer);
    match (forward, reverse) {
        (Some(forward), Some(reverse)) if reverse.1 < forward.1 => (reverse.1, reverse.0 as i64, true),
        (Some(forward), _) => (forward.1, forward.0 as i64, false),
        _ => (u64::MAX, -19, false),
    }
}

fn by_minhash(a: &SampleRead, b: &SampleRead) -> Ordering {
    if a.ref_id >= 0 || b.ref_id >= 0 {
        return by_coordinate(a, b);
    }
    let key = |read: &SampleRead| {
        let (kmer, place, turned) = find_minimiser(&read.seq);
        (kmer.wrapping_add(1 << 30), place, read.has(0x10) != turned)
    };
    key(a).cmp(&key(b))
}

/// Compares two reads by the rules of `order`.
pub fn compare_by_rule(order: Order, a: &SampleRead, b: &SampleRead) -> Ordering {
    match order {
        Order::Input => Ordering::Equal,
        Order::Coordinate => by_coordinate(a, b),
        Order::Natural => by_name(a, b, compare_natural),
        Order::Lexicographic => by_name(a, b, bytes),
        Order::Queryname => by_queryname(a, b),
        Order::Tag { within, .. } => by_tag(a, b, within),
        Order::TemplateCoordinate => by_template(a, b),
        Order::Minhash => by_minhash(a, b),
    }
}
