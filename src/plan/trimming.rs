//! Reads that are trimmed before they are aligned.

use readmill_record::{Error, Result};
use readmill_trim::TrimOptions;

use super::aligning::Lane;

/// How reads are trimmed.
#[derive(Clone, Debug)]
pub struct Trimming {
    /// The options.
    pub options: TrimOptions,
    /// The flags that say them, for `@PG`.
    pub words: Vec<String>,
}

impl Trimming {
    /// Refuses options that these lanes cannot follow.
    pub fn check(&self, lanes: &[Lane]) -> Result<()> {
        let of_fastq = || lanes.iter().filter(|lane| !lane.records);
        let single = of_fastq().find(|lane| lane.segments() == 1);
        if let (Some(lane), Some([None, _])) = (single, &self.options.adapters) {
            return Err(without_adapter().file(&lane.files[0]));
        }
        let all_single = lanes.iter().all(|lane| !lane.records && lane.segments() == 1);
        if all_single && self.options.correction {
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
