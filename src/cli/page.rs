//! `readmill report`: makes an HTML report from the run files of one or several runs.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use readmill_files::{CommandMemory, FileOutput};
use readmill_process::console::write_log_line;
use readmill_record::{Error, Result};
use readmill_report::{
    MULTIQC_SUFFIX, MultiqcTable, PageOptions, PlateBuilder, Sheet, check_description,
    drop_hidden_reports, page_bytes, render_page,
};
use serde_json::Value;

use super::addons::limits::{
    LimitFlags, MAX_BYTES, bad_file_error, read_small_text, unreadable_file_error,
};
use super::common::MemoryFlag;

/// Makes an HTML report from run files. For one run, the report shows all metrics of the sample.
/// For several runs, it also has a table that compares the samples.
#[derive(Args)]
pub struct ReportArgs {
    /// Run files, which other commands write with --json
    #[arg(value_name = "RUN.json", required = true)]
    files: Vec<PathBuf>,
    /// Write the HTML report to this file
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    limits: LimitFlags,
    /// Show the fields of this sample sheet in the report
    ///
    /// The sample sheet is a tab-separated table with a header line and one line per sample. The
    /// first column is the sample name.
    #[arg(long, value_name = "FILE")]
    sample_sheet: Option<PathBuf>,
    /// Colour samples by this field of the sample sheet [default: the first field with 2 to 7
    /// values]
    #[arg(long, value_name = "FIELD", requires = "sample_sheet")]
    color_by: Option<String>,
    /// Also write a table for MultiQC (verdicts, time, memory, size of temporary files)
    ///
    /// The name must end in _mqc.json, because MultiQC finds files by this suffix.
    #[arg(long, value_name = "FILE_mqc.json")]
    multiqc: Option<PathBuf>,
    #[command(flatten)]
    memory: MemoryFlag,
}

/// Maximum memory of a parsed run file per byte of its text. A cell `0,` has two bytes of text and
/// becomes a value of 32 bytes, in a list whose capacity may be twice its length.
const VALUE_BYTES: u64 = 32;

/// Minimum memory that is charged for each sample while the report is made, in bytes.
const PAGE_BYTES: u64 = 4 << 20;

impl ReportArgs {
    /// Writes the report. The memory of each run file is charged before the file is read. Of several
    /// files, only one is in memory at a time.
    pub fn write_report(&self) -> Result<()> {
        let paths = self.files.iter().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()));
        let paths: Vec<PathBuf> = paths.collect();
        let mut seen = HashSet::new();
        for (path, resolved) in self.files.iter().zip(&paths) {
            if !seen.insert(resolved) {
                return Err(Error::usage(format!("{} is given twice", path.display()))
                    .hint("give each run file once"));
            }
        }
        let (assay, thresholds) = (self.limits.assay()?, self.limits.load_thresholds()?);
        let sheet = |path: &PathBuf| {
            let sheet = Sheet::parse(&read_small_text(path, MAX_BYTES)?);
            sheet.map_err(|what| bad_file_error(path, &what))
        };
        let sheet = self.sample_sheet.as_ref().map(sheet).transpose()?;
        if let (Some(field), Some(sheet)) = (&self.color_by, &sheet)
            && !sheet.field_names().contains(field)
        {
            let what = format!("the sample sheet has no field {field}");
            return Err(
                Error::usage(what).hint(format!("its fields are {}", sheet.field_names().join(", ")))
            );
        }
        let limits_file = self.limits.file();
        let given = self.files.iter().chain(limits_file.iter()).chain(self.sample_sheet.iter());
        let read: Vec<&Path> = given.map(PathBuf::as_path).collect();
        let mut output = FileOutput::open(Some(&self.output), &read)?;
        let table = self.multiqc.as_ref().map(|path| self.open_table(path, &read));
        let mut table = table.transpose()?;
        let memory = CommandMemory::divide(self.memory.bytes())?;
        let ledger = &memory.ledger;
        let options = PageOptions { assay, thresholds, sheet, color_by: self.color_by.clone() };
        let (mut plate, mut rows) = (PlateBuilder::new(&options), MultiqcTable::new(&options));
        let mut page = String::new();
        let mut kept = ledger.charge("page of runs", 0)?;
        let mut runs_seen: HashMap<Vec<u8>, &Path> = HashMap::new();
        for path in &self.files {
            let bytes =
                std::fs::metadata(path).map_err(|error| unreadable_file_error(path, &error))?.len();
            let mut charge = ledger.charge("descriptions of runs", bytes.saturating_mul(VALUE_BYTES))?;
            let mut value = read_run(path, bytes)?;
            if let Some(other) = runs_seen.insert(identify_run(&value), path) {
                let what = format!("{} and {} describe the same run", other.display(), path.display());
                return Err(Error::usage(what).hint("give each run once"));
            }
            check_description(&value).map_err(|what| bad_file_error(path, &what).hint(WRITE_RUN))?;
            let left = drop_hidden_reports(&mut value);
            charge.charge_around(left + PAGE_BYTES.max(page_bytes(&value)), || {
                rows.add_run(&value);
                if self.files.len() > 1 {
                    plate.add_run(&value);
                } else {
                    page = render_page(&[&value], &options);
                }
                Ok(((), left))
            })?;
            kept.grow_to(plate.bytes() + page.capacity() as u64)?;
        }
        if self.files.len() > 1 {
            let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
            for warning in plate.distinguish_names(&paths) {
                write_log_line(&format!("readmill: warning: {warning}"));
            }
            page = plate.render();
        }
        output.write_buffered(page.as_bytes())?;
        if let Some(table) = &mut table {
            table.write_buffered(rows.to_json().as_bytes())?;
        }
        FileOutput::finish_all([output].into_iter().chain(table))
    }

    fn open_table(&self, path: &Path, read: &[&Path]) -> Result<FileOutput> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.ends_with(MULTIQC_SUFFIX) {
            let what = format!("{}: MultiQC does not detect files with this name", path.display());
            return Err(Error::usage(what).hint(format!("use a name that ends in {MULTIQC_SUFFIX}")));
        }
        if path == self.output {
            let what = format!("{}: the report has the same name", path.display());
            return Err(Error::usage(what).hint("give the table another name"));
        }
        FileOutput::open(Some(path), read)
    }
}

/// Hint for files that were not written with `--json`.
const WRITE_RUN: &str = "give a file that was written with --json: readmill qc in.bam -o PREFIX --json run.json; or let the run write the report: --report page.html";

/// Returns text that two runs have in common only if they are the same run: the command, the sample,
/// the moment at which the run ended, and the time that it took.
fn identify_run(run: &Value) -> Vec<u8> {
    format!("{} {} {}", run["command"], run["sample"], run["time"]).into_bytes()
}

/// Reads a run file. If the file is BAM, CRAM or SAM, the error says so.
fn read_run(path: &Path, bytes: u64) -> Result<Value> {
    let mut start = [0; 4];
    let found = File::open(path).and_then(|mut file| file.read(&mut start));
    let found = found.map_err(|error| unreadable_file_error(path, &error))?;
    let kind = match &start[..found] {
        [0x1f, 0x8b, ..] => Some("a BAM file, or another compressed file"),
        b"CRAM" => Some("a CRAM file"),
        [b'@', ..] => Some("a SAM file"),
        _ => None,
    };
    if let Some(kind) = kind {
        return Err(bad_file_error(path, &format!("this is {kind}, not a run file")).hint(WRITE_RUN));
    }
    let text = read_small_text(path, bytes).map_err(|error| error.hint(WRITE_RUN))?;
    serde_json::from_str(&text)
        .map_err(|error| bad_file_error(path, &format!("not valid JSON: {error}")).hint(WRITE_RUN))
}
