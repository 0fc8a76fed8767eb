//! The files of a run that are counted, and their memory.

use std::sync::Arc;

use readmill_record::{Room, RoomUser};

use crate::counter::FileCounter;
use crate::options::Options;
use crate::piece::Piece;
use crate::totals::Totals;

/// The counters of all files of a run.
pub struct FastqcRun {
    files: Vec<FileCounter>,
    room: u64,
}

/// Bytes of positions and tiles of reads of usual length.
const USUAL: u64 = 1 << 20;

const USER: RoomUser = RoomUser {
    what: "the modules of FastQC",
    why: "the reads are long, or of many tiles",
    hint: "raise -m, or leave --fastqc out",
};

impl FastqcRun {
    /// Counts the files that are called so; longer reads and more tiles than usual may take `more` bytes.
    pub fn new(names: impl IntoIterator<Item = String>, options: Options, more: u64) -> Self {
        let names = Vec::from_iter(names);
        let bytes = USUAL * names.len() as u64 + more;
        let room = Arc::new(Room::new(bytes, &USER));
        let file = |name| FileCounter::new(name, options, Arc::clone(&room));
        FastqcRun { files: names.into_iter().map(file).collect(), room: bytes }
    }

    /// Bytes of memory, if so many batches are under way, of which each may have reads of so many files.
    pub fn bytes(&self, in_flight: u64, files: u64) -> u64 {
        self.room + Totals::BYTES * self.files.len() as u64 + Piece::BYTES * in_flight * files
    }

    /// The counter of a file.
    pub fn file(&self, number: usize) -> Option<&FileCounter> {
        self.files.get(number)
    }

    /// The counters of all files.
    pub fn files(&self) -> &[FileCounter] {
        &self.files
    }
}
