//! Keys order reads as the rules of each order say: on many small random inputs, sorting by keys gives
//! the same as a stable sort with a slow comparison that was written from the rules alone.
#![allow(clippy::unwrap_used)]

use std::cmp::Ordering;

use readmill_record::{Header, RecordRef, edit};
use readmill_steps::sort::Order;
use readmill_steps::sort::key::{Keyer, Within};

const HEADER: &str = "@SQ\tSN:a\tLN:5000\n@SQ\tSN:b\tLN:70000\n@SQ\tSN:c\tLN:9\n\
    @RG\tID:1\tLB:zoo\n@RG\tID:2\tLB:ant\n@RG\tID:3\n@RG\tID:4\tLB:zoo\n@RG\tID:5\tLB:an\n";
const LIBRARIES: [(&str, &str); 5] = [("1", "zoo"), ("2", "ant"), ("3", ""), ("4", "zoo"), ("5", "an")];
const ALPHABET: &[u8; 16] = b"=ACMGRSVTWYHKDBN";

pub struct Random(pub u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}

/// The value of an optional field.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Byte(u8),
    Array,
    Text(Vec<u8>),
    Number(f64),
}

/// A read as the rules speak of it, and as BAM stores it.
#[derive(Clone, Debug)]
pub struct Read {
    name: Vec<u8>,
    flags: u16,
    ref_id: i32,
    pos: i32,
    cigar: Vec<(char, i64)>,
    next_ref_id: i32,
    next_pos: i32,
    mate_cigar: Vec<(char, i64)>,
    seq: Vec<u8>,
    tagged: Option<Value>,
    hit: Option<Value>,
    group: Option<&'static str>,
    cell: Option<Vec<u8>>,
    molecule: Option<Vec<u8>>,
    pub raw: Vec<u8>,
}

impl Read {
    fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

// ---- reads ----

const PIECES: [&[u8]; 26] = [
    b"0",
    b"00",
    b"1",
    b"01",
    b"9",
    b"10",
    b"007",
    b"1234567890",
    b"12345678901",
    b"012345678902",
    b"99999999999999999999999",
    b"a",
    b"A",
    b"x",
    b":",
    b"/",
    b"#",
    b"!",
    b"-",
    b"_",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"HXX",
    b"1101",
    b":1:",
];

fn name(random: &mut Random, known: &[Vec<u8>]) -> Vec<u8> {
    let mut name = match random.below(6) {
        0 if !known.is_empty() => return random.of(known),
        1 if !known.is_empty() => random.of(known),
        2 => format!("A7:15:HM:{}:{}", random.below(3), random.below(20000)).into_bytes(),
        _ => Vec::new(),
    };
    let pieces = if random.one_in(40) { 60 } else { 5 };
    for _ in 0..random.below(pieces) {
        name.extend_from_slice(random.of(&PIECES));
    }
    if random.one_in(4) {
        name.truncate(random.below(name.len() + 1));
    }
    if name.is_empty() {
        name.push(b'*');
    }
    name.truncate(254);
    name
}

fn cigar(random: &mut Random) -> Vec<(char, i64)> {
    let length =
        |random: &mut Random| if random.one_in(50) { 90000 } else { 1 + random.below(4) as i64 };
    let all = ['M', 'I', 'D', 'N', 'S', 'H', 'P', '=', 'X'];
    match random.below(4) {
        0 => (0..random.below(6)).map(|_| (random.of(&all), length(random))).collect(),
        1 => vec![('H', length(random)), ('S', length(random)), ('M', 5), ('S', length(random))],
        2 => {
            vec![('M', 5), ('D', length(random)), ('M', 3), ('S', length(random)), ('H', length(random))]
        }
        _ => vec![('M', 4 + random.below(2) as i64)],
    }
}

fn text(random: &mut Random) -> Vec<u8> {
    let choices: [&[u8]; 14] = [
        b"",
        b"A",
        b"AC",
        b"ACG",
        b"1",
        b"10",
        b"2",
        b"1/A",
        b"1/B",
        b"1/",
        b"/A",
        b"/",
        b"ACGTACGTACGTACGT-1",
        b"A\xf0",
    ];
    random.of(&choices).to_vec()
}

/// A value, its type letter, and its bytes.
fn value(random: &mut Random) -> (Value, u8, Vec<u8>) {
    let number = random.of(&[-40000i64, -200, -1, 0, 1, 2, 2, 100, 200, 50000, 3000000000]);
    let real = random.of(&[-1.5, -0.0, 0.0, 0.25, 1.0, 2.0, 1e30, f64::INFINITY, f64::NEG_INFINITY]);
    match random.below(8) {
        0 => (Value::Byte(b'A'), b'A', vec![b'A']),
        1 => (Value::Byte(b'a'), b'A', vec![b'a']),
        2 => (Value::Array, b'B', random.of(&[b"c\0\0\0\0".to_vec(), b"S\x01\0\0\0\x05\0".to_vec()])),
        3 => (Value::Number(real), b'd', real.to_le_bytes().to_vec()),
        4 => (Value::Number(f64::from(real as f32)), b'f', (real as f32).to_le_bytes().to_vec()),
        5 => {
            let text = text(random);
            (Value::Text(text.clone()), random.of(b"ZH"), [&text[..], b"\0"].concat())
        }
        _ => {
            let fits = |low: i64, high: i64| (low..=high).contains(&number);
            let types =
                [(b'c', 1, fits(-128, 127)), (b'C', 1, fits(0, 255)), (b's', 2, fits(-32768, 32767))];
            let wider = [(b'S', 2, fits(0, 65535)), (b'i', 4, number < 1 << 31), (b'I', 4, number >= 0)];
            let types: Vec<_> = types.into_iter().chain(wider).filter(|one| one.2).collect();
            let (kind, width, _) = random.of(&types);
            (Value::Number(number as f64), kind, number.to_le_bytes()[..width].to_vec())
        }
    }
}

/// A read with `serial` in a field of its own.
fn read(random: &mut Random, serial: u32, known: &[Vec<u8>], fixed: usize) -> Read {
    let flag = |random: &mut Random, bit: u16, n: usize| if random.one_in(n) { bit } else { 0 };
    let mut flags = random.of(&[0, 0x41, 0x81, 0x41, 0x81, 0x1, 0xc1, 0x40, 0xc0, 0x80]);
    for (bit, n) in [(4, 5), (8, 5), (16, 2), (32, 2), (0x100, 4), (0x800, 4), (0x400, 5), (0x200, 9)] {
        flags |= flag(random, bit, n);
    }
    let positions = [0, 0, 3, 3, 4, 8, 100, 4990, 200000];
    let mut it = Read {
        name: name(random, known),
        flags,
        ref_id: random.below(4) as i32 - 1,
        pos: random.of(&positions) - 1,
        cigar: cigar(random),
        next_ref_id: random.below(3) as i32,
        next_pos: random.of(&positions) - 1,
        mate_cigar: cigar(random),
        seq: Vec::new(),
        tagged: None,
        hit: None,
        group: if random.one_in(3) { None } else { Some(random.of(&["1", "2", "3", "4", "5", "6"])) },
        cell: if random.one_in(3) { Some(text(random)) } else { None },
        molecule: if random.one_in(3) { Some(text(random)) } else { None },
        raw: Vec::new(),
    };
    if random.one_in(2) {
        // Much in common with others, so that what is compared last decides.
        (it.ref_id, it.pos, it.next_ref_id, it.next_pos) = (1, 3, 1, 3);
        it.cigar = vec![('M', 4)];
        it.mate_cigar = vec![('M', 4)];
        it.flags &= !0xc;
    }
    if it.ref_id < 0 {
        it.flags |= 0x4;
        it.cigar.clear();
        let bases = if random.one_in(3) { b"ACGTN" } else { b"ACACG" };
        it.seq = (0..random.of(&[0, 7, 19, 20, 21, 45])).map(|_| random.of(bases)).collect();
        if random.one_in(9)
            && let Some(base) = it.seq.last_mut()
        {
            *base = random.of(ALPHABET);
        }
    }
    let field = |tag: &[u8], kind: u8, value: &[u8]| [tag, &[kind], value].concat();
    let text = |tag: &[u8], value: &[u8]| [tag, b"Z", value, b"\0"].concat();
    let mut fields = vec![field(b"ZZ", b'I', &serial.to_le_bytes())];
    if fixed > 0 && !random.one_in(5) {
        let (tagged, kind, bytes) = value(random);
        fields.push(field(b"XX", kind, &bytes));
        it.tagged = Some(tagged);
    }
    if random.one_in(3) {
        let (hit, kind, bytes) = value(random);
        if matches!(kind, b'c' | b'C' | b's' | b'S' | b'i') {
            fields.push(field(b"HI", kind, &bytes));
            it.hit = Some(hit);
        }
    }
    fields.extend(it.group.map(|group| text(b"RG", group.as_bytes())));
    fields.extend(it.cell.as_ref().map(|cell| text(b"CB", cell)));
    fields.extend(it.molecule.as_ref().map(|molecule| text(b"MI", molecule)));
    let mate_cigar: String = it.mate_cigar.iter().map(|(op, n)| format!("{n}{op}")).collect();
    let mate_cigar = if mate_cigar.is_empty() { "*".to_string() } else { mate_cigar };
    fields.push(text(b"MC", mate_cigar.as_bytes()));
    let turn = random.below(fields.len());
    fields.rotate_left(turn);
    it.raw = raw(&it, &fields.concat());
    it
}

fn raw(read: &Read, fields: &[u8]) -> Vec<u8> {
    let code = |base: u8| ALPHABET.iter().position(|&code| code == base).unwrap() as u8;
    let mut raw = vec![0; 36];
    raw[4..8].copy_from_slice(&read.ref_id.to_le_bytes());
    raw[8..12].copy_from_slice(&read.pos.to_le_bytes());
    raw[12] = read.name.len() as u8 + 1;
    raw[16..18].copy_from_slice(&(read.cigar.len() as u16).to_le_bytes());
    raw[18..20].copy_from_slice(&read.flags.to_le_bytes());
    raw[20..24].copy_from_slice(&(read.seq.len() as u32).to_le_bytes());
    raw[24..28].copy_from_slice(&read.next_ref_id.to_le_bytes());
    raw[28..32].copy_from_slice(&read.next_pos.to_le_bytes());
    raw.extend_from_slice(&read.name);
    raw.push(0);
    for &(op, n) in &read.cigar {
        let op = "MIDNSHP=X".find(op).unwrap() as u32;
        raw.extend_from_slice(&((n as u32) << 4 | op).to_le_bytes());
    }
    for pair in read.seq.chunks(2) {
        raw.push(code(pair[0]) << 4 | pair.get(1).map_or(0, |&base| code(base)));
    }
    raw.extend(read.seq.iter().enumerate().map(|(i, _)| i as u8 % 40));
    raw.extend_from_slice(fields);
    edit::close(&mut raw, 0);
    RecordRef::check(&raw, 3).unwrap();
    raw
}

/// An input of up to `most` reads.
pub fn input(random: &mut Random, most: usize) -> Vec<Read> {
    let (mut known, mut reads) = (Vec::new(), Vec::new());
    let tagged = random.below(8);
    for serial in 0..2 + random.below(most - 1) {
        let read = read(random, serial as u32, &known, tagged);
        known.push(read.name.clone());
        reads.push(read);
    }
    reads
}

// ---- rules ----

/// Names as numbers and bytes; a number is bytes without leading zeros, fewer of them first.
fn natural(a: &[u8], b: &[u8]) -> Ordering {
    type Part = Result<Vec<u8>, u8>;
    fn parts(mut name: &[u8]) -> Vec<Part> {
        let mut parts = Vec::new();
        while let Some((&byte, rest)) = name.split_first() {
            let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let zeros = name.iter().take_while(|&&byte| byte == b'0').count();
            parts.push(if digits > 0 { Ok(name[zeros..digits].to_vec()) } else { Err(byte) });
            name = if digits > 0 { &name[digits..] } else { rest };
        }
        parts
    }
    let one = |(a, b): (&Part, &Part)| match (a, b) {
        (Ok(a), Ok(b)) => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
        (Ok(_), Err(b)) => b'0'.cmp(b),
        (Err(a), Ok(_)) => a.cmp(&b'0'),
        (Err(a), Err(b)) => a.cmp(b),
    };
    let (a, b) = (parts(a), parts(b));
    let differs = a.iter().zip(&b).map(one).find(|order| order.is_ne());
    differs.unwrap_or(a.len().cmp(&b.len()))
}

fn by_name(a: &Read, b: &Read, names: fn(&[u8], &[u8]) -> Ordering) -> Ordering {
    let line = |read: &Read| (read.flags >> 6 & 3, read.has(0x100), read.has(0x800));
    names(&a.name, &b.name).then_with(|| line(a).cmp(&line(b)))
}

fn bytes(a: &[u8], b: &[u8]) -> Ordering {
    a.cmp(b)
}

fn by_coordinate(a: &Read, b: &Read) -> Ordering {
    let place = |read: &Read| (read.ref_id as u32, read.pos, read.has(0x10));
    place(a).cmp(&place(b))
}

fn by_queryname(a: &Read, b: &Read) -> Ordering {
    let segment = |read: &Read| match read.flags & 0xc0 {
        _ if !read.has(1) => 4,
        0 => 0,
        0x40 => 1,
        0xc0 => 2,
        _ => 3,
    };
    let hit = |read: &Read| match read.hit {
        Some(Value::Number(hit)) => Some(hit as i64),
        _ => None,
    };
    let line =
        |read: &Read| (segment(read), read.has(0x10), read.has(0x100), read.has(0x800), hit(read));
    a.name.cmp(&b.name).then_with(|| line(a).cmp(&line(b)))
}

fn by_tag(a: &Read, b: &Read, within: Within) -> Ordering {
    let class = |read: &Read| match read.tagged {
        None => 0,
        Some(Value::Byte(_)) => 1,
        Some(Value::Array) => 2,
        Some(Value::Text(_)) => 3,
        Some(Value::Number(_)) => 4,
    };
    let value = || match (&a.tagged, &b.tagged) {
        (Some(Value::Byte(a)), Some(Value::Byte(b))) => a.cmp(b),
        (Some(Value::Text(a)), Some(Value::Text(b))) => a.cmp(b),
        (Some(Value::Number(a)), Some(Value::Number(b))) => a.partial_cmp(b).unwrap(),
        _ => Ordering::Equal,
    };
    class(a).cmp(&class(b)).then_with(value).then_with(|| match within {
        Within::Coordinate => by_coordinate(a, b),
        Within::Natural => by_name(a, b, natural),
        Within::Lexicographic => by_name(a, b, bytes),
    })
}

/// Reference sequence, position, whether forward.
type End = (i32, i64, bool);

fn end_of(mapped: bool, ref_id: i32, pos: i32, reverse: bool, cigar: &[(char, i64)], own: bool) -> End {
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
    // For a mate every soft clip behind the first aligned base counts.
    let aligned = cigar.iter().skip_while(|(op, _)| !reference(*op));
    let clips: i64 = aligned.filter(|(op, _)| *op == 'S').map(|(_, n)| n).sum();
    (ref_id, pos + span + clips, false)
}

fn by_template(a: &Read, b: &Read) -> Ordering {
    let ends = |read: &Read| {
        let (reverse, mate_mapped) = (read.has(0x10), read.has(1) && !read.has(8));
        let own = end_of(!read.has(4), read.ref_id, read.pos, reverse, &read.cigar, true);
        let (next, pos) = (read.next_ref_id, read.next_pos);
        let mate = end_of(mate_mapped, next, pos, read.has(0x20), &read.mate_cigar, false);
        let lower = (own.0, own.1) < (mate.0, mate.1) || (own.0, own.1) == (mate.0, mate.1) && own.2;
        if lower { (own, mate, false) } else { (mate, own, true) }
    };
    let library = |read: &Read| {
        LIBRARIES.iter().find(|(id, _)| Some(*id) == read.group).map_or("", |(_, library)| library)
    };
    let molecule = |read: &Read| {
        let mut molecule = read.molecule.clone().unwrap_or_default();
        if molecule.len() > 1 && molecule[molecule.len() - 2] == b'/' {
            molecule.truncate(molecule.len() - 2);
        }
        molecule.into_iter().map(u8::cast_signed).collect::<Vec<i8>>()
    };
    let key = |read: &Read| {
        let (first, second, upper) = ends(read);
        let places = (first.0, second.0, first.1, second.1, first.2, second.2);
        let cell = read.cell.clone().unwrap_or_default();
        (places, library(read), cell, molecule(read), read.name.clone(), upper)
    };
    key(a).cmp(&key(b))
}

/// Smallest mixed k-mer over both strands and where it starts, as text would be searched.
fn minimiser(seq: &[u8]) -> (u64, i64, bool) {
    let turned: Vec<u8> = seq
        .iter()
        .rev()
        .map(|base| match base {
            b'A' => b'T',
            b'C' => b'G',
            b'G' => b'C',
            b'T' => b'A',
            _ => b'N',
        })
        .collect();
    let number = |kmer: &[u8]| {
        let digit = |base: &u8| b"ACGT".iter().position(|known| known == base).unwrap_or(0) as u64;
        kmer.iter().fold(0, |number, base| number << 2 | digit(base)) ^ 0x78beef7878
    };
    let forward = seq.windows(20).map(number).enumerate().min_by_key(|(_, kmer)| *kmer);
    // Of equal ones on the other strand the last counts.
    let reverse = turned.windows(20).map(number).enumerate().rev().min_by_key(|(_, kmer)| *kmer);
    match (forward, reverse) {
        (Some(forward), Some(reverse)) if reverse.1 < forward.1 => (reverse.1, reverse.0 as i64, true),
        (Some(forward), _) => (forward.1, forward.0 as i64, false),
        _ => (u64::MAX, -19, false),
    }
}

fn by_minhash(a: &Read, b: &Read) -> Ordering {
    if a.ref_id >= 0 || b.ref_id >= 0 {
        return by_coordinate(a, b);
    }
    let key = |read: &Read| {
        let (kmer, place, turned) = minimiser(&read.seq);
        (kmer.wrapping_add(1 << 30), place, read.has(0x10) != turned)
    };
    key(a).cmp(&key(b))
}

fn rule(order: Order, a: &Read, b: &Read) -> Ordering {
    match order {
        Order::Input => Ordering::Equal,
        Order::Coordinate => by_coordinate(a, b),
        Order::Natural => by_name(a, b, natural),
        Order::Lexicographic => by_name(a, b, bytes),
        Order::Queryname => by_queryname(a, b),
        Order::Tag { within, .. } => by_tag(a, b, within),
        Order::TemplateCoordinate => by_template(a, b),
        Order::Minhash => by_minhash(a, b),
    }
}

// ---- keys against rules ----

/// The reads' numbers in the order of their keys.
pub fn sorted_by_keys(order: Order, reads: &[Read], random: &mut Random) -> Vec<usize> {
    let keyer = Keyer::new(order, &Header::parse(HEADER.as_bytes()).unwrap());
    match random.below(3) {
        0 => {}
        1 => keyer.set_anchor(&random.of(reads).name),
        _ => keyer.set_anchor(&name(random, &[])),
    }
    let (mut keys, mut scratch) = (Vec::new(), vec![7; 3]);
    for read in reads {
        let (record, mut tail) = (RecordRef::new(&read.raw), vec![1, 2, 3]);
        let key = keyer.key(record, &mut scratch).unwrap();
        keyer.tail(record, &mut tail);
        assert_eq!(key.is_decided(), tail.is_empty(), "{order:?}");
        keys.push((key, tail));
    }
    let mut sorted: Vec<usize> = (0..reads.len()).collect();
    sorted.sort_by(|&a, &b| keys[a].cmp(&keys[b]));
    for pair in sorted.windows(2) {
        let expected = rule(order, &reads[pair[0]], &reads[pair[1]]);
        let got = keys[pair[0]].cmp(&keys[pair[1]]);
        assert_eq!(got, expected, "{order:?}: {:?} and {:?}", reads[pair[0]], reads[pair[1]]);
    }
    sorted
}

fn hold(order: &str) {
    let (order, mut random) = (Order::parse(order).unwrap(), Random(order.len() as u64));
    for round in 0..1500 {
        let reads = input(&mut random, 40);
        let mut expected: Vec<usize> = (0..reads.len()).collect();
        expected.sort_by(|&a, &b| rule(order, &reads[a], &reads[b]));
        assert_eq!(sorted_by_keys(order, &reads, &mut random), expected, "{order:?}, round {round}");
    }
}

macro_rules! orders_hold {
    ($($test:ident $order:literal;)*) => { $(#[test] fn $test() { hold($order); })* };
}

orders_hold! {
    input_order_is_kept "none";
    coordinate_holds "coordinate";
    natural_holds "natural";
    lexicographic_holds "lexicographic";
    queryname_holds "queryname";
    tag_by_coordinate_holds "tag:XX";
    tag_by_natural_name_holds "tag:XX:natural";
    tag_by_lexicographic_name_holds "tag:XX:lexicographic";
    template_coordinate_holds "template-coordinate";
    minhash_holds "minhash";
}
