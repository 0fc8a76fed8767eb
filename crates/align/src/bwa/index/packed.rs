//! The bases of a reference, four in each byte, and the files that describe them.

use std::collections::HashSet;
use std::path::Path;

use readmill_record::{Error, Result};

use crate::fasta::{self, FastaLine};
use crate::partial::Partial;

/// A reference as bwa packs it.
#[derive(Default)]
pub(super) struct Packed {
    /// Four bases a byte, the first in the highest bits.
    bytes: Vec<u8>,
    bases: u64,
    sequences: Vec<PackedSequence>,
    holes: Vec<Hole>,
    draw: Draw,
}

struct PackedSequence {
    name: String,
    comment: String,
    offset: u64,
    length: u64,
    holes: u32,
}

/// A run of one letter that is not a base.
struct Hole {
    offset: u64,
    length: u64,
    letter: u8,
}

/// `lrand48` after `srand48(11)`: the linear congruential generator of POSIX.
struct Draw(u64);

impl Default for Draw {
    fn default() -> Self {
        Draw(11 << 16 | 0x330e)
    }
}

impl Draw {
    fn base(&mut self) -> u8 {
        self.0 = self.0.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & 0xffff_ffff_ffff;
        (self.0 >> 17 & 3) as u8
    }
}

/// The text in `.ann` for a sequence without a comment.
const NO_COMMENT: &str = "(null)";

impl Packed {
    /// Reads and packs a FASTA file.
    pub(super) fn read(file: &Path) -> Result<Self> {
        let (mut packed, mut names, mut last) = (Packed::default(), HashSet::new(), 0);
        fasta::lines(file, |line| match line {
            FastaLine::Head { name, comment } => {
                last = 0;
                packed.begin(name, comment)?;
                let name = packed.sequences.last().map_or("", |sequence| sequence.name.as_str());
                if names.insert(name.to_owned()) {
                    return Ok(());
                }
                Err(Error::input(format!("two sequences are called {name}")))
            }
            FastaLine::Letters(letters) => packed.push(letters, &mut last),
        })?;
        Ok(packed)
    }

    fn begin(&mut self, name: &[u8], comment: Option<&[u8]>) -> Result<()> {
        let text = |bytes: &[u8]| {
            String::from_utf8(bytes.to_vec()).map_err(|_| Error::input("a name is not UTF-8"))
        };
        if name.is_empty() {
            return Err(Error::input(format!("sequence {} has no name", self.sequences.len() + 1)));
        }
        let comment = comment.map_or_else(|| Ok(NO_COMMENT.to_owned()), text)?;
        self.sequences.push(PackedSequence {
            name: text(name)?,
            comment,
            offset: self.bases,
            length: 0,
            holes: 0,
        });
        Ok(())
    }

    /// Adds letters to the last sequence; `last` is the letter before them, 0 where there is none.
    fn push(&mut self, letters: &[u8], last: &mut u8) -> Result<()> {
        let Some(sequence) = self.sequences.last_mut() else { return Ok(()) };
        for &letter in letters {
            let code = match letter {
                b'A' | b'a' => 0,
                b'C' | b'c' => 1,
                b'G' | b'g' => 2,
                b'T' | b't' => 3,
                _ => {
                    match self.holes.last_mut() {
                        Some(hole) if *last == letter => hole.length += 1,
                        _ => {
                            self.holes.push(Hole { offset: self.bases, length: 1, letter });
                            sequence.holes += 1;
                        }
                    }
                    self.draw.base()
                }
            };
            *last = letter;
            let within = self.bases % 4;
            if within == 0 {
                self.bytes.push(0);
            }
            if let Some(byte) = self.bytes.last_mut() {
                *byte |= code << (6 - 2 * within);
            }
            self.bases += 1;
        }
        sequence.length += letters.len() as u64;
        if sequence.length > i32::MAX as u64 {
            return Err(Error::input(format!("{} is longer than 2,147,483,647 bases", sequence.name)));
        }
        Ok(())
    }

    pub(super) fn bases(&self) -> u64 {
        self.bases
    }

    /// The bases as 0 to 3, one a byte, and behind them their reverse complement.
    pub(super) fn both_strands(&self) -> Vec<u8> {
        let bases = self.bases as usize;
        let mut text = Vec::with_capacity(2 * bases);
        text.extend((0..bases).map(|at| self.bytes[at / 4] >> (6 - 2 * (at % 4)) & 3));
        for at in (0..bases).rev() {
            text.push(3 - text[at]);
        }
        text
    }

    /// Writes `.pac`, `.ann` and `.amb`.
    pub(super) fn write(&self, prefix: &Path) -> Result<Vec<Partial>> {
        let mut pac = Partial::whole(prefix, ".pac", &self.bytes)?;
        let filled = (self.bases % 4) as u8;
        pac.write(if filled == 0 { &[0, 0] } else { std::slice::from_ref(&filled) })?;
        let ann = Partial::whole(prefix, ".ann", self.annotations().as_bytes())?;
        let amb = Partial::whole(prefix, ".amb", &self.ambiguous())?;
        Ok(vec![pac, ann, amb])
    }

    fn annotations(&self) -> String {
        let mut text = format!("{} {} 11\n", self.bases, self.sequences.len());
        for PackedSequence { name, comment, offset, length, holes } in &self.sequences {
            text.push_str(&format!("0 {name} {comment}\n{offset} {length} {holes}\n"));
        }
        text
    }

    fn ambiguous(&self) -> Vec<u8> {
        let head = format!("{} {} {}\n", self.bases, self.sequences.len(), self.holes.len());
        let mut text = head.into_bytes();
        for Hole { offset, length, letter } in &self.holes {
            text.extend_from_slice(format!("{offset} {length} ").as_bytes());
            text.extend_from_slice(&[*letter, b'\n']);
        }
        text
    }
}
