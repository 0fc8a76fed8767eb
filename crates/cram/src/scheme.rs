//! The compression header: the encodings of a container's data series (CRAM specification 3.1,
//! section 8.4).

use readmill_record::{Detail, Result};

use crate::encoding::{MISSING_BLOCK, SeriesEncoding, Streams};
use crate::num::{ByteCursor, damaged_cram};

/// A data series: one field of all records. Its discriminant is its index in [`KEYS`] and
/// [`Encodings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Series {
    Bf,
    Cf,
    Ri,
    Rl,
    Ap,
    Rg,
    Rn,
    Mf,
    Ns,
    Np,
    Ts,
    Nf,
    Tl,
    Fn,
    Fc,
    Fp,
    Dl,
    Ba,
    Qs,
    Bs,
    In,
    Rs,
    Pd,
    Hc,
    Sc,
    Mq,
    Bb,
    Qq,
}

/// Series that `Detail::Places` does not need, because they affect neither the position nor the
/// flags of a read: names, tag lists, bases and qualities.
const NOT_PLACE_SERIES: [Series; 6] =
    [Series::Rn, Series::Tl, Series::Ba, Series::Qs, Series::Bs, Series::Qq];

/// Series that `Detail::Flags` needs: MAPQ, and all series from which FLAG is restored. They
/// include the mate's, because CRAM omits the mate bits of FLAG if the mate is in the slice.
const FLAG_SERIES: [Series; 5] = [Series::Bf, Series::Cf, Series::Mf, Series::Nf, Series::Mq];

/// Which external blocks of a slice to inflate, by content id.
pub enum Blocks {
    All,
    /// Sorted, because a damaged header can name many blocks.
    AllExcept(Vec<i32>),
    Only(Vec<i32>),
}

impl Blocks {
    pub fn contains(&self, id: i32) -> bool {
        match self {
            Blocks::All => true,
            Blocks::AllExcept(others) => others.binary_search(&id).is_err(),
            Blocks::Only(ids) => ids.contains(&id),
        }
    }
}

pub const KEYS: [[u8; 2]; 28] = [
    *b"BF", *b"CF", *b"RI", *b"RL", *b"AP", *b"RG", *b"RN", *b"MF", *b"NS", *b"NP", *b"TS", *b"NF",
    *b"TL", *b"FN", *b"FC", *b"FP", *b"DL", *b"BA", *b"QS", *b"BS", *b"IN", *b"RS", *b"PD", *b"HC",
    *b"SC", *b"MQ", *b"BB", *b"QQ",
];

pub type Encodings = [SeriesEncoding; 28];

pub const BASES: &[u8; 5] = b"ACGTN";

/// The substitution matrix: the base of the read for each reference base, in the order of
/// [`BASES`], and each substitution code.
pub type Substitutions = [[u8; 4]; 5];

pub type TagKey = [u8; 3];

/// The compression header of a container: how its data series and tags are encoded.
///
/// It is parsed once per container, and [resolved](Self::resolve_blocks) for each slice.
#[derive(Clone, Debug, Default)]
pub struct Scheme {
    /// Whether the names of all reads are stored (key RN). If not, the decoder generates names, the
    /// same for both mates.
    pub has_names: bool,
    /// Whether positions are stored as differences from the previous record (key AP).
    pub is_delta: bool,
    pub needs_reference: bool,
    pub substitutions: Substitutions,
    /// Tag lists (key TD). Each lists tags that occur together; a record stores the index of its
    /// list.
    pub tag_lists: Vec<Vec<TagKey>>,
    pub series: Encodings,
    pub tags: Vec<(TagKey, SeriesEncoding)>,
}

impl Scheme {
    /// Parses an inflated compression header. Unknown data series are ignored; an unknown
    /// preservation key is an error.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut cursor = ByteCursor(bytes);
        let mut scheme =
            Scheme { has_names: true, is_delta: true, needs_reference: true, ..Scheme::default() };
        scheme.read_preservation(&mut cursor)?;
        read_map_entries(&mut cursor, |map| {
            let key = map.take_bytes(2)?;
            let encoding = SeriesEncoding::read(map)?;
            if let Some(at) = KEYS.iter().position(|known| known == key) {
                scheme.series[at] = encoding;
            }
            Ok(())
        })?;
        read_map_entries(&mut cursor, |map| {
            let key = map.read_itf8()?.to_be_bytes();
            scheme.tags.push(([key[1], key[2], key[3]], SeriesEncoding::read(map)?));
            Ok(())
        })?;
        Ok(scheme)
    }

    fn read_preservation(&mut self, cursor: &mut ByteCursor<'_>) -> Result<()> {
        read_map_entries(cursor, |map| {
            match map.take_bytes(2)? {
                b"RN" => self.has_names = map.read_byte()? != 0,
                b"AP" => self.is_delta = map.read_byte()? != 0,
                b"RR" => self.needs_reference = map.read_byte()? != 0,
                b"SM" => self.substitutions = decode_substitutions(map.take_bytes(5)?),
                b"TD" => {
                    let length = map.read_count()?;
                    let lines = map.take_bytes(length)?;
                    let lines = lines.strip_suffix(b"\0").unwrap_or(lines);
                    let keys =
                        |line: &[u8]| line.chunks_exact(3).map(|key| [key[0], key[1], key[2]]).collect();
                    self.tag_lists = lines.split(|&byte| byte == 0).map(keys).collect();
                }
                b"PI" | b"QO" => {
                    map.read_byte()?; // keys of old versions, and of future ones
                }
                key => {
                    let key = String::from_utf8_lossy(key).into_owned();
                    return Err(damaged_cram(format!(
                        "the preservation map has the unknown key {key:?}"
                    )));
                }
            }
            Ok(())
        })
    }

    /// Returns the external blocks to inflate for this detail: all blocks if unwanted values share
    /// blocks with wanted ones.
    pub fn needed_blocks(&self, detail: Detail) -> Blocks {
        let of_flags = if detail == Detail::Flags { self.find_flag_blocks() } else { None };
        let beside = if detail <= Detail::Places { self.find_skippable_blocks() } else { None };
        of_flags.map(Blocks::Only).or(beside.map(Blocks::AllExcept)).unwrap_or(Blocks::All)
    }

    /// Returns the blocks of the series for FLAG and MAPQ. `None` if another series shares one of
    /// these blocks, or if a value is in the core block, which mixes the bits of all series.
    fn find_flag_blocks(&self) -> Option<Vec<i32>> {
        let (mut wanted, mut others) = (Vec::new(), Vec::new());
        for (at, encoding) in self.series.iter().enumerate() {
            if !FLAG_SERIES.iter().any(|&it| it as usize == at) {
                encoding.collect_block_ids(&mut others);
            } else if !encoding.collect_block_ids(&mut wanted) {
                return None;
            }
        }
        for (_, encoding) in &self.tags {
            encoding.collect_block_ids(&mut others);
        }
        wanted.iter().all(|id| !others.contains(id)).then_some(wanted)
    }

    /// Returns the blocks of names, bases, qualities and tags, which are not needed for positions,
    /// flags and lengths. `None` if another series shares one of these blocks, or if a value is in
    /// the core block.
    fn find_skippable_blocks(&self) -> Option<Vec<i32>> {
        let mut beside = Vec::new();
        let known = self.tags.iter().map(|(_, encoding)| encoding);
        for encoding in NOT_PLACE_SERIES.iter().map(|&it| &self.series[it as usize]).chain(known) {
            if !encoding.collect_block_ids(&mut beside) {
                return None;
            }
        }
        beside.sort_unstable();
        let mut others = Vec::new();
        for (at, encoding) in self.series.iter().enumerate() {
            if !NOT_PLACE_SERIES.iter().any(|&it| it as usize == at) {
                encoding.collect_block_ids(&mut others);
            }
        }
        others.iter().all(|id| beside.binary_search(id).is_err()).then_some(beside)
    }

    /// Replaces the encodings of names, bases, qualities and tags with empty values, so that
    /// decoding a record does not read their blocks.
    pub fn keep_only_places(&mut self) {
        for series in NOT_PLACE_SERIES {
            self.series[series as usize] = match series {
                Series::Rn | Series::Qq => SeriesEncoding::empty_array(),
                _ => SeriesEncoding::Constant(0),
            };
        }
        self.tags.clear();
        self.tag_lists.clear();
    }

    /// Returns the encodings for a slice, with the content id of each block replaced by its index
    /// in `streams`, so that reading a value needs no search for its block.
    pub fn resolve_blocks(&self, streams: &Streams) -> (Encodings, Vec<(TagKey, SeriesEncoding)>) {
        let indexes = streams.block_indexes();
        let place = |id| indexes.get(&id).copied().unwrap_or(MISSING_BLOCK);
        let tags = self.tags.iter().map(|(key, encoding)| (*key, encoding.with_block_indexes(&place)));
        let mut series = Encodings::default();
        series.iter_mut().zip(&self.series).for_each(|(to, from)| *to = from.with_block_indexes(&place));
        (series, tags.collect())
    }
}

/// Reads a map of the compression header. `entry` reads the key and value of each entry.
fn read_map_entries<'a>(
    cursor: &mut ByteCursor<'a>,
    mut entry: impl FnMut(&mut ByteCursor<'a>) -> Result<()>,
) -> Result<()> {
    let size = cursor.read_count()?;
    let mut map = ByteCursor(cursor.take_bytes(size)?);
    for _ in 0..map.read_count()? {
        entry(&mut map)?;
    }
    Ok(())
}

/// Decodes the substitution matrix: one byte per reference base, with two bits for each of the
/// other four bases.
pub fn decode_substitutions(bytes: &[u8]) -> Substitutions {
    let mut all = [[b'N'; 4]; 5];
    for (i, (row, &byte)) in all.iter_mut().zip(bytes).enumerate() {
        let others = BASES.iter().enumerate().filter(|&(j, _)| j != i);
        for (shift, (_, &base)) in [6, 4, 2, 0].into_iter().zip(others) {
            row[usize::from(byte >> shift & 3)] = base;
        }
    }
    all
}

/// Bit of a record's CRAM flags (CF): qualities are stored as an array.
pub const QUALITIES: i32 = 1;
/// RNEXT, PNEXT, TLEN and the mate's flags are stored with the record.
pub const DETACHED: i32 = 2;
/// The mate is a later record of the same slice, and the decoder restores the mate fields of both.
pub const DOWNSTREAM: i32 = 4;
pub const NO_BASES: i32 = 8;
/// TLEN is stored although the mate is in the slice (an htslib extension).
pub const WITH_TLEN: i32 = 16;

/// ID of the read group that htsjdk-based writers add, as the last one, for reads without a read
/// group. Decoders treat its number as "no read group".
pub const UNKNOWN_GROUP: &[u8] = b"UNKNOWN";

/// MF bit of a detached record: the mate is on the reverse strand.
pub const MATE_REVERSE: i32 = 1;
pub const MATE_UNMAPPED: i32 = 2;
