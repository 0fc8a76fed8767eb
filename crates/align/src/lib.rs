//! Aligns reads to a reference with the code of existing aligners, behind one trait.
//!
//! A [`Kernel`] is an aligner with its index in memory, shared by all threads. Each thread has its
//! own [`Aligner`], which turns a [`ReadBatch`](readmill_record::ReadBatch) into raw BAM records.
//! This takes two steps, because an aligner of pairs must know the typical insert size before it
//! chooses between candidate positions:
//!
//! ```text
//!            any thread              once per cohort                      any thread
//! batches ─► seed_reads ─► Seeded ─► infer_insert_sizes ─► InsertModel ─► emit_records ─► BAM records
//!            candidate positions     insert sizes                         choice, mate rescue
//! ```
//!
//! 1. [`Aligner::seed_reads`] finds the candidates of each read, batch by batch, in any order.
//! 2. [`Kernel::infer_insert_sizes`] estimates the insert sizes from all batches of a *cohort*.
//!    [`Cohorts`] decides where a cohort ends.
//! 3. [`Aligner::emit_records`] chooses between candidates, rescues mates, and writes the
//!    records of a batch.
//!
//! The output depends only on the reads, the cohorts and the options, not on batches, threads or
//! timing. This crate starts no threads; the only workspace crate it uses is `record`.
//!
//! # Kernels and their licences
//!
//! | feature | kernel | licence | needs to build |
//! |---|---|---|---|
//! | `bwa` | bwa mem, by bwa-mem3 0.9.0 (crate bwa-mem3-sys) | MIT; parts of bwa and of Intel's bwa-mem2 also MIT; pdqsort Zlib, sse2neon MIT | C++17 compiler, zlib |
//! | `bwa` | suffix arrays for the index, by libsais (crates libsais, libsais-sys) | MIT or Apache-2.0; the C code Apache-2.0 | C compiler |
//! | `minibwa` | minibwa 0.6-r416 (crate minibwa-sys, from minimap2 and bwa) | MIT | C compiler, zlib, libclang |
//! | `minibwa` | suffix arrays for the index, by libsais, as above; minibwa-sys brings its C code, too | Apache-2.0 | C compiler |
//!
//! Without these features, the crate has only the traits and [`NoAligner`], which writes reads as
//! unmapped records.
//!
//! # Effects on the whole process
//!
//! The C++ code of bwa-mem3 reports what it loads and infers on C's `stderr`, at any verbosity.
//! With glibc on Linux, the first `BwaKernel::load` of a process therefore replaces the C library's
//! variable `stderr` permanently with an unbuffered stream. This stream drops the known progress
//! messages of bwa-mem3 and writes everything else to descriptor 2.
//!
//! - All C code of the process that writes to `stderr` is affected. A line of other code that
//!   looks like such a progress message is dropped, and a stream that the program itself has
//!   assigned to `stderr` is no longer used.
//! - Rust's `eprintln!` and descriptor 2 are not affected.
//! - Load the first kernel before other threads write to C's `stderr`: changing the variable is
//!   not synchronised.
//! - The verbosity of bwa-mem3 and minibwa, also global variables, is set to errors only.
//!
//! # Trust model
//!
//! An index is checked in memory before C code uses it, so damage is reported as an error. A forged
//! index with consistent counts may still give wrong records or make a thread run forever. The
//! index files must not change while they are loaded.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

// minibwa-sys contains its own copy of libsais. The linker takes each symbol from the first archive
// that defines it, and rustc passes archives in the reverse order in which crates are loaded. So
// this crate is loaded before libsais: libsais's archive is then linked first and provides all its
// symbols.
#[cfg(feature = "minibwa")]
extern crate minibwa_sys as _;

#[cfg(feature = "bwa")]
pub mod bwa;
#[cfg(any(feature = "bwa", feature = "minibwa"))]
mod index;
mod kernel;
#[cfg(any(feature = "bwa", feature = "minibwa"))]
mod limits;
#[cfg(feature = "minibwa")]
pub mod minibwa;
mod no_aligner;
#[cfg(any(feature = "bwa", feature = "minibwa"))]
mod text;

#[cfg(any(feature = "bwa", feature = "minibwa"))]
pub use index::{IndexFiles, IndexStage, index_build_bytes};
pub use kernel::{Aligner, Cohorts, IndexContig, InsertModel, Kernel, Seeded, Sink};
#[cfg(any(feature = "bwa", feature = "minibwa"))]
pub use limits::check_processor;
pub use no_aligner::{Casava, NoAligner};
