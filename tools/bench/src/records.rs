//! All records of a BAM file, one batch after the other, on one thread; and how many they are.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use readmill_format::bgzf::Chunk;
use readmill_format::chain::{ChunkLinker, Linked, Opened};
use readmill_input::{OpenOptions, Opener, Source};
use readmill_record::{Batch, Limit};

/// A BAM file, its header read.
pub fn open(file: &Path) -> Result<Source> {
    let input = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let rules = OpenOptions { most: Limit::NONE, ..OpenOptions::default() };
    Source::open(Box::new(input), &rules).with_context(|| file.display().to_string())
}

/// Hands each batch of the file to `take`.
pub fn each_batch(file: &Path, mut take: impl FnMut(&Batch)) -> Result<()> {
    let mut source = open(file)?;
    let mut opener = Opener::new(source.header(), None);
    let (mut link, mut chunk, mut batch) =
        (ChunkLinker::new(Limit::of(1 << 30)), Chunk::default(), Batch::default());
    loop {
        let claim = source.claim(std::mem::take(&mut chunk))?;
        let ended = claim.is_none();
        let linked = match claim {
            Some(claim) => {
                let mut opened = Opened::reuse(std::mem::take(&mut batch));
                chunk = opener.open(claim, &mut opened)?;
                link.link(opened)
            }
            None => link.finish(std::mem::take(&mut batch)),
        };
        let Linked { batch: linked, fault, .. } = linked;
        fault.map_or(Ok(()), Err)?;
        take(&linked);
        batch = linked;
        if ended {
            return Ok(());
        }
    }
}

/// Says how many records a BAM file has, and how many of them are flagged as duplicates.
pub fn tally(file: &Path) -> Result<()> {
    let (mut records, mut duplicates) = (0, 0);
    each_batch(file, |batch| {
        records += batch.len();
        duplicates += batch.records().filter(|(_, record)| record.flags().is_duplicate()).count();
    })?;
    println!("{records} {duplicates}");
    Ok(())
}
