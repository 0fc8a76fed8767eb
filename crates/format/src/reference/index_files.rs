//! Builds the index files of a FASTA (.fai, and .gzi if bgzip compressed it), and extracts its
//! text.

use std::io::Write;
use std::path::Path;

use readmill_record::{Charge, Error, Ledger, Result};

use super::bytes::{FastaLayout, FastaReader};
use super::{Reference, ReferenceFiles, index};

/// The contents of the index files of a FASTA, which `readmill faidx` writes.
pub struct FastaIndex {
    pub fai: Vec<u8>,
    pub gzi: Option<Vec<u8>>,
    pub contigs: usize,
    pub notes: Vec<String>,
    _charge: Charge,
}

/// Reads the FASTA at `path` once and builds its index files. Existing index files are ignored.
///
/// # Errors
/// Fails if the file cannot be read, or a contig has lines of different lengths.
pub fn make_index(path: &Path, ledger: &Ledger) -> Result<FastaIndex> {
    let layout =
        FastaLayout::new(path, ReferenceFiles::open_fasta(path)?, None, &mut Vec::new(), ledger)?;
    let mut notes = Vec::new();
    let entries = index::make_entries(path, &layout, &mut notes, ledger)?;
    let bytes: usize = entries.list.iter().map(|it| it.name.len() + 80).sum();
    let gzi_bytes = layout.gzi_bytes();
    let charge = ledger.charge(super::bytes::LEDGER_NAME, (bytes + gzi_bytes) as u64)?;
    let mut fai = Vec::with_capacity(bytes);
    for it in &entries.list {
        fai.extend_from_slice(&it.name);
        let line = writeln!(fai, "\t{}\t{}\t{}\t{}", it.length, it.offset, it.line_bases, it.line_bytes);
        line.map_err(|e| Error::io("making the index failed", &e))?;
    }
    Ok(FastaIndex {
        fai,
        gzi: layout.gzi_content(),
        contigs: entries.list.len(),
        notes,
        _charge: charge,
    })
}

const PIECE: u32 = 1 << 20;

impl Reference {
    /// Calls `take` with the bases `start..end` (0-based, half-open) of a contig exactly as they
    /// are in the file, in pieces without line ends.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or `take` fails.
    pub fn for_each_piece(
        &self,
        number: u32,
        start: u32,
        end: u32,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let Some(contig) = self.0.sequences.get(number as usize) else { return Ok(()) };
        let (mut reader, mut bytes, mut at) = (FastaReader::default(), Vec::new(), start);
        while at < end.min(contig.length) {
            let to = at.saturating_add(PIECE).min(end).min(contig.length);
            let (from, last) = (contig.base_offset(at), contig.base_offset(to - 1));
            bytes.resize((last + 1 - from) as usize, 0);
            if reader.read_text(&self.0.layout, from, &mut bytes)? < bytes.len() {
                return Err(Error::input("the reference ends inside a contig")
                    .file(self.path())
                    .hint("the file is truncated: download or create it again"));
            }
            bytes.retain(|byte| !byte.is_ascii_whitespace());
            take(&bytes)?;
            at = to;
        }
        Ok(())
    }
}
