//! The compression header: the encodings of a container's data series (CRAM specification 3.1, section 8.4).

use readmill_record::{Detail, Result};

use crate::encoding::{Encoding, Streams};
use crate::num::{ByteCursor, damaged};

/// A data series.
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

/// Series that say neither where a read lies nor what it is: names, lists of tags, bases and qualities.
const BESIDE_PLACES: [Series; 6] =
    [Series::Rn, Series::Tl, Series::Ba, Series::Qs, Series::Bs, Series::Qq];

/// Series that say FLAG, which tells of the mate, too, and MAPQ.
const OF_FLAGS: [Series; 5] = [Series::Bf, Series::Cf, Series::Mf, Series::Nf, Series::Mq];

/// External blocks of a slice, by their ids.
pub enum Blocks {
    All,
    /// All but these.
    Beside(Vec<i32>),
    /// These alone.
    Only(Vec<i32>),
}

impl Blocks {
    /// Whether the block of this id is among them.
    pub fn have(&self, id: i32) -> bool {
        match self {
            Blocks::All => true,
            Blocks::Beside(others) => !others.contains(&id),
            Blocks::Only(ids) => ids.contains(&id),
        }
    }
}

/// Keys of the data series, in the order of [`Series`].
pub const KEYS: [[u8; 2]; 28] = [
    *b"BF", *b"CF", *b"RI", *b"RL", *b"AP", *b"RG", *b"RN", *b"MF", *b"NS", *b"NP", *b"TS", *b"NF",
    *b"TL", *b"FN", *b"FC", *b"FP", *b"DL", *b"BA", *b"QS", *b"BS", *b"IN", *b"RS", *b"PD", *b"HC",
    *b"SC", *b"MQ", *b"BB", *b"QQ",
];

/// The encodings of all data series.
pub type Encodings = [Encoding; 28];

/// Bases in the order in which substitutions are numbered.
pub const BASES: &[u8; 5] = b"ACGTN";

/// The base that replaces another, by the base of the reference and the number of the substitution.
pub type Substitutions = [[u8; 4]; 5];

/// A tag and its type.
pub type TagKey = [u8; 3];

/// The encodings of a container.
#[derive(Clone, Debug, Default)]
pub struct Scheme {
    /// Whether all names are stored.
    pub names: bool,
    /// Whether positions are differences.
    pub delta: bool,
    /// Whether the reference is needed.
    pub reference: bool,
    /// Substitutions.
    pub substitutions: Substitutions,
    /// The tag lists: which tags occur together.
    pub lines: Vec<Vec<TagKey>>,
    /// Encodings of data series.
    pub series: Encodings,
    /// Encodings of tags.
    pub tags: Vec<(TagKey, Encoding)>,
}

impl Scheme {
    /// Reads a compression header.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut cursor = ByteCursor(bytes);
        let mut scheme = Scheme { names: true, delta: true, reference: true, ..Scheme::default() };
        scheme.read_preservation(&mut cursor)?;
        map(&mut cursor, |map| {
            let key = map.take(2)?;
            let encoding = Encoding::read(map)?;
            if let Some(at) = KEYS.iter().position(|known| known == key) {
                scheme.series[at] = encoding;
            }
            Ok(())
        })?;
        map(&mut cursor, |map| {
            let key = map.itf8()?.to_be_bytes();
            scheme.tags.push(([key[1], key[2], key[3]], Encoding::read(map)?));
            Ok(())
        })?;
        Ok(scheme)
    }

    fn read_preservation(&mut self, cursor: &mut ByteCursor<'_>) -> Result<()> {
        map(cursor, |map| {
            match map.take(2)? {
                b"RN" => self.names = map.byte()? != 0,
                b"AP" => self.delta = map.byte()? != 0,
                b"RR" => self.reference = map.byte()? != 0,
                b"SM" => self.substitutions = substitutions(map.take(5)?),
                b"TD" => {
                    let length = map.count()?;
                    let lines = map.take(length)?;
                    let lines = lines.strip_suffix(b"\0").unwrap_or(lines);
                    let keys =
                        |line: &[u8]| line.chunks_exact(3).map(|key| [key[0], key[1], key[2]]).collect();
                    self.lines = lines.split(|&byte| byte == 0).map(keys).collect();
                }
                b"PI" | b"QO" => {
                    map.byte()?; // keys of old versions, and of future ones
                }
                key => {
                    let key = String::from_utf8_lossy(key).into_owned();
                    return Err(damaged(format!("the preservation map has the unknown key {key:?}")));
                }
            }
            Ok(())
        })
    }

    /// The blocks that so much of each read needs.
    pub fn blocks(&self, detail: Detail) -> Blocks {
        let of_flags = if detail == Detail::Flags { self.blocks_of_flags() } else { None };
        let beside = if detail <= Detail::Places { self.blocks_beside_places() } else { None };
        of_flags.map(Blocks::Only).or(beside.map(Blocks::Beside)).unwrap_or(Blocks::All)
    }

    /// The blocks of FLAG and MAPQ. `None` if one of them has other values, too, or if their values are bits among those of
    /// others.
    fn blocks_of_flags(&self) -> Option<Vec<i32>> {
        let (mut wanted, mut others) = (Vec::new(), Vec::new());
        for (at, encoding) in self.series.iter().enumerate() {
            if !OF_FLAGS.iter().any(|&it| it as usize == at) {
                encoding.blocks(&mut others);
            } else if !encoding.blocks(&mut wanted) {
                return None;
            }
        }
        for (_, encoding) in &self.tags {
            encoding.blocks(&mut others);
        }
        wanted.iter().all(|id| !others.contains(id)).then_some(wanted)
    }

    /// The blocks that places, flags and lengths of reads do not need: those of names, bases, qualities and tags. `None`
    /// if a block of theirs has other values, too, or if their values are bits among those of others.
    fn blocks_beside_places(&self) -> Option<Vec<i32>> {
        let mut beside = Vec::new();
        let known = self.tags.iter().map(|(_, encoding)| encoding);
        for encoding in BESIDE_PLACES.iter().map(|&it| &self.series[it as usize]).chain(known) {
            if !encoding.blocks(&mut beside) {
                return None;
            }
        }
        let mut others = Vec::new();
        for (at, encoding) in self.series.iter().enumerate() {
            if !BESIDE_PLACES.iter().any(|&it| it as usize == at) {
                encoding.blocks(&mut others);
            }
        }
        beside.iter().all(|id| !others.contains(id)).then_some(beside)
    }

    /// Makes the values of names, bases, qualities and tags empty, so that none of their blocks is read.
    pub fn leave_places(&mut self) {
        for series in BESIDE_PLACES {
            self.series[series as usize] = match series {
                Series::Rn | Series::Qq => Encoding::empty_array(),
                _ => Encoding::zero(),
            };
        }
        self.tags.clear();
        self.lines.clear();
    }

    /// Encodings for a slice, whose blocks are in `streams`.
    pub fn resolve(&self, streams: &Streams) -> (Encodings, Vec<(TagKey, Encoding)>) {
        let place = |id| streams.place(id);
        let tags = self.tags.iter().map(|(key, encoding)| (*key, encoding.resolve(&place)));
        let mut series = Encodings::default();
        series.iter_mut().zip(&self.series).for_each(|(to, from)| *to = from.resolve(&place));
        (series, tags.collect())
    }
}

/// Reads a map: `entry` reads each of its entries.
fn map<'a>(
    cursor: &mut ByteCursor<'a>,
    mut entry: impl FnMut(&mut ByteCursor<'a>) -> Result<()>,
) -> Result<()> {
    let size = cursor.count()?;
    let mut map = ByteCursor(cursor.take(size)?);
    for _ in 0..map.count()? {
        entry(&mut map)?;
    }
    Ok(())
}

/// The substitutions that five bytes encode.
pub fn substitutions(bytes: &[u8]) -> Substitutions {
    let mut all = [[b'N'; 4]; 5];
    for (i, (row, &byte)) in all.iter_mut().zip(bytes).enumerate() {
        let others = BASES.iter().enumerate().filter(|&(j, _)| j != i);
        for (shift, (_, &base)) in [6, 4, 2, 0].into_iter().zip(others) {
            row[usize::from(byte >> shift & 3)] = base;
        }
    }
    all
}

/// Qualities are stored as an array.
pub const QUALITIES: i32 = 1;
/// The data of the mate are stored.
pub const DETACHED: i32 = 2;
/// The mate follows in the slice.
pub const DOWNSTREAM: i32 = 4;
/// There are no bases.
pub const NO_BASES: i32 = 8;
/// TLEN is stored although the mate is in the slice. (An extension of htslib.)
pub const WITH_TLEN: i32 = 16;

/// The mate is on the reverse strand.
pub const MATE_REVERSE: i32 = 1;
/// The mate is unmapped.
pub const MATE_UNMAPPED: i32 = 2;
