//! `./dev parity --corpus DIR`: reads every SAM, BAM and CRAM file below a directory, such as the
//! test files of htslib, samtools and hts-specs, with readmill and samtools. Writes each as CRAM
//! with readmill, samtools and htsjdk, and reads it with the others. With `--metrics`, compares
//! quality metrics and coverage of each file with those of other tools.

mod file;
mod htsjdk;
pub mod metrics;
mod metrics_rules;
mod reading;
pub mod report;
mod rules;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use file::{CorpusFile, References};
use reading::{OURS, READ, READING, THEIRS};
use report::{CorpusRow, CorpusVerdict, ReportLayout, ReportPaths};

use crate::commands::SampleDir;
use crate::ledger::Ledger;

/// Reads and writes all files below `root`, as CRAM in the version and profile `cram`, and writes
/// the report.
pub fn compare_corpus(
    dir: &SampleDir<'_>,
    root: &Path,
    cram: &str,
    report: ReportPaths<'_>,
    ledger: &mut Ledger,
) -> Result<()> {
    let paths = files_below(root)?;
    let references = References::collect_below(root, dir)?;
    let (mut files, mut rows) = (Vec::new(), Vec::new());
    for (number, path) in paths.iter().enumerate() {
        let file =
            CorpusFile { dir, path, number, cram, reference: references.find_fitting(dir, path)? };
        let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
        rows.push(compare_file(&file, shown, format_of_name(path).unwrap_or_default())?);
        files.push(file);
    }
    htsjdk::compare_with_htsjdk(dir, &files, &mut rows)?;
    print_and_write_report(&READING, &rows, &dir.versions_line()?, report, ledger)
}

/// Prints the result of each comparison, and writes the report.
fn print_and_write_report(
    of: &ReportLayout,
    rows: &[CorpusRow],
    versions: &str,
    report: ReportPaths<'_>,
    ledger: &mut Ledger,
) -> Result<()> {
    for (at, comparison) in of.comparisons.iter().enumerate() {
        ledger.check(comparison, || print_differences(rows, at));
    }
    of.write(rows, versions, report)
}

/// Runs all comparisons of a file that do not need htsjdk.
fn compare_file(file: &CorpusFile<'_>, shown: String, kind: &'static str) -> Result<CorpusRow> {
    let (ours, theirs) = (file.read_with_readmill(file.path, "")?, file.read_with_samtools(file.path)?);
    let mut row =
        CorpusRow { shown, kind, verdicts: vec![CorpusVerdict::Blank; READING.comparisons.len()] };
    row.verdicts[READ] = rules::judge_reading(file, kind, &ours, &theirs)?;
    if let (Ok(ours), true) = (ours, theirs.is_ok()) {
        row.verdicts[OURS] = file.write(&ours)?;
        row.verdicts[THEIRS] = file.check_samtools_cram()?;
    }
    Ok(row)
}

/// Prints the files that differ. Returns an error if there is a defect.
fn print_differences(rows: &[CorpusRow], comparison: usize) -> Result<String> {
    for row in rows {
        let verdict = &row.verdicts[comparison];
        if let Some(why) = verdict.reason() {
            println!("      {verdict}: {}: {why}", row.shown);
        }
    }
    let counted = report::describe_counts(rows, comparison);
    ensure!(!rows.iter().any(|row| row.verdicts[comparison].is_defect()), "{counted}");
    Ok(counted)
}

/// Returns all files with reads below a directory, in path order.
fn files_below(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    collect_files(directory, &mut files)?;
    files.sort();
    Ok(files)
}

fn collect_files(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if path.is_dir() && !hidden {
            collect_files(&path, files)?;
        } else if format_of_name(&path).is_some() && path.metadata()?.len() > 0 {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns the format indicated by a file name.
fn format_of_name(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()? {
        "sam" => Some("SAM"),
        "bam" => Some("BAM"),
        "cram" => Some("CRAM"),
        _ => None,
    }
}
