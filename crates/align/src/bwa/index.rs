//! Builds bwa-mem2's index, byte for byte.
//!
//! - `.pac`: four bases per byte, the first one in the highest bits. Letters other than A, C, G
//!   and T are replaced with random bases, drawn as in bwa (`lrand48` from seed 11). If the last
//!   byte is full, a zero byte follows. The final byte is the number of bases in the last byte.
//! - `.ann`: names, comments, offsets and lengths of the sequences. `.amb`: the runs of replaced
//!   letters.
//! - `.bwt.2bit.64`: the Burrows-Wheeler transform of both strands, as occurrences for every 64
//!   rows, and every eighth entry of the suffix array (bwa-mem2 2.2.1,
//!   `FMI_search::build_fm_index`).
//! - `.0123`: both strands, one base per byte. Written only on request: bwa-mem2 needs it, but
//!   this crate does not.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};

use super::files::FILE_SUFFIXES;
use crate::index::{self, FastaLine, IndexStage, PartialIndexFile, Suffixes};

#[derive(Clone, Copy, Debug, Default)]
pub struct BwaIndexOptions {
    /// Memory limit in bytes. An index that needs more is refused before anything is written.
    pub memory: Option<u64>,
    /// Also write `.0123`, which bwa-mem2 needs. It takes two bytes of disk space per base.
    pub unpacked: bool,
}

/// Returns the temporary files of [`build_index`], which the command line removes if the process is
/// killed.
pub fn partial_index_files(prefix: &Path) -> Vec<PathBuf> {
    index::partial_paths(prefix, &[&FILE_SUFFIXES[..], &[".0123"]].concat())
}

/// Builds the index of `reference`, a FASTA file that may be gzipped, on the calling thread.
///
/// The file names are `prefix` plus a suffix. The files get these names only when all of them are
/// complete. `report` is called at the start of each stage.
pub fn build_index(
    reference: &Path,
    prefix: &Path,
    options: BwaIndexOptions,
    report: &mut dyn FnMut(IndexStage),
) -> Result<()> {
    report(IndexStage::Read);
    let packed = PackedReference::read_fasta(reference)?;
    let bases = packed.bases();
    index::check_build_memory(reference, bases, options.memory)?;
    let mut files = packed.write_files(prefix)?;
    let text = unpack_both_strands(&packed.bytes, packed.bases as usize);
    drop(packed);
    if options.unpacked {
        files.push(PartialIndexFile::create_with(prefix, ".0123", &text)?);
    }
    report(IndexStage::Sort);
    let rows = index::sort_suffixes(&text)?;
    report(IndexStage::Write);
    files.push(write_transform(prefix, &text, &rows)?);
    PartialIndexFile::rename_all_to_final(files, report)
}

/// Unpacks bases to codes 0 to 3, one per byte, and appends their reverse complement.
pub(super) fn unpack_both_strands(packed: &[u8], bases: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(2 * bases);
    text.extend((0..bases).map(|at| packed[at / 4] >> (6 - 2 * (at % 4)) & 3));
    for at in (0..bases).rev() {
        text.push(3 - text[at]);
    }
    text
}

/// A reference in the packed form of `.pac`, with the contents of `.ann` and `.amb`.
#[derive(Default)]
struct PackedReference {
    bytes: Vec<u8>,
    bases: u64,
    sequences: Vec<PackedSequence>,
    holes: Vec<Hole>,
    draw: Lrand48,
}

struct PackedSequence {
    name: String,
    comment: String,
    offset: u64,
    length: u64,
    holes: u32,
}

/// A run of one letter other than A, C, G and T.
struct Hole {
    offset: u64,
    length: u64,
    letter: u8,
}

/// The generator of random bases: `lrand48` after `srand48(11)`, POSIX's linear congruential
/// generator.
struct Lrand48(u64);

impl Default for Lrand48 {
    fn default() -> Self {
        Lrand48(11 << 16 | 0x330e)
    }
}

impl Lrand48 {
    fn next_base(&mut self) -> u8 {
        self.0 = self.0.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & 0xffff_ffff_ffff;
        (self.0 >> 17 & 3) as u8
    }
}

/// The comment that bwa writes to `.ann` if a sequence has none.
const NO_COMMENT: &str = "(null)";

impl PackedReference {
    fn read_fasta(file: &Path) -> Result<Self> {
        let (mut packed, mut names, mut last) = (PackedReference::default(), HashSet::new(), 0);
        index::for_each_fasta_line(file, |line| match line {
            FastaLine::Head { name, comment } => {
                last = 0;
                packed.begin_sequence(name, comment)?;
                let name = packed.sequences.last().map_or("", |sequence| sequence.name.as_str());
                if names.insert(name.to_owned()) {
                    return Ok(());
                }
                Err(Error::input(format!("two sequences have the name {name}")))
            }
            FastaLine::Letters(letters) => packed.push_letters(letters, &mut last),
        })?;
        Ok(packed)
    }

    fn begin_sequence(&mut self, name: &[u8], comment: Option<&[u8]>) -> Result<()> {
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

    /// Adds letters to the last sequence. `last` is the previous letter of this sequence, or 0 at
    /// its start; it determines whether a hole continues.
    fn push_letters(&mut self, letters: &[u8], last: &mut u8) -> Result<()> {
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
                    self.draw.next_base()
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

    fn bases(&self) -> u64 {
        self.bases
    }

    fn write_files(&self, prefix: &Path) -> Result<Vec<PartialIndexFile>> {
        let mut pac = PartialIndexFile::create_with(prefix, ".pac", &self.bytes)?;
        let filled = (self.bases % 4) as u8;
        pac.write(if filled == 0 { &[0, 0] } else { std::slice::from_ref(&filled) })?;
        let ann = PartialIndexFile::create_with(prefix, ".ann", self.annotations_text().as_bytes())?;
        let amb = PartialIndexFile::create_with(prefix, ".amb", &self.ambiguous_text())?;
        Ok(vec![pac, ann, amb])
    }

    fn annotations_text(&self) -> String {
        let mut text = format!("{} {} 11\n", self.bases, self.sequences.len());
        for PackedSequence { name, comment, offset, length, holes } in &self.sequences {
            text.push_str(&format!("0 {name} {comment}\n{offset} {length} {holes}\n"));
        }
        text
    }

    fn ambiguous_text(&self) -> Vec<u8> {
        let head = format!("{} {} {}\n", self.bases, self.sequences.len(), self.holes.len());
        let mut text = head.into_bytes();
        for Hole { offset, length, letter } in &self.holes {
            text.extend_from_slice(format!("{offset} {length} ").as_bytes());
            text.extend_from_slice(&[*letter, b'\n']);
        }
        text
    }
}

const ROWS_PER_BLOCK: usize = 64;
const ROWS_PER_SAMPLE: usize = 8;

pub(super) fn write_transform(
    prefix: &Path,
    text: &[u8],
    suffixes: &Suffixes,
) -> Result<PartialIndexFile> {
    let rows = text.len() + 1;
    let mut file = PartialIndexFile::new(prefix, ".bwt.2bit.64")?;
    file.write(&(rows as u64).to_le_bytes())?;
    for letter in 0..5 {
        let smaller = text.iter().filter(|&&base| base < letter).count() as u64;
        file.write(&smaller.to_le_bytes())?;
    }
    let end = write_occurrences(&mut file, text, suffixes)?;
    let sampled = || (0..rows).step_by(ROWS_PER_SAMPLE).map(|row| suffixes.start(row) as u64);
    for start in sampled() {
        file.write(&[(start >> 32) as u8])?;
    }
    for start in sampled() {
        file.write(&(start as u32).to_le_bytes())?;
    }
    file.write(&(end as u64).to_le_bytes())?;
    Ok(file)
}

/// Writes one block per 64 rows: how often each base precedes the rows of earlier blocks, and for
/// each base a mask of the rows that it precedes, with the first row in the highest bit.
///
/// Returns the row of the whole text, which no base precedes.
fn write_occurrences(file: &mut PartialIndexFile, text: &[u8], suffixes: &Suffixes) -> Result<usize> {
    let rows = text.len() + 1;
    let (mut before, mut end) = ([0u64; 4], 0);
    // If the rows fill the last block, bwa-mem2 writes an additional one. That cannot happen,
    // because the number of rows is odd.
    for first in (0..rows).step_by(ROWS_PER_BLOCK) {
        let mut masks = [0u64; 4];
        for row in first..rows.min(first + ROWS_PER_BLOCK) {
            match suffixes.start(row) {
                0 => end = row,
                start => {
                    masks[usize::from(text[start - 1])] |= 1 << (ROWS_PER_BLOCK - 1 - (row - first))
                }
            }
        }
        for word in before.iter().chain(&masks) {
            file.write(&word.to_le_bytes())?;
        }
        for (count, mask) in before.iter_mut().zip(masks) {
            *count += u64::from(mask.count_ones());
        }
    }
    Ok(end)
}
