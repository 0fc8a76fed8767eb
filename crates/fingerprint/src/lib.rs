//! Fingerprints of samples: how many reads have each allele at common sites, and how many are
//! aligned to X, Y and the autosomes. Two fingerprints show whether their files are from the same
//! person; one fingerprint shows the sex of its sample.
//!
//! Samples are compared by allele counts at common sites, an idea of somalier (Pedersen and others
//! 2020). Which reads and bases count is as in Picard CrosscheckFingerprints 3.4.0: MAPQ 10, base
//! quality 20.
//!
//! | file | contents |
//! |---|---|
//! | `sites` | sites of a VCF file or of a haplotype map of Picard |
//! | `tally` | counts the alleles in reads |
//! | `table` | the file of a fingerprint |
//! | `compare` | how far two fingerprints agree |
//!
//! ```
//! use readmill_fingerprint::{Fingerprint, compare};
//!
//! # fn main() -> readmill_record::Result<()> {
//! // 30 heterozygous sites, as many reads on X as on autosomes, hardly any on Y.
//! let head = "##readmill fingerprint 1\n##autosomes=1000,1000\n##X=98,100\n##Y=1,100\n";
//! let sites = Vec::from_iter((1..=30).map(|pos| format!("chr1\t{pos}\tA\tC\t15\t15\t0\n")));
//! let sample = Fingerprint::parse(&format!("{head}{}", sites.concat()))?;
//!
//! assert_eq!(sample.sex(), "female");
//! assert_eq!(compare(&sample, &sample).relatedness(), Some(1.0)); // one person
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod compare;
mod sites;
mod table;
mod tally;

pub use compare::{Agreement, IdentityVerdict, compare};
pub use sites::{Site, Sites};
pub use table::{Fingerprint, ReadsOn, SiteCounts};
pub use tally::{FingerprintTally, MIN_BASE_QUALITY, MIN_MAPPING_QUALITY};
