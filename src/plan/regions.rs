//! Regions of the input that are read by means of its index.

use std::path::PathBuf;

use readmill_record::Error;

/// A request to read only some regions of the input. The run must have exactly one input, with an
/// index.
#[derive(Clone, Debug, Default)]
pub struct RegionRequest {
    /// Regions in samtools notation, such as `chr1:1,000-2,000`.
    pub texts: Vec<String>,
    pub file: Option<PathBuf>,
    /// Read each record once, in file order, instead of region by region (`samtools view -M`).
    pub each_once: bool,
    /// Reads may be read in any order, because they are only counted.
    pub in_any_order: bool,
    pub index: Option<PathBuf>,
}

impl RegionRequest {
    pub(super) fn command_words(&self) -> Vec<String> {
        let once = (self.each_once && !self.texts.is_empty()).then(|| "-M".to_string());
        let quoted = self.texts.iter().map(|text| {
            let is_plain =
                text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":-,._".contains(&byte));
            if is_plain { text.clone() } else { format!("'{text}'") }
        });
        once.into_iter().chain(quoted).collect()
    }
}

pub fn pipe_without_index_error() -> Error {
    Error::usage("regions need an index, but the input is a pipe")
        .hint("give a file, or select reads with -L BED")
}
