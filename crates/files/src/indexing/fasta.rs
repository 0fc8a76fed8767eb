//! `readmill faidx`: writes the index files of a FASTA file, and prints the sequences of regions.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use readmill_format::reference::{Reference, make_index};
use readmill_format::region::{ContigPart, NO_END, unknown_contig_words};
use readmill_process::atomic_file::{AtomicFile, with_suffix};
use readmill_process::same_file::ensure_output_is_not_input;
use readmill_record::{Error, Ledger, Result};

pub fn fasta_and_index_paths(fasta: &Path) -> [PathBuf; 3] {
    ["", ".fai", ".gzi"].map(|end| with_suffix(fasta, end))
}

/// The result of [`faidx`].
pub struct WrittenIndex {
    /// The index files, in the order in which they were given their final names.
    pub files: Vec<PathBuf>,
    /// Notes for the user about contigs that the index omits, as complete sentences.
    pub notes: Vec<String>,
}

/// Writes the index to `fai`, or to `path`.fai if this is `None`. Also writes `path`.gzi if the
/// FASTA file is compressed by bgzip. Writes either all index files or none.
///
/// # Errors
/// Fails if the FASTA file cannot be read or indexed, or if an index cannot be written.
pub fn faidx(path: &Path, fai: Option<&Path>, ledger: &Ledger) -> Result<WrittenIndex> {
    let fai = fai.map_or_else(|| with_suffix(path, ".fai"), Path::to_path_buf);
    [path, &with_suffix(path, ".gzi")]
        .into_iter()
        .try_for_each(|read| ensure_output_is_not_input(read, &fai))?;
    let mut target = AtomicFile::open(&fai)?;
    let made = make_index(path, ledger).map_err(|e| e.file(path))?;
    target.write(&made.fai)?;
    target.sync()?;
    let (mut targets, mut files) = (Vec::new(), vec![fai]);
    if let Some(bytes) = &made.gzi {
        let gzi = with_suffix(path, ".gzi");
        let mut target = AtomicFile::open(&gzi)?;
        target.write(bytes)?;
        target.sync()?;
        targets.push(target);
        files.insert(0, gzi);
    }
    targets.push(target); // the .fai appears last, because readers look for it
    AtomicFile::rename_all(&mut targets)?;
    Ok(WrittenIndex { files, notes: made.notes })
}

/// Memory for a name in the table of contigs.
const BYTES_PER_NAME: u64 = 64;

/// Writes the sequences of regions, such as `chr1:1-2000`, in FASTA format, as `samtools faidx`
/// does. `width` is the number of bases per line, by default that of the FASTA file; 0 writes each
/// sequence on one line. `warn` gets a warning for each region that ends after its contig.
///
/// # Errors
/// Fails if a contig is not in the FASTA file, if there is too little memory for the names of its
/// contigs, or if reading or writing fails.
pub fn write_sequences(
    reference: &Reference,
    regions: &[String],
    width: Option<usize>,
    warn: impl Fn(&str),
    out: &mut dyn Write,
    ledger: &Ledger,
) -> Result<()> {
    let bytes = reference.contigs().len() as u64 * BYTES_PER_NAME;
    let _charge = ledger.charge("contigs of the reference", bytes)?;
    let mut numbers: HashMap<&[u8], u32> = HashMap::with_capacity(reference.contigs().len());
    for ((name, _), number) in reference.contigs().zip(0..) {
        numbers.entry(name).or_insert(number); // as in samtools, the first contig of a name counts
    }
    let failed = |e: &std::io::Error| Error::io("the sequences cannot be written", e);
    for text in regions {
        let ContigPart { contig: number, start, end } = parse_region(reference, &numbers, text)?;
        let length = reference.contig_length(number);
        if end != NO_END && end > i64::from(length) {
            let what = if start < i64::from(length) { "is cut short" } else { "has no bases" };
            warn(&format!("{text} {what}, because the contig has {length} bases"));
        }
        let within = |place: i64| u32::try_from(place).map_or(length, |it| it.min(length));
        let (start, end) = (within(start), within(end));
        let width = width.unwrap_or(reference.line_bases(number));
        writeln!(out, ">{text}").map_err(|e| failed(&e))?;
        let mut column = 0;
        reference.for_each_piece(number, start, end, |mut bases| {
            while !bases.is_empty() {
                let left = if width == 0 { bases.len() } else { width - column };
                let (now, later) = bases.split_at(left.min(bases.len()));
                out.write_all(now).map_err(|e| failed(&e))?;
                (bases, column) = (later, column + now.len());
                if column == width && width > 0 {
                    out.write_all(b"\n").map_err(|e| failed(&e))?;
                    column = 0;
                }
            }
            Ok(())
        })?;
        if column > 0 {
            out.write_all(b"\n").map_err(|e| failed(&e))?;
        }
    }
    out.flush().map_err(|e| failed(&e))
}

/// Parses a region, in the same syntax as for reads.
fn parse_region(reference: &Reference, numbers: &HashMap<&[u8], u32>, text: &str) -> Result<ContigPart> {
    let names = || reference.contigs().map(|(name, _)| name);
    let find = |name: &[u8]| numbers.get(name).copied();
    let part = ContigPart::parse(text, find, || unknown_contig_words("the reference", names()));
    part.map_err(|what| Error::usage(what).file(reference.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Comparing each region with each contig took minutes.
    #[test]
    fn many_regions_of_many_contigs_are_found_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.fa");
        let count = 50_000;
        std::fs::write(&path, (0..count).map(|n| format!(">c{n}\nACGT\n")).collect::<String>()).unwrap();
        let regions: Vec<String> = (0..count).map(|n| format!("c{n}:2-3")).collect();
        let write = |bytes| {
            let reference = Reference::open(&path, &Ledger::unlimited()).unwrap();
            let (mut out, ledger) = (Vec::new(), Ledger::with_capacity(bytes));
            write_sequences(&reference, &regions, None, |_| {}, &mut out, &ledger).map(|()| out)
        };
        let out = String::from_utf8(write(100 << 20).unwrap()).unwrap();
        assert!(out.starts_with(">c0:2-3\nCG\n>c1:2-3\nCG\n"));
        assert_eq!(out.lines().count(), 2 * count);
        assert!(write(1 << 20).unwrap_err().to_string().contains("contigs of the reference"));
    }
}
