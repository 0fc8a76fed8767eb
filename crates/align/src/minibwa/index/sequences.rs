//! The sequences of a reference as minibwa packs them.

use std::collections::HashSet;
use std::path::Path;

use readmill_record::{Error, Result};

use crate::fasta::{self, FastaLine};
use crate::partial::Partial;

/// A reference as minibwa packs it.
#[derive(Default)]
pub(super) struct Sequences {
    /// Names, each with a NUL behind it.
    names: Vec<u8>,
    /// Comments, each with a NUL behind it.
    comments: Vec<u8>,
    lengths: Vec<u64>,
    /// Where letters are no bases.
    holes: Stretches,
    /// Where letters are no capitals.
    masks: Stretches,
    /// Bases, 32 a word, the first in the lowest bits.
    words: Vec<u64>,
    bases: u64,
    draw: Draw,
}

/// Stretches of bases of the whole reference, 0-based, half-open.
#[derive(Default)]
struct Stretches {
    done: Vec<[u64; 2]>,
    /// Length of the one that the last base belongs to.
    open: u64,
}

impl Stretches {
    /// Adds the base number `at`.
    fn push(&mut self, at: u64, is_in: bool) {
        if is_in {
            self.open += 1;
        } else if self.open > 0 {
            self.done.push([at - self.open, at]);
            self.open = 0;
        }
    }
}

/// SplitMix64 from seed 11 (Steele, Lea and Flood 2014; minibwa 0.6, `kom_splitmix64`).
struct Draw(u64);

impl Default for Draw {
    fn default() -> Self {
        Draw(11)
    }
}

impl Draw {
    fn base(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) & 3
    }
}

impl Sequences {
    /// Reads and packs a FASTA file.
    pub(super) fn read(file: &Path) -> Result<Self> {
        let (mut sequences, mut names) = (Sequences::default(), HashSet::new());
        fasta::lines(file, |line| match line {
            FastaLine::Head { name, comment } => {
                sequences.begin(name, comment.unwrap_or_default())?;
                if names.insert(name.to_vec()) {
                    return Ok(());
                }
                let name = String::from_utf8_lossy(name);
                Err(Error::input(format!("two sequences are called {name}")))
            }
            FastaLine::Letters(letters) => sequences.push(letters),
        })?;
        Ok(sequences)
    }

    fn begin(&mut self, name: &[u8], comment: &[u8]) -> Result<()> {
        let number = self.lengths.len() + 1;
        if name.is_empty() {
            return Err(Error::input(format!("sequence {number} has no name")));
        }
        if name.contains(&0) || comment.contains(&0) {
            return Err(Error::input(format!("the name of sequence {number} has a NUL")));
        }
        if std::str::from_utf8(name).is_err() || std::str::from_utf8(comment).is_err() {
            return Err(Error::input("a name is not UTF-8"));
        }
        for (texts, text) in [(&mut self.names, name), (&mut self.comments, comment)] {
            texts.extend_from_slice(text);
            texts.push(0);
        }
        self.lengths.push(0);
        // minibwa forgets what reaches the end of a sequence (0.6, `l2b_add_seq`).
        (self.holes.open, self.masks.open) = (0, 0);
        Ok(())
    }

    fn push(&mut self, letters: &[u8]) -> Result<()> {
        for &letter in letters {
            let code = match letter {
                b'A' | b'a' => Some(0),
                b'C' | b'c' => Some(1),
                b'G' | b'g' => Some(2),
                b'T' | b't' => Some(3),
                _ => None,
            };
            self.masks.push(self.bases, !letter.is_ascii_uppercase());
            self.holes.push(self.bases, code.is_none());
            let code = code.unwrap_or_else(|| self.draw.base());
            let within = self.bases % 32;
            if within == 0 {
                self.words.push(0);
            }
            if let Some(word) = self.words.last_mut() {
                *word |= code << (2 * within);
            }
            self.bases += 1;
        }
        match self.lengths.last_mut() {
            Some(length) if *length + letters.len() as u64 <= i32::MAX as u64 => {
                *length += letters.len() as u64;
                Ok(())
            }
            _ => Err(Error::input(format!(
                "sequence {} is longer than 2,147,483,647 bases",
                self.lengths.len()
            ))),
        }
    }

    pub(super) fn bases(&self) -> u64 {
        self.bases
    }

    /// The bases as 0 to 3, one a byte, and behind them their reverse complement.
    pub(super) fn both_strands(&self) -> Vec<u8> {
        let bases = self.bases as usize;
        let mut text = Vec::with_capacity(2 * bases);
        text.extend((0..bases).map(|at| (self.words[at / 32] >> (2 * (at % 32)) & 3) as u8));
        for at in (0..bases).rev() {
            text.push(3 - text[at]);
        }
        text
    }

    /// Writes `.l2b`.
    pub(super) fn write(&self, prefix: &Path) -> Result<Partial> {
        let mut file = Partial::new(prefix, ".l2b")?;
        file.write(b"L2B\x01\0\0\0\0")?;
        let (holes, masks) = (&self.holes.done, &self.masks.done);
        let counts = [self.lengths.len() as u64, self.bases, holes.len() as u64, masks.len() as u64];
        let sizes = [self.names.len() as u64, self.comments.len() as u64, self.words.len() as u64];
        let stretches = holes.iter().chain(masks).flatten();
        let head = counts.iter().chain(&sizes).chain(&self.lengths);
        for number in head.chain(stretches).chain(&self.words) {
            file.write(&number.to_le_bytes())?;
        }
        file.write(&self.names)?;
        file.write(&self.comments)?;
        Ok(file)
    }
}
