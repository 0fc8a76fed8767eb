//! Indexes of a sorted BAM file: BAI (SAM specification, section 5.2) and CSI (CSIv1).
//!
//! A worker that encodes a partition of the sorted output knows its virtual offsets only relative to the
//! partition's first byte. It collects them in a [`FragmentBuilder`]; the serial commit, which knows the place of
//! the partition, rebases the [`Fragment`] and adds it to the [`IndexBuilder`]. Because the records are sorted, the
//! bins of one level are visited in order, so both keep one open chunk for each level and need no map; the commit
//! works by chunk, not by record. When a reference sequence is complete, its entry of the index file is encoded, so
//! that a million contigs take no more memory than their index file. The bytes of the index are those of htslib 1.24.

mod bucket_order;
mod builder;
pub mod chunks;
mod fragment;
mod reader;
mod scheme;
#[cfg(test)]
mod tests;

pub use builder::IndexBuilder;
pub use fragment::{Fragment, FragmentBuilder};
pub use reader::{FileRange, Index, IndexedFile};
pub use scheme::{IndexFormat, Interval, Scheme};
