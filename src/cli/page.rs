//! `readmill report`: makes an HTML report from the run files of one or several runs.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use readmill_files::{CommandMemory, FileOutput};
use readmill_process::console::write_log_line;
use readmill_record::{Error, Result};
use readmill_report::{
    MULTIQC_SUFFIX, PageOptions, Sheet, check_description, drop_hidden_reports, multiqc_table,
    name_runs, page_bytes, render_page,
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
    /// Writes the report. The memory of each run file is charged before the file is read.
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
        let (mut values, mut charges): (Vec<Value>, Vec<_>) = (Vec::new(), Vec::new());
        for path in &self.files {
            let bytes =
                std::fs::metadata(path).map_err(|error| unreadable_file_error(path, &error))?.len();
            let mut charge = ledger.charge("descriptions of runs", bytes.saturating_mul(VALUE_BYTES))?;
            let mut value = read_run(path, bytes)?;
            check_description(&value).map_err(|what| bad_file_error(path, &what).hint(WRITE_RUN))?;
            let left = drop_hidden_reports(&mut value);
            charge.charge_around(left + PAGE_BYTES.max(page_bytes(&value)), || {
                Ok(((), left + PAGE_BYTES.max(page_bytes(&value))))
            })?;
            if let Some(other) = values.iter().position(|other| *other == value) {
                let other =
                    self.files.get(other).map_or_else(String::new, |it| it.display().to_string());
                let what = format!("{other} and {} describe the same run", path.display());
                return Err(Error::usage(what).hint("give each run once"));
            }
            charges.push(charge);
            values.push(value);
        }
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        for warning in name_runs(&mut values, &paths) {
            write_log_line(&format!("readmill: warning: {warning}"));
        }
        let options = PageOptions { assay, thresholds, sheet, color_by: self.color_by.clone() };
        let runs: Vec<&Value> = values.iter().collect();
        output.write_buffered(render_page(&runs, &options).as_bytes())?;
        if let Some(table) = &mut table {
            table.write_buffered(multiqc_table(&runs, &options).as_bytes())?;
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
