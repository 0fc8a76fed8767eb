//! Haplotypes that are assembled from the reads of a region, as GATK HaplotypeCaller assembles them.
//!
//! | part | purpose | entry point |
//! |---|---|---|
//! | input | reads without soft clips, and the reference around a region | [`AssemblyRead`], [`RegionReference`] |
//! | assembly | haplotypes, from graphs of k-mers of one or several sizes | [`Assembler`], [`Haplotype`] |
//! | graphs | the best paths of each graph | [`Assembler::assemble_graphs`], [`KmerGraph`] |
//! | events | differences of a haplotype from the reference | [`EventMap`], [`collect_events`] |
//! | trimming | the part of a region that is genotyped | [`TrimmedSpans`], [`trim_haplotypes`] |
//!
//! The crate starts no threads, and reads and writes no files.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(missing_docs, clippy::print_stdout, clippy::print_stderr)]

mod assembler;
mod best_paths;
mod digraph;
mod error;
mod events;
mod graph_assembly;
mod haplotype;
mod kmers;
mod reads;
mod reference_path;
mod region_reference;
mod sequence_graph;
mod threading;
mod trimming;

pub use assembler::Assembler;
pub use best_paths::BestPath;
pub use error::AssemblyError;
pub use events::{EventMap, collect_events};
pub use graph_assembly::{GraphOutcome, KmerGraph};
pub use haplotype::Haplotype;
pub use reads::AssemblyRead;
pub use region_reference::RegionReference;
pub use trimming::{TrimmedSpans, trim_haplotypes};
