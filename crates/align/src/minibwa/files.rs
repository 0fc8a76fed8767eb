//! Reads and checks the index files of minibwa, without loading the index.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use readmill_record::{Error, ReadBatch, Result, input_file};

use crate::IndexContig;
use crate::index::with_suffix;
use crate::index::{IndexDescription, IndexFiles};
use crate::limits::MAX_READ_BASES;
use crate::text::IndexFault;

pub(super) const FILE_SUFFIXES: [&str; 2] = [".l2b", ".mbw"];

pub const FILES: IndexFiles = IndexFiles {
    aligner: "minibwa",
    suffixes: &FILE_SUFFIXES,
    hint: "build one with `readmill index --kernel minibwa REF`, or with `minibwa index REF`",
    check: check_index_files,
};

/// Reads the description of an index, and checks the sizes of its files against it. The C code that
/// loads the index does not check them.
pub(super) fn check_index_files(prefix: &Path) -> Result<IndexDescription> {
    let (contigs, bases, sequences) = read_sequences(&with_suffix(prefix, ".l2b"))?;
    let transform = check_transform(&with_suffix(prefix, ".mbw"), bases)?;
    let warnings = Vec::new();
    Ok(IndexDescription { contigs, warnings, bytes: sequences + transform + PREFIX_TABLE_BYTES })
}

/// Memory for the table of the rows of all words of ten bases, which is computed when the index is
/// loaded.
const PREFIX_TABLE_BYTES: u64 = 32 << 20;

/// Returns the error for an index whose parts belong to different references. It names the file
/// with the `fault`.
pub(super) fn inconsistent_index_error(prefix: &Path, fault: IndexFault) -> Error {
    let (suffix, what) = match fault {
        IndexFault::Transform => (".mbw", "the counts do not match the bases"),
        IndexFault::Starts => (".mbw", "wrong suffix positions"),
        IndexFault::Bases => (".l2b", "the bases do not match the .mbw file"),
    };
    damaged_index_error(&with_suffix(prefix, suffix), what)
}

/// Returns the error for an index that no longer matches the description read before it was loaded.
pub(super) fn changed_index_error(prefix: &Path) -> Error {
    Error::input("the index changed while it was read").file(prefix).hint(
        "wait until the index is complete, or rebuild it with `readmill index --kernel minibwa REF`",
    )
}

fn damaged_index_error(file: &Path, what: &str) -> Error {
    Error::input(format!("the index is damaged: {what}"))
        .file(file)
        .hint("rebuild the index with `readmill index --kernel minibwa REF`")
}

/// Reads a file of eight-byte little-endian numbers sequentially.
struct NumberReader<'a> {
    file: &'a Path,
    input: BufReader<File>,
    length: u64,
}

impl<'a> NumberReader<'a> {
    /// Opens a file that begins with `magic`. Also returns the number in the next four bytes.
    fn open(file: &'a Path, magic: [u8; 4]) -> Result<(Self, u32)> {
        let failed = |error: std::io::Error| Error::io("reading failed", &error).file(file);
        let open = input_file::open_input(file).map_err(failed)?;
        let length = open.metadata().map_err(failed)?.len();
        let mut numbers = NumberReader { file, input: BufReader::new(open), length };
        let head = numbers.next_number()?.to_le_bytes();
        if head[..4] != magic {
            return Err(damaged_index_error(
                file,
                "the file does not begin with the signature of its format",
            ));
        }
        Ok((numbers, u32::from_le_bytes([head[4], head[5], head[6], head[7]])))
    }

    fn next_number(&mut self) -> Result<u64> {
        let mut bytes = [0; 8];
        let cut = |_| damaged_index_error(self.file, "the file is truncated");
        self.input.read_exact(&mut bytes).map_err(cut)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn next_numbers<const N: usize>(&mut self) -> Result<[u64; N]> {
        let mut numbers = [0; N];
        numbers.iter_mut().try_for_each(|number| self.next_number().map(|read| *number = read))?;
        Ok(numbers)
    }

    fn skip_bytes(&mut self, bytes: u64) -> Result<()> {
        let mut left = bytes;
        while left > 0 {
            let step = left.min(i64::MAX as u64);
            let failed = |error: std::io::Error| Error::io("reading failed", &error).file(self.file);
            self.input.seek_relative(step as i64).map_err(failed)?;
            left -= step;
        }
        Ok(())
    }

    /// Reads `count` NUL-terminated strings that take `length` bytes in total.
    fn read_texts(&mut self, count: u64, length: u64) -> Result<Vec<String>> {
        let mut bytes = Vec::new();
        let cut = |_| damaged_index_error(self.file, "the file is truncated");
        self.input.by_ref().take(length).read_to_end(&mut bytes).map_err(cut)?;
        let all = String::from_utf8(bytes)
            .map_err(|_| damaged_index_error(self.file, "a name is not UTF-8"))?;
        let texts: Vec<String> = all.split_terminator('\0').map(str::to_owned).collect();
        let whole = all.ends_with('\0') && all.len() as u64 == length && texts.len() as u64 == count;
        if whole {
            Ok(texts)
        } else {
            Err(damaged_index_error(self.file, "the number or length of the names is wrong"))
        }
    }
}

/// Checks the `.l2b` file (minibwa 0.6, `l2b_save`). Returns the sequences, their total number of
/// bases, and the number of bytes that are kept in memory.
///
/// The file contains, in this order: the number of sequences, bases, holes, masks, bytes of names,
/// bytes of comments and words of 32 bases; the length of each sequence; the starts and ends of
/// holes and masks; bases; names; comments.
fn read_sequences(file: &Path) -> Result<(Vec<IndexContig>, u64, u64)> {
    let (mut numbers, _) = NumberReader::open(file, *b"L2B\x01")?;
    let [count, bases, holes, masks, names, comments, words] = numbers.next_numbers()?;
    let parts = [(count, 8), (holes, 16), (masks, 16), (words, 8), (names, 1), (comments, 1)];
    let sizes = parts.iter().map(|&(count, each)| u128::from(count) * each);
    if 64 + sizes.sum::<u128>() != u128::from(numbers.length) || bases.div_ceil(32) != words {
        return Err(damaged_index_error(file, "the file is truncated or too long"));
    }
    if bases == 0 || count > u64::from(u32::MAX >> 2) {
        return Err(damaged_index_error(file, "the numbers are invalid"));
    }
    let lengths = (0..count).map(|_| numbers.next_number()).collect::<Result<Vec<u64>>>()?;
    let sum = lengths.iter().map(|&length| u128::from(length)).sum::<u128>();
    if sum != u128::from(bases) || lengths.iter().any(|&length| length > i32::MAX as u64) {
        return Err(damaged_index_error(file, "the lengths of the sequences do not match their sum"));
    }
    let mut last = 0;
    for _ in 0..holes {
        let [start, end] = numbers.next_numbers()?;
        if start < last || end <= start || end > bases {
            return Err(damaged_index_error(file, "the gaps (runs of N) are invalid"));
        }
        last = end;
    }
    numbers.skip_bytes(16 * masks + 8 * words)?;
    let texts = numbers.read_texts(count, names)?;
    numbers.read_texts(count, comments)?;
    let contig = |(name, length)| IndexContig { name, length, alternate: false };
    Ok((texts.into_iter().zip(lengths).map(contig).collect(), bases, numbers.length))
}

/// Checks the `.mbw` file (minibwa 0.6, `mb_bwt_save`). Returns the number of bytes that are kept
/// in memory.
///
/// The file contains, in this order: the sampling rate of the suffix array, the row of the whole
/// text, and counts; the transform in blocks of 128 rows, followed by the final counts; the samples
/// of the suffix array.
fn check_transform(file: &Path, bases: u64) -> Result<u64> {
    let (mut numbers, shift) = NumberReader::open(file, *b"MBW\x02")?;
    let [end, counts @ ..]: [u64; 5] = numbers.next_numbers()?;
    let rows = 2 * bases;
    if counts[3] != rows || !counts.is_sorted() || end > rows || shift > 20 {
        return Err(damaged_index_error(file, "the file does not match the .l2b file"));
    }
    let (blocks, samples) = (64 * rows.div_ceil(128) + 32, (rows + (1 << shift)) >> shift);
    if 48 + blocks + 8 + 8 * samples != numbers.length {
        return Err(damaged_index_error(file, "the file is truncated or too long"));
    }
    numbers.skip_bytes(blocks)?;
    if numbers.next_number()? != samples {
        return Err(damaged_index_error(file, "the number of samples is wrong"));
    }
    Ok(numbers.length)
}

/// Returns the memory in bytes that one thread needs while it aligns a read. Measured: less than 2
/// MB for reads of 151 bases, about 45 MB if the longest read has 27,000.
pub fn scratch_bytes(bases: usize) -> u64 {
    (4 << 20) + ((bases as u64) << 12)
}

/// Returns the additional memory in bytes that a thread needs while it aligns one long read, mostly
/// for the CIGAR across a gap.
///
/// Measured for reads of 150,000 bases: 2 to 9 MB; 57 MB if 5,000 bases are replaced with 5,000
/// others; 169 MB if 9,900 are. The last is the maximum, and too rare to be reserved for.
pub(super) fn long_read_bytes(bases: usize) -> u64 {
    const IN_SCRATCH: usize = 2_000;
    const MAX_BYTES: u64 = 64 << 20;
    let bytes = (bases.saturating_sub(IN_SCRATCH) as u64) << 10;
    if bases > MAX_READ_BASES as usize { 0 } else { bytes.min(MAX_BYTES) }
}

/// Returns the estimated memory of the hits of these reads in bytes. Measured: 2,032 bytes for a
/// read of 151 bases in a genome with one half repeats, 840 for reads of 1 to 250 bases.
pub(super) fn seeded_bytes(reads: &ReadBatch) -> u64 {
    reads.text().len() as u64 + 2048 * reads.len() as u64 + 18 * reads.base_count()
}
