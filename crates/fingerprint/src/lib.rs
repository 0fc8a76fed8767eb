//! Fingerprints of samples: how many reads have each allele at common sites, and how many lie on X, Y and the autosomes.
//!
//! The idea of comparing samples by allele counts at common sites is that of somalier (Pedersen and others 2020); which reads
//! and bases count is as in Picard CrosscheckFingerprints 3.4.0: MAPQ 10, base quality 20.
//!
//! | file | contents |
//! |---|---|
//! | `sites` | sites of a VCF file or of a haplotype map of Picard |
//! | `tally` | the counts of reads |
//! | `table` | the file of a fingerprint |
//! | `compare` | how far two fingerprints agree |

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod compare;
mod sites;
mod table;
mod tally;

pub use compare::{Agreement, Verdict, compare};
pub use sites::{Site, Sites};
pub use table::{Fingerprint, ReadsOn, SiteCounts};
pub use tally::{FingerprintTally, MIN_BASE_QUALITY, MIN_MAPPING_QUALITY};
