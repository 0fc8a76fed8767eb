//! Carries out stages: opens the files of those before, runs a part of the pipeline, and completes the file.

use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::{Error, Ledger, Result};
use readmill_sort::RangeStart;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::job::{DuplicateChoice, InputIdentity, Job};
use super::slice;
use super::stage_file::{StageFile, StageWriter, adopt, damaged, same_file};
use super::{Outcome, Stage, Work};
use crate::pipeline::{StepCounts, sum_counts};
use crate::plan::Plan;
use crate::process::console::Console;
use crate::run::additions::Additions;
use crate::run::stages::{
    FirstDecisions, JoinedRange, JoinedSlices, Judgement, MappedSlice, RangeInput, SliceEnds, Slices,
    WrittenRange,
};
use crate::run::{RunState, with_state};

/// The footer of a file whose data are compared with a checksum before they are used.
#[derive(Serialize, Deserialize)]
struct Checked<T> {
    value: T,
    data: Option<super::stage_file::Checked>,
}

/// The numbers of records over all slices, and the division of the output order.
#[derive(Serialize, Deserialize)]
struct CutFile {
    /// For each slice the number of records before it.
    bases: Vec<u64>,
    records: u64,
    record_bytes: u64,
    largest: u64,
    any_placed: bool,
    was_cut: bool,
    counts: StepCounts,
    tallies: Vec<Vec<u8>>,
    /// The starts of all ranges but the first.
    starts: Vec<RangeStart>,
}

/// The output, as it was when it was joined.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct JoinFile {
    outputs: Vec<(u64, i64)>,
}

/// Divides the inputs of a job, and decides what their first reads decide.
pub fn plan(plan: &Plan, job: &mut Job, slices: usize, console: &Console) -> Result<()> {
    with_state(plan, Additions::default(), console, |state, mut inputs| {
        if state.fixes_mates() {
            return Err(Error::usage("mates are to be fixed, which a job in stages cannot do")
                .hint("leave it out, or run the command without stages"));
        }
        let FirstDecisions { anchor, duplicates } = state.decide(&mut inputs)?;
        job.anchor = anchor;
        job.duplicates = duplicates
            .map(|(mate_pairing, optical_distance)| DuplicateChoice { mate_pairing, optical_distance });
        job.slices = slice::divide(&inputs, slices, state.ledger())?;
        Ok(())
    })
}

impl Work {
    /// Carries out a stage, unless it is finished.
    pub fn run_stage(&self, stage: Stage, console: &Console) -> Result<Outcome> {
        if self.find(stage)? {
            console.say(&format!("readmill: {} was finished before", stage.title()));
            return Ok(Outcome::Found);
        }
        self.job.inputs.iter().try_for_each(InputIdentity::check)?;
        console.say(&format!("readmill: {}", stage.title()));
        let made = with_state(&self.plan, Additions::default(), console, |state, inputs| match stage {
            Stage::Map(slice) => self.map(slice, state, inputs),
            Stage::Cut => self.cut(&state),
            Stage::Judge => self.judge(state, &inputs),
            Stage::Compare(range) => self.compare(range, state, &inputs),
            Stage::Sites => self.sites(&state),
            Stage::Count(range) => self.count(range, state, &inputs),
            Stage::Table => self.table(&state),
            Stage::Write(range) => self.write(range, state, &inputs),
            Stage::Join => self.join(state),
        });
        made.map_err(|error| self.with_stage(stage, error)).map(|()| Outcome::Done)
    }

    /// Names the slice in an error about a record, which counts from its start.
    fn with_stage(&self, stage: Stage, mut error: Error) -> Error {
        if let (Stage::Map(slice), Some(_)) = (stage, error.place.record) {
            let of = self.job.slices.len();
            if of > 1 {
                error.what =
                    format!("{} (the record is counted in slice {} of {of})", error.what, slice + 1);
            }
        }
        error
    }

    /// Whether a stage is finished, and its file is whole.
    fn find(&self, stage: Stage) -> Result<bool> {
        let ledger = Ledger::unlimited();
        Ok(match stage {
            Stage::Join => {
                let found = self.open_file::<JoinFile>(stage, &ledger)?;
                found.is_some_and(|found| self.outputs().is_some_and(|now| now == found.footer))
            }
            _ => StageFile::<()>::exists(&self.path(stage), self.hash)?,
        })
    }

    fn open_file<T: DeserializeOwned>(
        &self,
        stage: Stage,
        ledger: &Ledger,
    ) -> Result<Option<StageFile<T>>> {
        StageFile::open(&self.path(stage), self.hash, ledger)
    }

    /// Opens the file of a stage that must be finished.
    pub(super) fn need<T: DeserializeOwned>(
        &self,
        stage: Stage,
        ledger: &Ledger,
    ) -> Result<StageFile<T>> {
        let missing = || {
            let what =
                format!("{} is missing: {} is not finished", self.path(stage).display(), stage.title());
            Error::input(what).hint("run that stage first, or all that are missing: readmill shard run")
        };
        self.open_file(stage, ledger)?.ok_or_else(missing)
    }

    pub(super) fn create(&self, stage: Stage) -> Result<StageWriter> {
        StageWriter::create(&self.path(stage), self.hash)
    }

    fn decided(&self) -> FirstDecisions {
        let duplicates = self.job.duplicates.map(|it| (it.mate_pairing, it.optical_distance));
        FirstDecisions { anchor: self.job.anchor.clone(), duplicates }
    }

    fn map(
        &self,
        number: usize,
        state: RunState<'_>,
        mut inputs: crate::pipeline::inputs::Inputs,
    ) -> Result<()> {
        let slice = self.job.slices[number];
        match slice.bounds {
            Some(bounds) => {
                let input = &inputs.list()[slice.input];
                let (stream, _) = slice::read(input, bounds).map_err(|error| error.file(&input.path))?;
                inputs.narrow(slice.input, stream)?;
            }
            None => inputs.narrow_to(slice.input),
        }
        let into = self.create(Stage::Map(number))?;
        let value = state.map(inputs, &self.decided(), into.spill())?;
        // The frames of the run have checksums of their own; ends have none.
        let data = value.ends.as_ref().and_then(|ends| ends.start());
        let data = data.map(|start| into.check_from(start)).transpose()?;
        into.finish(&Checked { value, data })
    }

    /// Opens the files of all slices.
    fn slices(&self, ledger: &Ledger) -> Result<Vec<StageFile<Checked<MappedSlice>>>> {
        (0..self.job.slices.len()).map(|slice| self.need(Stage::Map(slice), ledger)).collect()
    }

    /// Takes the runs of all slices; `spill` takes their files.
    fn runs(
        &self,
        files: Vec<StageFile<Checked<MappedSlice>>>,
        bases: &[u64],
        spill: &mut Spill,
        ledger: &Ledger,
    ) -> Result<Slices> {
        let mut slices = Slices { runs: Vec::new(), records: 0, largest: 0, any_placed: false };
        for (mut file, &base) in files.into_iter().zip(bases) {
            let mut run = file.footer.value.run.clone();
            adopt(spill, &file, &mut [run.extent_mut()])?;
            let MappedSlice { records, largest, any_placed, .. } = &mut file.footer.value;
            slices.records += *records;
            slices.largest = slices.largest.max(*largest);
            slices.any_placed |= *any_placed;
            if !run.is_empty() {
                slices.runs.push(run.open(base, ledger.empty("indexes of runs on disk")));
            }
        }
        Ok(slices)
    }

    fn cut(&self, state: &RunState<'_>) -> Result<()> {
        let ledger = state.ledger();
        let files = self.slices(ledger)?;
        let mut spill = Spill::new(&[]);
        let mut cut = CutFile {
            bases: Vec::new(),
            records: 0,
            record_bytes: 0,
            largest: 0,
            any_placed: false,
            was_cut: false,
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
            cut.was_cut |= slice.was_cut;
            sum_counts(&mut cut.counts, slice.counts.iter().cloned());
        }
        if cut.was_cut && self.plan.steps.duplicates.is_some() && files.len() > 1 {
            return Err(Error::input(
                "a template has more than 1 MiB of records, and where it is cut depends on the slices",
            )
            .hint("mark duplicates without stages, or in one slice: readmill shard plan --slices 1"));
        }
        let slices = self.runs(files, &cut.bases, &mut spill, ledger)?;
        cut.starts = state.divide(slices, Arc::new(spill), self.job.ranges)?;
        self.create(Stage::Cut)?.finish(&cut)
    }

    fn judge(&self, state: RunState<'_>, inputs: &crate::pipeline::inputs::Inputs) -> Result<()> {
        let ledger = state.ledger().clone();
        let cut: StageFile<CutFile> = self.need(Stage::Cut, &ledger)?;
        let mut spill = Spill::new(&self.plan.resources.temp_dirs);
        let (mut slices, mut charges) = (Vec::new(), Vec::new());
        for (mut file, &base) in self.slices(&ledger)?.into_iter().zip(&cut.footer.bases) {
            if let Some(data) = &file.footer.data {
                file.verify(data)?;
            }
            let Some(mut ends) = file.footer.value.ends.take() else {
                return Err(Error::bug("a slice has no template ends"));
            };
            adopt(&mut spill, &file, &mut ends.extents_mut())?;
            slices.push(SliceEnds { ends, base });
            charges.push(file.charge);
        }
        let into = self.create(Stage::Judge)?;
        let start = into.end()?;
        let decided = self.decided();
        let CutFile { records, was_cut, .. } = cut.footer;
        let value =
            state.judge(inputs, &decided, slices, [records, u64::from(was_cut)], spill, into.spill())?;
        let data = Some(into.check_from(start)?);
        into.finish(&Checked { value, data })
    }

    /// Opens what a stage needs to work on the range of this number; `None` if there are fewer ranges than were asked for.
    pub(super) fn range(&self, number: usize, ledger: &Ledger) -> Result<Option<RangeInput>> {
        let cut: StageFile<CutFile> = self.need(Stage::Cut, ledger)?;
        let starts = &cut.footer.starts;
        if number > starts.len() {
            return Ok(None);
        }
        let range = [number.checked_sub(1), Some(number)].map(|start| starts.get(start?).cloned());
        let mut spill = Spill::new(&self.plan.resources.temp_dirs);
        let slices = self.runs(self.slices(ledger)?, &cut.footer.bases, &mut spill, ledger)?;
        let mut judgement = None;
        if self.marks_duplicates() {
            let mut file: StageFile<Checked<Judgement>> = self.need(Stage::Judge, ledger)?;
            if let Some(data) = &file.footer.data {
                file.verify(data)?;
            }
            let mut own = file.footer.value.verdict.extents_mut();
            spill.adopt(&file.path, same_file(&file.file, &file.path)?, &mut own);
            judgement = Some(file.footer.value);
        }
        let (sites, table, spill) = (None, None, Arc::new(spill));
        Ok(Some(RangeInput { slices, judgement, sites, table, range, spill }))
    }

    fn write(
        &self,
        number: usize,
        state: RunState<'_>,
        inputs: &crate::pipeline::inputs::Inputs,
    ) -> Result<()> {
        let ledger = state.ledger().clone();
        let range = self.range(number, &ledger)?;
        let table = self.totals(&ledger)?.map(|file| file.footer);
        let sites = self.found_sites(&ledger)?;
        let into = self.create(Stage::Write(number))?;
        let value = match range {
            Some(range) => state.write(
                inputs,
                &self.decided(),
                RangeInput { sites, table, ..range },
                into.spill(),
            )?,
            None => state.no_range(into.spill())?,
        };
        into.finish(&value)
    }

    fn join(&self, state: RunState<'_>) -> Result<()> {
        let ledger = state.ledger().clone();
        let cut: StageFile<CutFile> = self.need(Stage::Cut, &ledger)?;
        let judge = self.marks_duplicates();
        let judge = judge.then(|| self.need::<Checked<Judgement>>(Stage::Judge, &ledger)).transpose()?;
        let table = self.totals(&ledger)?.map(|file| file.footer);
        let CutFile { records, record_bytes, any_placed, counts, tallies, .. } = cut.footer;
        let verdict = judge.map(|file| file.footer.value.verdict);
        let joined = JoinedSlices { records, record_bytes, any_placed, counts, verdict, table, tallies };
        let range = |number: usize| {
            let file: StageFile<WrittenRange> = self.need(Stage::Write(number), &ledger)?;
            let StageFile { path, file, footer: range, charge } = file;
            let mut at = range.extent.start;
            let read = move |part: &crate::outputs::staged_parts::StagedPart, bytes: &mut Vec<u8>| {
                let _ = &charge;
                bytes.resize(part.bytes as usize, 0);
                let read = file.read_exact_at(bytes, at);
                at += part.bytes;
                match read {
                    Ok(()) if crc32fast::hash(bytes) == part.crc => Ok(()),
                    Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
                        Err(Error::io(format!("{} cannot be read", path.display()), &error))
                    }
                    _ => Err(damaged(&path)),
                }
            };
            Ok(JoinedRange { range, read: Box::new(read) })
        };
        let console = state.console();
        let summary = state.join(&self.decided(), joined, &mut (0..self.job.ranges).map(range))?;
        console.say(&format!("readmill: {} records read, {} written", summary.read, summary.written));
        let outputs =
            self.outputs().ok_or_else(|| Error::bug("the output is not where it was written"))?;
        let path = self.path(Stage::Join);
        let _ = std::fs::remove_file(&path); // of an output that is gone
        self.create(Stage::Join)?.finish(&outputs)
    }

    /// The output files as they are; `None` if one is missing.
    fn outputs(&self) -> Option<JoinFile> {
        let state = |path: &Path| {
            std::fs::metadata(path)
                .ok()
                .map(|meta| (meta.len(), meta.mtime() * 1_000_000_000 + meta.mtime_nsec()))
        };
        let files = self.plan.destination.main()?.files();
        Some(JoinFile { outputs: files.iter().map(|path| state(path)).collect::<Option<_>>()? })
    }
}
