//! Compares small inputs with Picard's SortSam.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::parity::commands::Place;
use crate::parity::orders::Asked;
use crate::parity::raw::{Reads, beside};

/// Sorts by queryname: with readmill the files of each input, with SortSam the one file of the same reads.
/// Records are compared byte for byte, except their bins. Returns their number.
pub fn queryname(place: &Place<'_>, asked: Asked, inputs: &[(String, String)]) -> Result<usize> {
    let calls =
        inputs.iter().map(|(_, file)| format!("SortSam I={file} O=theirs.{file} SORT_ORDER=queryname"));
    let codes = place.picard_each(&calls.collect::<Vec<_>>())?;
    let mut records = 0;
    for ((files, file), code) in inputs.iter().zip(codes) {
        ensure!(code == 0, "SortSam failed on {file}");
        let ours = asked.readmill(place, "", &format!("-O bam -l 1 -o - {files}"));
        let ours = beside([ours])?[0].reads()?.without_bins();
        let theirs = Reads::of(&fs::read(place.path(&format!("theirs.{file}")))?)?.without_bins();
        ours.same_records(&theirs).with_context(|| files.clone())?;
        let order = |reads: &Reads| -> Option<String> {
            let line = reads.header.iter().find(|line| line.starts_with("@HD\t"))?;
            line.split('\t').find(|field| field.starts_with("SO:")).map(str::to_owned)
        };
        ensure!(order(&ours) == order(&theirs), "{files}: {:?}", theirs.header);
        records += ours.records.len();
    }
    Ok(records)
}
