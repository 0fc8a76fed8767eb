//! The index files of a FASTA, and sequences of its regions.

use std::io::Write;
use std::path::{Path, PathBuf};

use readmill_format::reference::{Reference, make_index};
use readmill_format::region::{Part, unknown_names};
use readmill_record::{Error, Ledger, Result};

use crate::outputs::atomic_file::{AtomicFile, with_suffix};
use crate::outputs::report_files::spare;

/// A FASTA and its index files.
pub fn files_of(fasta: &Path) -> [PathBuf; 3] {
    ["", ".fai", ".gzi"].map(|end| with_suffix(fasta, end))
}

/// Index files of a FASTA that were written.
pub struct WrittenIndex {
    /// In the order in which they appeared.
    pub files: Vec<PathBuf>,
    /// Which contigs are left out, as sentences for the user.
    pub notes: Vec<String>,
}

/// Writes `path`.fai, or `fai` if it is given, and `path`.gzi if the FASTA is compressed by bgzip.
///
/// # Errors
/// The FASTA cannot be read, or cannot be indexed; or an index cannot be written. Then none is.
pub fn faidx(path: &Path, fai: Option<&Path>, ledger: &Ledger) -> Result<WrittenIndex> {
    let fai = fai.map_or_else(|| with_suffix(path, ".fai"), Path::to_path_buf);
    [path, &with_suffix(path, ".gzi")].into_iter().try_for_each(|read| spare(read, &fai))?;
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
    targets.push(target); // the last name to appear is the one that readers look for
    AtomicFile::rename_all(&mut targets)?;
    Ok(WrittenIndex { files, notes: made.notes })
}

/// Writes the sequences of regions, such as `chr1:1-2000`, as `samtools faidx` does, in lines of `width` bases; else in lines as
/// long as those of the FASTA.
///
/// # Errors
/// A region is not in the FASTA; or reading or writing fails.
pub fn sequences(
    reference: &Reference,
    regions: &[String],
    width: Option<usize>,
    out: &mut dyn Write,
) -> Result<()> {
    let failed = |e: &std::io::Error| Error::io("the sequences cannot be written", e);
    for text in regions {
        let (number, start, end) = region(reference, text)?;
        let width = width.unwrap_or(reference.line_bases(number));
        writeln!(out, ">{text}").map_err(|e| failed(&e))?;
        let mut column = 0;
        reference.text(number, start, end, |mut bases| {
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

/// The contig of a region, its first base (0-based), and the base after its last one. Regions are written as those of reads are.
fn region(reference: &Reference, text: &str) -> Result<(u32, u32, u32)> {
    let names = || reference.contigs().map(|(name, _)| name);
    let find = |name: &[u8]| names().position(|own| own == name).and_then(|at| u32::try_from(at).ok());
    let part = Part::parse(text, find, || unknown_names("the reference", names()));
    let Part { contig, start, end } = part.map_err(|what| Error::usage(what).file(reference.path()))?;
    let within =
        |place: i64| u32::try_from(place).map_or(u32::MAX, |it| it.min(reference.length(contig)));
    Ok((contig, within(start), within(end)))
}
