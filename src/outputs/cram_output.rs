//! The parts that only a CRAM output has: the reference, the number of records so far, and the .crai index.

use std::path::Path;

use readmill_cram::{self as cram, CraiBuilder, Encoded, EncoderOptions, References, Version};
use readmill_record::header::HeaderLine;
use readmill_record::{Error, Header, Ledger, Result};

use crate::outputs::atomic_file::{AtomicFile, with_suffix};
use crate::plan::{CramStyle, Output};

/// An output of CRAM.
pub struct CramOutput {
    pub writing: EncoderOptions,
    /// The index, if one is wanted.
    pub crai: Option<CraiBuilder>,
    records: u64,
}

impl CramOutput {
    /// Prepares a CRAM output for reads under `header`, whose contigs are charged to `ledger`.
    pub fn new(output: &Output, header: &Header, indexed: bool, ledger: &Ledger) -> Result<Self> {
        let references = references(&output.cram, header, ledger)?;
        let level = output.level.unwrap_or(output.cram.level()).max(1);
        let version = output.cram.version;
        let mut writing = EncoderOptions::new(header, version, references, level, ledger);
        writing.profile = output.cram.profile;
        Ok(CramOutput { writing, crai: indexed.then(CraiBuilder::default), records: 0 })
    }

    /// Fills the record counters of encoded containers, and adds them to the index.
    pub fn assign_offset(&mut self, encoded: &Encoded, bytes: &mut [u8], records: u64, offset: u64) {
        encoded.set_record_counters(bytes, self.records);
        self.records += records;
        if let Some(crai) = &mut self.crai {
            encoded.entries().for_each(|(at, entries)| crai.add(entries, offset + at));
        }
    }

    /// Writes the index of the file at `path` under its temporary name.
    pub fn write_index(crai: &CraiBuilder, path: &Path, replaces_input: bool) -> Result<AtomicFile> {
        let mut target = AtomicFile::open_as(&with_suffix(path, ".crai"), replaces_input)?;
        target.write(&crai.to_bytes()?)?;
        target.sync()?;
        Ok(target)
    }
}

/// Returns the reference; `None` where all bases are stored.
fn references(style: &CramStyle, header: &Header, ledger: &Ledger) -> Result<Option<References>> {
    let CramStyle { no_reference, reference, cache, .. } = style;
    if *no_reference {
        return Ok(None);
    }
    let fasta = reference.as_ref().map(|fasta| fasta.open(ledger)).transpose()?;
    References::new(header, fasta.as_ref(), cache, ledger).map(Some)
}

/// Adds the M5 that CRAM needs to the @SQ lines, for the contigs of the reference; in version 3.1 also UR, the path by
/// which samtools finds it. (Files of version 3.0 stay byte for byte what they were, wherever the reference lies.) Refuses a reference whose M5 differs
/// from the header, as samtools does. Without a reference, some contig must have bases under its M5.
pub fn complete(header: &mut Header, output: &Output, ledger: &Ledger) -> Result<()> {
    let (reference, path) = match &output.cram {
        CramStyle { no_reference: true, .. } => return Ok(()),
        CramStyle { reference: Some(reference), version, .. } => {
            let path = (*version >= Version::V3_1).then(|| std::path::absolute(reference.path()).ok());
            (reference.open(ledger)?, path.flatten())
        }
        style => {
            let found = references(style, header, ledger)?.is_none_or(|references| references.has_any());
            return if found { Ok(()) } else { Err(nowhere(style)) };
        }
    };
    let numbers = reference.matches(header)?;
    let mut lines: Vec<HeaderLine> = header.lines_of(b"SQ").cloned().collect();
    for (line, number) in lines.iter_mut().zip(numbers) {
        let Some(number) = number else { continue };
        let md5 = cram::md5(&reference, number)?;
        match line.get(b"M5") {
            None => line.set(b"M5", md5.as_bytes()),
            Some(told) if told.eq_ignore_ascii_case(md5.as_bytes()) => {}
            Some(told) => return Err(another(line, told, &md5)),
        }
        // A field of a line has no tab and no line break.
        if let Some(path) = path.as_ref().map(|path| path.as_os_str().as_encoded_bytes())
            && !path.iter().any(u8::is_ascii_control)
        {
            line.set(b"UR", path);
        }
    }
    header.replace(b"SQ", lines, &[])
}

/// The error where no contig has bases: the line lacks a reference, or the places that are named lack them.
fn nowhere(style: &CramStyle) -> Error {
    let what = "CRAM stores reads as differences from a reference, and there is none: no contig of the header has bases under its M5 where REF_CACHE and REF_PATH say, or in an indexed FASTA file that its UR names";
    let error = if style.cache.is_empty() { Error::usage(what) } else { Error::input(what) };
    error.hint(
        "give the FASTA file of the reads by --reference, set REF_CACHE or REF_PATH to where bases lie under their MD5, or store all bases: -O cram,no-ref",
    )
}

fn another(line: &HeaderLine, told: &[u8], md5: &str) -> Error {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (contig, told) = (text(line.get(b"SN").unwrap_or_default()), text(told));
    Error::input(format!(
        "contig {contig} has M5 {told} in the header, but {md5} in the reference that CRAM is to be written with"
    ))
    .hint("give the reference that the reads were aligned to, or write all bases by -O cram,no-ref")
}
