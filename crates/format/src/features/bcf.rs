//! BCF, the binary form of VCF (VCF specification 4.3, section 6). The shared part of a record
//! starts with twelve bytes for its contig, position (0-based) and length; the length already takes
//! INFO END into account. GATK 4.6.2 reads only BCF 2.1; bcftools writes 2.2, which differs only in
//! parts that are not read here.

use std::io::Read;
use std::path::{Path, PathBuf};

use memchr::memmem;
use readmill_record::{Charge, Error, Ledger, Result, make_room};

use super::dictionary::FeatureDictionary;
use super::lines::{FeaturePlace, parse_java_int, parse_vcf_contig};
use crate::text::{self, TextInput};

const MAX_HEADER_BYTES: u32 = 256 << 20;

/// Number of bytes read of each record: the lengths of its two parts, contig, position and length.
const FIXED: usize = 20;

const PIECE: usize = 16 << 10;

pub(super) struct BcfReader {
    path: PathBuf,
    input: TextInput,
    /// The contig numbers of the header in ascending order, each with the index of the contig in
    /// the dictionary.
    numbers: Vec<(u32, u32)>,
    record: u64,
    piece: Box<[u8]>,
    _charge: Charge,
}

pub(super) fn open_bcf(
    path: &Path,
    mut input: TextInput,
    ledger: &Ledger,
) -> Result<(FeatureDictionary, BcfReader)> {
    let mut start = [0; 9];
    input.read_exact(&mut start).map_err(|e| text::read_error(&e, path))?;
    let length = u32::from_le_bytes([start[5], start[6], start[7], start[8]]);
    if length > MAX_HEADER_BYTES {
        return Err(Error::input("the header of this BCF file is damaged"));
    }
    let (mut text, mut of_text) = (Vec::new(), ledger.empty_charge("a header of known sites"));
    if input.append_bytes(length.into(), &mut text, &mut of_text)? < length.into() {
        return Err(
            Error::input("the file ends inside its header").hint("download or create the file again")
        );
    }
    let (mut dictionary, mut numbers) = (FeatureDictionary::new(ledger), Vec::new());
    let (mut charge, mut next) = (ledger.charge("known sites", PIECE as u64)?, 0);
    for line in text.split(|&byte| byte == b'\n') {
        let Some(fields) = line.strip_prefix(b"##contig=<") else { continue };
        let (Some(name), length) = parse_vcf_contig(fields) else {
            return Err(Error::input("a ##contig line has no ID"));
        };
        make_room(&mut numbers, 1, &mut charge)?;
        let own = stated_index(fields).unwrap_or(next);
        numbers.push((own, dictionary.len() as u32));
        dictionary.push_contig(name, length.and_then(parse_java_int))?;
        next = next.max(own.saturating_add(1));
    }
    numbers.sort_unstable();
    let (path, piece) = (path.to_path_buf(), vec![0; PIECE].into());
    Ok((dictionary, BcfReader { path, input, numbers, record: 0, piece, _charge: charge }))
}

fn stated_index(fields: &[u8]) -> Option<u32> {
    let value = &fields[memmem::find(fields, b"IDX=")? + 4..];
    let end = value.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(value.len());
    parse_java_int(&value[..end])
}

impl BcfReader {
    /// Returns the position of the next record on a contig of `dictionary`; `None` at the end of
    /// the file.
    pub fn next_place<'a>(
        &mut self,
        dictionary: &'a FeatureDictionary,
    ) -> Result<Option<FeaturePlace<'a>>> {
        let mut fixed = [0; FIXED];
        let got = self.input.fill_buffer(&mut fixed).map_err(|e| text::read_error(&e, &self.path))?;
        if got == 0 {
            return Ok(None);
        }
        self.record += 1;
        if got < FIXED {
            return Err(self.record_error("the file ends inside a record"));
        }
        let field = |i: usize| u32::from_le_bytes([fixed[i], fixed[i + 1], fixed[i + 2], fixed[i + 3]]);
        let [shared, each, contig, start, length] = [0, 4, 8, 12, 16].map(field);
        let left = (u64::from(shared) + u64::from(each)).checked_sub(FIXED as u64 - 8);
        self.skip_bytes(left.ok_or_else(|| self.record_error("the record length is invalid"))?)?;
        // Position -1 is the telomere before the first base.
        let first = if start == u32::MAX { 0 } else { start };
        let end = start.wrapping_add(length);
        if end < first || end > i32::MAX as u32 {
            return Err(self.record_error("the position is invalid"));
        }
        // If a number occurs more than once, the last one counts.
        let after = self.numbers.partition_point(|&(number, _)| number <= contig);
        match self.numbers[..after].last() {
            Some(&(number, place)) if number == contig => Ok(Some(FeaturePlace {
                contig: dictionary.contig_name(place as usize),
                start: first,
                end,
            })),
            _ => Err(self.record_error(format!("the header has no contig number {contig}"))),
        }
    }

    fn skip_bytes(&mut self, mut left: u64) -> Result<()> {
        while left > 0 {
            let now = (PIECE as u64).min(left) as usize;
            let got = self
                .input
                .fill_buffer(&mut self.piece[..now])
                .map_err(|e| text::read_error(&e, &self.path))?;
            if got < now {
                return Err(self.record_error("the file ends inside a record"));
            }
            left -= got as u64;
        }
        Ok(())
    }

    pub fn record_error(&self, what: impl std::fmt::Display) -> Error {
        Error::input(format!("record {}: {what}", self.record)).file(&self.path)
    }
}
