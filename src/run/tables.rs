//! Commands that use recalibration tables but read no sequencing reads: `bqsr gather` and the data
//! for plots.

use std::path::{Path, PathBuf};

use readmill_bqsr as bqsr;
use readmill_bqsr::{RecalReport, plot_data};
use readmill_process::atomic_file::AtomicFile;
use readmill_process::same_file::ensure_output_is_not_input;
use readmill_record::{Ledger, Result};

use crate::run::recal_setup::read_report;

/// Adds tables that were counted from parts of the reads with the same arguments, as GATK
/// GatherBQSRReports does, and writes the sum to `output`.
pub fn gather_tables(tables: &[PathBuf], output: &Path) -> Result<()> {
    tables.iter().try_for_each(|table| ensure_output_is_not_input(table, output))?;
    let reports = tables.iter().map(|path| read_uncharged(path));
    let sum = bqsr::gather_reports(reports).map_err(|e| match tables {
        [one] => e.file(one),
        _ => e,
    })?;
    write_whole_file(output, &sum.to_text())
}

/// Writes the CSV file from which GATK AnalyzeCovariates draws plots. Each table is given with its
/// name in the plots.
pub fn write_plots_csv(tables: &[(&'static str, &Path)], output: &Path) -> Result<()> {
    let read = |&(name, path): &(&'static str, &Path)| {
        ensure_output_is_not_input(path, output)?;
        Ok((name, read_uncharged(path)?))
    };
    let reports: Vec<(&str, RecalReport)> = tables.iter().map(read).collect::<Result<_>>()?;
    let named: Vec<(&str, &RecalReport)> =
        reports.iter().map(|(name, report)| (*name, report)).collect();
    write_whole_file(output, &plot_data::reports_to_csv(&named)?)
}

/// Reads a table without charging its memory: tables are the only large data of these commands.
fn read_uncharged(path: &Path) -> Result<RecalReport> {
    Ok(read_report(path, &Ledger::unlimited())?.0)
}

fn write_whole_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut target = AtomicFile::open(path)?;
    target.write(bytes)?;
    target.sync()?;
    target.rename()
}
