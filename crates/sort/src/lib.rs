//! Sorts reads that may not fit into memory.
//!
//! The bytes of each read are copied once, into an arena, and never moved again. An [`Entry`] of 24
//! bytes (the start of the read's sort key and the offset of its bytes) is sorted instead. When the
//! arena is full, its reads are written to disk as a sorted run. At the end of the input, all runs
//! and the reads that are still in memory are merged.
//!
//! ```text
//! batch ─► RunSort::copy_batch ─► Run ─► List::sort ─► Sources ─► Merge ─► Range ─► Cutter ─► Partition
//!             │                                           ▲                                       │
//!             └─► arena ── full: SpilledRun ──────────────┘                              batch ◄──┘
//! ```
//!
//! This crate starts no threads and takes no locks. The caller (`src/pipeline` of the program) runs
//! the steps that may be parallel (`RunSort::copy_batch`, `List::sort`, `Range::order_records`,
//! `Partition::gather`) on its own threads and calls the others (`Merge::next_range`,
//! `Cutter::cut`) one at a time, in order.
//!
//! | step | module |
//! |---|---|
//! | sort keys of records | [`key`] |
//! | entries and their radix sort | [`entry`] |
//! | records copied into the arena, entries collected in lists | [`run`] |
//! | entries with equal keys, sorted by the remaining bytes of their keys | `ties` |
//! | sorted runs on disk | [`frame`] |
//! | the merge, split into ranges that are put in order in parallel | [`merge`] |
//! | partitions of the output, cut from ordered ranges | [`partition`] |
//! | the merge divided among several processes | [`ranges`] |
//! | the loser tree of the merge; `crates/markdup` also merges its sorted items with it | [`tournament`] |
//! | the edits that `samtools sort -M` makes to unplaced reads | [`Minimise`] |
//!
//! # Example
//!
//! Three reads are put into coordinate order. [`Merge`] has an example with all steps above.
//!
//! ```
//! use readmill_format::sam::LineParser;
//! use readmill_record::{Header, RecordRef};
//! use readmill_sort::{Keyer, Order};
//!
//! let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n")?;
//! let mut parser = LineParser::new(&header);
//! let mut reads = Vec::new();
//! for (name, pos) in [("a", 300), ("b", 100), ("c", 200)] {
//!     let (line, mut raw) = (format!("{name}\t0\tchr1\t{pos}\t60\t4M\t*\t0\t0\tACGT\tIIII"), Vec::new());
//!     parser.parse(line.as_bytes(), &mut raw)?;
//!     reads.push(raw);
//! }
//!
//! let keyer = Keyer::new(Order::Coordinate, &header);
//! let mut keyed = Vec::new();
//! for raw in &reads {
//!     let record = RecordRef::new(raw);
//!     keyed.push((keyer.key(record)?, record.qname()));
//! }
//! keyed.sort(); // in this order, the key holds the whole position
//! assert_eq!(keyed.iter().map(|(_, name)| *name).collect::<Vec<_>>(), [b"b", b"c", b"a"]);
//! # Ok::<(), readmill_record::Error>(())
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod entry;
pub mod frame;
pub mod key;
pub mod merge;
pub mod partition;
pub mod ranges;
pub mod run;
mod ties;
pub mod tournament;

pub use entry::Entry;
pub use frame::{FrameWriter, Frames, Framing, SpilledRun, StoredRun};
pub use key::{Key, Keyer, Minimise, Order};
pub use merge::{Merge, OrderedRange, PARTITION, Range, RangeStart, Sources};
pub use partition::{Cutter, Partition};
pub use run::{List, Run, RunSort};
