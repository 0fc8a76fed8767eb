//! Calls the variants of a sorted sample, with the records of GATK 4.6.2.0 HaplotypeCaller.
//!
//! | module | purpose | entry point |
//! |---|---|---|
//! | `options` | what is called, and how | [`CallerOptions`] |
//! | `reference` | a contig of the reference | [`Contig`] |
//! | `region` | the calls of one region | [`RegionCaller`] |
//! | `evidence` | reads with their likelihoods, aligned to the reference through their best haplotype | |
//! | `genotype` | the calls of the loci of a region | |
//! | `confidence` | the sites between the calls | |
//! | `calls` | the results of one region | [`RegionCalls`] |
//! | `emit` | the records of a file, from the results of regions in order | [`RecordEmitter`] |
//! | `join` | the records of a file, from results that any thread computed | [`CallJoin`] |
//! | `run` | all of this for the records of a file, on one thread | [`CallRun`] |
//!
//! ```text
//! records ─► RegionWalk ─► AssemblyRegion ─► RegionCaller ─► RegionCalls ─► RecordEmitter ─► VcfRecord
//!            in order                        any order *                    in order
//! ```
//!
//! \* but for the deletions that were called before a region, which decide whether `*` is an allele.
//!
//! # What is compared with GATK
//!
//! Whole files of HaplotypeCaller with `-ERC GVCF`, `BP_RESOLUTION` and `NONE` are equal for random reads on
//! random contigs, and for parts of simulated samples, on a processor with AVX-512. The test `caller`
//! compares a small input, and further ones if `READMILL_CALLER_DATA` names a directory.
//!
//! `./dev parity --only calling` compares
//! files of `readmill call`, also in intervals.
//!
//! Not compared are other options than mode and intervals, reads with the tags `BI` and `BD`, and the order
//! of random draws where adapter hides all reads of a locus. Other ploidies than 2 have no option, and
//! several samples are refused.
//!
//! The crate starts no threads, and reads and writes no files.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(missing_docs, clippy::print_stdout, clippy::print_stderr)]

mod calls;
mod confidence;
mod emit;
mod error;
mod evidence;
mod genotype;
mod join;
mod options;
mod realign;
mod reference;
mod region;
mod run;

pub use calls::RegionCalls;
pub use join::{CallJoin, DrawLimit};
pub use options::CallerOptions;
pub use reference::Contig;
pub use region::{CalledRegions, CallerTables, RegionCaller};
pub use run::{CallRun, RunTables};
