//! FastQC's modules, counted from the inputs before any step.

mod counter;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use readmill_engine::Crew;
use readmill_fastqc::{FastqcOptions, FastqcRun};
use readmill_format::report::RunNames;
use readmill_record::{Error, Result};

use super::add_on::{AddOn, AddOnSetup, MemoryShare, RoomShare, RunFacts, RunningAddOn};
use super::input_counter::InputCounter;
use super::planned_file::{PlannedFile, WriteReport};
use counter::FastqcCounter;
use readmill_process::console::Console;

/// A request for FastQC reports of all inputs.
#[derive(Clone, Debug)]
pub struct FastqcRequest {
    options: FastqcOptions,
    /// One for each input.
    reports: Vec<FastqcReport>,
}

/// The report of an input.
#[derive(Clone, Debug)]
struct FastqcReport {
    input: PathBuf,
    /// The name of the input in the report.
    name: String,
    /// The file with the module data (`fastqc_data.txt`).
    data: PathBuf,
    /// The file with the verdicts (`summary.txt`).
    summary: PathBuf,
}

/// File extensions that are removed from report names, in this order: those of FastQC, and those of
/// formats that it does not read.
const ENDINGS: [&str; 11] =
    [".gz", ".bz2", ".zst", ".txt", ".fastq", ".fq", ".csfastq", ".sam", ".bam", ".cram", ".ubam"];

/// The share of the memory for reads is one part of this number of parts: an eighth bounds the
/// counts for reads that are longer or from more tiles than usual.
const UNUSUAL_READ_PARTS: u64 = 8;

impl FastqcRequest {
    /// The name of the add-on's row in [`ADD_ONS`](crate::addons::ADD_ONS).
    pub const NAME: &'static str = "FastQC";

    /// Creates a request for the reports of `inputs`, each in its own directory in `directory`.
    ///
    /// # Errors
    /// Fails if `directory` cannot be a directory name.
    pub fn new(directory: &Path, inputs: &[PathBuf], options: FastqcOptions) -> Result<Self> {
        if directory.as_os_str() == "-" || directory.as_os_str().is_empty() {
            let what = "FastQC reports are several files, which need a directory";
            return Err(Error::usage(what).hint("give a directory: --fastqc DIR"));
        }
        let report = |input: &PathBuf| {
            let name = match input.file_name() {
                Some(name) if name != "-" => name.to_string_lossy().into_owned(),
                _ => "stdin".into(),
            };
            let stem =
                ENDINGS.iter().fold(&name[..], |name, end| name.strip_suffix(end).unwrap_or(name));
            let own = directory.join(format!("{stem}_fastqc"));
            let (data, summary) = (own.join("fastqc_data.txt"), own.join("summary.txt"));
            FastqcReport { input: input.clone(), name, data, summary }
        };
        Ok(FastqcRequest { options, reports: inputs.iter().map(report).collect() })
    }

    /// Returns the counters of all inputs. Reads that are longer or from more tiles than usual may
    /// use `unusual_bytes`.
    fn counters(&self, unusual_bytes: u64) -> FastqcRun {
        let names = self.reports.iter().map(|report| report.name.clone());
        FastqcRun::new(names, self.options, unusual_bytes)
    }
}

impl AddOn for FastqcRequest {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self, run: &RunFacts) -> Result<()> {
        if run.merges_alignments {
            let what = "FastQC results cannot be computed while alignments are merged";
            return Err(Error::usage(what).hint(
                "compute them from the unaligned reads: readmill qc READS --no-metrics --fastqc DIR",
            ));
        }
        Ok(())
    }

    fn output_files(&self) -> Vec<PlannedFile<'_>> {
        let files = self.reports.iter().flat_map(|report| {
            let data = PlannedFile::new("fastqc", &report.data);
            let data = PlannedFile { is_list_item: true, creates_directory: true, ..data };
            [data, PlannedFile::new("fastqc summary", &report.summary)]
        });
        files.collect()
    }

    fn memory_shares(&self, run: &RunFacts, crew: Crew) -> Vec<MemoryShare> {
        let (in_flight, files) = (crew.in_flight as u64, run.max_files_per_batch as u64);
        let bytes = self.counters(0).memory_bytes(in_flight, files);
        vec![MemoryShare { name: "FastQC modules", bytes }]
    }

    fn room_share(&self) -> Option<RoomShare> {
        Some(RoomShare { name: "FastQC modules for unusual reads", parts: UNUSUAL_READ_PARTS })
    }

    fn stage_refusal(&self) -> Option<&'static str> {
        Some("FastQC modules depend on the order of the input (--fastqc)")
    }

    fn input_counter(&self, unusual_bytes: u64) -> Option<Arc<dyn InputCounter>> {
        let inputs = self.reports.iter().map(|report| report.input.clone()).collect();
        let (run, spare_texts) = (self.counters(unusual_bytes), Mutex::default());
        Some(Arc::new(FastqcCounter { inputs, run, spare_texts }))
    }

    fn start(&self, setup: &AddOnSetup<'_>) -> Result<Box<dyn RunningAddOn>> {
        Ok(Box::new(RunningFastqc { counter: setup.input_counter.cloned() }))
    }
}

/// Writes the reports of the modules that `counter` counts.
struct RunningFastqc {
    counter: Option<Arc<dyn InputCounter>>,
}

impl RunningAddOn for RunningFastqc {
    fn write_reports(
        &self,
        _: &RunNames<'_>,
        console: &Console,
        write: &mut WriteReport<'_>,
    ) -> Result<()> {
        self.counter.as_ref().map_or(Ok(()), |counter| counter.write_reports(console, write))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_named_as_those_of_fastqc() {
        let of = |name: &str| {
            let request =
                FastqcRequest::new(Path::new("qc"), &[name.into()], FastqcOptions::default()).unwrap();
            let report = &request.reports[0];
            (report.name.clone(), report.data.display().to_string())
        };
        let named =
            |name: &str, stem: &str| (name.to_string(), format!("qc/{stem}_fastqc/fastqc_data.txt"));
        assert_eq!(of("a/R1.fastq.gz"), named("R1.fastq.gz", "R1"));
        assert_eq!(of("x.fq"), named("x.fq", "x"));
        assert_eq!(of("x.gz.fq"), named("x.gz.fq", "x.gz"));
        assert_eq!(of("s.bam"), named("s.bam", "s"));
        assert_eq!(of("s"), named("s", "s"));
        assert_eq!(of("-"), named("stdin", "stdin"));
        assert!(FastqcRequest::new(Path::new("-"), &[], FastqcOptions::default()).is_err());
    }
}
