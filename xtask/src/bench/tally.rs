//! Counts the records of an output, to check that all contenders did the same work.

use std::path::Path;

use anyhow::Result;

use super::batches;

/// Says how many records a BAM file has, and how many of them are flagged as duplicates.
pub fn run(file: &Path) -> Result<()> {
    let (mut records, mut duplicates) = (0, 0);
    batches::each(file, |batch| {
        records += batch.len();
        duplicates += batch.records().filter(|(_, record)| record.flags().is_duplicate()).count();
    })?;
    println!("{records} {duplicates}");
    Ok(())
}
