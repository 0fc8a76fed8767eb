//! Indexes of a sorted BAM file: BAI (SAM specification, section 5.2) and CSI (CSIv1).
//!
//! ```text
//! any thread                               serial, in the order of the file
//! records --FragmentBuilder--> Fragment --IndexBuilder::add_fragment--> index file
//!                              (offsets relative                       (offset of the partition
//!                              to the partition)                       is added)
//! ```
//!
//! A worker that encodes a partition of the sorted output knows virtual offsets only relative to
//! the first byte of the partition. It collects them in a [`FragmentBuilder`]. The serial commit,
//! which knows the offset of the partition, adds the [`Fragment`] to the [`IndexBuilder`].
//!
//! Because the records are sorted, the bins of one level are visited in order. So both builders
//! keep one open chunk for each level and need no map, and the commit works by chunk, not by
//! record. The entry of a reference sequence is encoded as soon as the sequence is complete, so a
//! million contigs take no more memory than their index file. The index has the same bytes as the
//! one that htslib 1.24 writes.
//!
//! The other direction is [`BamIndex`], which finds the parts of a file that hold a region. [`chunks`]
//! makes the index of a BAM file that exists already.

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
pub use reader::{BamIndex, FileRange, IndexedFile};
pub use scheme::{IndexFormat, IndexScheme, RecordInterval};
