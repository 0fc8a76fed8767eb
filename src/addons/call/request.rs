//! The request for variants: what is called, where, and which files are written.

use std::path::{Path, PathBuf};

use readmill_caller::CallerOptions;
use readmill_process::atomic_file::with_suffix;
use readmill_record::{Error, Result};

/// A request for variants in a VCF file.
#[derive(Clone, Debug)]
pub struct CallRequest {
    pub(super) file: PathBuf,
    /// The index, if the file is compressed.
    pub(super) index: Option<PathBuf>,
    pub(super) options: CallerOptions,
    pub(super) intervals: CallIntervals,
}

/// Where variants are called, in the syntax of [`readmill_format::intervals::IntervalArguments`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallIntervals {
    /// Intervals to call (`-L`); the whole genome if there are none.
    pub include: Vec<String>,
    /// Intervals not to call (`-XL`).
    pub exclude: Vec<String>,
    /// Bases to add to each side of the intervals to call (`-ip`).
    pub padding: u32,
}

impl CallRequest {
    /// The name of the add-on's row in [`ADD_ONS`](crate::addons::ADD_ONS).
    pub const NAME: &'static str = "variants";

    /// Creates a request for variants in `file`. A file whose name ends in `.gz` or `.bgz` is compressed
    /// by BGZF and has an index.
    ///
    /// # Errors
    /// Fails if the name is that of another format.
    pub fn new(file: &Path, options: CallerOptions, intervals: CallIntervals) -> Result<Self> {
        let name = file.as_os_str().to_string_lossy().to_ascii_lowercase();
        if [".bcf", ".bcf.gz", ".bam", ".cram", ".sam"].iter().any(|ending| name.ends_with(ending)) {
            let what = format!("variants are written as VCF, but {} is another format", file.display());
            return Err(Error::usage(what).hint("use a name that ends in .vcf.gz or .vcf"));
        }
        let is_compressed = [".gz", ".bgz"].iter().any(|ending| name.ends_with(ending));
        let index = is_compressed.then(|| with_suffix(file, ".tbi"));
        Ok(CallRequest { file: file.to_path_buf(), index, options, intervals })
    }
}
