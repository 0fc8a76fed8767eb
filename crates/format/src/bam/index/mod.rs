//! Indexes of a sorted BAM file: BAI (SAM specification, section 5.2) and CSI (CSIv1).
//!
//! ```text
//! any thread                               serial, in the order of the file
//! records --FragmentBuilder--> Fragment --IndexBuilder::add_fragment--> index file
//!                              (offsets relative                       (offset of the partition
//!                              to the partition)                       is added)
//! ```
//!
//! A worker that encodes a partition of the sorted output knows virtual offsets only relative to the
//! first byte of the partition. It collects them in a [`FragmentBuilder`]. The serial commit, which
//! knows the offset of the partition in the file, adds the [`Fragment`] to the [`IndexBuilder`].
//!
//! Because the records are sorted, the bins of each level are visited in order. So both builders need
//! only one open chunk for each level instead of a map, and the commit works by chunk, not by record.
//! The entry of a reference sequence is encoded as soon as the sequence is complete, so a million
//! contigs take no more memory than their index file. The index equals the one that htslib 1.24 writes,
//! byte for byte.
//!
//! [`BamIndex`] reads an index and finds the parts of a file that hold a region. [`chunks`] indexes an
//! existing BAM file.

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
