//! Counts FastQC's modules in a run, with one counter for each input.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use readmill_fastqc::{FastqcPiece, FastqcRun, FileCounter, RecordText};
use readmill_record::{Error, ReadBatch, RecordRef, Result};

use crate::addons::input_counter::{InputCounter, InputPiece};
use crate::addons::planned_file::WriteReport;
use readmill_process::console::Console;

/// Counts the modules of all inputs.
pub(super) struct FastqcCounter {
    pub inputs: Vec<PathBuf>,
    /// The counters, one for each input.
    pub run: FastqcRun,
    /// Texts of records that no thread currently uses.
    pub spare_texts: Mutex<Vec<RecordText>>,
}

impl FastqcCounter {
    fn counter(&self, file: usize) -> Result<&FileCounter> {
        self.run.file(file).ok_or_else(|| Error::bug("an input has no FastQC report"))
    }

    fn with_text<T>(&self, work: impl FnOnce(&mut RecordText) -> T) -> T {
        let texts = || self.spare_texts.lock().unwrap_or_else(PoisonError::into_inner);
        let spare = texts().pop();
        let mut text = spare.unwrap_or_default();
        let done = work(&mut text);
        texts().push(text);
        done
    }
}

impl InputCounter for FastqcCounter {
    fn file_number(&self, input: &Path) -> Option<usize> {
        self.inputs.iter().position(|other| other == input)
    }

    fn count_reads(&self, file: usize, reads: &ReadBatch, segment: Option<usize>) -> Result<InputPiece> {
        Ok(Box::new(self.counter(file)?.count_batch(reads, segment)?))
    }

    fn add_piece(&self, file: usize, piece: InputPiece) -> Result<()> {
        match piece.downcast::<FastqcPiece>() {
            Ok(piece) => self.counter(file)?.add_piece(*piece),
            Err(_) => Err(Error::bug("results of a different counter were added to the FastQC modules")),
        }
    }

    fn discard_piece(&self, file: usize, piece: InputPiece) {
        if let (Some(counter), Ok(piece)) = (self.run.file(file), piece.downcast::<FastqcPiece>()) {
            counter.discard_piece(*piece);
        }
    }

    fn count_records(
        &self,
        file: usize,
        first: u64,
        records: &mut dyn Iterator<Item = RecordRef<'_>>,
    ) -> Result<()> {
        let Some(counter) = self.run.file(file) else { return Ok(()) };
        self.with_text(|text| counter.count_records(first, records, text))
    }

    fn write_reports(&self, console: &Console, write: &mut WriteReport<'_>) -> Result<()> {
        for counter in self.run.files() {
            let report = counter.make_report()?;
            report.encoding_warning().iter().for_each(|warning| console.write_warning(warning));
            let summary = report.format_summary().into_bytes();
            write(report.into())?;
            write(summary.into())?;
        }
        Ok(())
    }
}
