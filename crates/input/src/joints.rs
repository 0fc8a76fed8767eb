//! Detects BAM files that were concatenated with `cat`, which leaves the header of each file among
//! the records.

use readmill_format::bam::header as bam_header;
use readmill_format::bgzf::{BgzfBlock, Chunk, Inflater};
use readmill_record::{Error, Result};

/// Remembers between chunks whether the last block was empty, like the EOF block of a file.
#[derive(Default)]
pub struct ConcatenationCheck {
    after_empty: bool,
}

impl ConcatenationCheck {
    /// Checks the blocks of the next chunk.
    ///
    /// # Errors
    /// A BAM header follows an empty block. Empty blocks alone are allowed.
    pub fn check_blocks(&mut self, chunk: &Chunk) -> Result<()> {
        for block in &chunk.blocks {
            let after_empty = std::mem::replace(&mut self.after_empty, block.inflated == 0);
            if after_empty && block.inflated > 0 && begins_file(chunk, block) {
                let what = "another BAM file begins here: several BAM files were joined with cat";
                return Err(Error::input(what)
                    .offset(chunk.offset + u64::from(block.start))
                    .hint("join the original files with readmill cat or readmill merge"));
            }
        }
        Ok(())
    }
}

/// Returns whether a block starts with a BAM header. Returns false for a damaged block; the thread
/// that inflates it reports the damage.
fn begins_file(chunk: &Chunk, block: &BgzfBlock) -> bool {
    let member = &chunk.compressed[block.start as usize..][..block.size as usize];
    let alone = Chunk {
        compressed: member.to_vec(),
        blocks: vec![BgzfBlock { start: 0, ..*block }],
        offset: 0,
        inflated: block.inflated as usize,
    };
    let mut bytes = Vec::new();
    Inflater::default().append_chunk(&alone, &mut bytes).is_ok() && bytes.starts_with(bam_header::MAGIC)
}
