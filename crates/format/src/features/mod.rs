//! Files of places on the genome: VCF, BCF, BED and interval lists, plain, gzip or BGZF.
//!
//! Only the place of each feature is read, as in htsjdk 4.2 (so GATK 4.6.2); no index is needed. The columns are
//! parsed here rather than by a crate. With END, the lazy records of noodles-vcf 0.96 took 1400 cycles for a record
//! of dbSNP's length; this takes 360, sites included, in a phase with only one thread. Its header also refuses
//! lines that htsjdk accepts.

mod bcf;
mod bed;
mod dictionary;
mod interval_list;
mod place;
mod vcf;

use std::fmt;
use std::io::Read;
use std::path::Path;

use readmill_record::{Error, Ledger, Result};

use crate::text::{self, LineReader};
pub use dictionary::Dictionary;
pub(crate) use dictionary::{OTHER_BUILD, no_common_contig};
pub use place::FeaturePlace;
use place::Spot;
pub(crate) use place::number;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureFormat {
    /// Variants as text.
    Vcf,
    /// Variants in binary.
    Bcf,
    /// Intervals, 0-based and half-open.
    Bed,
    /// Picard's intervals, 1-based and closed, below a SAM header.
    IntervalList,
}

impl fmt::Display for FeatureFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FeatureFormat::Vcf => "VCF",
            FeatureFormat::Bcf => "BCF",
            FeatureFormat::Bed => "BED",
            FeatureFormat::IntervalList => "an interval list",
        })
    }
}

/// The features of a file, read one after the other.
pub struct Features {
    kind: FeatureFormat,
    dictionary: Dictionary,
    content: FeatureRecords,
}

enum FeatureRecords {
    Text(LineReader),
    Bcf(bcf::BcfReader),
}

/// First bytes of the content, which show the format.
const PEEK: u64 = 512;

impl Features {
    /// Opens the file at `path`. Its content shows its format; BED, which cannot be recognised, is a file with the
    /// ending .bed or with no ending of another format.
    ///
    /// # Errors
    /// The file cannot be read, or its header, or a line of it, needs more memory than is free.
    pub fn open(path: &Path, ledger: &Ledger) -> Result<Self> {
        Self::read(path, text::open(path, ledger)?)
    }

    /// Reads the features of `input`, which is not compressed, as those of the file at `path`.
    ///
    /// # Errors
    /// The header cannot be read, or does not match the format that the name or the first bytes show.
    pub fn read(path: &Path, mut input: text::TextInput) -> Result<Self> {
        let ledger = &input.ledger().clone();
        let mut start = Vec::new();
        (&mut input).take(PEEK).read_to_end(&mut start).map_err(|e| text::reading(&e, path))?;
        let kind = kind(&start, path)?;
        let input = input.behind(start);
        if kind == FeatureFormat::Bcf {
            let (dictionary, records) = bcf::open(path, input, ledger).map_err(|e| e.file(path))?;
            return Ok(Features { kind, dictionary, content: FeatureRecords::Bcf(records) });
        }
        let mut lines = LineReader::new(path, input);
        let dictionary = match kind {
            FeatureFormat::Vcf => vcf::header(&mut lines, ledger)?,
            FeatureFormat::IntervalList => interval_list::header(&mut lines, ledger)?,
            FeatureFormat::Bed | FeatureFormat::Bcf => Dictionary::new(ledger),
        };
        Ok(Features { kind, dictionary, content: FeatureRecords::Text(lines) })
    }

    /// The format of the file.
    pub fn kind(&self) -> FeatureFormat {
        self.kind
    }

    /// The contigs in the file's header; none in BED.
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// The place of the next feature; `None` at the end of the file.
    pub fn next_place(&mut self) -> Result<Option<FeaturePlace<'_>>> {
        match &mut self.content {
            FeatureRecords::Bcf(records) => records.next_place(&self.dictionary),
            FeatureRecords::Text(lines) => {
                let parse = match self.kind {
                    FeatureFormat::Vcf | FeatureFormat::Bcf => vcf::spot,
                    FeatureFormat::Bed => bed::spot,
                    FeatureFormat::IntervalList => interval_list::spot,
                };
                while lines.advance()? {
                    match parse(lines.line()) {
                        Ok(None) => {}
                        Ok(Some(Spot { name, start, end })) => {
                            return Ok(Some(FeaturePlace { contig: &lines.line()[..name], start, end }));
                        }
                        Err(what) => return Err(lines.wrong(what)),
                    }
                }
                Ok(None)
            }
        }
    }

    /// An error at the last feature, with its place in the file.
    pub fn wrong(&self, what: impl fmt::Display) -> Error {
        match &self.content {
            FeatureRecords::Text(lines) => lines.wrong(what),
            FeatureRecords::Bcf(records) => records.wrong(what),
        }
    }
}

fn kind(start: &[u8], path: &Path) -> Result<FeatureFormat> {
    if start.starts_with(b"##fileformat=VCF") {
        return Ok(FeatureFormat::Vcf);
    }
    if start.starts_with(b"BCF\x02") {
        return Ok(FeatureFormat::Bcf);
    }
    if start.starts_with(b"@") {
        return Ok(FeatureFormat::IntervalList);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let packed = [".gz", ".gzip", ".bgz", ".bgzf"].iter().find_map(|end| name.strip_suffix(end));
    let name = packed.unwrap_or(&name);
    let wrong = |kind: FeatureFormat, needed: &str| {
        Err(Error::input(format!("this is not {kind}: {needed} is missing at its start")).file(path))
    };
    match name.rsplit('.').next().unwrap_or_default() {
        "vcf" => wrong(FeatureFormat::Vcf, "##fileformat=VCF"),
        "bcf" => wrong(FeatureFormat::Bcf, "the magic number"),
        "interval_list" => wrong(FeatureFormat::IntervalList, "a SAM header (@SQ lines)"),
        _ => Ok(FeatureFormat::Bed),
    }
}

#[cfg(test)]
mod tests;
