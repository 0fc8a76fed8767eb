//! Flags for the thresholds of metrics in an HTML report, and functions that read small text files
//! for it.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use readmill_record::{Error, Result, input_file};
use readmill_report::{Assay, Thresholds};

#[derive(Args)]
pub struct LimitFlags {
    /// Use the metric thresholds for this assay type [default: wgs; for run files, the assay of
    /// their run]
    #[arg(long, value_name = "ASSAY", value_parser = assay_parser())]
    assay: Option<String>,
    /// Replace default metric thresholds with those in this JSON file (docs/report.md)
    #[arg(long, value_name = "FILE")]
    qc_thresholds: Option<PathBuf>,
}

fn assay_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(Assay::ALL.map(|(name, _)| name))
}

/// Maximum size of a thresholds file or a sample sheet, in bytes.
pub const MAX_BYTES: u64 = 16 << 20;

impl LimitFlags {
    pub fn is_empty(&self) -> bool {
        self.assay.is_none() && self.qc_thresholds.is_none()
    }

    pub fn file(&self) -> Option<PathBuf> {
        self.qc_thresholds.clone()
    }

    /// Returns the assay. `None` if it was not given.
    pub fn assay(&self) -> Result<Option<Assay>> {
        self.assay.as_deref().map(|name| name.parse().map_err(Error::usage)).transpose()
    }

    /// Reads the thresholds of the file given by `--qc-thresholds`. `None` without such a file.
    pub fn load_thresholds(&self) -> Result<Option<Thresholds>> {
        let Some(path) = &self.qc_thresholds else { return Ok(None) };
        let thresholds = Thresholds::parse(&read_small_text(path, MAX_BYTES)?);
        thresholds.map(Some).map_err(|what| bad_file_error(path, &what))
    }
}

/// Reads a UTF-8 text file of at most `max_bytes` bytes. A larger file is an error.
pub fn read_small_text(path: &Path, max_bytes: u64) -> Result<String> {
    let mut bytes = Vec::new();
    let file = input_file::open_input(path).map_err(|error| unreadable_file_error(path, &error))?;
    file.take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable_file_error(path, &error))?;
    if bytes.len() as u64 > max_bytes {
        return Err(bad_file_error(path, &format!("larger than {max_bytes} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| bad_file_error(path, "not UTF-8 text"))
}

pub fn unreadable_file_error(path: &Path, error: &std::io::Error) -> Error {
    Error::io(format!("{} cannot be read", path.display()), error)
}

pub fn bad_file_error(path: &Path, what: &str) -> Error {
    Error::input(format!("{}: {what}", path.display()))
}
