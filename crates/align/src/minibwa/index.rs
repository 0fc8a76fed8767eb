//! Builds the index of minibwa, byte for byte identical to `minibwa index`.
//!
//! minibwa's own C code for this is not used. It does not report a truncated reference or a full
//! disk, and it contains a copy of libsais that conflicts with the one linked for bwa's index mem.
//!
//! - `.l2b`: names, comments and lengths of the sequences; the ranges of letters that are not
//!   bases, and of lower-case letters; the bases, 32 per word. Letters that are not bases are
//!   replaced with random ones, drawn as in minibwa.
//! - `.mbw`: the Burrows-Wheeler transform of both strands in blocks of 128 rows with counts, and
//!   every sixteenth entry of the suffix array.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};

use super::files::FILE_SUFFIXES;
use crate::index::{self, FastaLine, IndexStage, PartialIndexFile, Suffixes};

/// Returns the temporary files of [`build_index`], which the command line removes if the process is
/// killed.
pub fn partial_index_files(prefix: &Path) -> Vec<PathBuf> {
    index::partial_paths(prefix, &FILE_SUFFIXES)
}

/// Builds the index of `reference`, a FASTA file that may be gzipped, on the calling thread.
///
/// An index that needs more than `memory` bytes is refused before anything is written. The file
/// names are `prefix` plus a suffix. The files get these names only when both are complete.
pub fn build_index(
    reference: &Path,
    prefix: &Path,
    memory: Option<u64>,
    report: &mut dyn FnMut(IndexStage),
) -> Result<()> {
    report(IndexStage::Read);
    let sequences = PackedSequences::read_fasta(reference)?;
    let bases = sequences.bases();
    index::check_build_memory(reference, bases, memory)?;
    let mut files = vec![sequences.write_file(prefix)?];
    let text = sequences.both_strands();
    drop(sequences);
    report(IndexStage::Sort);
    let rows = index::sort_suffixes(&text)?;
    report(IndexStage::Write);
    files.push(write_transform(prefix, &text, &rows)?);
    PartialIndexFile::rename_all_to_final(files, report)
}

#[derive(Default)]
struct PackedSequences {
    /// Names, each followed by a NUL.
    names: Vec<u8>,
    comments: Vec<u8>,
    lengths: Vec<u64>,
    /// Ranges of letters other than A, C, G and T.
    non_base_ranges: BaseRanges,
    masks: BaseRanges,
    /// Bases, 32 per word, the first one in the lowest bits.
    words: Vec<u64>,
    bases: u64,
    draw: SplitMix64,
}

/// Ranges of bases in the concatenated reference (0-based, half-open).
#[derive(Default)]
struct BaseRanges {
    finished: Vec<[u64; 2]>,
    /// Length of the range that includes the last base so far; 0 if there is none.
    open: u64,
}

impl BaseRanges {
    /// Adds the base at `at`. If `is_in` is true, it belongs to a range.
    fn push_base(&mut self, at: u64, is_in: bool) {
        if is_in {
            self.open += 1;
        } else if self.open > 0 {
            self.finished.push([at - self.open, at]);
            self.open = 0;
        }
    }
}

/// The generator of random bases: SplitMix64 from seed 11 (Steele, Lea and Flood 2014; minibwa 0.6,
/// `kom_splitmix64`).
struct SplitMix64(u64);

impl Default for SplitMix64 {
    fn default() -> Self {
        SplitMix64(11)
    }
}

impl SplitMix64 {
    fn next_base(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) & 3
    }
}

impl PackedSequences {
    fn read_fasta(file: &Path) -> Result<Self> {
        let (mut sequences, mut names) = (PackedSequences::default(), HashSet::new());
        index::for_each_fasta_line(file, |line| match line {
            FastaLine::Head { name, comment } => {
                sequences.begin_sequence(name, comment.unwrap_or_default())?;
                if names.insert(name.to_vec()) {
                    return Ok(());
                }
                let name = String::from_utf8_lossy(name);
                Err(Error::input(format!("two sequences have the name {name}")))
            }
            FastaLine::Letters(letters) => sequences.push_letters(letters),
        })?;
        Ok(sequences)
    }

    fn begin_sequence(&mut self, name: &[u8], comment: &[u8]) -> Result<()> {
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
        // minibwa loses a range that extends to the end of a sequence (0.6, `l2b_add_seq`).
        (self.non_base_ranges.open, self.masks.open) = (0, 0);
        Ok(())
    }

    fn push_letters(&mut self, letters: &[u8]) -> Result<()> {
        for &letter in letters {
            let code = match letter {
                b'A' | b'a' => Some(0),
                b'C' | b'c' => Some(1),
                b'G' | b'g' => Some(2),
                b'T' | b't' => Some(3),
                _ => None,
            };
            self.masks.push_base(self.bases, !letter.is_ascii_uppercase());
            self.non_base_ranges.push_base(self.bases, code.is_none());
            let code = code.unwrap_or_else(|| self.draw.next_base());
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

    fn bases(&self) -> u64 {
        self.bases
    }

    /// Returns both strands as codes 0 to 3, one base per byte: the bases, then their reverse
    /// complement.
    fn both_strands(&self) -> Vec<u8> {
        let bases = self.bases as usize;
        let mut text = Vec::with_capacity(2 * bases);
        text.extend((0..bases).map(|at| (self.words[at / 32] >> (2 * (at % 32)) & 3) as u8));
        for at in (0..bases).rev() {
            text.push(3 - text[at]);
        }
        text
    }

    fn write_file(&self, prefix: &Path) -> Result<PartialIndexFile> {
        let mut file = PartialIndexFile::new(prefix, ".l2b")?;
        file.write(b"L2B\x01\0\0\0\0")?;
        let (holes, masks) = (&self.non_base_ranges.finished, &self.masks.finished);
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

const ROWS_PER_BLOCK: usize = 128;
/// Number of rows in the first half of a block. Their base counts are stored in the high bits of
/// the block's counts.
const ROWS_PER_HALF: usize = ROWS_PER_BLOCK / 2;
const HALF_SHIFT: u32 = 56;
const SAMPLE_SHIFT: u32 = 4;

fn write_transform(prefix: &Path, text: &[u8], suffixes: &Suffixes) -> Result<PartialIndexFile> {
    let mut file = PartialIndexFile::new(prefix, ".mbw")?;
    // The row of the whole text, which has no preceding base.
    let end = (0..=text.len()).find(|&row| suffixes.start(row) == 0).unwrap_or(0);
    file.write(b"MBW\x02")?;
    file.write(&SAMPLE_SHIFT.to_le_bytes())?;
    file.write(&(end as u64).to_le_bytes())?;
    for letter in 0..4 {
        let up_to = text.iter().filter(|&&base| base <= letter).count() as u64;
        file.write(&up_to.to_le_bytes())?;
    }
    write_blocks(&mut file, text, suffixes, end)?;
    let samples = (text.len() >> SAMPLE_SHIFT) as u64 + 1;
    file.write(&samples.to_le_bytes())?;
    // Row 0, the empty suffix, has no position.
    file.write(&u64::MAX.to_le_bytes())?;
    for row in (0..=text.len()).step_by(1 << SAMPLE_SHIFT).skip(1) {
        file.write(&(suffixes.start(row) as u64).to_le_bytes())?;
    }
    Ok(file)
}

/// Writes one block per 128 rows, not counting the row of the whole text, and finally the total
/// counts.
///
/// A block has the counts of each base before it (with the counts of its first half in the high
/// bits, if it has a second half), and the bases, 32 per word, the first one in the lowest bits.
fn write_blocks(
    file: &mut PartialIndexFile,
    text: &[u8],
    suffixes: &Suffixes,
    end: usize,
) -> Result<()> {
    let mut before = [0u64; 4];
    for first in (0..text.len()).step_by(ROWS_PER_BLOCK) {
        let (mut words, mut counts, mut half) = ([0u64; ROWS_PER_BLOCK / 32], before, before);
        for at in first..text.len().min(first + ROWS_PER_BLOCK) {
            let (row, within) = (at + usize::from(at >= end), at - first);
            if within == ROWS_PER_HALF {
                for (half, count) in half.iter_mut().zip(counts) {
                    *half |= (count - *half) << HALF_SHIFT;
                }
            }
            let base = text[suffixes.start(row) - 1];
            counts[usize::from(base)] += 1;
            words[within / 32] |= u64::from(base) << (2 * (within % 32));
        }
        for word in half.iter().chain(&words) {
            file.write(&word.to_le_bytes())?;
        }
        before = counts;
    }
    before.iter().try_for_each(|count| file.write(&count.to_le_bytes()))
}
