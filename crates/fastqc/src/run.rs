//! The inputs of a run that are counted for FastQC reports, and the memory that they may use.

use std::sync::Arc;

use readmill_record::{CountingRoom, CountingRoomUser};

use crate::counter::FileCounter;
use crate::options::FastqcOptions;
use crate::piece::FastqcPiece;
use crate::totals::Totals;

/// The FastQC counters of all inputs of a run, which share one memory allowance.
///
/// The plan creates it once per run, and reserves [`FastqcRun::memory_bytes`]. Threads that read
/// the inputs count batches of reads, and when all reads have been counted, each counter creates
/// its report:
///
/// ```
/// use readmill_fastqc::piece::SequencedRead;
/// use readmill_fastqc::{FastqcOptions, FastqcRun};
///
/// let run = FastqcRun::new(["lane1.fq".into()], FastqcOptions::default(), 0);
/// let file = run.file(0).unwrap();
///
/// let mut piece = file.start_piece(0);
/// let read = SequencedRead { number: 0, name: b"@r1", bases: b"ACGT", quals: b"IIII" };
/// file.count_read(&mut piece, &read)?;
/// file.close_piece(&mut piece);
/// file.add_piece(piece)?;
///
/// let report = file.make_report()?;
/// assert!(report.format_summary().starts_with("PASS\tBasic Statistics\tlane1.fq\n"));
/// assert!(report.format_data().contains("Total Sequences\t1\n"));
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct FastqcRun {
    files: Vec<FileCounter>,
    room: u64,
}

const USUAL_BYTES_PER_FILE: u64 = 1 << 20;

const ROOM_USER: CountingRoomUser = CountingRoomUser {
    what: "the modules of FastQC",
    why: "long reads, or reads from many tiles, need more memory",
    hint: "raise -m, or omit --fastqc",
};

impl FastqcRun {
    /// Creates a counter for each input; `names` appear in the reports. `more` is the memory in
    /// bytes, for all files together, for reads that are longer than usual or that name many tiles.
    pub fn new(names: impl IntoIterator<Item = String>, options: FastqcOptions, more: u64) -> Self {
        let names = Vec::from_iter(names);
        let bytes = USUAL_BYTES_PER_FILE * names.len() as u64 + more;
        let room = Arc::new(CountingRoom::new(bytes, &ROOM_USER));
        let file = |name| FileCounter::new(name, options, Arc::clone(&room));
        FastqcRun { files: names.into_iter().map(file).collect(), room: bytes }
    }

    /// Returns the memory of all counters in bytes, if `in_flight` batches are counted concurrently
    /// and each may have reads of up to `files` inputs (two for a pair of FASTQ files).
    pub fn memory_bytes(&self, in_flight: u64, files: u64) -> u64 {
        self.room + Totals::BYTES * self.files.len() as u64 + FastqcPiece::BYTES * in_flight * files
    }

    pub fn file(&self, number: usize) -> Option<&FileCounter> {
        self.files.get(number)
    }

    pub fn files(&self) -> &[FileCounter] {
        &self.files
    }
}
