//! Duplicate marking as in Picard MarkDuplicates 3.4, with extensions, or as in samtools markdup
//! 1.24.
//!
//! Duplicates are templates of one library whose reads have equal unclipped 5′ positions and strands.
//! The rules are numbered in `docs/parity.md`:
//!
//! - Pairs with equal library, ends and orientation form one set. The pair with the best score is
//!   kept.
//! - A read without a mapped mate (a fragment) is a duplicate if a pair has the same end. Otherwise
//!   the fragment with the best score at that end is kept.
//!
//! Records are not kept in memory. While the input is read, each batch is reduced to small items
//! that sort as numbers. When the input ends, one scan over the sorted items decides everything:
//!
//! ```text
//!  batch ─► DuplicateEnds ─► EndsPart ─► EndStore ─► DuplicateResolver ─► Verdict ─► ApplyMarks
//!           any thread                   input order   join, sort, scan     1 bit      a Step that flags
//!                                        may spill                          a record   and tags records
//! ```
//!
//! | step | module |
//! |---|---|
//! | options | [`rules`] |
//! | is the input grouped by name? | [`grouping`] |
//! | read groups and their libraries | [`libraries`] |
//! | flow cell location from the read name; optical distance of an instrument | [`location`], [`instrument`] |
//! | the score that selects the read to keep | [`score`] |
//! | barcodes and UMIs, which separate templates with equal ends | [`barcodes`], [`umi`] |
//! | keys of ends and pairs, packed so that they sort as numbers | [`item`] |
//! | the items of one batch | [`ends`] |
//! | items of the whole input, in memory and on disk | [`end_store`], [`sorter`] |
//! | items and verdicts in the files of a job in stages | [`stored`], [`verdict`] |
//! | joining mates that are not adjacent | [`join`] |
//! | the scan that marks duplicates; optical duplicates | [`marks`], [`optical`] |
//! | the scan if UMIs separate molecules | [`molecules`] |
//! | from all items to the verdict | [`resolver`], [`verdict`] |
//! | the same by samtools' rules | [`samtools`] |
//! | flags and tags on records | [`apply`] |
//! | metrics; pairs by tile | [`metrics`], [`tiles`] |
//! | bits, rows and sparse values by record ordinal | [`tables`] |
//!
//! # Example
//!
//! Two reads start at the same position. The read with the lower base qualities is a duplicate:
//!
//! ```
//! use std::sync::Arc;
//!
//! use readmill_format::{sam::LineParser, spill::Spill};
//! use readmill_markdup::{
//!     ApplyMarks, ChunkSorter, DuplicateEnds, DuplicateResolver, EndStore, EndsPart, Item, Libraries,
//!     MarkOptions, MatePairing, Mode, Rules,
//! };
//! use readmill_record::{Batch, Header, Result, Stamp, Step};
//!
//! /// Sorts on the calling thread.
//! struct OneThread;
//! impl ChunkSorter for OneThread {
//!     fn sort<T: Item>(&self, chunks: &mut Vec<Vec<T>>) -> Result<()> {
//!         chunks.iter_mut().for_each(|chunk| chunk.sort_unstable());
//!         Ok(())
//!     }
//! }
//!
//! # fn main() -> Result<()> {
//! let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n")?;
//! let (mut parser, mut batch) = (LineParser::new(&header), Batch::default());
//! for (ordinal, read) in ["low\t0\tchr1\t9\t60\t4M\t*\t0\t0\tACGT\t5555",
//!     "high\t0\tchr1\t9\t60\t4M\t*\t0\t0\tACGT\tIIII"].into_iter().enumerate()
//! {
//!     let mut raw = Vec::new();
//!     parser.parse(read.as_bytes(), &mut raw)?;
//!     batch.push(&raw, Stamp::new(ordinal as u64, 0))?;
//! }
//!
//! // First pass: collect the ends of all batches, then find the duplicates.
//! let ends = DuplicateEnds::new(&header, MatePairing::InBatch, Rules::default())?;
//! let (mut store, mut part) = (EndStore::new(&ends), EndsPart::default());
//! ends.collect_ends(&mut ends.new_scratch(), &batch, &mut part)?; // any thread
//! store.push(&part); // in input order
//! let resolver = DuplicateResolver {
//!     threads: &OneThread,
//!     spill: Arc::new(Spill::new(&[std::env::temp_dir()])),
//!     duplicate_ends: &ends,
//!     room: 64 << 20,
//!     in_use: &|_| {},
//! };
//! let resolved = resolver.resolve(Mode::Template, true, store, batch.len() as u64)?;
//!
//! // Second pass: flag the duplicates.
//! let (verdict, libraries) = (Arc::new(resolved.verdict), Arc::new(Libraries::new(&header)?));
//! ApplyMarks::new(verdict, MarkOptions::default(), libraries, &header).apply(&mut batch)?;
//! let flagged: Vec<_> = batch.records().map(|(_, read)| read.flags().is_duplicate()).collect();
//! assert_eq!(flagged, [true, false]);
//! # Ok(())
//! # }
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod apply;
pub mod barcodes;
pub mod end_store;
pub mod ends;
pub mod grouping;
pub mod instrument;
pub mod item;
pub mod join;
pub mod libraries;
pub mod location;
pub mod marks;
pub mod metrics;
pub mod molecule_counts;
pub mod molecules;
pub mod optical;
pub mod resolver;
pub mod rules;
pub mod samtools;
pub mod score;
pub mod sorter;
pub mod stored;
pub mod tables;
pub mod tiles;
pub mod umi;
pub mod verdict;

use serde::{Deserialize, Serialize};

pub use apply::{ApplyMarks, DuplicateTypes, EarlierMarks, MarkOptions, SamtoolsTags};
pub use end_store::EndStore;
pub use ends::{DuplicateEnds, EndsPart, EndsScratch, MatePairing};
pub use item::Item;
pub use libraries::Libraries;
pub use metrics::DuplicationMetrics;
pub use molecule_counts::{FamilyCounts, MoleculeCounts};
pub use resolver::{DuplicateResolver, Resolved, verdict_bytes};
pub use rules::{Coding, Optical, Rules};
pub use samtools::{DuplicateDetails, OpticalReads, PairEnds, ReadCoords, SamtoolsRules};
pub use score::Strategy;
pub use sorter::ChunkSorter;
pub use tiles::TileCounts;
pub use verdict::{DuplicateCounts, Verdict};

/// Which records of a duplicate template are flagged, and how ties between equal templates are
/// broken.
///
/// Picard chooses the mode by the sort order of its input: queryname-grouped files are marked by
/// template, coordinate-sorted files record by record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Every record of the template, including secondary, supplementary and unmapped ones. Ties are
    /// broken by the position of the template in the input.
    Template,
    /// Only the mapped primary records. Ties are broken by the position in the coordinate-sorted
    /// file.
    Coordinate,
}
