//! A report file that a plan requests.

use std::path::Path;

use readmill_format::report::ReportContents;
use readmill_record::Result;

/// A report file that a plan requests. It is opened before the run, so that a path that cannot be
/// written is reported early.
#[derive(Clone, Copy, Debug)]
pub struct PlannedFile<'a> {
    /// The name among the reports and outputs of `--json`.
    pub name: &'static str,
    pub path: &'a Path,
    /// Whether several files share the name, so that their values are items of one list.
    pub is_list_item: bool,
    /// When the file is written.
    pub time: FileTime,
    /// Whether missing directories of the path are created.
    pub creates_directory: bool,
}

/// Writes the add-on's next file.
pub type WriteReport<'a> = dyn FnMut(ReportContents) -> Result<()> + 'a;

/// When a report file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileTime {
    /// After all reads are counted, by
    /// [`RunningAddOn::write_reports`](super::RunningAddOn::write_reports).
    AtEnd,
    /// While reads are counted. The add-on receives the open file in
    /// [`RunningAddOn::open_files`](super::RunningAddOn::open_files).
    WhileCounting,
    /// After the run is described, from this description, by
    /// [`RunningAddOn::text_of_run`](super::RunningAddOn::text_of_run). The description does not list the file.
    AfterDescription,
}

impl<'a> PlannedFile<'a> {
    /// Creates a file that is written at the end, to an existing directory.
    pub fn new(name: &'static str, path: &'a Path) -> Self {
        PlannedFile { name, path, is_list_item: false, time: FileTime::AtEnd, creates_directory: false }
    }
}
