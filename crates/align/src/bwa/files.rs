//! The files of an index, and what they say of it.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use readmill_record::{Error, Reads, Result};

use crate::Contig;
use crate::index_files::{Described, IndexFiles};
use crate::prefix::named;

/// What bwa-mem2 calls the files that are needed, behind the prefix. (Its `.0123`, the bases one a byte, is not.)
pub(super) const SUFFIXES: [&str; 4] = [".amb", ".ann", ".pac", ".bwt.2bit.64"];

/// The files of an index of bwa-mem2.
pub const FILES: IndexFiles = IndexFiles {
    aligner: "bwa mem",
    suffixes: &SUFFIXES,
    hint: "make one with `readmill index REF`, or with `bwa-mem2 index REF`",
    check,
};

/// Reads what describes an index, and holds the sizes of its files against it: the C code that loads it ends the
/// process over a damaged one.
pub(super) fn check(prefix: &Path) -> Result<Described> {
    if let Some(first) = FILES.missing(prefix).first() {
        return Err(Error::usage("this file of the index for bwa mem is missing")
            .file(first)
            .hint("make the index with `readmill index REF`"));
    }
    let (mut contigs, bases) = annotations(&named(prefix, ".ann"))?;
    ambiguous(&named(prefix, ".amb"), bases)?;
    alternates(&named(prefix, ".alt"), &mut contigs)?;
    let packed = named(prefix, ".pac");
    if length(&packed)? != bases / 4 + 2 {
        return Err(damaged(&packed, "it has not the length that the .ann file says"));
    }
    let bytes = bases.div_ceil(4) + transform(&named(prefix, ".bwt.2bit.64"), bases)?;
    Ok(Described { contigs, bytes })
}

fn damaged(file: &Path, what: impl Into<String>) -> Error {
    Error::input(format!("the index is damaged: {}", what.into()))
        .file(file)
        .hint("make it again with `readmill index REF`")
}

fn length(file: &Path) -> Result<u64> {
    Ok(file.metadata().map_err(|error| Error::io("reading its size", &error).file(file))?.len())
}

fn text(file: &Path) -> Result<String> {
    let bytes = std::fs::read(file).map_err(|error| Error::io("reading it", &error).file(file))?;
    String::from_utf8(bytes).map_err(|_| damaged(file, "it is not text"))
}

/// The `.ann` file: bases, sequences and seed, then two lines a sequence: `0 name comment`, `offset length holes`.
fn annotations(file: &Path) -> Result<(Vec<Contig>, u64)> {
    let text = text(file)?;
    let mut lines = text.lines();
    let mut numbers = lines.next().unwrap_or_default().split_ascii_whitespace().map(str::parse::<u64>);
    let (Some(Ok(bases)), Some(Ok(count)), Some(Ok(_))) =
        (numbers.next(), numbers.next(), numbers.next())
    else {
        return Err(damaged(file, "its first line is not three numbers"));
    };
    let (mut contigs, mut sum) = (Vec::new(), 0);
    for _ in 0..count {
        let name = lines.next().and_then(|line| line.split_ascii_whitespace().nth(1));
        let mut place = lines.next().unwrap_or_default().split_ascii_whitespace().map(str::parse::<u64>);
        match (name, place.next(), place.next(), place.next()) {
            (Some(name), Some(Ok(offset)), Some(Ok(length)), Some(Ok(_))) if offset == sum => {
                contigs.push(Contig { name: name.to_owned(), length, alternate: false });
                sum += length;
            }
            _ => return Err(damaged(file, format!("sequence {} makes no sense", contigs.len() + 1))),
        }
    }
    if sum != bases || bases == 0 || bases > u64::MAX >> 26 {
        return Err(damaged(file, "its sequences do not add up"));
    }
    Ok((contigs, bases))
}

/// The `.amb` file: bases, sequences and stretches, then `offset length letter` of each.
fn ambiguous(file: &Path, bases: u64) -> Result<()> {
    let text = text(file)?;
    let mut lines = text.lines();
    let mut numbers = lines.next().unwrap_or_default().split_ascii_whitespace().map(str::parse::<u64>);
    let (Some(Ok(same)), Some(Ok(_)), Some(Ok(count))) =
        (numbers.next(), numbers.next(), numbers.next())
    else {
        return Err(damaged(file, "its first line is not three numbers"));
    };
    let mut good = 0;
    for line in lines.take(usize::try_from(count).unwrap_or(usize::MAX)) {
        let mut words = line.split_ascii_whitespace();
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        let within =
            matches!((number(), number()), (Some(at), Some(len)) if at.saturating_add(len) <= bases);
        good += u64::from(within && words.next().is_some());
    }
    if same != bases || good != count {
        return Err(damaged(file, "it does not fit the .ann file"));
    }
    Ok(())
}

/// The `.alt` file, if there is one: names of alternate loci, as the first column of SAM lines.
fn alternates(file: &Path, contigs: &mut [Contig]) -> Result<()> {
    if !file.is_file() {
        return Ok(());
    }
    let text = text(file)?;
    let names: std::collections::HashSet<&str> = text
        .lines()
        .filter(|line| !line.starts_with('@'))
        .filter_map(|line| line.split('\t').next())
        .collect();
    for contig in contigs {
        contig.alternate = names.contains(contig.name.as_str());
    }
    Ok(())
}

/// The `.bwt.2bit.64` file: rows, counts, occurrences, samples of the suffix array, the row of the end. Returns the
/// bytes that are kept in memory.
fn transform(file: &Path, bases: u64) -> Result<u64> {
    let mut head = [0; 48];
    let mut open = File::open(file).map_err(|error| Error::io("opening it", &error).file(file))?;
    open.read_exact(&mut head).map_err(|_| damaged(file, "it is cut"))?;
    let mut words = [0u64; 6];
    for (word, bytes) in words.iter_mut().zip(head.chunks_exact(8)) {
        *word = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
    }
    let [rows, counts @ ..] = words;
    if rows != 2 * bases + 1 || counts[0] != 0 || counts[4] != 2 * bases || !counts.is_sorted() {
        return Err(damaged(file, "it does not fit the .ann file"));
    }
    let occurrences = ((rows >> 6) + 1) * 64;
    let size = length(file)?;
    // bwa-mem2 samples every eighth row; bwa-mem3 says at the end of the file how often.
    let samples = |shift: u32| ((rows >> shift) + 1) * 5;
    let fits = |shift: &u32| size == 48 + occurrences + samples(*shift) + 16;
    let shift = if size == 48 + occurrences + samples(3) + 8 { Some(3) } else { (0..=6).find(fits) };
    shift
        .map(|shift| occurrences + samples(shift))
        .ok_or_else(|| damaged(file, "it is cut, or has too much"))
}

/// Bytes that a thread's buffers come to. Measured: 16 MB for reads of 50 bases, 22 for 151, 29 for 250, 54 for 600.
pub fn scratch_bytes(bases: usize) -> u64 {
    (24 << 20) + ((bases as u64) << 16)
}

/// Bytes that the candidates of reads come to. Measured, in a genome a third of which is repeats: 1,539 for a read of 50
/// bases, 2,186 for 151, 3,767 for 250, 7,875 for 600.
pub(super) fn seeded_bytes(reads: &Reads) -> u64 {
    reads.text().len() as u64 + 2048 * reads.len() as u64 + 18 * reads.bases()
}
