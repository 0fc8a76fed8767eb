//! Alignment of reads to a reference.
//!
//! A [`Kernel`] is an aligner with its index loaded; threads share it. Each thread has an [`Aligner`] of its own, which
//! turns [`ReadBatch`](readmill_record::ReadBatch) into raw BAM records in two parts, because aligners of pairs want to know how
//! long templates usually are before they choose between places:
//!
//! 1. [`Aligner::seed`] finds the candidates of each read, batch by batch, in any order, on any thread.
//! 2. [`Kernel::infer`] estimates the insert sizes from all batches of a *cohort*, once.
//! 3. [`Aligner::emit`] chooses, rescues mates, and writes the records of a batch, again on any thread.
//!
//! The output depends only on the reads, the cohorts and the options: not on batches, threads or timing. [`Cohorts`]
//! decides where a cohort ends. This crate starts no threads and uses no other crate of the workspace than `record`.
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
//! Without features this crate has the traits and [`NoAligner`] alone, which writes records of reads that stay unaligned.
//!
//! # What is changed for the whole process
//!
//! The C++ code of bwa-mem3 reports on C's `stderr` what it loads and infers, at any verbosity. With glibc on Linux, the
//! first `BwaKernel::load` of a process points the C library's variable `stderr` at another stream, for good: it
//! drops the known chatter of bwa-mem3 and writes the rest to descriptor 2. So all C code of the process that writes to
//! `stderr` goes through it, unbuffered; a line of other code that looks like that chatter is dropped, and a stream that
//! the program has put there itself is no longer written to. Rust's `eprintln` and descriptor 2 are not touched. Load
//! the first kernel before other threads write to C's `stderr`: changing the variable is not synchronised with them.
//! The verbosity of bwa-mem3 and of minibwa, which are global numbers too, is set to errors alone.
//!
//! # What is trusted
//!
//! An index is checked in memory before C code uses it: damage is an error.
//! An index that was forged so that all counts add up may still give wrong records, or keep a thread busy without end.
//! Nothing may change the files while they are loaded.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

// It brings a libsais of its own. The linker takes each symbol from the archive that it sees first, and rustc names
// archives in the reverse order in which crates are loaded: so this one is loaded before libsais, whose archive then
// comes first and leaves no symbol to the other.
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
pub use index::{IndexFiles, Stage, index_memory};
pub use kernel::{Aligner, Cohorts, Contig, Kernel, Model, Seeded, Sink};
#[cfg(any(feature = "bwa", feature = "minibwa"))]
pub use limits::check_processor;
pub use no_aligner::{Casava, NoAligner};
