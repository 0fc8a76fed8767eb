//! BCF: VCF in binary (VCF specification 4.3, section 6). A record says its place in its first twelve bytes: contig,
//! position (0-based) and length, to which INFO END has been applied by whoever wrote it. GATK 4.6.2 reads BCF 2.1
//! alone; bcftools writes 2.2, which differs in what is not read here.

use std::io::Read;
use std::path::{Path, PathBuf};

use memchr::memmem;
use readmill_record::{Error, Result};

use super::dictionary::Dictionary;
use super::place::{Place, number};
use super::vcf;
use crate::text::{self, Input};

/// Most bytes of header text.
const MAX_HEADER: u32 = 256 << 20;

/// Bytes of a record's fixed part that are read: the lengths of its two parts, contig, position, length.
const FIXED: usize = 20;

/// The records of a file.
pub(super) struct Records {
    path: PathBuf,
    input: Input,
    /// Names by the number that stands for them.
    names: Vec<Option<Vec<u8>>>,
    /// Number of the last record, from 1.
    number: u64,
    rest: Vec<u8>,
}

/// Reads the header of `input`.
pub(super) fn open(path: &Path, mut input: Input) -> Result<(Dictionary, Records)> {
    let reading = |e| text::reading(&e, path);
    let mut start = [0; 9];
    input.read_exact(&mut start).map_err(reading)?;
    let length = u32::from_le_bytes([start[5], start[6], start[7], start[8]]);
    if length > MAX_HEADER {
        return Err(Error::input("the header of this BCF file is damaged").file(path));
    }
    let mut text = vec![0; length as usize];
    input.read_exact(&mut text).map_err(reading)?;
    let (mut dictionary, mut names) = (Dictionary::default(), Vec::new());
    for line in text.split(|&byte| byte == b'\n') {
        let Some(fields) = line.strip_prefix(b"##contig=<") else { continue };
        let (Some(name), length) = vcf::contig(fields) else {
            return Err(Error::input("##contig without ID").file(path));
        };
        dictionary.push(name, length.and_then(number));
        let place = index(fields).unwrap_or(names.len());
        names.resize(names.len().max(place + 1), None);
        names[place] = Some(name.to_vec());
    }
    let path = path.to_path_buf();
    Ok((dictionary, Records { path, input, names, number: 0, rest: Vec::new() }))
}

/// The number that stands for a contig, where the header says it rather than the order of its lines.
fn index(fields: &[u8]) -> Option<usize> {
    let value = &fields[memmem::find(fields, b"IDX=")? + 4..];
    let end = value.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(value.len());
    number(&value[..end]).map(|n| n as usize).filter(|&n| n < 1 << 24)
}

impl Records {
    /// Where the next record lies; nothing at the end of the file.
    pub fn next_place(&mut self) -> Result<Option<Place<'_>>> {
        self.rest.clear();
        let got = (&mut self.input).take(FIXED as u64).read_to_end(&mut self.rest);
        got.map_err(|e| text::reading(&e, &self.path))?;
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        let field = |i: usize| self.rest.get(4 * i..4 * i + 4)?.try_into().ok().map(u32::from_le_bytes);
        let (Some(shared), Some(each), Some(contig), Some(start), Some(length)) =
            (field(0), field(1), field(2), field(3), field(4))
        else {
            return Err(self.wrong("the file ends inside a record"));
        };
        let left = (u64::from(shared) + u64::from(each)).checked_sub(FIXED as u64 - 8);
        let left = left.ok_or_else(|| self.wrong("its length cannot be"))?;
        self.rest.clear();
        let got = (&mut self.input).take(left).read_to_end(&mut self.rest);
        if (got.map_err(|e| text::reading(&e, &self.path))? as u64) < left {
            return Err(self.wrong("the file ends inside a record"));
        }
        // -1 is the telomere before the first base.
        let first = if start == u32::MAX { 0 } else { start };
        let end = start.wrapping_add(length);
        if end < first || end > i32::MAX as u32 {
            return Err(self.wrong("its place cannot be"));
        }
        match self.names.get(contig as usize) {
            Some(Some(contig)) => Ok(Some(Place { contig, start: first, end })),
            _ => Err(self.wrong(format!("the header has no contig number {contig}"))),
        }
    }

    /// An error that names the file and the last record.
    pub fn wrong(&self, what: impl std::fmt::Display) -> Error {
        Error::input(format!("record {}: {what}", self.number)).file(&self.path)
    }
}
