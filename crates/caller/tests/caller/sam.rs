//! Sorted records from SAM text, with text fields only.

use readmill_record::Header;

/// A file in memory.
pub struct SamFile {
    pub header: Header,
    /// BAM records with the index of their contig.
    pub records: Vec<(i32, Vec<u8>)>,
}

/// Reads the text of a SAM file.
pub fn parse_sam(text: &str) -> SamFile {
    let header_length =
        text.lines().take_while(|line| line.starts_with('@')).map(|it| it.len() + 1).sum();
    let (header, records) = text.split_at(header_length);
    let header = Header::parse(header.as_bytes()).unwrap();
    let records = records.lines().map(|line| encode_record(&header, line)).collect();
    SamFile { header, records }
}

fn encode_record(header: &Header, line: &str) -> (i32, Vec<u8>) {
    let columns = Vec::from_iter(line.split('\t'));
    let contig = find_contig(header, columns[2]);
    let mate_contig = if columns[6] == "=" { contig } else { find_contig(header, columns[6]) };
    let number = |column: usize| columns[column].parse::<i32>().unwrap();
    let cigar = encode_cigar(columns[5]);
    let (name, bases) = (columns[0].as_bytes(), columns[9].strip_prefix('*').unwrap_or(columns[9]));
    let bases = bases.as_bytes();
    let mut record = vec![0; 4];
    record.extend(contig.to_le_bytes());
    record.extend((number(3) - 1).to_le_bytes());
    record.extend([name.len() as u8 + 1, number(4) as u8, 0, 0]);
    record.extend((cigar.len() as u16).to_le_bytes());
    record.extend((number(1) as u16).to_le_bytes());
    record.extend((bases.len() as u32).to_le_bytes());
    record.extend(mate_contig.to_le_bytes());
    record.extend((number(7) - 1).to_le_bytes());
    record.extend(number(8).to_le_bytes());
    record.extend(name);
    record.push(0);
    cigar.iter().for_each(|element| record.extend(element.to_le_bytes()));
    let codes = Vec::from_iter(bases.iter().map(|&base| encode_base(base)));
    record.extend(codes.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).unwrap_or(&0)));
    match columns[10] {
        "*" => record.extend(bases.iter().map(|_| 0xff)),
        qualities => record.extend(qualities.bytes().map(|quality| quality - 33)),
    }
    for field in &columns[11..] {
        let (tag, value) = (&field[..2], &field[5..]);
        record.extend(tag.bytes().chain([b'Z']).chain(value.bytes()).chain([0]));
    }
    let size = record.len() as u32 - 4;
    record[..4].copy_from_slice(&size.to_le_bytes());
    (contig, record)
}

fn find_contig(header: &Header, name: &str) -> i32 {
    let mut contigs = header.references().iter();
    contigs.position(|contig| contig.name[..] == *name.as_bytes()).map_or(-1, |index| index as i32)
}

fn encode_cigar(text: &str) -> Vec<u32> {
    let mut elements = Vec::new();
    let mut length = 0;
    for letter in text.bytes() {
        match letter {
            b'*' => (), // no alignment
            b'0'..=b'9' => length = length * 10 + u32::from(letter - b'0'),
            _ => {
                let operator = b"MIDNSHP=X".iter().position(|&it| it == letter).unwrap();
                elements.push(length << 4 | operator as u32);
                length = 0;
            }
        }
    }
    elements
}

fn encode_base(base: u8) -> u8 {
    b"=ACMGRSVTWYHKDBN".iter().position(|&code| code == base).unwrap() as u8
}
