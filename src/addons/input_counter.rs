//! Counts input files before any step.

use std::any::Any;
use std::path::Path;

use readmill_record::{ReadBatch, RecordRef, Result};

use super::planned_file::WriteReport;
use readmill_process::console::Console;

/// The counts of a batch of an input file. Only the counter that created it knows the type.
pub type InputPiece = Box<dyn Any + Send>;

/// Counts the unchanged reads of the input files, before any step.
///
/// A [`Tally`](readmill_record::Tally) at [`Tap::Input`](super::Tap::Input) observes the records of
/// all inputs. This trait observes each file separately, and FASTQ reads before they are trimmed
/// and aligned. Counts may depend on the order of reads in the file:
///
/// ```text
///  records   any thread:  count_records
///  FASTQ     any thread:  count_reads ─► InputPiece ─┬─ in the order of the file: add_piece
///                                                    └─ the batch was cut in a wrong place: discard_piece
///  end       write_reports ─► files
/// ```
///
/// `src/pipeline/feed.rs` calls it for records, and `src/aligning/input_counts.rs` for reads to be
/// aligned.
pub trait InputCounter: Send + Sync {
    /// Returns the index of an input file among the inputs of the plan, or `None` if its reads are
    /// not counted. All methods take this index as the number of the file.
    fn file_number(&self, input: &Path) -> Option<usize>;

    /// Counts the FASTQ reads of a batch that belong to file number `file`. `segment` is 0 for read
    /// 1 of pairs, 1 for read 2, and `None` if all reads belong to the file.
    ///
    /// # Errors
    /// Returns the error of the first read that cannot be counted, in file order.
    fn count_reads(&self, file: usize, reads: &ReadBatch, segment: Option<usize>) -> Result<InputPiece>;

    /// Adds a piece from [`InputCounter::count_reads`]. Pieces of a file must be added in file
    /// order.
    ///
    /// # Errors
    /// Fails if there is too little memory for unusual reads.
    fn add_piece(&self, file: usize, piece: InputPiece) -> Result<()>;

    /// Drops a piece whose batch was cut at a wrong position and is counted again.
    fn discard_piece(&self, file: usize, piece: InputPiece);

    /// Counts records of file number `file`. `first` is the 0-based number of the first record in
    /// the file. Batches may be passed in any order. Has no effect if the file is not counted.
    ///
    /// # Errors
    /// Returns the error of the first record that cannot be counted, in file order.
    fn count_records(
        &self,
        file: usize,
        first: u64,
        records: &mut dyn Iterator<Item = RecordRef<'_>>,
    ) -> Result<()>;

    /// Passes the contents of the report files to `write`, in the order in which the add-on lists
    /// the files. Called after all reads are counted.
    ///
    /// # Errors
    /// Fails if reads were not counted, which is a bug, or if `write` fails.
    fn write_reports(&self, console: &Console, write: &mut WriteReport<'_>) -> Result<()>;
}
