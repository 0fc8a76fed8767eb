//! The files that the stages of a range read: the sorted slices, the division of the output order
//! into ranges, and the duplicate marks.

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

/// A footer with the checksum of data in the same file, which a stage verifies before use. `data`
/// is `None` if all data in the file have their own checksums.
#[derive(Serialize, Deserialize)]
pub struct VerifiedFooter<T> {
    pub value: T,
    pub data: Option<stage_file::ChecksummedRange>,
}

/// The footer of the `cut` stage: the numbering of the records of all slices, and the starts of the
/// ranges in the output order.
#[derive(Serialize, Deserialize)]
pub struct CutFile {
    /// For each slice, the number of records in all earlier slices. The record number in the slice
    /// plus this number is the record number in the whole input.
    pub bases: Vec<u64>,
    pub records: u64,
    pub record_bytes: u64,
    pub largest: u64,
    pub any_placed: bool,
    /// Whether any slice has a template that was too long for one batch.
    pub has_cut_template: bool,
    /// Whether any read has the optional field that is the sort key. `None` if there are no reads,
    /// or if reads are not sorted by a field.
    pub tagged: Option<bool>,
    pub counts: StepCounts,
    pub tallies: Vec<Vec<u8>>,
    pub starts: Vec<RangeStart>,
}

impl Slices {
    /// Adds the run of one slice. `base` is the number of records in earlier slices. Before this
    /// call, the caller must pass the slice's file to `Spill::adopt_file`, so that the run can be
    /// read from it.
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

    /// Collects the runs of all slices for a merge. `spill` adopts the files from which they are
    /// read.
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

    /// Opens everything that a stage needs for range `number` (0-based): the slices, the bounds of
    /// the range, and the duplicate marks if there are any. The caller adds sites and counts.
    ///
    /// Returns `None` if there are fewer ranges than planned, which happens for small inputs.
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
