//! The files of a run: the main output, extra outputs and report files.
//!
//! Each file is written under a temporary name, and renamed when all are complete. So a file with
//! its final name is never incomplete.
//!
//! | module | content |
//! |---|---|
//! | [`sink`] | an output: takes encoded parts in order, and builds the index |
//! | [`part_writer`] | encodes and writes parts on all threads |
//! | [`part_counts`] | the pieces that ordered tallies count in a part |
//! | [`staged_parts`] | the parts of an output in the file of a stage |
//! | [`files`] | the file or files of an output, and their renaming |
//! | [`routing`] | routes the reads of a batch to extra outputs |
//! | [`extra`] | opens the extra outputs of the plan |
//! | [`group_files`] | chooses the files of read groups |
//! | [`extra_writer`] | collects, encodes and writes the reads of extra outputs |
//! | [`report_files`] | metrics, tables and statistics |
//!
//! `readmill_process::atomic_file` writes a file under a temporary name.

pub mod extra;
pub mod extra_writer;
mod files;
mod group_files;
pub mod part_counts;
mod part_writer;
pub mod report_files;
pub mod routing;
mod sample_name;
mod sink;
pub mod staged_parts;

pub use files::CompleteOutput;
pub use part_writer::{EncodedPart, PartEncoder, PartWriter};
pub use sink::{PartTarget, Sink};

/// The outputs of a run after all reads have been written, but before the outputs are complete and
/// have their final names.
pub struct OpenOutputs<'a> {
    pub sink: Option<Sink>,
    pub extra: Option<extra_writer::ExtraWriter<'a>>,
    pub files: report_files::ReportFiles,
    /// Whether reads were buffered between input and output. Then `--verify` also compares the
    /// reads before and after the sort.
    pub were_held: bool,
}
