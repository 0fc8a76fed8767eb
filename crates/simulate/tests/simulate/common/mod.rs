//! A small parser and checker of raw BAM records for the tests.

#![allow(dead_code)]

use readmill_simulate::{Profile, Sample};

/// The fields of a BAM record.
#[derive(Clone, Debug)]
pub struct Record {
    pub contig: i32,
    pub position: i32,
    pub quality: u8,
    pub bin: u16,
    pub flags: u16,
    pub name: String,
    pub cigar: Vec<(usize, char)>,
    pub bases: Vec<u8>,
    pub qualities: Vec<u8>,
    pub mate_contig: i32,
    pub mate_position: i32,
    pub template_length: i32,
    pub tags: Vec<(String, TagValue)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TagValue {
    Number(u32),
    Text(String),
}

fn u32_at(body: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(body[at..at + 4].try_into().expect("four bytes"))
}

fn u16_at(body: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(body[at..at + 2].try_into().expect("two bytes"))
}

impl Record {
    /// Parses a record without its `block_size`, and checks its structure.
    pub fn parse(body: &[u8]) -> Self {
        let name_length = usize::from(body[8]);
        let length = u32_at(body, 16) as usize;
        let mut at = 32 + name_length;
        assert_eq!(body[at - 1], 0, "name must end with NUL");
        let name = String::from_utf8(body[32..at - 1].to_vec()).expect("name is text");
        assert!(!name.is_empty() && name.bytes().all(|b| (b'!'..=b'~').contains(&b)));
        let mut cigar = Vec::new();
        for _ in 0..u16_at(body, 12) {
            let element = u32_at(body, at);
            let operator = "MIDNSHP=X".chars().nth((element & 15) as usize).expect("operator");
            assert!(element >> 4 > 0);
            cigar.push(((element >> 4) as usize, operator));
            at += 4;
        }
        let nibble = |i: usize| body[at + i / 2] >> (4 * (1 - i % 2)) & 15;
        let bases = (0..length).map(|i| b"=ACMGRSVTWYHKDBN"[usize::from(nibble(i))]).collect();
        if length % 2 == 1 {
            assert_eq!(body[at + length / 2] & 15, 0);
        }
        at += length.div_ceil(2);
        let qualities = body[at..at + length].to_vec();
        assert!(qualities.iter().all(|q| (2..=41).contains(q)));
        Self {
            contig: u32_at(body, 0) as i32,
            position: u32_at(body, 4) as i32,
            quality: body[9],
            bin: u16_at(body, 10),
            flags: u16_at(body, 14),
            name,
            cigar,
            bases,
            qualities,
            mate_contig: u32_at(body, 20) as i32,
            mate_position: u32_at(body, 24) as i32,
            template_length: u32_at(body, 28) as i32,
            tags: parse_tags(&body[at + length..]),
        }
    }

    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    pub fn is_primary(&self) -> bool {
        !self.has(0x900)
    }

    pub fn length_of(&self, operators: &str) -> usize {
        self.cigar.iter().filter(|(_, o)| operators.contains(*o)).map(|(n, _)| n).sum()
    }

    pub fn text(&self, tag: &str) -> Option<&str> {
        self.tags.iter().find_map(|(name, value)| match value {
            TagValue::Text(text) if name == tag => Some(text.as_str()),
            _ => None,
        })
    }

    pub fn number(&self, tag: &str) -> Option<u32> {
        self.tags.iter().find_map(|(name, value)| match value {
            TagValue::Number(number) if name == tag => Some(*number),
            _ => None,
        })
    }

    /// Returns the position of the 5' end as if no base were clipped.
    pub fn unclipped_five(&self) -> i64 {
        let clips = |run: &mut dyn Iterator<Item = &(usize, char)>| -> i64 {
            run.take_while(|(_, o)| "SH".contains(*o)).map(|(n, _)| *n as i64).sum()
        };
        if self.has(0x10) {
            let end = i64::from(self.position) + self.length_of("MDN=X") as i64 - 1;
            end + clips(&mut self.cigar.iter().rev())
        } else {
            i64::from(self.position) - clips(&mut self.cigar.iter())
        }
    }

    /// Returns tile, x and y from the read name.
    pub fn cluster(&self) -> (String, i64, i64) {
        let fields: Vec<&str> = self.name.split(':').collect();
        let tile = fields[..5].join(":");
        (tile, fields[5].parse().expect("x"), fields[6].parse().expect("y"))
    }
}

fn parse_tags(mut rest: &[u8]) -> Vec<(String, TagValue)> {
    let mut tags: Vec<(String, TagValue)> = Vec::new();
    while !rest.is_empty() {
        let name = String::from_utf8(rest[..2].to_vec()).expect("tag name");
        assert!(tags.iter().all(|(other, _)| *other != name), "{name} twice");
        let (value, used) = match rest[2] {
            b'C' => (TagValue::Number(u32::from(rest[3])), 4),
            b'S' => (TagValue::Number(u32::from(u16_at(rest, 3))), 5),
            b'Z' => {
                let end = rest.iter().position(|&b| b == 0).expect("NUL");
                (TagValue::Text(String::from_utf8(rest[3..end].to_vec()).expect("text")), end + 1)
            }
            other => panic!("tag type {other}"),
        };
        tags.push((name, value));
        rest = &rest[used..];
    }
    tags
}

/// Returns all records of a sample, with one list for each template.
pub fn templates(sample: &Sample) -> Vec<Vec<Record>> {
    let mut records = sample.records();
    let mut all = Vec::new();
    let mut raw = Vec::new();
    while records.append_next(&mut raw) {
        let mut rest = raw.as_slice();
        let mut template = Vec::new();
        while !rest.is_empty() {
            let size = u32_at(rest, 0) as usize;
            template.push(Record::parse(&rest[4..4 + size]));
            rest = &rest[4 + size..];
        }
        raw.clear();
        all.push(template);
    }
    assert!(!records.append_next(&mut raw) && raw.is_empty(), "stays at its end");
    all
}

pub fn raw(profile: Profile) -> Vec<u8> {
    let sample = Sample::new(profile);
    let mut out = Vec::new();
    let mut records = sample.records();
    while records.append_next(&mut out) {}
    out
}
