//! Read structures: which bases of a read belong to the template, and the purpose of the others.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use readmill_record::{Error, Result};

/// The purpose of a segment of bases. The letters are those of fgbio's read structures ("Read
/// Structures" in its wiki; `C` is from fgumi).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// `T`: template bases, which are aligned.
    Template,
    /// `M`: a molecular barcode (UMI).
    Molecule,
    /// `B`: a sample barcode.
    Sample,
    /// `C`: a cell barcode.
    Cell,
    /// `S`: skipped.
    Skipped,
}

const PURPOSE_LETTERS: [(u8, Purpose); 5] = [
    (b'T', Purpose::Template),
    (b'M', Purpose::Molecule),
    (b'B', Purpose::Sample),
    (b'C', Purpose::Cell),
    (b'S', Purpose::Skipped),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ReadSegment {
    /// Number of bases. `None` (written `+`) stands for all remaining bases, possibly none.
    bases: Option<usize>,
    purpose: Purpose,
}

/// The purposes of a read's bases, in fgbio's notation: each segment is a number of bases and a
/// letter ([`Purpose`]). The last segment may have `+` instead of the number, for all remaining
/// bases. Bases after the last segment are skipped.
///
/// ```
/// use readmill_fastq::{Purpose, ReadStructure};
///
/// // A UMI of eight bases, three bases to skip, then the template.
/// let structure: ReadStructure = "8M3S+T".parse()?;
/// let segments: Vec<_> = structure.segments(100).collect();
/// assert_eq!(
///     segments,
///     [(Purpose::Molecule, 0..8), (Purpose::Skipped, 8..11), (Purpose::Template, 11..100)]
/// );
/// assert_eq!(structure.min_bases(), 11);
/// assert!("8M3S+T5S".parse::<ReadStructure>().is_err()); // only the last segment may have a +
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadStructure(Vec<ReadSegment>);

impl FromStr for ReadStructure {
    type Err = Error;

    /// Parses a read structure. Letters may be upper or lower case. At most one segment can be `T`.
    fn from_str(text: &str) -> Result<Self> {
        let refused = |what: &str| {
            Err(Error::usage(format!("{text:?} is not a read structure: {what}")).hint(
                "list the segments of the read in order: 8M3S+T means a UMI of 8 bases, 3 bases to skip, and the rest to align",
            ))
        };
        let (mut pieces, mut digits) = (Vec::new(), String::new());
        for byte in text.trim().bytes().map(|b| b.to_ascii_uppercase()) {
            if byte.is_ascii_digit() || byte == b'+' {
                digits.push(char::from(byte));
                continue;
            }
            let Some(&(_, purpose)) = PURPOSE_LETTERS.iter().find(|(letter, _)| *letter == byte) else {
                return refused("the valid letters are T, M, B, C and S");
            };
            let bases = match (&digits[..], digits.parse::<u32>()) {
                ("+", _) => None,
                (_, Ok(bases @ 1..)) if !digits.contains('+') => Some(bases as usize),
                _ => return refused("each letter needs a number of bases, or +, before it"),
            };
            pieces.push(ReadSegment { bases, purpose });
            digits.clear();
        }
        let open = pieces.iter().position(|piece| piece.bases.is_none());
        if !digits.is_empty() {
            refused("a number has no letter after it")
        } else if open.is_some_and(|at| at + 1 < pieces.len()) {
            refused("only the last segment may have a +")
        } else if pieces.is_empty() {
            refused("the structure is empty")
        } else if pieces.iter().filter(|piece| piece.purpose == Purpose::Template).count() > 1 {
            refused("only one segment can be template (T)")
        } else {
            Ok(ReadStructure(pieces))
        }
    }
}

impl fmt::Display for ReadStructure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| {
            let letter = PURPOSE_LETTERS.iter().find(|(_, purpose)| *purpose == piece.purpose);
            let letter = letter.map_or('?', |(letter, _)| char::from(*letter));
            match piece.bases {
                Some(bases) => write!(f, "{bases}{letter}"),
                None => write!(f, "+{letter}"),
            }
        })
    }
}

impl ReadStructure {
    pub fn min_bases(&self) -> usize {
        self.0.iter().filter_map(|piece| piece.bases).sum()
    }

    /// Returns the structure of a read whose bases all have the same purpose, such as an index
    /// read.
    pub fn whole_read(purpose: Purpose) -> Self {
        ReadStructure(vec![ReadSegment { bases: None, purpose }])
    }

    pub fn has_purpose(&self, purpose: Purpose) -> bool {
        self.0.iter().any(|piece| piece.purpose == purpose)
    }

    /// Returns the segments of a read of `len` bases with their purposes. The caller first checks
    /// that `len` is at least [`ReadStructure::min_bases`]; in a shorter read, segments are
    /// truncated at its end.
    pub fn segments(&self, len: usize) -> impl Iterator<Item = (Purpose, Range<usize>)> {
        let mut at = 0;
        self.0.iter().map(move |piece| {
            let start = at;
            at = piece.bases.map_or(len, |bases| (start + bases).min(len));
            (piece.purpose, start..at)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn structure(text: &str) -> Result<ReadStructure> {
        text.parse()
    }

    #[test]
    fn pieces_follow_each_other() {
        let read = structure("8m3S+T").unwrap();
        assert_eq!((read.to_string().as_str(), read.min_bases()), ("8M3S+T", 11));
        let pieces = |len| read.segments(len).map(|(_, range)| range).collect::<Vec<_>>();
        assert_eq!(pieces(20), [0..8, 8..11, 11..20]);
        assert_eq!(pieces(11), [0..8, 8..11, 11..11]);
        let fixed = structure("5T2B4C").unwrap();
        let purposes: Vec<_> = fixed.segments(30).collect();
        let wanted = [(Purpose::Template, 0..5), (Purpose::Sample, 5..7), (Purpose::Cell, 7..11)];
        assert_eq!(purposes, wanted);
        assert!(fixed.has_purpose(Purpose::Cell) && !fixed.has_purpose(Purpose::Molecule));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(!structure("8M").unwrap().has_purpose(Purpose::Template), "of an index read");
        for text in [
            "",
            "T",
            "8",
            "8M+",
            "+M+T",
            "+T8M",
            "0M+T",
            "8X+T",
            "8M+T+T",
            "5T3M5T",
            "++T",
            "8+T",
            "-8M+T",
            "8M +T",
            "99999999999M+T",
        ] {
            assert!(structure(text).is_err(), "{text}");
        }
    }
}
