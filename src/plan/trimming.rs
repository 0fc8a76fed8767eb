//! Reads that are trimmed before they are aligned.

use std::path::Path;

use readmill_record::{Error, Result};
use readmill_trim::TrimOptions;

/// How reads are trimmed.
#[derive(Clone, Debug)]
pub struct Trimming {
    /// The options.
    pub options: TrimOptions,
    /// The flags that say them, for `@PG`.
    pub words: Vec<String>,
}

impl Trimming {
    /// Refuses options that reads cannot follow: of a FASTQ file of single reads, if there is one, and of pairs, if there may
    /// be any.
    pub fn check(&self, singles: Option<&Path>, may_have_pairs: bool) -> Result<()> {
        if let (Some(file), Some([None, _])) = (singles, &self.options.adapters) {
            return Err(without_adapter().file(file));
        }
        if !may_have_pairs && self.options.correction {
            return Err(Error::usage("--correction is for pairs: reads are corrected by their mates")
                .hint("leave it out"));
        }
        Ok(())
    }
}

/// The error of single reads whose adapter is not known.
pub fn without_adapter() -> Error {
    Error::usage("--trim does not find out which adapter single reads have")
        .hint("name it by --trim-adapter-sequence, or leave adapters by --disable-adapter-trimming")
}
