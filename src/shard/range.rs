//! The files that the stages of a range read: the sorted slices, the division of the
//! output order into ranges, and the duplicate marks.

use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::{Ledger, Result};
use readmill_sort::RangeStart;
use serde::{Deserialize, Serialize};

use super::stage::StageKind;
use super::stage_file::{self, StageFile};
use super::work::PlannedJob;
use crate::pipeline::StepCounts;
use crate::run::stages::{Judgement, MappedSlice, RangeInput, Slices};

/// A footer with the checksum of the data in the same file. A stage verifies `data`
/// before it uses them; `None` if the file has no data without checksums of their own.
#[derive(Serialize, Deserialize)]
pub struct VerifiedFooter<T> {
    pub value: T,
    pub data: Option<stage_file::ChecksummedRange>,
}

/// The footer of the `cut` stage: how the records of all slices are numbered, and where
/// the ranges of the output order start.
#[derive(Serialize, Deserialize)]
pub struct CutFile {
    /// For each slice, the number of records in all earlier slices. Added to a record's
    /// number in its slice, it gives the record's number in the whole input.
    pub bases: Vec<u64>,
    pub records: u64,
    pub record_bytes: u64,
    pub largest: u64,
    pub any_placed: bool,
    pub was_cut: bool,
    /// Whether any read has the optional field that reads are sorted by. `None` if
    /// there are no reads, or if the order does not use an optional field.
    pub tagged: Option<bool>,
    pub counts: StepCounts,
    pub tallies: Vec<Vec<u8>>,
    pub starts: Vec<RangeStart>,
}

impl Slices {
    /// Adds the run of one slice. `base` is the number of records in earlier slices.
    /// The caller has passed the file of the slice to `Spill::adopt_file` before, so that
    /// the run can be read from it.
    pub(super) fn add_slice(&mut self, slice: MappedSlice, base: u64, ledger: &Ledger) {
        let MappedSlice { run, records, largest, any_placed, span, .. } = slice;
        self.records += records;
        self.largest = self.largest.max(largest);
        self.any_placed |= any_placed;
        self.span = self.span.max(span);
        if !run.is_empty() {
            self.runs.push(run.open(base, ledger.empty_charge("indexes of runs on disk")));
        }
    }
}

impl PlannedJob {
    pub(super) fn open_slices(
        &self,
        ledger: &Ledger,
    ) -> Result<Vec<StageFile<VerifiedFooter<MappedSlice>>>> {
        (0..self.job.slices.len())
            .map(|slice| self.open_required(StageKind::Map.at(slice), ledger))
            .collect()
    }

    /// Collects the runs of all slices for a merge. `spill` takes over their files,
    /// from which the runs are read.
    pub(super) fn collect_runs(
        &self,
        files: Vec<StageFile<VerifiedFooter<MappedSlice>>>,
        bases: &[u64],
        spill: &mut Spill,
        ledger: &Ledger,
    ) -> Result<Slices> {
        let mut slices = Slices::default();
        for (file, &base) in files.into_iter().zip(bases) {
            let mut slice = file.footer.value;
            spill.adopt_file(&file.path, file.file, &mut [slice.run.extent_mut()]);
            slices.add_slice(slice, base, ledger);
        }
        Ok(slices)
    }

    /// Opens all that a stage needs to work on range `number` (from 0): the slices, the
    /// limits of the range, and the duplicate marks if duplicates are marked. The
    /// caller adds sites and counts.
    ///
    /// Returns `None` if there are fewer ranges than were planned, as happens for small
    /// inputs.
    pub(super) fn open_range(&self, number: usize, ledger: &Ledger) -> Result<Option<RangeInput>> {
        let cut: StageFile<CutFile> = self.open_required(StageKind::Cut.only(), ledger)?;
        let starts = &cut.footer.starts;
        if number > starts.len() {
            return Ok(None);
        }
        let range = [number.checked_sub(1), Some(number)].map(|start| starts.get(start?).cloned());
        let mut spill = Spill::new(&self.plan.resources.temp_dirs);
        let slices =
            self.collect_runs(self.open_slices(ledger)?, &cut.footer.bases, &mut spill, ledger)?;
        let mut judgement = None;
        if self.marks_duplicates() {
            let mut file: StageFile<VerifiedFooter<Judgement>> =
                self.open_required(StageKind::Judge.only(), ledger)?;
            if let Some(data) = &file.footer.data {
                file.verify_data(data)?;
            }
            spill.adopt_file(&file.path, file.file, &mut file.footer.value.verdict.extents_mut());
            judgement = Some(file.footer.value);
        }
        let (sites, table, spill) = (None, None, Arc::new(spill));
        Ok(Some(RangeInput { slices, judgement, sites, table, range, spill }))
    }
}
