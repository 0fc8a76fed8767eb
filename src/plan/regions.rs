//! The regions of the input that are read.

use std::path::PathBuf;

use readmill_record::Error;

/// A request for some regions of the only input, found by its index.
#[derive(Clone, Debug, Default)]
pub struct RegionRequest {
    /// Regions as samtools names them.
    pub texts: Vec<String>,
    /// A file of regions, which are read, too.
    pub file: Option<PathBuf>,
    /// Read each record once, in the order of the file, instead of one region after the other.
    pub each_once: bool,
    /// The reads may come in any order: they are only counted.
    pub in_any_order: bool,
    /// The index, if it is not beside the input.
    pub index: Option<PathBuf>,
}

impl RegionRequest {
    /// Words of the canonical command line.
    pub(super) fn words(&self) -> Vec<String> {
        let once = (self.each_once && !self.texts.is_empty()).then(|| "-M".to_string());
        let quoted = self.texts.iter().map(|text| {
            let is_plain =
                text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":-,._".contains(&byte));
            if is_plain { text.clone() } else { format!("'{text}'") }
        });
        once.into_iter().chain(quoted).collect()
    }
}

/// The refusal of regions of a pipe.
pub fn no_index_of_a_pipe() -> Error {
    Error::usage("regions are found by an index, and a pipe has none")
        .hint("give a file, or choose reads of the pipe by -L BED")
}
