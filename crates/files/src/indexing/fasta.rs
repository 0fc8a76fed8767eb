//! `readmill faidx`: writes the index files of a FASTA file, and prints the sequences of regions.

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

/// Writes the sequences of regions, such as `chr1:1-2000`, in FASTA format, as `samtools faidx`
/// does. `width` is the number of bases per line, by default that of the FASTA file; 0 writes each
/// sequence on one line. `warn` gets a warning for each region that ends after its contig.
///
/// # Errors
/// Fails if a contig is not in the FASTA file, or if reading or writing fails.
pub fn write_sequences(
    reference: &Reference,
    regions: &[String],
    width: Option<usize>,
    warn: impl Fn(&str),
    out: &mut dyn Write,
) -> Result<()> {
    let failed = |e: &std::io::Error| Error::io("the sequences cannot be written", e);
    for text in regions {
        let ContigPart { contig: number, start, end } = parse_region(reference, text)?;
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
fn parse_region(reference: &Reference, text: &str) -> Result<ContigPart> {
    let names = || reference.contigs().map(|(name, _)| name);
    let find = |name: &[u8]| names().position(|own| own == name).and_then(|at| u32::try_from(at).ok());
    let part = ContigPart::parse(text, find, || unknown_contig_words("the reference", names()));
    part.map_err(|what| Error::usage(what).file(reference.path()))
}
