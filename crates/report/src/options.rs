//! Options of the page that do not come from the runs.

use crate::limits::Limits;
use crate::sheet::Sheet;

/// Options of the page.
///
/// `readmill report` fills them from its command line; a run with `--report` uses the limits of
/// `--assay` and `--qc-thresholds`.
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
    /// Field of the sheet that colours the samples. `None` takes the first field whose number of
    /// distinct values is between two and the number of colours (seven).
    pub color_by: Option<String>,
}
