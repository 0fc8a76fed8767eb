//! Reads and checks the index files of bwa-mem2, without loading the index.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use readmill_record::{Error, ReadBatch, Result, input_file};

use crate::IndexContig;
use crate::index::with_suffix;
use crate::index::{IndexDescription, IndexFiles};
use crate::limits::MAX_READ_BASES;
use crate::text::IndexFault;

/// File name suffixes of the required files. bwa-mem2's `.0123` (one base per byte) is not needed.
pub(super) const FILE_SUFFIXES: [&str; 4] = [".amb", ".ann", ".pac", ".bwt.2bit.64"];

pub const FILES: IndexFiles = IndexFiles {
    aligner: "bwa mem",
    suffixes: &FILE_SUFFIXES,
    hint: "build one with `readmill index REF`, or with `bwa-mem2 index REF`",
    check: check_index_files,
};

/// Reads the description of an index, and checks the sizes of its files against it. This must
/// happen before the C code loads the index, because that code exits if a file is damaged.
pub(super) fn check_index_files(prefix: &Path) -> Result<IndexDescription> {
    if let Some(first) = FILES.missing_files(prefix).first() {
        return Err(Error::missing_file("this file, a part of the index for bwa mem, is missing")
            .file(first)
            .hint("build the index with `readmill index REF`"));
    }
    let (mut contigs, bases) = read_sequences(prefix)?;
    let warnings = read_alternates(&with_suffix(prefix, ".alt"), &mut contigs)?;
    let bytes = bases.div_ceil(4) + check_transform(&with_suffix(prefix, ".bwt.2bit.64"), bases)?;
    Ok(IndexDescription { contigs, warnings, bytes })
}

/// Reads `.ann`, and checks `.amb` and `.pac` against it: the files that bwa 0.7 and bwa-mem2
/// share. Returns the sequences and their total number of bases.
pub(super) fn read_sequences(prefix: &Path) -> Result<(Vec<IndexContig>, u64)> {
    let (contigs, bases) = read_annotations(&with_suffix(prefix, ".ann"))?;
    check_ambiguous(&with_suffix(prefix, ".amb"), bases, contigs.len())?;
    let packed = with_suffix(prefix, ".pac");
    if file_length(&packed)? != bases / 4 + 2 {
        return Err(damaged_index_error(&packed, "the length does not match the .ann file"));
    }
    Ok((contigs, bases))
}

/// Returns the error for an index whose parts belong to different references. It names the file
/// with the `fault`.
pub(super) fn inconsistent_index_error(prefix: &Path, fault: IndexFault) -> Error {
    let (suffix, what) = match fault {
        IndexFault::Transform => (".bwt.2bit.64", "the counts do not match the bases"),
        IndexFault::Starts => (".bwt.2bit.64", "wrong suffix positions"),
        IndexFault::Bases => (".pac", "the bases do not match the .bwt.2bit.64 file"),
    };
    damaged_index_error(&with_suffix(prefix, suffix), what)
}

/// Returns the error for an index that no longer matches the description read before it was loaded.
pub(super) fn changed_index_error(prefix: &Path) -> Error {
    Error::input("the index changed while it was read")
        .file(prefix)
        .hint("wait until the index is complete, or rebuild the index with `readmill index REF`")
}

fn damaged_index_error(file: &Path, what: impl Into<String>) -> Error {
    Error::input(format!("the index is damaged: {}", what.into()))
        .file(file)
        .hint("rebuild the index with `readmill index REF`")
}

fn file_length(file: &Path) -> Result<u64> {
    Ok(file
        .metadata()
        .map_err(|error| Error::io("the file size cannot be read", &error).file(file))?
        .len())
}

fn read_text(file: &Path) -> Result<String> {
    let bytes = std::fs::read(file).map_err(|error| Error::io("reading failed", &error).file(file))?;
    String::from_utf8(bytes).map_err(|_| damaged_index_error(file, "not text"))
}

/// Maximum length of a sequence comment that the C++ code can read, including the space before it.
const MAX_COMMENT_BYTES: usize = 8191;

/// Parses the `.ann` file. Its first line has the number of bases, the number of sequences and a
/// seed; two lines follow for each sequence: `0 name comment` and `offset length holes`.
fn read_annotations(file: &Path) -> Result<(Vec<IndexContig>, u64)> {
    let text = read_text(file)?;
    let mut lines = text.lines();
    let [bases, count, _] = parse_numbers(lines.next())
        .ok_or_else(|| damaged_index_error(file, "the first line does not have three numbers"))?;
    let (mut contigs, mut sum) = (Vec::new(), 0);
    for _ in 0..count {
        let number = contigs.len() + 1;
        let (name, comment) = split_named_line(lines.next()).unwrap_or_default();
        if comment.len() > MAX_COMMENT_BYTES {
            let what = format!("the comment of sequence {number} is longer than 8,190 bytes");
            let hint = "shorten it in the FASTA file, and rebuild the index";
            return Err(Error::input(what).file(file).hint(hint));
        }
        match parse_numbers(lines.next()) {
            Some([offset, length, holes])
                if !name.is_empty()
                    && offset == sum
                    && length.max(holes) <= i32::MAX as u64
                    && name.len() <= MAX_COMMENT_BYTES =>
            {
                contigs.push(IndexContig { name: name.to_owned(), length, alternate: false });
                sum += length;
            }
            _ => return Err(damaged_index_error(file, format!("sequence {number} is invalid"))),
        }
    }
    if sum != bases || bases == 0 || bases > u64::MAX >> 26 {
        return Err(damaged_index_error(file, "the lengths of the sequences do not match their sum"));
    }
    Ok((contigs, bases))
}

fn parse_numbers<const N: usize>(line: Option<&str>) -> Option<[u64; N]> {
    let words: Vec<&str> = line?.split_ascii_whitespace().collect();
    let words: [&str; N] = words.try_into().ok()?;
    let mut numbers = [0; N];
    for (number, word) in numbers.iter_mut().zip(words) {
        *number = word.parse().ok()?;
    }
    Some(numbers)
}

/// Splits a line `number name comment`. Returns the name, and the rest of the line including its
/// leading blank.
fn split_named_line(line: Option<&str>) -> Option<(&str, &str)> {
    let (number, rest) = line?.split_once(' ')?;
    number.parse::<u32>().ok()?;
    let end = rest.find(|letter: char| letter.is_ascii_whitespace()).unwrap_or(rest.len());
    Some(rest.split_at(end))
}

/// Checks the `.amb` file. Its first line has the number of bases, sequences and holes; a line
/// `offset length letter` follows for each hole.
fn check_ambiguous(file: &Path, bases: u64, sequences: usize) -> Result<()> {
    let text = read_text(file)?;
    let mut lines = text.lines();
    let [same, same_sequences, count] = parse_numbers(lines.next())
        .ok_or_else(|| damaged_index_error(file, "the first line does not have three numbers"))?;
    let within = |line: &str| {
        let (numbers_of, letter) = line.rsplit_once(' ')?;
        let [at, length]: [u64; 2] = parse_numbers(Some(numbers_of))?;
        let end = at.checked_add(length).filter(|&end| end <= bases && length <= i32::MAX as u64);
        end.filter(|_| !letter.is_empty() && !letter.contains(char::is_whitespace))
    };
    let good = lines.by_ref().take(usize::try_from(count).unwrap_or(usize::MAX)).filter_map(within);
    if same != bases || same_sequences != sequences as u64 || good.count() as u64 != count {
        return Err(damaged_index_error(file, "the file does not match the .ann file"));
    }
    Ok(())
}

const MAX_ALTERNATE_NAME_BYTES: usize = 1023;

/// Marks the contigs that are listed in the `.alt` file, if it exists. Returns warnings about the
/// file.
///
/// This follows bwa (0.7.17, `bns_restore`): in each line that does not start with `@`, the name
/// ends at the first tab or line end. Only terminated names count: a last name without tab or
/// newline is ignored.
fn read_alternates(file: &Path, contigs: &mut [IndexContig]) -> Result<Vec<String>> {
    if !file.is_file() {
        return Ok(Vec::new());
    }
    let text = std::fs::read(file).map_err(|error| Error::io("reading failed", &error).file(file))?;
    // If two sequences have the same name, the C++ code marks the last one.
    let numbers: HashMap<&[u8], usize> =
        contigs.iter().enumerate().map(|(number, contig)| (contig.name.as_bytes(), number)).collect();
    let (mut marked, mut unread) = (vec![false; contigs.len()], None);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let Some(end) = line.iter().position(|byte| b"\t\n\r".contains(byte)) else {
            unread = numbers.get(line).copied();
            continue;
        };
        let name = line[..end].split(|&byte| byte == 0).next().unwrap_or_default();
        if end > MAX_ALTERNATE_NAME_BYTES || name.starts_with(b"@") {
            continue;
        }
        if let Some(&number) = numbers.get(name) {
            marked[number] = true;
        }
    }
    let unread = unread.filter(|&number| !marked[number]).map(|number| {
        let (file, name) = (file.display(), &contigs[number].name);
        format!("{file}: the last line, {name}, does not end with a newline, so bwa does not read it: {name} is not treated as an alternate locus; add a newline")
    });
    for (contig, marked) in contigs.iter_mut().zip(marked) {
        contig.alternate = marked;
    }
    Ok(unread.into_iter().collect())
}

/// Checks the `.bwt.2bit.64` file, and returns the number of its bytes that are kept in memory.
///
/// The file contains, in this order: the number of rows, counts, occurrences, samples of the suffix
/// array, and the row of the whole text. bwa-mem3 appends the sampling rate of the suffix array.
fn check_transform(file: &Path, bases: u64) -> Result<u64> {
    let failed = |error: std::io::Error| Error::io("reading failed", &error).file(file);
    let mut open = input_file::open_input(file).map_err(failed)?;
    let [rows, counts @ ..] =
        read_words::<6>(&mut open).ok_or_else(|| damaged_index_error(file, "the file is truncated"))?;
    if rows != 2 * bases + 1 || counts[0] != 0 || counts[4] != 2 * bases || !counts.is_sorted() {
        return Err(damaged_index_error(file, "the file does not match the .ann file"));
    }
    let occurrences = ((rows >> 6) + 1) * 64;
    let size = file_length(file)?;
    let samples = |shift: u32| ((rows >> shift) + 1) * 5;
    // bwa-mem2 samples every eighth row and does not store the rate.
    let untold = size == 48 + occurrences + samples(3) + 8;
    let told = |shift: &u32| size == 48 + occurrences + samples(*shift) + 16;
    let shift = if untold { Some(3) } else { (0..=6).find(told) };
    let shift = shift.ok_or_else(|| damaged_index_error(file, "the file is truncated or too long"))?;
    open.seek(SeekFrom::Start(48 + occurrences + samples(shift))).map_err(failed)?;
    let ends = match read_words::<1>(&mut open) {
        Some([end]) => end < rows && (untold || read_words::<1>(&mut open) == Some([u64::from(shift)])),
        None => false,
    };
    if ends {
        Ok(occurrences + samples(shift))
    } else {
        Err(damaged_index_error(file, "the end of the file is invalid"))
    }
}

/// Reads the next `N` numbers of eight little-endian bytes. Returns `None` at the end of the file.
fn read_words<const N: usize>(file: &mut File) -> Option<[u64; N]> {
    let mut words = [0; N];
    for word in &mut words {
        let mut bytes = [0; 8];
        file.read_exact(&mut bytes).ok()?;
        *word = u64::from_le_bytes(bytes);
    }
    Some(words)
}

/// Returns the memory of one thread's buffers in bytes, with some reserve. Measured: 16 MB for
/// reads of 50 bases, 22 MB for 151, 29 MB for 250, 54 MB for 600.
pub fn scratch_bytes(bases: usize) -> u64 {
    (24 << 20) + ((bases as u64) << 16)
}

/// Returns the additional memory in bytes that a thread needs while it aligns one long read.
///
/// Nearly all of it is for the CIGAR: 801 bytes per base for wide gaps. Measured together with the
/// scratch buffers, with 153,600 bases per batch: 27 MB for reads of 20,000 bases, 44 MB for
/// 50,000, 88 MB for 100,000, 84 MB for 150,000 and 108 MB for 199,000.
pub(super) fn long_read_bytes(bases: usize) -> u64 {
    const IN_SCRATCH: usize = 20_000;
    if bases > MAX_READ_BASES as usize { 0 } else { (bases.saturating_sub(IN_SCRATCH) as u64) << 10 }
}

/// Returns the estimated memory of the candidates of these reads in bytes. Measured in a genome
/// with one third repeats: 1,539 bytes for a read of 50 bases, 2,186 for 151, 3,767 for 250, 7,875
/// for 600.
pub(super) fn seeded_bytes(reads: &ReadBatch) -> u64 {
    reads.text().len() as u64 + 2048 * reads.len() as u64 + 18 * reads.base_count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names marked by a `.alt` file, and the number of warnings.
    fn alternates(text: &[u8]) -> (String, usize) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ref.fa.alt");
        std::fs::write(&file, text).unwrap();
        let contig = |name: &str| IndexContig { name: name.to_owned(), length: 1, alternate: false };
        let mut contigs = ["chr1", "chr1_alt", "chr2_alt", "HLA*1 x"].map(contig);
        let warnings = read_alternates(&file, &mut contigs).unwrap();
        let marked = contigs.iter().filter(|contig| contig.alternate).map(|contig| &contig.name[..]);
        (marked.collect::<Vec<_>>().join(","), warnings.len())
    }

    #[test]
    fn a_last_name_in_the_alt_file_without_newline_is_not_read_as_in_bwa() {
        for (text, expected, warnings) in [
            (&b"chr1_alt\n"[..], "chr1_alt", 0),
            (b"chr1_alt", "", 1),
            (b"chr1_alt\nchr1", "chr1_alt", 1),
            (b"chr1_alt\nchr1_alt", "chr1_alt", 0),
            (b"chr1_alt\nnothing", "chr1_alt", 0),
            (b"chr1_alt\t0\tchr1\t1", "chr1_alt", 0),
            (b"chr1_alt\r\nchr2_alt\r\n", "chr1_alt,chr2_alt", 0),
            (b"chr1_alt\r", "chr1_alt", 0),
            (b"chr1_alt \n chr2_alt\nHLA*1 x\n", "HLA*1 x", 0),
            (b"@SQ\tSN:chr1\n@chr1_alt\nchr2_alt\t4\t*\n\n", "chr2_alt", 0),
            (b"\nchr1_alt\0more\n", "chr1_alt", 0),
            (b"", "", 0),
        ] {
            let text_shown = String::from_utf8_lossy(text);
            assert_eq!(alternates(text), (expected.to_owned(), warnings), "{text_shown:?}");
        }
        let long = [b"x".repeat(1100), b"\nchr1_alt\n".to_vec()].concat();
        assert_eq!(alternates(&long), ("chr1_alt".to_owned(), 0));
    }
}
