//! The serial part of merging: it splits the order of all records into ranges.
//!
//! [`Merge::next_range`] visits blocks, not records: a tournament of the first keys of each source's next
//! block selects the next block. After blocks of about [`PARTITION`] bytes, the range ends before the first
//! record of the following block. The positions of this border in the other sources are found in parallel,
//! when the range is ordered ([`super::range`]). Only then the exact bytes of a range are known. So ranges
//! depend on runs and lists; partitions, on which the output depends, are cut from them afterwards
//! ([`super::partition`]).

use std::sync::Arc;

use super::frame::Frame;
use super::key::Key;
use super::partition::PARTITION;
use super::range::Range;
use super::sources::{Border, Sources, wins};
use super::tournament::LoserTree;

/// Splits the order of all records into ranges.
pub struct Merge {
    sources: Arc<Sources>,
    /// A tournament of the next blocks of all sources.
    tree: LoserTree<Key>,
    /// The tail of each block's first key.
    tails: Vec<Vec<u8>>,
    /// The block of each source that contains the border after the last range.
    blocks: Vec<u32>,
    /// The frame of each run that contains it.
    frames: Vec<Arc<Frame>>,
    low: Option<Arc<Border>>,
    ended: bool,
}

impl Merge {
    /// Merges all of `sources`.
    pub fn new(sources: Arc<Sources>) -> Self {
        let n = sources.len();
        let keys = (0..n).map(|source| sources.block_key(source, 1)).collect();
        let tails: Vec<Vec<u8>> = (0..n).map(|source| sources.block_tail(source, 1)).collect();
        let tree = LoserTree::with(keys, |a, b| wins(&tails, a, b));
        let frames = (0..sources.runs.len()).map(|run| Arc::new(Frame::new(run, 0))).collect();
        Merge { tree, tails, blocks: vec![0; n], frames, low: None, ended: sources.is_empty(), sources }
    }

    /// Returns the next range; `None` at the end.
    pub fn next_range(&mut self) -> Option<Range> {
        if self.ended {
            return None;
        }
        let before = self.blocks.clone();
        let mut frames: Vec<Arc<Frame>> = self.frames.clone();
        let high = self.walk(&mut frames).map(Arc::new);
        self.ended = high.is_none();
        let low = std::mem::replace(&mut self.low, high.clone());
        let blocks = before.into_iter().zip(self.blocks.iter().copied()).collect();
        Some(Range { sources: Arc::clone(&self.sources), low, high, blocks, frames })
    }

    /// Passes blocks until they have enough bytes; returns the border before the next block, `None` at the
    /// end. New frames are appended to `frames`.
    fn walk(&mut self, frames: &mut Vec<Arc<Frame>>) -> Option<Border> {
        let mut bytes = 0;
        while let Some((key, source)) = self.tree.winner() {
            let passed = self.blocks[source] as usize;
            bytes += self.sources.block_bytes(source, passed);
            let (block, next) = (passed + 1, passed + 2);
            self.blocks[source] = block as u32;
            if let Some(frame) = self.frames.get_mut(source) {
                *frame = Arc::new(Frame::new(source, block));
                frames.push(Arc::clone(frame));
            }
            let tail = std::mem::replace(&mut self.tails[source], self.sources.block_tail(source, next));
            let (key_next, tails) = (self.sources.block_key(source, next), &self.tails);
            self.tree.replace_with(key_next, |a, b| wins(tails, a, b));
            if bytes >= PARTITION {
                return Some(Border { key, tail, source, block });
            }
        }
        None
    }
}
