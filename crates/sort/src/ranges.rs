//! Divides the merged order into ranges that separate processes write, for jobs in stages
//! (`src/shard`).
//!
//! A range starts where the merge ends one of its own ranges ([`super::merge`]), which is before a
//! frame of some run. So a range can start between records with equal keys. Partitions are cut by
//! the total size of all records before them. This size is exact: it is the sum over whole frames
//! and, in each run, over the key column of the one frame that contains the border.

use std::sync::Arc;

use readmill_record::Result;

use super::frame::{Frame, KeyColumn};
use super::merge::{Merge, MergeBorder, RangeStart, Sources, strip_stamp_bytes};

/// Divides the records of `sources`, which must all be runs, into at most `ranges` ranges of about
/// equal size. Returns the starts of all ranges except the first. Each process begins at its start
/// with [`Merge::start_after`] and [`crate::Cutter::resume_at`].
///
/// # Errors
///
/// A frame cannot be read.
pub fn divide_order(sources: &Arc<Sources>, ranges: usize) -> Result<Vec<RangeStart>> {
    // The first pass only counts ranges: keeping all of them would take memory, and next_range
    // reads nothing from disk.
    let mut merge = Merge::new(Arc::clone(sources));
    let units = std::iter::from_fn(|| merge.next_range()).count();
    let (mut merge, mut starts, mut passed) = (Merge::new(Arc::clone(sources)), Vec::new(), 0);
    while let Some(range) = merge.next_range() {
        passed += 1;
        let due = (starts.len() + 1) * units / ranges;
        if passed < due.max(1) || starts.len() + 1 >= ranges {
            continue;
        }
        let Some(border) = range.high.as_deref().cloned() else { break };
        let blocks: Vec<u32> = range.blocks.iter().map(|&(_, last)| last).collect();
        let bytes = sum_bytes_before(sources, &border, &blocks)?;
        starts.push(RangeStart { border, blocks, bytes });
    }
    Ok(starts)
}

/// Returns the total size of all records before `border` in bytes. `blocks` has, for each run, the
/// frame that contains the border.
fn sum_bytes_before(sources: &Sources, border: &MergeBorder, blocks: &[u32]) -> Result<u64> {
    let mut sum = 0;
    for (number, run) in sources.runs.iter().enumerate() {
        let block = blocks[number] as usize;
        sum += (0..block).map(|frame| run.frame_record_bytes(frame)).sum::<u64>();
        if number == border.source || block >= run.frames().len() {
            continue;
        }
        let frame = Frame::new(number, block);
        let mut rows = KeyColumn::new(frame.load_content(&sources.spill, &sources.runs)?);
        while let Some((key, tail, len)) = rows.next_row()? {
            if !border.follows_record(number, key, || tail.to_vec()) {
                break;
            }
            sum += strip_stamp_bytes(len);
        }
    }
    Ok(sum)
}
