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
pub fn gather(tables: &[PathBuf], output: &Path) -> Result<()> {
    tables.iter().try_for_each(|table| ensure_output_is_not_input(table, output))?;
    let reports = tables.iter().map(|path| read_freely(path));
    let sum = bqsr::gather(reports).map_err(|e| match tables {
        [one] => e.file(one),
        _ => e,
    })?;
    write(output, &sum.to_text())
}

/// Writes the CSV file from which GATK AnalyzeCovariates draws plots. Each table is given with its
/// name in the plots.
pub fn plot_data(tables: &[(&'static str, &Path)], output: &Path) -> Result<()> {
    let read = |&(name, path): &(&'static str, &Path)| {
        ensure_output_is_not_input(path, output)?;
        Ok((name, read_freely(path)?))
    };
    let reports: Vec<(&str, RecalReport)> = tables.iter().map(read).collect::<Result<_>>()?;
    let named: Vec<(&str, &RecalReport)> =
        reports.iter().map(|(name, report)| (*name, report)).collect();
    write(output, &plot_data::reports_to_csv(&named)?)
}

/// Reads a table without charging its memory: tables are the only large data of these commands.
fn read_freely(path: &Path) -> Result<RecalReport> {
    Ok(read_report(path, &Ledger::unlimited())?.0)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut target = AtomicFile::open(path)?;
    target.write(bytes)?;
    target.sync()?;
    target.rename()
}
