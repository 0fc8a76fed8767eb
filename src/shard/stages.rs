//! Runs individual stages: opens the files of earlier stages, runs a part of the pipeline in
//! `src/run/stages`, and completes the file of the stage.

use std::os::unix::fs::FileExt;
use std::sync::Arc;

use readmill_format::chain::TRUNCATED_RECORD;
use readmill_format::spill::Spill;
use readmill_process::console::Console;
use readmill_process::open_files;
use readmill_record::{Error, ErrorKind, Ledger, Result};

use super::job::{DuplicateChoice, InputIdentity, JobPlan, MAX_PARTS, SlicePart};
use super::range::{CutFile, VerifiedFooter};
use super::stage::{JobStage, StageKind, StageOutcome};
use super::stage_file::{StageFile, remove_damaged};
use super::work::PlannedJob;
use super::{scan, slice};
use crate::outputs::staged_parts::StagedPart;
use crate::pipeline::inputs::Inputs;
use crate::pipeline::{StepCounts, sum_counts};
use crate::plan::Plan;
use crate::run::additions::Additions;
use crate::run::stages::{
    FirstDecisions, InputEnds, JoinedRange, JoinedSlices, Judgement, MappedSlice, RangeInput, SliceEnds,
    Slices, WrittenRange,
};
use crate::run::{AlignScope, RunState, with_state};

/// Maximum size of a slice in input bytes, if the user does not give the number of slices.
const MAX_SLICE_BYTES: u64 = 1 << 30;

/// Maximum number of slices if the user does not give it. With more runs, the merge would have to
/// use small frames.
const MAX_DEFAULT_SLICES: u64 = 128;

/// Returns the number of slices for inputs of `bytes` bytes, such that the records of a slice fit
/// into `room` bytes of memory and are sorted without spilling. `record_bytes` is the size of the
/// BAM records, if known.
fn default_slice_count(bytes: u64, record_bytes: Option<u64>, room: u64) -> usize {
    // For text and CRAM, the size of the records is unknown. Sort entries and template ends add
    // half of that size.
    let record_bytes = record_bytes.unwrap_or(4 * bytes);
    let in_memory = (record_bytes / 2 * 3).div_ceil(room.max(1)).min(MAX_DEFAULT_SLICES);
    bytes.div_ceil(MAX_SLICE_BYTES).max(in_memory).max(1) as usize
}

/// Divides the inputs of `job` into `slices` slices, or into a suitable number for `None`, and
/// makes the decisions that depend on the first reads.
pub fn divide_job(
    plan: &Plan,
    job: &mut JobPlan,
    slices: Option<usize>,
    console: &Console,
) -> Result<()> {
    with_state(plan, AlignScope::First, Additions::default(), console, |state, mut inputs| {
        if state.fixes_mates() {
            return Err(Error::usage(
                "this command cannot be run in stages: it updates mate information (--fix-mates)",
            )
            .hint("omit the flag, or run the command without stages"));
        }
        let FirstDecisions { anchor, duplicates, .. } = state.make_first_decisions(&mut inputs)?;
        job.anchor = anchor;
        job.duplicates = duplicates
            .map(|(mate_pairing, optical_distance)| DuplicateChoice { mate_pairing, optical_distance });
        let bytes = job.inputs.iter().map(|input| input.size).sum();
        let expected = match &plan.aligning {
            Some(aligning) => Some(scan::estimate_record_bytes(aligning)),
            None => inputs.expected_bytes(),
        };
        let usual = || default_slice_count(bytes, expected, state.room());
        let slices = slices.unwrap_or_else(usual).min(MAX_PARTS);
        job.slices = match &plan.aligning {
            Some(aligning) => scan::divide_lanes(aligning, slices)?,
            None => slice::divide_inputs(&inputs, slices, state.ledger())?,
        };
        Ok(())
    })
}

/// Turns an I/O error that may be temporary into [`ErrorKind::Temporary`], which has its own exit
/// code (75), so that workflow engines run the stage again.
pub fn mark_retryable(error: Error) -> Error {
    match error.kind {
        ErrorKind::Io if error.is_retryable => Error { kind: ErrorKind::Temporary, ..error },
        _ => error,
    }
}

impl PlannedJob {
    /// Runs a stage, unless it is already finished.
    ///
    /// # Errors
    /// Fails if an input has changed, if an earlier stage is not finished, or if the stage itself
    /// fails. Removes a damaged file of an earlier stage.
    pub fn run_stage(&self, stage: JobStage, console: &Console) -> Result<StageOutcome> {
        self.sources.borrow_mut().clear();
        if self.check_finished(stage)? {
            console.write_line(&format!("readmill: {} was already finished", stage.title()));
            return Ok(StageOutcome::Found);
        }
        self.job.inputs.iter().try_for_each(InputIdentity::refuse_if_changed)?;
        console.write_line(&format!("readmill: {}", stage.title()));
        open_files::raise_open_file_limit(self.job.slices.len());
        let scope = self.align_scope(stage)?;
        let made = with_state(&self.plan, scope, Additions::default(), console, |state, inputs| {
            self.run_kind(stage, state, inputs)
        });
        made.map_err(|error| self.number_record_in_input(stage, self.remove_if_damaged(error)))
            .map(|()| StageOutcome::Done)
    }

    /// Runs the work of a stage. The inputs are open, and the state is ready.
    fn run_kind(&self, stage: JobStage, state: RunState<'_>, inputs: Inputs) -> Result<()> {
        let JobStage { kind, index } = stage;
        match kind {
            StageKind::Scan => self.run_scan(index, &state),
            StageKind::Map => self.run_map(index, state, inputs),
            StageKind::Cut => self.run_cut(&state),
            StageKind::Judge => self.run_judge(state, &inputs),
            StageKind::Compare => self.run_compare(index, state, &inputs),
            StageKind::Sites => self.run_sites(&state),
            StageKind::Count => self.run_count(index, state, &inputs),
            StageKind::Table => self.run_table(&state),
            StageKind::Write => self.run_write(index, state, &inputs),
            StageKind::Join => self.run_join(state),
        }
    }

    /// If the error is about damaged data of an earlier stage, removes that stage's file, and
    /// returns an error that asks the user to run the stage again.
    fn remove_if_damaged(&self, error: Error) -> Error {
        match &error.place.file {
            Some(path) if error.kind == ErrorKind::Temporary && path.starts_with(&self.directory) => {
                self.remove_damaged_source(path).unwrap_or(error)
            }
            _ => error,
        }
    }

    /// Returns the number of records of the same input in earlier slices. `None` if one of these
    /// slices is not finished.
    fn count_records_before(&self, slice: usize) -> Option<u64> {
        let input = self.job.slices[slice].input;
        let before = (0..slice).filter(|&other| self.job.slices[other].input == input);
        let records = |other| {
            let found = self.open_file(StageKind::Map.at(other), &Ledger::unlimited()).ok()??;
            Some(found.decode::<VerifiedFooter<MappedSlice>>().ok()?.footer.value.records)
        };
        before.map(records).sum()
    }

    /// Replaces the record number of an error, which is relative to the slice, by the number in the
    /// whole input. If earlier slices are not finished, the message names the slice instead.
    fn number_record_in_input(&self, stage: JobStage, mut error: Error) -> Error {
        // FASTQ records are already numbered from the start of the file.
        if stage.kind == StageKind::Map && error.place.record.is_some() && !self.aligns() {
            let slice = stage.index;
            let of = self.job.slices.len();
            let is_inner = self.job.slices[slice].bounds().is_some_and(|bounds| bounds.to.is_some());
            if is_inner && error.what == TRUNCATED_RECORD {
                error.what = format!(
                    "slice {} of {of} ends inside a record, because the start of a record was not detected correctly",
                    slice + 1
                );
                let work = self.directory.display();
                error.hint = Some(format!("plan the job again with a different number of slices: readmill shard clean --work {work}, then readmill shard plan --work {work} --shards N COMMAND …").into());
            } else if let (Some(before), Some(record)) =
                (self.count_records_before(slice), &mut error.place.record)
            {
                *record += before;
            } else {
                error.what =
                    format!("{} (the record is counted in slice {} of {of})", error.what, slice + 1);
            }
        }
        error
    }

    /// Runs `map`: sorts the reads of a slice, and stores the template ends for duplicate marking.
    fn run_map(&self, number: usize, state: RunState<'_>, mut inputs: Inputs) -> Result<()> {
        let slice = self.job.slices[number];
        match slice.part {
            SlicePart::Between(bounds) => {
                let input = &inputs.files()[slice.input];
                let (stream, _) =
                    slice::open_slice(input, bounds).map_err(|error| error.file(&input.path))?;
                inputs.narrow_to_slice(slice.input, stream)?;
            }
            SlicePart::Whole => inputs.narrow_to_input(slice.input),
            SlicePart::Scanned { .. } => {} // the scope of this stage has opened nothing else
        }
        let into = self.create_stage_file(StageKind::Map.at(number))?;
        let value = state.map_slice(inputs, &self.first_decisions(), into.spill())?;
        // The frames of the run have their own checksums; the template ends do not.
        let data = value.ends.as_ref().and_then(|ends| ends.first_offset());
        let data = data.map(|start| into.checksum_since(start)).transpose()?;
        self.finish_stage(into, &VerifiedFooter { value, data })
    }

    fn run_cut(&self, state: &RunState<'_>) -> Result<()> {
        let ledger = state.ledger();
        let files = self.open_slices(ledger)?;
        let mut spill = Spill::new(&[]);
        let mut cut = CutFile {
            bases: Vec::new(),
            records: 0,
            record_bytes: 0,
            largest: 0,
            any_placed: false,
            has_cut_template: false,
            tagged: None,
            counts: StepCounts::default(),
            tallies: state.add_tallies(files.iter().map(|file| &file.footer.value.tallies[..]))?,
            starts: Vec::new(),
        };
        for file in &files {
            let slice = &file.footer.value;
            cut.bases.push(cut.records);
            cut.records += slice.records;
            cut.record_bytes += slice.run.record_bytes();
            cut.largest = cut.largest.max(slice.largest);
            cut.any_placed |= slice.any_placed;
            cut.has_cut_template |= slice.has_cut_template;
            cut.tagged = cut.tagged.max(slice.tagged);
            sum_counts(&mut cut.counts, slice.counts.iter().cloned());
        }
        state.warn_if_tag_missing(cut.tagged);
        if cut.has_cut_template && self.plan.steps.duplicates.is_some() && files.len() > 1 {
            return Err(Error::input(
                "the records of one template need more than 1 MiB, so the result would depend on the slices",
            )
            .hint("mark duplicates without stages, or in one slice: readmill shard plan --shards 1"));
        }
        let slices = self.collect_runs(files, &cut.bases, &mut spill, ledger)?;
        cut.starts = state.divide_output(slices, Arc::new(spill), self.job.ranges)?;
        self.finish_stage(self.create_stage_file(StageKind::Cut.only())?, &cut)
    }

    fn run_judge(&self, state: RunState<'_>, inputs: &Inputs) -> Result<()> {
        let ledger = state.ledger().clone();
        let cut: StageFile<CutFile> = self.open_required(StageKind::Cut.only(), &ledger)?;
        let mut spill = Spill::new(&self.plan.resources.temp_dirs);
        let (mut slices, mut runs, mut charges) = (Vec::new(), Slices::default(), Vec::new());
        for (file, &base) in self.open_slices(&ledger)?.into_iter().zip(&cut.footer.bases) {
            if let Some(data) = &file.footer.data {
                file.verify_data(data)?;
            }
            let mut slice = file.footer.value;
            let Some(mut ends) = slice.ends.take() else {
                return Err(Error::bug("a slice has no template ends"));
            };
            let mut extents = ends.extents_mut();
            extents.push(slice.run.extent_mut());
            spill.adopt_file(&file.path, file.file, &mut extents);
            runs.add_slice(slice, base, &ledger);
            slices.push(SliceEnds { ends, base });
            charges.push(file.charge);
        }
        let into = self.create_stage_file(StageKind::Judge.only())?;
        let start = into.bytes_written()?;
        let decided = self.first_decisions();
        let has_cut_template = cut.footer.has_cut_template;
        let value = state.judge_duplicates(
            inputs,
            &decided,
            InputEnds { slices, runs, has_cut_template, spill },
            into.spill(),
        )?;
        let data = Some(into.checksum_since(start)?);
        self.finish_stage(into, &VerifiedFooter { value, data })
    }

    /// Runs `write`: merges a range from all slices, and stores it as compressed parts of the
    /// output.
    fn run_write(&self, number: usize, state: RunState<'_>, inputs: &Inputs) -> Result<()> {
        let ledger = state.ledger().clone();
        let range = self.open_range(number, &ledger)?;
        let table = self.open_totals(&ledger)?.map(|file| file.footer);
        let sites = self.open_found_sites(&ledger)?;
        let into = self.create_stage_file(StageKind::Write.at(number))?;
        let value = match range {
            Some(range) => state.write_range(
                inputs,
                &self.first_decisions(),
                RangeInput { sites, table, ..range },
                into.spill(),
            )?,
            None => state.empty_range(into.spill())?,
        };
        self.finish_stage(into, &value)
    }

    fn run_join(&self, state: RunState<'_>) -> Result<()> {
        let ledger = state.ledger().clone();
        let cut: StageFile<CutFile> = self.open_required(StageKind::Cut.only(), &ledger)?;
        let judge = self.marks_duplicates();
        let judge = judge
            .then(|| self.open_required::<VerifiedFooter<Judgement>>(StageKind::Judge.only(), &ledger))
            .transpose()?;
        let table = self.open_totals(&ledger)?.map(|file| file.footer);
        let CutFile { records, record_bytes, any_placed, counts, tallies, .. } = cut.footer;
        let verdict = judge.map(|file| file.footer.value.verdict);
        let joined = JoinedSlices { records, record_bytes, any_placed, counts, verdict, table, tallies };
        self.add_trimmed(&state, &ledger)?;
        let range = |number: usize| {
            let file: StageFile<WrittenRange> =
                self.open_required(StageKind::Write.at(number), &ledger)?;
            let StageFile { path, file, id, footer: range, charge, .. } = file;
            let mut at = range.extent.start;
            let read = move |part: &StagedPart, bytes: &mut Vec<u8>| {
                bytes.resize(part.bytes as usize, 0);
                let read = file.read_exact_at(bytes, at);
                at += part.bytes;
                match read {
                    Ok(()) if crc32fast::hash(bytes) == part.crc => Ok(()),
                    Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
                        Err(Error::io(format!("{} cannot be read", path.display()), &error))
                    }
                    _ => Err(remove_damaged(&path, id)),
                }
            };
            Ok(JoinedRange { range, read: Box::new(read), _charge: charge })
        };
        let console = state.console();
        let summary =
            state.join_ranges(&self.first_decisions(), joined, &mut (0..self.job.ranges).map(range))?;
        crate::run::summary::warn_if_nothing_written(&self.plan, &summary, console);
        console.write_line(&format!(
            "readmill: {} records read, {} written",
            summary.read_records, summary.written_records
        ));
        let outputs = self.read_output_state();
        self.finish_stage(self.create_stage_file(StageKind::Join.only())?, &outputs)
    }
}
