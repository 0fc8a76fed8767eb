//! Counts what an output holds, to see that all contenders did the same work.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use readmill_format::bgzf::Chunk;
use readmill_format::chain::{Link, Linked, Opened};
use readmill_format::source::{Opener, Source};
use readmill_record::Batch;

/// Says how many records a BAM file has, and how many of them are flagged as duplicates.
pub fn run(file: &Path) -> Result<()> {
    let input = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut source = Source::open(Box::new(input), false, usize::MAX)?;
    let mut opener = Opener::new(source.header());
    let (mut link, mut chunk, mut batch) = (Link::new(1 << 30), Chunk::default(), Batch::default());
    let (mut records, mut duplicates) = (0, 0);
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
        records += linked.len();
        duplicates += linked.records().filter(|(_, r)| r.flags().is_duplicate()).count();
        batch = linked;
        if ended {
            break;
        }
    }
    println!("{records} {duplicates}");
    Ok(())
}
