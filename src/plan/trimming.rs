//! The plan for trimming reads before they are aligned.

use std::path::Path;

use readmill_record::{Error, Result};
use readmill_trim::TrimOptions;

/// How reads are trimmed before alignment. The rules are those of fastp.
#[derive(Clone, Debug)]
pub struct Trimming {
    pub options: TrimOptions,
    pub words: Vec<String>,
}

const PAIR_FLAG_PREFIXES: [&str; 5] =
    ["--correction", "--overlap-", "--trim-front2", "--trim-tail2", "--max-len2"];

impl Trimming {
    /// Returns a usage error if the options do not fit the reads. `singles` is a FASTQ file of
    /// unpaired reads, if there is one; the adapter of unpaired reads must be given.
    pub fn check_options(&self, singles: Option<&Path>, may_have_pairs: bool) -> Result<()> {
        if let (Some(file), Some([None, _])) = (singles, &self.options.adapters) {
            return Err(missing_adapter_error().file(file));
        }
        let is_of_pairs = |flag: &&str| PAIR_FLAG_PREFIXES.iter().any(|start| flag.starts_with(start));
        let mut flags = self.words.iter().filter_map(|word| word.split(' ').next());
        if !may_have_pairs && let Some(flag) = flags.find(is_of_pairs) {
            let what = format!("{flag} is for pairs, but the reads are single");
            return Err(Error::usage(what).hint("omit it"));
        }
        match &self.options.length {
            Some(length) if length.max_bases > 0 && length.max_bases < length.min_bases => {
                let what = "--length-limit is below --length-required, so all reads would be dropped";
                Err(Error::usage(what).hint("raise --length-limit, or omit one of them"))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the error for unpaired reads without a given adapter. Unlike fastp, readmill does not
/// detect the adapter of unpaired reads.
pub fn missing_adapter_error() -> Error {
    Error::usage("--trim cannot detect adapters of single reads")
        .hint("give the adapter with --trim-adapter-sequence, or add --disable-adapter-trimming")
}
