//! Indexes of a sorted BAM file: BAI (SAM specification, section 5.2) and CSI (CSIv1).
//!
//! A worker that encodes a partition of the sorted output knows its virtual offsets only relative to
//! the partition's first byte. It collects them in a [`FragmentBuilder`]; the serial commit, which
//! knows where the partition goes, rebases the [`Fragment`] and absorbs it into the
//! [`IndexBuilder`]. Because the records are sorted, the bins of one level are touched in order,
//! so both keep one open chunk a level and need no map; absorbing costs work by chunk, not by
//! record. Once all records of a reference sequence have come, what the file says of it is written down, so that a
//! million contigs take no more than their index file. The content of the index is that of htslib 1.16, bin by bin and chunk
//! by chunk.

mod builder;
mod chunk;
mod fragment;
mod reference;
mod scheme;
#[cfg(test)]
mod tests;
mod write;

pub use builder::IndexBuilder;
pub use fragment::{Fragment, FragmentBuilder};
pub use scheme::{IndexFormat, Scheme};
