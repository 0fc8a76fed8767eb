//! What a page is made with, beside the runs.

use crate::limits::Limits;
use crate::sheet::Sheet;

/// What the page is made with, beside the runs.
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// Limits of key numbers.
    pub limits: Limits,
    /// Fields of the samples.
    pub sheet: Option<Sheet>,
    /// The field that colours the samples; else the first that can.
    pub color_by: Option<String>,
}
