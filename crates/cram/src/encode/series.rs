//! The values of a container, by data series, and the blocks that they are written to.

use std::collections::HashMap;

use readmill_record::Result;
use readmill_record::{Error, RecordRef};

use crate::block::{self, ContentType};
use crate::codec::{BlockCompressor, BlockContent, ContentKind, QualityRead};
use crate::num::put_itf8;
use crate::scheme::{KEYS, Series, TagKey};

#[derive(Default)]
pub struct SeriesValues {
    pub bytes: Vec<u8>,
    /// Number of values, and the first value as long as all are equal. A series of equal values
    /// needs no block.
    count: usize,
    only: Option<i32>,
}

impl SeriesValues {
    #[inline]
    pub fn add_number(&mut self, n: i32) {
        if self.count == 0 {
            self.only = Some(n);
        } else if self.only != Some(n) {
            self.only = None;
        }
        self.count += 1;
        put_itf8(&mut self.bytes, n);
    }

    #[inline]
    pub fn add_byte(&mut self, byte: u8) {
        self.count += 1;
        self.bytes.push(byte);
    }

    #[inline]
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        self.count += 1;
        self.bytes.extend_from_slice(bytes);
    }

    fn clear(&mut self) {
        self.bytes.clear();
        (self.count, self.only) = (0, None);
    }
}

#[derive(Default)]
pub struct TagColumn {
    key: TagKey,
    bytes: Vec<u8>,
    width: Option<usize>,
    has_tab: bool,
    /// Lengths of the values as ITF8. Written only if no stop byte can be used.
    lengths: Vec<u8>,
}

#[derive(Default)]
struct TagLine {
    keys: Vec<u8>,
    columns: Vec<usize>,
}

/// All values of a container, in columns. [`clear`](Self::clear) keeps their memory for the next
/// container.
#[derive(Default)]
pub struct Columns {
    all: [SeriesValues; KEYS.len()],
    lines: Vec<TagLine>,
    by_keys: HashMap<Vec<u8>, usize>,
    last_line: usize,
    tags: Vec<TagColumn>,
    used: usize,
    reads: Vec<QualityRead>,
}

/// Terminates each value in the blocks of names and of inserted, clipped or stored bases.
const STOP: u8 = 0;

/// Terminates each string tag. The string's own final zero is part of the value.
const TAG_STOP: u8 = b'\t';

impl Columns {
    pub fn clear(&mut self) {
        self.all.iter_mut().for_each(SeriesValues::clear);
        self.lines.clear();
        self.by_keys.clear();
        (self.last_line, self.used) = (0, 0);
        self.reads.clear();
    }

    #[inline]
    pub fn add_qualities(&mut self, qualities: &[u8], reverse: bool) {
        self.series_mut(Series::Qs).add_bytes(qualities);
        self.reads.push(QualityRead { length: qualities.len() as u32, reverse });
    }

    #[inline]
    pub fn series_mut(&mut self, series: Series) -> &mut SeriesValues {
        &mut self.all[series as usize]
    }

    /// Adds bytes and a stop byte, which must not occur in the bytes.
    #[inline]
    pub fn add_stopped(&mut self, series: Series, bytes: &[u8]) {
        let column = self.series_mut(series);
        column.add_bytes(bytes);
        column.bytes.push(STOP);
    }

    pub fn add_repeated(&mut self, series: Series, byte: u8, n: usize) {
        let column = self.series_mut(series);
        column.count += 1;
        column.bytes.resize(column.bytes.len() + n, byte);
        column.bytes.push(STOP);
    }

    /// Adds the tags of a record. `keys` has three bytes for each value: the tag and its type.
    pub fn add_tags(&mut self, keys: &[u8], values: &[&[u8]]) {
        if self.lines.get(self.last_line).is_none_or(|line| line.keys != keys) {
            self.last_line = match self.by_keys.get(keys) {
                Some(&line) => line,
                None => self.add_line(keys),
            };
        }
        let line = self.last_line as i32;
        self.series_mut(Series::Tl).add_number(line);
        for (&column, value) in self.lines[self.last_line].columns.iter().zip(values) {
            self.tags[column].add_value(value);
        }
    }

    fn add_line(&mut self, keys: &[u8]) -> usize {
        let columns = keys.chunks_exact(3).map(|key| {
            let known = self.tags[..self.used].iter().position(|tag| tag.key == key);
            known.unwrap_or_else(|| {
                if self.tags.len() == self.used {
                    self.tags.push(TagColumn::default());
                }
                self.tags[self.used].reset_for([key[0], key[1], key[2]]);
                self.used += 1;
                self.used - 1
            })
        });
        let line = TagLine { columns: columns.collect(), keys: keys.to_vec() };
        self.lines.push(line);
        self.by_keys.insert(keys.to_vec(), self.lines.len() - 1);
        self.lines.len() - 1
    }

    /// Compresses all series and tags, and appends their blocks. Returns the content ids.
    ///
    /// # Errors
    /// A block is 2 GiB or larger.
    pub fn write_blocks(
        &mut self,
        compressor: &mut BlockCompressor,
        out: &mut Vec<u8>,
    ) -> Result<Vec<i32>> {
        let mut ids = Vec::new();
        let mut room = Vec::new();
        let reads = &self.reads[..];
        let mut put = |id: i32, kind: ContentKind, width: usize, bytes: &[u8]| {
            block::to_block_length(bytes.len(), "a block of a container")?;
            let content = BlockContent { kind, width, reads };
            let (method, data) = compressor.compress(bytes, content, &mut room);
            block::write_block(ContentType::External, id, method, bytes.len(), data, out);
            ids.push(id);
            Ok(())
        };
        for (at, column) in self.all.iter().enumerate() {
            if column.count > 0 && column.only.is_none() {
                put(series_id(at), series_kind(at), 1, &column.bytes)?;
            }
        }
        for tag in &self.tags[..self.used] {
            put(tag.content_id(), ContentKind::Any, tag.width.unwrap_or(1), &tag.bytes)?;
            if tag.needs_lengths() {
                put(tag.content_id() | LENGTHS, ContentKind::Any, 1, &tag.lengths)?;
            }
        }
        Ok(ids)
    }

    pub fn write_scheme(&self, reference: bool, delta: bool, out: &mut Vec<u8>) {
        let mut lines = Vec::new();
        for line in &self.lines {
            lines.extend_from_slice(&line.keys);
            lines.push(0);
        }
        let mut map = vec![5]; // entries
        map.extend([b'R', b'N', 1, b'A', b'P', u8::from(delta), b'R', b'R', u8::from(reference)]);
        map.extend_from_slice(b"SM");
        map.extend_from_slice(&SUBSTITUTIONS);
        map.extend_from_slice(b"TD");
        put_itf8(&mut map, lines.len() as i32);
        map.extend_from_slice(&lines);
        put_map(&map, out);
        // htsjdk 4.2.0 cannot read a container without an encoding for qualities, even if no read
        // has any.
        let is_told =
            |&(at, column): &(usize, &SeriesValues)| column.count > 0 || at == Series::Qs as usize;
        let used = self.all.iter().enumerate().filter(is_told);
        map.clear();
        put_itf8(&mut map, used.clone().count() as i32);
        for (at, column) in used {
            map.extend_from_slice(&KEYS[at]);
            write_column_encoding(at, column, &mut map);
        }
        put_map(&map, out);
        map.clear();
        put_itf8(&mut map, self.used as i32);
        for tag in &self.tags[..self.used] {
            put_itf8(&mut map, tag.content_id());
            tag.write_encoding(&mut map);
        }
        put_map(&map, out);
    }
}

/// The substitution matrix: codes are in the order of the bases, skipping the reference base.
const SUBSTITUTIONS: [u8; 5] = [0b00_01_10_11; 5];

/// Returns the substitution code of a read base that differs from the reference base; `None` unless
/// both are one of A, C, G, T and N.
#[inline]
pub fn substitution_code(reference: u8, read: u8) -> Option<u8> {
    const NUMBERS: [u8; 256] = {
        let mut numbers = [255; 256];
        let mut i = 0;
        while i < 5 {
            numbers[b"ACGTN"[i] as usize] = i as u8;
            i += 1;
        }
        numbers
    };
    let (from, to) = (NUMBERS[reference as usize], NUMBERS[read as usize]);
    (from < 5 && to < 5 && from != to).then(|| to - u8::from(to > from))
}

fn put_map(map: &[u8], out: &mut Vec<u8>) {
    put_itf8(out, map.len() as i32);
    out.extend_from_slice(map);
}

fn series_id(series: usize) -> i32 {
    series as i32 + 1
}

fn series_kind(series: usize) -> ContentKind {
    use Series::{Bf, Bs, Cf, Fc, Fn, Fp, Mq, Nf, Qs, Rg, Rn, Tl};
    let is = |some: &[Series]| some.iter().any(|&it| it as usize == series);
    match () {
        () if is(&[Rn]) => ContentKind::Names,
        () if is(&[Qs]) => ContentKind::Qualities,
        () if is(&[Bf, Cf, Rg, Tl, Fn, Fc, Fp, Bs, Mq, Nf]) => ContentKind::Statistical,
        () => ContentKind::Any,
    }
}

fn write_column_encoding(at: usize, column: &SeriesValues, out: &mut Vec<u8>) {
    let id = series_id(at);
    let is_array = [Series::Rn, Series::In, Series::Sc, Series::Bb].iter().any(|&it| it as usize == at);
    match column.only {
        Some(only) => put_constant(only, out),
        None if is_array => put_encoding(5, &[STOP], &[id], out),
        None => put_encoding(1, &[], &[id], out),
    }
}

/// Appends a Huffman code with a single symbol, which takes no bits: the encoding of equal values.
fn put_constant(value: i32, out: &mut Vec<u8>) {
    put_encoding(3, &[], &[1, value, 1, 0], out);
}

fn put_encoding(kind: i32, bytes: &[u8], numbers: &[i32], out: &mut Vec<u8>) {
    let mut parameters = bytes.to_vec();
    numbers.iter().for_each(|&n| put_itf8(&mut parameters, n));
    put_itf8(out, kind);
    put_map(&parameters, out);
}

/// Offset from the content id of a tag's block to that of the block with its lengths.
const LENGTHS: i32 = 1 << 24;

impl TagColumn {
    fn reset_for(&mut self, key: TagKey) {
        let width = match key[2] {
            b'A' | b'c' | b'C' => Some(1),
            b's' | b'S' => Some(2),
            b'i' | b'I' | b'f' => Some(4),
            b'd' => Some(8),
            _ => None,
        };
        self.bytes.clear();
        self.lengths.clear();
        (self.key, self.width, self.has_tab) = (key, width, false);
    }

    fn add_value(&mut self, value: &[u8]) {
        if self.width.is_some() {
            self.bytes.extend_from_slice(value);
            return;
        }
        put_itf8(&mut self.lengths, value.len() as i32);
        self.bytes.extend_from_slice(value);
        if self.key[2] != b'B' {
            self.has_tab |= memchr::memchr(TAG_STOP, value).is_some();
            self.bytes.push(TAG_STOP);
        }
    }

    fn content_id(&self) -> i32 {
        i32::from_be_bytes([0, self.key[0], self.key[1], self.key[2]])
    }

    /// Returns whether the lengths of values must be stored: for arrays, and for strings that
    /// contain the stop byte.
    fn needs_lengths(&self) -> bool {
        self.width.is_none() && (self.key[2] == b'B' || self.has_tab)
    }

    fn write_encoding(&self, out: &mut Vec<u8>) {
        let id = self.content_id();
        if self.width.is_none() && !self.needs_lengths() {
            return put_encoding(5, &[TAG_STOP], &[id], out);
        }
        let mut both = Vec::new();
        match self.width {
            Some(width) => put_constant(width as i32, &mut both),
            None => put_encoding(1, &[], &[id | LENGTHS], &mut both),
        }
        put_encoding(1, &[], &[id], &mut both);
        put_encoding(4, &both, &[], out);
    }

    /// Removes the stop bytes if a string contains the stop byte. The lengths are stored instead.
    pub fn finish_values(&mut self) {
        if !self.has_tab {
            return;
        }
        let (mut lengths, mut at, mut kept) = (crate::num::ByteCursor(&self.lengths), 0, Vec::new());
        while let Ok(n) = lengths.read_count() {
            kept.extend_from_slice(&self.bytes[at..at + n]);
            at += n + 1;
        }
        self.bytes = kept;
    }
}

impl Columns {
    pub fn finish_tags(&mut self) {
        self.tags[..self.used].iter_mut().for_each(TagColumn::finish_values);
    }
}
pub fn cannot_hold(what: &str, record: RecordRef<'_>) -> Error {
    Error::input(format!("CRAM cannot store {what}")).qname(record.qname()).hint("write BAM: -O bam")
}
