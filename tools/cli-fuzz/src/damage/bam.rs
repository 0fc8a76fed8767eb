//! Damages the inflated contents of a BAM file: header, contigs, and record fields.

use readmill_fuzz::changes;
use readmill_simulate::Rng;

use super::lines;
use super::numbers::{MAX_BYTES, draw_number};

/// Bytes of a record between `block_size` and the read name (SAM specification, section
/// 4.2).
const FIXED_BYTES: usize = 32;

/// Offsets and widths of numbers in the fixed part. Reference ID, position and FLAG are listed
/// twice, so that they are damaged more often.
const NUMBERS: [(usize, usize); 11] =
    [(0, 4), (4, 4), (9, 1), (10, 2), (14, 2), (20, 4), (24, 4), (28, 4), (0, 4), (4, 4), (14, 2)];

const LENGTHS: [(usize, usize); 3] = [(8, 1), (12, 2), (16, 4)];

const FIELDS: [&[u8]; 18] = [
    b"RGZx\0",
    b"RGi\x05\0\0\0",
    b"NMZ5\0",
    b"NMi\xff\xff\xff\xff",
    b"NMA5",
    b"MCZ5M3\0",
    b"MCZ268435455M\0",
    b"MDZ10^\0",
    b"MDZ0A99999999999\0",
    b"SAZchr1,1,+,50M,60,0;\0",
    b"OQZ!!\0",
    b"RXZ\0",
    b"RXZACGT-\0",
    b"CGBI\x01\0\0\0\x10\0\0\0",
    b"msC\xff",
    b"XXBc\0\0\0\0",
    b"XXH1\0",
    b"BQZ@@@\0",
];

struct Bam {
    text: Vec<u8>,
    contigs: Vec<(Vec<u8>, u32)>,
    records: Vec<RecordParts>,
}

/// A record in parts. The length of a part can change while the other parts remain valid.
#[derive(Clone)]
struct RecordParts {
    fixed: [u8; FIXED_BYTES],
    name: Vec<u8>,
    cigar: Vec<u32>,
    bases: Vec<u8>,
    qualities: Vec<u8>,
    fields: Vec<Vec<u8>>,
}

/// Damages one to three parts. In one of 12 cases, and if the contents are not BAM, changes bytes
/// instead.
pub fn damage_bam(content: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let parsed = if rng.is_once_in(12) { None } else { parse_bam(content) };
    let Some(mut bam) = parsed else {
        let mut damaged = content.to_vec();
        changes::change_bytes(&mut damaged, other, MAX_BYTES, rng);
        return damaged;
    };
    let mut out = Vec::new();
    for _ in 0..=rng.index(3) {
        match rng.index(8) {
            0 => damage_header(&mut bam, rng),
            1 => damage_order(&mut bam.records, rng),
            _ if bam.records.is_empty() => damage_header(&mut bam, rng),
            _ => {
                let at = if rng.is_once_in(3) { 0 } else { rng.index(bam.records.len()) };
                damage_record(&mut bam.records[at], rng);
            }
        }
    }
    write_bam(&bam, &mut out);
    if rng.is_once_in(25) {
        out.truncate(rng.index(out.len() + 1));
    }
    out
}

fn damage_header(bam: &mut Bam, rng: &mut Rng) {
    match rng.index(7) {
        0 | 1 => bam.text = lines::damage_lines(&bam.text, false, rng),
        2 => bam.text.clear(),
        3 => bam.text.extend([0; 9]),
        _ if bam.contigs.is_empty() => bam.contigs.push((b"new".to_vec(), 5)),
        4 => drop(bam.contigs.pop()),
        5 => {
            let at = rng.index(bam.contigs.len());
            bam.contigs[at].1 = draw_number(i64::from(bam.contigs[at].1), rng) as u32;
        }
        _ => {
            let at = rng.index(bam.contigs.len());
            changes::change_bytes(&mut bam.contigs[at].0, b"chr2\0*=", 300, rng);
        }
    }
}

fn damage_order(records: &mut Vec<RecordParts>, rng: &mut Rng) {
    if records.is_empty() {
        return;
    }
    let (at, to) = (rng.index(records.len()), rng.index(records.len()));
    match rng.index(5) {
        0 => drop(records.remove(at)),
        1 => records.insert(to, records[at].clone()),
        2 => records.swap(at, to),
        3 => records[to].name = records[at].name.clone(),
        _ => records.truncate(at),
    }
}

fn damage_record(record: &mut RecordParts, rng: &mut Rng) {
    match rng.index(12) {
        0..4 => {
            let (at, width) = rng.pick(&NUMBERS);
            set_number(&mut record.fixed, at, width, rng);
        }
        4 => damage_name(&mut record.name, rng),
        5 | 6 => damage_cigar(&mut record.cigar, rng),
        7 => damage_bases(record, rng),
        8 => {
            // Sets a length that contradicts its part.
            record.set_lengths();
            let (at, width) = rng.pick(&LENGTHS);
            set_number(&mut record.fixed, at, width, rng);
            record.fields.push(Vec::new());
        }
        _ => damage_fields(&mut record.fields, rng),
    }
}

fn set_number(fixed: &mut [u8; FIXED_BYTES], at: usize, width: usize, rng: &mut Rng) {
    let mut number = [0; 8];
    number[..width].copy_from_slice(&fixed[at..at + width]);
    let number = draw_number(i64::from_le_bytes(number), rng);
    fixed[at..at + width].copy_from_slice(&number.to_le_bytes()[..width]);
}

fn damage_name(name: &mut Vec<u8>, rng: &mut Rng) {
    match rng.index(6) {
        0 => *name = b"*\0".to_vec(),
        1 => *name = [&vec![b'n'; 253][..], b"\0"].concat(),
        2 => drop(name.pop()),
        3 => name.insert(0, rng.pick(b"@\t \n\0:/")),
        _ => changes::change_bytes(name, b":/12_ACGT@", 255, rng),
    }
}

fn damage_cigar(cigar: &mut Vec<u32>, rng: &mut Rng) {
    let operation = |rng: &mut Rng| {
        let length = match rng.index(4) {
            0 => draw_number(0, rng) as u32 & 0x0fff_ffff,
            _ => rng.index(60) as u32,
        };
        let kinds = if rng.is_once_in(6) { 16 } else { 9 };
        length << 4 | rng.index(kinds) as u32
    };
    match rng.index(7) {
        0 => cigar.clear(),
        1 => cigar.insert(0, operation(rng)),
        2 => cigar.push(operation(rng)),
        3 if !cigar.is_empty() => {
            let at = rng.index(cigar.len());
            cigar[at] = operation(rng);
        }
        4 if !cigar.is_empty() => {
            // Changes the operation and keeps its length, which gives clips, deletions and
            // insertions at the ends.
            let at = rng.index(cigar.len());
            cigar[at] = cigar[at] & !15 | rng.index(9) as u32;
        }
        5 => *cigar = (0..rng.index(200)).map(|_| 1 << 4 | rng.index(2) as u32).collect(),
        _ => cigar.reverse(),
    }
}

fn damage_bases(record: &mut RecordParts, rng: &mut Rng) {
    match rng.index(6) {
        0 => {
            record.bases.clear();
            record.qualities.clear();
        }
        1 => record.qualities.fill(0xff),
        2 => record.qualities.fill(rng.pick(&[0, 93, 94, 200, 255])),
        3 => {
            let length = rng.pick(&[1, 2, 3, 49, 51, 600]);
            record.bases.resize(length, 1);
            record.qualities.resize(length, 30);
        }
        4 => record.bases.fill(rng.index(16) as u8),
        _ => {
            if !record.qualities.is_empty() {
                let at = rng.index(record.qualities.len());
                record.qualities[at] = rng.index(256) as u8;
            }
        }
    }
}

fn damage_fields(fields: &mut Vec<Vec<u8>>, rng: &mut Rng) {
    let at = rng.index(fields.len().max(1));
    match rng.index(8) {
        0 | 1 => fields.push(rng.pick(&FIELDS).to_vec()),
        2 => fields.insert(0, rng.pick(&FIELDS).to_vec()),
        _ if fields.is_empty() => {}
        3 => drop(fields.remove(at)),
        4 => fields.push(fields[at].clone()),
        5 => {
            if let Some(kind) = fields[at].get_mut(2) {
                *kind = rng.pick(b"AcCsSiIfdZHBx\0");
            }
        }
        6 => drop(fields[at].pop()),
        _ => changes::change_bytes(&mut fields[at], b"ZBiRGNM\0", 4096, rng),
    }
}

impl RecordParts {
    fn set_lengths(&mut self) {
        self.fixed[8] = self.name.len() as u8;
        self.fixed[12..14].copy_from_slice(&(self.cigar.len() as u16).to_le_bytes());
        self.fixed[16..20].copy_from_slice(&(self.qualities.len() as u32).to_le_bytes());
    }
}

fn write_bam(bam: &Bam, out: &mut Vec<u8>) {
    let put = |out: &mut Vec<u8>, number: usize| out.extend_from_slice(&(number as u32).to_le_bytes());
    out.extend_from_slice(b"BAM\x01");
    put(out, bam.text.len());
    out.extend_from_slice(&bam.text);
    put(out, bam.contigs.len());
    for (name, length) in &bam.contigs {
        put(out, name.len());
        out.extend_from_slice(name);
        out.extend_from_slice(&length.to_le_bytes());
    }
    for record in &bam.records {
        let mut record = record.clone();
        // `damage_record` adds an empty field to mark deliberately wrong lengths.
        if !record.fields.iter().any(Vec::is_empty) {
            record.set_lengths();
        }
        let mut body = record.fixed.to_vec();
        body.extend_from_slice(&record.name);
        record.cigar.iter().for_each(|operation| body.extend_from_slice(&operation.to_le_bytes()));
        body.extend(record.bases.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0)));
        body.extend_from_slice(&record.qualities);
        record.fields.iter().for_each(|field| body.extend_from_slice(field));
        put(out, body.len());
        out.extend_from_slice(&body);
    }
}

fn take_bytes<'a>(rest: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (taken, more) = rest.split_at_checked(n)?;
    *rest = more;
    Some(taken)
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(take_bytes(rest, 4)?.try_into().ok()?))
}

fn parse_bam(content: &[u8]) -> Option<Bam> {
    let mut rest = content.get(4..)?;
    let length = take_u32(&mut rest)? as usize;
    let mut bam =
        Bam { text: take_bytes(&mut rest, length)?.to_vec(), contigs: Vec::new(), records: Vec::new() };
    for _ in 0..take_u32(&mut rest)? {
        let length = take_u32(&mut rest)? as usize;
        let name = take_bytes(&mut rest, length)?.to_vec();
        bam.contigs.push((name, take_u32(&mut rest)?));
    }
    while !rest.is_empty() {
        let size = take_u32(&mut rest)? as usize;
        bam.records.push(parse_record(take_bytes(&mut rest, size)?)?);
    }
    Some(bam)
}

fn parse_record(mut rest: &[u8]) -> Option<RecordParts> {
    let fixed: [u8; FIXED_BYTES] = take_bytes(&mut rest, FIXED_BYTES)?.try_into().ok()?;
    let name = take_bytes(&mut rest, usize::from(fixed[8]))?.to_vec();
    let operations = usize::from(u16::from_le_bytes([fixed[12], fixed[13]]));
    let mut packed = take_bytes(&mut rest, operations * 4)?;
    let cigar = (0..operations).map_while(|_| take_u32(&mut packed)).collect();
    let length = u32::from_le_bytes([fixed[16], fixed[17], fixed[18], fixed[19]]) as usize;
    let packed = take_bytes(&mut rest, length.div_ceil(2))?;
    let bases = (0..length).map(|i| packed[i / 2] >> (4 * (1 - i % 2)) & 15).collect();
    let qualities = take_bytes(&mut rest, length)?.to_vec();
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let size = field_size(rest)?;
        fields.push(take_bytes(&mut rest, size)?.to_vec());
    }
    Some(RecordParts { fixed, name, cigar, bases, qualities, fields })
}

/// Returns the size in bytes of the optional field at the front, including its tag and
/// type. `None` if the field is invalid.
fn field_size(rest: &[u8]) -> Option<usize> {
    let width = |kind: u8| match kind {
        b'A' | b'c' | b'C' => Some(1),
        b's' | b'S' => Some(2),
        b'i' | b'I' | b'f' => Some(4),
        _ => None,
    };
    Some(match *rest.get(2)? {
        b'Z' | b'H' => 4 + rest[3..].iter().position(|&b| b == 0)?,
        b'B' => {
            let count = take_u32(&mut rest.get(4..)?)? as usize;
            8 + count * width(*rest.get(3)?)?
        }
        kind => 3 + width(kind)?,
    })
}

#[cfg(test)]
mod tests {
    use readmill_simulate::{Profile, Sample};

    use super::*;

    #[test]
    fn a_file_is_taken_apart_and_put_together() {
        let sample = Sample::new(Profile { umi_names: true, ..Profile::small().with_pairs(10) });
        let (mut content, mut records) = (Vec::new(), sample.records());
        sample.raw_header(&mut content);
        while records.append_next(&mut content) {}
        let bam = parse_bam(&content).unwrap();
        let mut again = Vec::new();
        write_bam(&bam, &mut again);
        assert!(again == content && bam.records.len() >= 20);
        let changed =
            (0..50).filter(|&seed| damage_bam(&content, b"", &mut Rng::new(seed)) != content).count();
        assert!(changed > 40, "{changed}");
    }
}
