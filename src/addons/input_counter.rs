//! Counting input files before any step.

use std::any::Any;
use std::path::Path;

use readmill_record::{ReadBatch, RecordRef, Result};

use super::planned_file::WriteText;
use readmill_process::console::Console;

/// What a batch contributes to the counts of an input file. Only the counter that made it knows its type.
pub type InputPiece = Box<dyn Any + Send>;

/// Counts the reads of the input files as the files hold them, before any step.
///
/// A [`Tally`](readmill_record::Tally) at [`Tap::Input`](super::Tap::Input) sees records. This trait sees each file by
/// itself and the reads of FASTQ before they are trimmed and aligned, and it may depend on their order in the file:
///
/// ```text
///  records   any thread:  count_records
///  FASTQ     any thread:  count_reads ─► InputPiece ─┬─ in the order of the file: add_piece
///                                                    └─ the batch was cut in a wrong place: discard_piece
///  end       write_texts ─► files
/// ```
///
/// `src/pipeline/feed.rs` calls it for records, and `src/aligning/input_counts.rs` for reads that are aligned.
pub trait InputCounter: Send + Sync {
    /// Returns the number of an input file; `None` if its reads are not counted.
    fn file_number(&self, input: &Path) -> Option<usize>;

    /// Counts the FASTQ reads of a batch that belong to file number `file`. `segment` is 0 for the first reads of pairs, 1
    /// for the second, and `None` if all reads belong to the file.
    ///
    /// # Errors
    /// A read cannot be counted; the first in the order of the file.
    fn count_reads(&self, file: usize, reads: &ReadBatch, segment: Option<usize>) -> Result<InputPiece>;

    /// Adds a piece of [`InputCounter::count_reads`]. Pieces of a file are added in the order of the file.
    ///
    /// # Errors
    /// There is not enough memory for unusual reads.
    fn add_piece(&self, file: usize, piece: InputPiece) -> Result<()>;

    /// Drops a piece, because its batch was cut in a wrong place and is counted again.
    fn discard_piece(&self, file: usize, piece: InputPiece);

    /// Counts records of which the first has the 0-based number `first` in file number `file`. Batches may come in any
    /// order. Does nothing if the file is not counted.
    ///
    /// # Errors
    /// A record cannot be counted; the first in the order of the file.
    fn count_records(
        &self,
        file: usize,
        first: u64,
        records: &mut dyn Iterator<Item = RecordRef<'_>>,
    ) -> Result<()>;

    /// Passes the texts of the report files to `write`, in the order in which the add-on lists the files. Called when all
    /// reads are counted.
    ///
    /// # Errors
    /// Reads were not counted, which is a bug, or `write` fails.
    fn write_texts(&self, console: &Console, write: &mut WriteText<'_>) -> Result<()>;
}
