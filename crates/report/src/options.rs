//! Options for rendering the page.

use crate::limits::Limits;
use crate::sheet::Sheet;

/// Options for rendering the page and the MultiQC table.
///
/// `readmill report` sets them from its command line. A run with `--report` sets only the limits,
/// from `--assay` and `--qc-thresholds`.
///
/// ```
/// use readmill_report::{Assay, Limits, PageOptions, Sheet};
///
/// let options = PageOptions {
///     limits: Limits::for_assay(Assay::Exome),
///     sheet: Some(Sheet::parse("sample\tbatch\nNA1\tA\nNA2\tB\n")?),
///     color_by: Some("batch".into()),
/// };
/// assert_eq!(options.limits.assay, Assay::Exome);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    pub limits: Limits,
    pub sheet: Option<Sheet>,
    /// Field of the sheet that determines sample colours. `None` uses the first field with two to
    /// seven (the number of colours) distinct values.
    pub color_by: Option<String>,
}
