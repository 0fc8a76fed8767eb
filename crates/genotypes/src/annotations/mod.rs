//! Annotations of called variants, as GATK 4.6.2.0 HaplotypeCaller computes them.
//!
//! | part | purpose | entry point |
//! |---|---|---|
//! | annotate | all annotations of a call | [`annotate_call`] |
//! | evidence | reads that support an allele: `AD`, `DP`, `SB`, `MQ` | [`SampleEvidence`] |
//! | elements | values of a read that rank sums compare | [`AnnotatedRead`] |
//! | rank_sum | `BaseQRankSum`, `MQRankSum`, `ReadPosRankSum` | [`rank_sum_test`] |
//! | strand | `FS`, `SOR` | [`fisher_strand`], [`strand_odds_ratio`] |
//! | heterozygosity | `ExcessHet`, `InbreedingCoeff` | [`excess_heterozygosity`] |
//! | quality_by_depth | `QD` | [`quality_by_depth()`] |

mod annotate;
mod elements;
mod erf;
mod evidence;
mod fast_log;
mod heterozygosity;
mod hypergeometric;
mod quality_by_depth;
mod rank_sum;
mod strand;

pub use annotate::{Annotations, CallMode, annotate_call};
pub use elements::AnnotatedRead;
pub use evidence::{MappingQualities, SampleEvidence};
pub use heterozygosity::{GenotypeCounts, excess_heterozygosity, inbreeding_coefficient};
pub use quality_by_depth::{draw_unless_plausible, quality_by_depth};
pub use rank_sum::rank_sum_test;
pub use strand::{StrandCounts, fisher_strand, strand_odds_ratio};
