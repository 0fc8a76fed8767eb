//! Compares small inputs with Picard's SortSam.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::parity::commands::SampleDir;
use crate::parity::orders::OrderComparison;
use crate::parity::raw::{ReadsFile, in_parallel};

/// Sorts by queryname: with readmill the files of each input, with SortSam the one file of the same reads.
/// Records are compared byte for byte, except their bins. Returns their number.
pub fn queryname(
    dir: &SampleDir<'_>,
    asked: OrderComparison,
    inputs: &[(String, String)],
) -> Result<usize> {
    let calls =
        inputs.iter().map(|(_, file)| format!("SortSam I={file} O=theirs.{file} SORT_ORDER=queryname"));
    let codes = dir.picard_each(&calls.collect::<Vec<_>>())?;
    let mut records = 0;
    for ((files, file), code) in inputs.iter().zip(codes) {
        ensure!(code == 0, "SortSam failed on {file}");
        let ours = asked.readmill(dir, "", &format!("-O bam -l 1 -o - {files}"));
        let ours = in_parallel([ours])?[0].reads()?.without_bins();
        let theirs = ReadsFile::of(&fs::read(dir.path(&format!("theirs.{file}")))?)?.without_bins();
        ours.same_records(&theirs).with_context(|| files.clone())?;
        let order = |reads: &ReadsFile| -> Option<String> {
            let line = reads.header.iter().find(|line| line.starts_with("@HD\t"))?;
            line.split('\t').find(|field| field.starts_with("SO:")).map(str::to_owned)
        };
        ensure!(order(&ours) == order(&theirs), "{files}: {:?}", theirs.header);
        records += ours.records.len();
    }
    Ok(records)
}
