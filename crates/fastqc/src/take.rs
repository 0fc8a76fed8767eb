//! Counts whole batches: records of BAM, SAM and CRAM, and reads of FASTQ.

use readmill_record::{Error, ReadBatch, RecordRef, Result};

use crate::counter::FileCounter;
use crate::piece::{FastqcPiece, SequencedRead};
use crate::records::RecordText;

impl FileCounter {
    /// Counts consecutive records of the file; `first` is the 0-based number of the first one.
    /// Batches may arrive in any order. `text` is a buffer of the calling thread.
    ///
    /// # Errors
    /// Returns an error for the first record, with its number and name, whose qualities cannot be
    /// counted or which is too long for the memory of the run.
    pub fn count_records<'a>(
        &self,
        first: u64,
        records: impl Iterator<Item = RecordRef<'a>>,
        text: &mut RecordText,
    ) -> Result<()> {
        let mut piece = self.start_piece(first);
        for (number, record) in (first..).zip(records) {
            if piece.is_full() {
                self.close_piece(&mut piece);
                self.add_piece(std::mem::replace(&mut piece, self.start_piece(number)))?;
            }
            let name = record.qname();
            let [bases, quals] = text.sequenced_text(record);
            self.count_read(&mut piece, &SequencedRead { number, name, bases, quals })
                .map_err(|error| error.record(number).qname(name))?;
        }
        text.shrink_buffers();
        self.close_piece(&mut piece);
        self.add_piece(piece)
    }

    /// Counts the reads of a FASTQ batch that belong to this file, and returns their piece. The
    /// caller adds it with [`FileCounter::add_piece`] once the position of the batch in the file is
    /// confirmed.
    ///
    /// `segment` selects the reads of one file of a pair: 0 for read 1, 1 for read 2. `None` counts
    /// all reads of the batch (a single or interleaved file).
    ///
    /// # Errors
    /// Returns an error for the first read, with its number and name, whose qualities cannot be
    /// counted or which is too long for the memory of the run.
    pub fn count_batch(&self, reads: &ReadBatch, segment: Option<usize>) -> Result<FastqcPiece> {
        let segments = reads.segments().max(1);
        let (first, start, step) = match (segment, reads.singles()) {
            (Some(segment), _) => (reads.first_template(), segment, segments),
            (None, Some(singles)) => (singles.first_read, 0, 1),
            (None, None) => (reads.first_template() * segments as u64, 0, 1),
        };
        let mut piece = self.start_piece(first);
        if reads.len() + reads.singles().map_or(0, |it| it.reads.len()) >= usize::from(u16::MAX) {
            return Err(Error::bug("a batch has too many reads to be counted"));
        }
        for (number, (reads, index)) in
            (first..).zip(reads.iter_in_file_order().skip(start).step_by(step))
        {
            let (read, span, text) = (reads.read(index), &reads.spans()[index], reads.text());
            let end = if span.comment_len > 0 {
                span.comment + span.comment_len
            } else {
                span.name + span.name_len
            };
            let name = text.get(span.name as usize..end as usize).unwrap_or(read.name);
            let (bases, quals) = (read.bases, read.qualities.unwrap_or_default());
            self.count_read(&mut piece, &SequencedRead { number, name, bases, quals })
                .map_err(|error| error.record(number).qname(read.name))?;
        }
        self.close_piece(&mut piece);
        Ok(piece)
    }
}
