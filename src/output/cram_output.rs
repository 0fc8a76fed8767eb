//! What an output of CRAM needs beside others: the reference, the number of records so far, and the .crai index.

use std::path::Path;

use readmill_format::cram::{self, Crai, Encoded, References, Writing};
use readmill_record::header::Line;
use readmill_record::{Error, Header, Result};

use crate::plan::{CramStyle, DEFAULT_LEVEL, Output};
use crate::target::{Target, with_suffix};

/// An output of CRAM.
pub struct CramOutput {
    pub writing: Writing,
    /// The index, if there is to be one.
    pub crai: Option<Crai>,
    records: u64,
}

impl CramOutput {
    /// How `output` is written for reads under `header`.
    pub fn new(output: &Output, header: &Header, indexed: bool) -> Result<Self> {
        let CramStyle { version, no_reference, reference } = &output.cram;
        let reference = reference.as_ref().filter(|_| !no_reference);
        let opened = reference.map(cram::Fasta::open).transpose()?;
        let references = opened.map(|it| References::new(header, Some(&it), &cram::Cache::default()));
        let level = output.level.unwrap_or(DEFAULT_LEVEL).max(1);
        let writing = Writing::new(header, *version, references, level);
        Ok(CramOutput { writing, crai: indexed.then(Crai::default), records: 0 })
    }

    /// Gives containers their place behind those before.
    pub fn settle(&mut self, encoded: &Encoded, bytes: &mut [u8], records: u64, offset: u64) {
        encoded.settle(bytes, self.records);
        self.records += records;
        if let Some(crai) = &mut self.crai {
            encoded.entries().for_each(|(at, entries)| crai.add(entries, offset + at));
        }
    }

    /// Writes the index of the file at `path` under its temporary name.
    pub fn write_index(crai: &Crai, path: &Path) -> Result<Target> {
        let mut target = Target::open(&with_suffix(path, ".crai"))?;
        target.write(&crai.to_bytes()?)?;
        target.sync()?;
        Ok(target)
    }
}

/// Gives the @SQ lines of a header the M5 that CRAM wants, of the contigs that the reference has; refuses a reference
/// whose contigs are others by the M5 that is there, as samtools does.
pub fn complete(header: &mut Header, output: &Output) -> Result<()> {
    let CramStyle { reference: Some(reference), no_reference: false, .. } = &output.cram else {
        return Ok(());
    };
    let reference = reference.open()?;
    let numbers = reference.matches(header)?;
    let mut lines: Vec<Line> = header.lines_of(b"SQ").cloned().collect();
    for (line, number) in lines.iter_mut().zip(numbers) {
        let Some(number) = number else { continue };
        let md5 = cram::md5(&reference, number)?;
        match line.get(b"M5") {
            None => line.set(b"M5", md5.as_bytes()),
            Some(told) if told.eq_ignore_ascii_case(md5.as_bytes()) => {}
            Some(told) => return Err(another(line, told, &md5)),
        }
    }
    header.replace(b"SQ", lines, &[])
}

fn another(line: &Line, told: &[u8], md5: &str) -> Error {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (contig, told) = (text(line.get(b"SN").unwrap_or_default()), text(told));
    Error::input(format!(
        "contig {contig} has M5 {told} in the header, but {md5} in the reference that CRAM is to be written with"
    ))
    .hint("give the reference that the reads were aligned to, or write all bases by -O cram,no-ref")
}
