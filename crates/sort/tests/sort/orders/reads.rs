//! Generates random reads that are often hard to order.

use readmill_record::bases::{CODES, LETTERS};
use readmill_record::{RecordRef, edit};
use readmill_simulate::Rng;

pub struct ReadGenerator(Rng);

impl ReadGenerator {
    pub fn new(seed: u64) -> Self {
        ReadGenerator(Rng::new(seed))
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0.index(n)
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    Byte(u8),
    Array,
    Text(Vec<u8>),
    Number(f64),
}

/// A read in the form that the slow rules use, and as BAM.
#[derive(Clone, Debug)]
pub struct SampleRead {
    pub name: Vec<u8>,
    pub flags: u16,
    pub ref_id: i32,
    pub pos: i32,
    pub cigar: Vec<(char, i64)>,
    pub next_ref_id: i32,
    pub next_pos: i32,
    pub mate_cigar: Vec<(char, i64)>,
    pub seq: Vec<u8>,
    pub tagged: Option<FieldValue>,
    pub hit: Option<FieldValue>,
    pub group: Option<&'static str>,
    pub cell: Option<Vec<u8>>,
    pub molecule: Option<Vec<u8>>,
    pub raw: Vec<u8>,
}

impl SampleRead {
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

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

/// Draws a name, which is often one of `known` or similar to one.
pub fn draw_name(random: &mut ReadGenerator, known: &[Vec<u8>]) -> Vec<u8> {
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

fn cigar(random: &mut ReadGenerator) -> Vec<(char, i64)> {
    let length =
        |random: &mut ReadGenerator| if random.one_in(50) { 90000 } else { 1 + random.below(4) as i64 };
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

fn text(random: &mut ReadGenerator) -> Vec<u8> {
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

/// Draws the value of a field. Returns it with its type letter and its bytes.
fn draw_value(random: &mut ReadGenerator) -> (FieldValue, u8, Vec<u8>) {
    let number = random.of(&[-40000i64, -200, -1, 0, 1, 2, 2, 100, 200, 50000, 3000000000]);
    let real = random.of(&[-1.5, -0.0, 0.0, 0.25, 1.0, 2.0, 1e30, f64::INFINITY, f64::NEG_INFINITY]);
    match random.below(8) {
        0 => (FieldValue::Byte(b'A'), b'A', vec![b'A']),
        1 => (FieldValue::Byte(b'a'), b'A', vec![b'a']),
        2 => {
            (FieldValue::Array, b'B', random.of(&[b"c\0\0\0\0".to_vec(), b"S\x01\0\0\0\x05\0".to_vec()]))
        }
        3 => (FieldValue::Number(real), b'd', real.to_le_bytes().to_vec()),
        4 => (FieldValue::Number(f64::from(real as f32)), b'f', (real as f32).to_le_bytes().to_vec()),
        5 => {
            let text = text(random);
            (FieldValue::Text(text.clone()), random.of(b"ZH"), [&text[..], b"\0"].concat())
        }
        _ => {
            let fits = |low: i64, high: i64| (low..=high).contains(&number);
            let types =
                [(b'c', 1, fits(-128, 127)), (b'C', 1, fits(0, 255)), (b's', 2, fits(-32768, 32767))];
            let wider = [(b'S', 2, fits(0, 65535)), (b'i', 4, number < 1 << 31), (b'I', 4, number >= 0)];
            let types: Vec<_> = types.into_iter().chain(wider).filter(|one| one.2).collect();
            let (kind, width, _) = random.of(&types);
            (FieldValue::Number(number as f64), kind, number.to_le_bytes()[..width].to_vec())
        }
    }
}

/// Draws bases in which the same k-mers occur repeatedly, on either strand.
fn draw_bases(random: &mut ReadGenerator) -> Vec<u8> {
    let units: [&[u8]; 4] = [b"ACACG", b"GATTACA", b"TGCAATCCGGTATTGACCAGTACA", b"NAC"];
    let (unit, skip) = (random.of(&units), random.below(3));
    let length = random.of(&[0, 7, 19, 20, 21, 45, 90]);
    let mut bases: Vec<u8> = unit.iter().cycle().copied().skip(skip).take(length).collect();
    if random.one_in(2) {
        bases = reverse_complement(&bases);
    }
    if random.one_in(4) && length > 0 {
        bases[random.below(length)] = random.of(LETTERS);
    }
    bases
}

/// Draws a read. A field has the number `serial`, so that the order of ties can be checked.
fn draw_read(random: &mut ReadGenerator, serial: u32, known: &[Vec<u8>], fixed: usize) -> SampleRead {
    let flag = |random: &mut ReadGenerator, bit: u16, n: usize| if random.one_in(n) { bit } else { 0 };
    let mut flags = random.of(&[0, 0x41, 0x81, 0x41, 0x81, 0x1, 0xc1, 0x40, 0xc0, 0x80]);
    for (bit, n) in [(4, 5), (8, 5), (16, 2), (32, 2), (0x100, 4), (0x800, 4), (0x400, 5), (0x200, 9)] {
        flags |= flag(random, bit, n);
    }
    let positions = [0, 0, 3, 3, 4, 8, 100, 4990, 200000];
    let mut it = SampleRead {
        name: draw_name(random, known),
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
        // Reads are similar to each other, so that the last comparisons decide.
        (it.ref_id, it.pos, it.next_ref_id, it.next_pos) = (1, 3, 1, 3);
        // With one aligned base, a forward and a reverse read at one position have the same end.
        (it.cigar, it.mate_cigar) = (vec![('M', random.of(&[1, 4]))], vec![('M', random.of(&[1, 4]))]);
        it.flags &= !0xc;
    }
    if it.ref_id < 0 {
        it.flags |= 0x4;
        it.cigar.clear();
        it.seq = draw_bases(random);
    }
    let field = |tag: &[u8], kind: u8, value: &[u8]| [tag, &[kind], value].concat();
    let text = |tag: &[u8], value: &[u8]| [tag, b"Z", value, b"\0"].concat();
    let mut fields = vec![field(b"ZZ", b'I', &serial.to_le_bytes())];
    if fixed > 0 && !random.one_in(5) {
        let (tagged, kind, bytes) = draw_value(random);
        fields.push(field(b"XX", kind, &bytes));
        it.tagged = Some(tagged);
    }
    if random.one_in(3) {
        let (hit, kind, bytes) = draw_value(random);
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

fn raw(read: &SampleRead, fields: &[u8]) -> Vec<u8> {
    let code = |base: u8| CODES[usize::from(base)];
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
    edit::set_block_size(&mut raw, 0);
    RecordRef::check(&raw, 3).unwrap();
    raw
}

/// Draws an input of up to `max_reads` reads.
pub fn draw_input(random: &mut ReadGenerator, max_reads: usize) -> Vec<SampleRead> {
    let (mut known, mut reads) = (Vec::new(), Vec::new());
    let tagged = random.below(8);
    for serial in 0..2 + random.below(max_reads - 1) {
        let read = draw_read(random, serial as u32, &known, tagged);
        known.push(read.name.clone());
        reads.push(read);
    }
    reads
}

/// Returns the reverse complement; bases other than ACGT become N.
pub fn reverse_complement(seq: &[u8]) -> Vec<u8> {
    let pairs = [(b'A', b'T'), (b'C', b'G'), (b'G', b'C'), (b'T', b'A')];
    let other = |base| pairs.iter().find(|pair| pair.0 == base).map_or(b'N', |pair| pair.1);
    seq.iter().rev().map(|&base| other(base)).collect()
}
