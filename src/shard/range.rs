//! The files that stages of ranges read: all slices, the division of the output order, the judgement.

use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::{Ledger, Result};
use readmill_sort::RangeStart;
use serde::{Deserialize, Serialize};

use super::stage::JobStage;
use super::stage_file::{self, StageFile};
use super::work::Work;
use crate::pipeline::StepCounts;
use crate::run::stages::{Judgement, MappedSlice, RangeInput, Slices};

/// The footer of a file whose data are compared with a checksum before they are used.
#[derive(Serialize, Deserialize)]
pub struct Checked<T> {
    pub value: T,
    pub data: Option<stage_file::Checked>,
}

/// The numbers of records over all slices, and the division of the output order.
#[derive(Serialize, Deserialize)]
pub struct CutFile {
    /// For each slice the number of records before it.
    pub bases: Vec<u64>,
    pub records: u64,
    pub record_bytes: u64,
    pub largest: u64,
    pub any_placed: bool,
    pub was_cut: bool,
    /// Whether any read has the optional field that reads are sorted by; `None` without reads or such a field.
    pub tagged: Option<bool>,
    pub counts: StepCounts,
    pub tallies: Vec<Vec<u8>>,
    /// The starts of all ranges but the first.
    pub starts: Vec<RangeStart>,
}

impl Slices {
    /// Adds a slice whose first record has the number `base`; a spill has adopted its file.
    pub(super) fn push(&mut self, slice: MappedSlice, base: u64, ledger: &Ledger) {
        let MappedSlice { run, records, largest, any_placed, span, .. } = slice;
        self.records += records;
        self.largest = self.largest.max(largest);
        self.any_placed |= any_placed;
        self.span = self.span.max(span);
        if !run.is_empty() {
            self.runs.push(run.open(base, ledger.empty("indexes of runs on disk")));
        }
    }
}

impl Work {
    /// Opens the files of all slices.
    pub(super) fn slices(&self, ledger: &Ledger) -> Result<Vec<StageFile<Checked<MappedSlice>>>> {
        (0..self.job.slices.len()).map(|slice| self.need(JobStage::Map(slice), ledger)).collect()
    }

    /// Takes the runs of all slices; `spill` takes their files.
    pub(super) fn runs(
        &self,
        files: Vec<StageFile<Checked<MappedSlice>>>,
        bases: &[u64],
        spill: &mut Spill,
        ledger: &Ledger,
    ) -> Result<Slices> {
        let mut slices = Slices::default();
        for (file, &base) in files.into_iter().zip(bases) {
            let mut slice = file.footer.value;
            spill.adopt(&file.path, file.file, &mut [slice.run.extent_mut()]);
            slices.push(slice, base, ledger);
        }
        Ok(slices)
    }

    /// Opens what a stage needs to work on the range of this number; `None` if there are fewer ranges than were asked for.
    pub(super) fn range(&self, number: usize, ledger: &Ledger) -> Result<Option<RangeInput>> {
        let cut: StageFile<CutFile> = self.need(JobStage::Cut, ledger)?;
        let starts = &cut.footer.starts;
        if number > starts.len() {
            return Ok(None);
        }
        let range = [number.checked_sub(1), Some(number)].map(|start| starts.get(start?).cloned());
        let mut spill = Spill::new(&self.plan.resources.temp_dirs);
        let slices = self.runs(self.slices(ledger)?, &cut.footer.bases, &mut spill, ledger)?;
        let mut judgement = None;
        if self.marks_duplicates() {
            let mut file: StageFile<Checked<Judgement>> = self.need(JobStage::Judge, ledger)?;
            if let Some(data) = &file.footer.data {
                file.verify(data)?;
            }
            spill.adopt(&file.path, file.file, &mut file.footer.value.verdict.extents_mut());
            judgement = Some(file.footer.value);
        }
        let (sites, table, spill) = (None, None, Arc::new(spill));
        Ok(Some(RangeInput { slices, judgement, sites, table, range, spill }))
    }
}
