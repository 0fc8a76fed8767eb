//! Decodes a record of a slice from its data series, and assembles its parts as BAM.

use std::collections::HashMap;

use readmill_format::sam::long_cigar;
use readmill_record::bases::CODES;
use readmill_record::cigar::{Cigar, consumes_query, consumes_reference};
use readmill_record::{Flags, Result, edit};

use super::features;
use super::mates::{MateLink, RecordNote};
use super::parts::{FixedFields, RecordBuffers, RecordReader, StoredTag, WantedTags};
use crate::encoding::SeriesEncoding;
use crate::num::damaged_cram;
use crate::scheme::{
    DETACHED, DOWNSTREAM, NO_BASES, QUALITIES, Scheme, Series, TagKey, UNKNOWN_GROUP, WITH_TLEN,
};

/// Maximum number of bases in a read. A larger number is treated as damage.
const MAX_READ_BASES: usize = 1 << 29;

/// Maximum size of a stored name in bytes. BAM allows 254; longer names are refused when the record
/// is assembled.
const MAX_NAME_BYTES: usize = 1 << 16;

/// Returns the tag lists, with the encoding of each tag. Records refer to a list by its index (TL).
pub fn stored_tag_lists<'a>(
    scheme: &Scheme,
    tags: &'a [(TagKey, SeriesEncoding)],
) -> Vec<Vec<StoredTag<'a>>> {
    let missing = &SeriesEncoding::Null;
    let known: HashMap<_, _> = tags.iter().rev().map(|(key, encoding)| (key, encoding)).collect();
    let find = |key: &TagKey| known.get(key).copied().unwrap_or(missing);
    let line = |line: &Vec<TagKey>| {
        line.iter().map(|key| StoredTag { key: *key, encoding: find(key) }).collect()
    };
    scheme.tag_lists.iter().map(line).collect()
}

impl RecordReader<'_> {
    /// Charges the parts of the record that exist, and `planned` more bytes.
    ///
    /// # Errors
    /// Fails if the parts exceed the size that the container announced, or the free memory.
    pub fn reserve_parts(&mut self, planned: usize) -> Result<()> {
        self.parts.reserve(self.scratch.used_bytes() + planned)
    }

    #[inline]
    fn read_number(&mut self, series: Series) -> Result<i32> {
        self.series[series as usize].read_number(self.streams)
    }

    /// Decodes the next record, appends it to `out` without its mate fields, and appends its note
    /// to `notes`.
    pub fn decode_next(&mut self, notes: &mut Vec<RecordNote>, out: &mut Vec<u8>) -> Result<()> {
        self.scratch.clear();
        let mut fixed = self.read_fixed()?;
        if self.scheme.has_names {
            self.read_name()?;
        }
        let link = self.read_mate_link(fixed, notes.len())?;
        let mut wanted = WantedTags::default();
        if !self.blocks_skipped {
            wanted = self.read_tags()?;
        }
        if !self.needs_only_places {
            self.restore_name(&link, notes, out);
        }
        let has_bases = fixed.cram & NO_BASES == 0;
        if !self.bases.has_bases(fixed.contig) || !has_bases || self.needs_only_places {
            wanted = WantedTags::default();
        }
        self.scratch.cigar.clear();
        if fixed.flags & Flags::UNMAPPED == 0 {
            if fixed.pos <= 0 {
                return Err(damaged_cram("a mapped read has no position"));
            }
            features::decode_features(self, &mut fixed, wanted)?;
        } else {
            fixed.end = fixed.pos;
            self.read_unmapped_bases(fixed)?;
        }
        if !has_bases {
            fixed.length = 0;
        }
        let at = out.len();
        if self.needs_only_places {
            check_covered(&fixed, &self.scratch.cigar)?;
            self.scratch.keep_only_places();
            fixed.length = 0;
        } else {
            self.add_read_group(fixed.group)?;
        }
        self.reserve_parts(0)?;
        write_bam(&fixed, self.scratch, out)?;
        notes.push(RecordNote {
            at,
            name: self.scratch.name.len(),
            fixed,
            link,
            tlen: 0,
            has_tlen: false,
        });
        Ok(())
    }

    fn read_fixed(&mut self) -> Result<FixedFields> {
        let flags = self.read_number(Series::Bf)?;
        let flags = u16::try_from(flags).map_err(|_| damaged_cram("FLAG is not a number of 16 bits"))?;
        let cram = self.read_number(Series::Cf)?;
        let contig =
            if self.slice.contig == -2 { self.read_number(Series::Ri)? } else { self.slice.contig };
        if contig < -1 || contig >= self.setup.references.contig_count() as i32 {
            return Err(damaged_cram("a read is on a contig that is not in the header"));
        }
        let length = usize::try_from(self.read_number(Series::Rl)?).ok().filter(|&n| n < MAX_READ_BASES);
        let length = length.ok_or_else(|| damaged_cram("the length of a read is invalid"))?;
        let mut pos = i64::from(self.read_number(Series::Ap)?);
        if self.scheme.is_delta {
            pos += self.last_pos;
        }
        if pos > i64::from(i32::MAX)
            || pos < 0
            || self.slice.contig >= 0 && pos < i64::from(self.slice.start)
        {
            return Err(damaged_cram("the position of a read is invalid"));
        }
        self.last_pos = pos;
        let group = self.read_number(Series::Rg)?;
        Ok(FixedFields { flags, cram, contig, pos, end: pos, length, mapq: 0, group })
    }

    fn read_name(&mut self) -> Result<()> {
        let names = &self.series[Series::Rn as usize];
        let reserve = |n| match n {
            0..=MAX_NAME_BYTES => Ok(()),
            _ => Err(damaged_cram("a read name is too long")),
        };
        names.read_array(self.streams, reserve, &mut self.scratch.name)?;
        Ok(())
    }

    fn read_mate_link(&mut self, fixed: FixedFields, number: usize) -> Result<MateLink> {
        if fixed.cram & DETACHED != 0 {
            let flags = self.read_number(Series::Mf)?;
            if !self.scheme.has_names {
                self.read_name()?;
            }
            let contig = self.read_number(Series::Ns)?;
            if contig < -1 || contig >= self.setup.references.contig_count() as i32 {
                return Err(damaged_cram("a mate is on a contig that is not in the header"));
            }
            let (pos, tlen) = (self.read_number(Series::Np)?, self.read_number(Series::Ts)?);
            return Ok(MateLink::Detached { flags, contig, pos, tlen });
        }
        let downstream = fixed.cram & DOWNSTREAM != 0;
        let mut mate = None;
        if downstream {
            let between = usize::try_from(self.read_number(Series::Nf)?).ok();
            let line = between.map(|n| n + number + 1).filter(|&line| line < self.slice.records);
            mate = Some(line.ok_or_else(|| damaged_cram("a mate is outside its slice"))?);
        }
        let tlen = if fixed.cram & WITH_TLEN != 0 { Some(self.read_number(Series::Ts)?) } else { None };
        Ok(MateLink::Attached { mate, tlen })
    }

    /// Names a record that has no stored name: with the name of an earlier record of its template,
    /// otherwise, as in htslib, with the prefix and the number of the record in the file.
    fn restore_name(&mut self, link: &MateLink, notes: &[RecordNote], out: &[u8]) {
        if !self.scratch.name.is_empty() {
            return;
        }
        let number = notes.len();
        let head = self.first_records.remove(&number).unwrap_or(number);
        if let MateLink::Attached { mate: Some(line), .. } = link {
            self.first_records.insert(*line, head);
        }
        if let Some(note) = notes.get(head) {
            self.scratch.name.extend_from_slice(&out[note.at + 36..][..note.name]);
            return;
        }
        let counter = self.slice.counter + number as i64 + 1;
        self.scratch.name.extend_from_slice(&self.setup.prefix);
        self.scratch.name.extend_from_slice(format!(":{counter}").as_bytes());
    }

    /// Reads the tags. Returns which of MD and NM are not stored and must be computed.
    fn read_tags(&mut self) -> Result<WantedTags> {
        let used = self.scratch.used_bytes();
        let line = self.read_number(Series::Tl)?;
        let line = usize::try_from(line).ok().and_then(|line| self.tag_lists.get(line));
        let line =
            line.ok_or_else(|| damaged_cram("a record refers to a tag list that does not exist"))?;
        let (mut wanted, tags) = (WantedTags { md: true, nm: true }, &mut self.scratch.tags);
        for tag in line {
            let start = tags.len();
            tags.extend_from_slice(&tag.key);
            let used = used + tags.len();
            tag.encoding.read_array(self.streams, |n| self.parts.reserve(used + n), tags)?;
            match &tag.key {
                b"MDZ" => wanted.md = false,
                [b'N', b'M', _] => wanted.nm = false,
                // htslib's tag cF says which of MD and NM not to compute.
                b"cFC" if tags.len() == start + 4 => {
                    let flags = tags[start + 3];
                    tags.truncate(start);
                    wanted.md &= flags & 1 == 0;
                    wanted.nm &= flags & 2 == 0;
                }
                _ => {}
            }
        }
        Ok(wanted)
    }

    fn add_read_group(&mut self, group: i32) -> Result<()> {
        let groups = &self.setup.groups;
        let unknown =
            group >= 0 && group as usize + 1 == groups.len() && groups[group as usize] == UNKNOWN_GROUP;
        if group == -1 || unknown {
            return Ok(());
        }
        let name = groups.get(group as usize);
        let name =
            name.ok_or_else(|| damaged_cram("a record has a read group that is not in the header"))?;
        self.scratch.tags.extend_from_slice(b"RGZ");
        self.scratch.tags.extend_from_slice(name);
        self.scratch.tags.push(0);
        Ok(())
    }

    fn read_unmapped_bases(&mut self, fixed: FixedFields) -> Result<()> {
        if self.blocks_skipped {
            return Ok(());
        }
        self.reserve_parts(2 * fixed.length)?;
        let RecordBuffers { seq, qual, .. } = &mut *self.scratch;
        seq.clear();
        qual.clear();
        if fixed.length > 0 {
            self.series[Series::Ba as usize].read_bytes(self.streams, fixed.length, seq)?;
        }
        if fixed.cram & QUALITIES != 0 {
            self.series[Series::Qs as usize].read_bytes(self.streams, fixed.length, qual)?;
        } else {
            qual.resize(fixed.length, 255);
        }
        Ok(())
    }
}

/// Checks that the CIGAR consumes as many bases as the read has. Returns the number of reference
/// bases that it consumes.
fn check_covered(fixed: &FixedFields, cigar: &[u32]) -> Result<i64> {
    let (mut span, mut covered) = (0i64, 0i64);
    for &operator in cigar {
        let (kind, length) = (operator & 15, i64::from(operator >> 4));
        span += if consumes_reference(kind) { length } else { 0 };
        covered += if consumes_query(kind) { length } else { 0 };
    }
    if fixed.length > 0 && !cigar.is_empty() && covered != fixed.length as i64 {
        return Err(damaged_cram("CIGAR and SEQ are of different length"));
    }
    Ok(span)
}

/// Appends the record as BAM. Its mate fields are filled in later.
fn write_bam(fixed: &FixedFields, scratch: &RecordBuffers, out: &mut Vec<u8>) -> Result<()> {
    let RecordBuffers { name, tags, seq, qual, cigar, .. } = scratch;
    if name.len() > 254 {
        return Err(damaged_cram("a read name has more than 254 bytes"));
    }
    let span = check_covered(fixed, cigar)?;
    let start = out.len();
    let pos = fixed.pos - 1;
    let span = if fixed.flags & Flags::UNMAPPED != 0 { 1 } else { span.max(1) };
    out.extend_from_slice(&[0; 36]);
    out.extend_from_slice(name);
    out.push(0);
    let mut at = out.len()..out.len();
    cigar.iter().for_each(|operator| out.extend_from_slice(&operator.to_le_bytes()));
    at.end = out.len();
    let length = fixed.length;
    let pairs = seq[..length].chunks_exact(2);
    let rest = pairs.remainder();
    out.extend(pairs.map(|two| CODES[two[0] as usize] << 4 | CODES[two[1] as usize]));
    out.extend(rest.iter().map(|&one| CODES[one as usize] << 4));
    out.extend_from_slice(&qual[..length]);
    out.extend_from_slice(tags);
    if cigar.len() > long_cigar::MAX_STORED_OPERATORS {
        long_cigar::store_long_cigar(out, &mut at, length)?;
    }
    let operators = Cigar(&out[at]).ops().len() as u16;
    let raw = &mut out[start..];
    let mut put = |at: usize, bytes: &[u8]| raw[at..at + bytes.len()].copy_from_slice(bytes);
    put(4, &fixed.contig.to_le_bytes());
    put(8, &(pos as i32).to_le_bytes());
    put(12, &[name.len() as u8 + 1, fixed.mapq]);
    put(14, &edit::bai_bin(pos, pos + span).to_le_bytes());
    put(16, &operators.to_le_bytes());
    put(18, &fixed.flags.to_le_bytes());
    put(20, &(length as u32).to_le_bytes());
    edit::set_block_size(out, start);
    Ok(())
}
