//! Genotypes, annotations and VCF records, computed from likelihoods as GATK HaplotypeCaller does.
//!
//! | part | purpose | entry point |
//! |---|---|---|
//! | alleles | alleles, and the called variant | [`Allele`], [`CalledVariant`] |
//! | merge | alleles of a locus and the haplotypes that carry them | [`find_loci`], [`merge_events`] |
//! | limits | limits of the number of alleles | [`max_alleles`], [`remove_excess_alleles`] |
//! | marginal | likelihoods of reads given alleles | [`AlleleLikelihoods`] |
//! | genotype_list | genotypes in the order of VCF files | [`GenotypeList`] |
//! | likelihoods | likelihoods of genotypes | [`genotype_likelihoods`] |
//! | frequency | frequencies of alleles and the confidence of a variant | [`estimate_frequencies`] |
//! | subset | genotypes of the alleles that are reported | [`call_genotype`] |
//! | caller | the call of a site | [`Caller`] |
//! | locus | all steps of one locus | [`genotype_locus`] |
//! | trim | bases that all alleles share at the right end | [`trim_right`] |
//! | phasing | phases of the calls of a region | [`phase_calls`] |
//! | annotations | annotations of the calls | [`annotations::annotate_call`] |
//! | blocks | blocks of sites that are like the reference | [`blocks::GvcfBlocks`] |
//! | confidence | confidence in the reference, by position | [`confidence::ReferenceConfidence`] |
//! | vcf | text of VCF files | [`vcf::VcfRecord`], [`vcf::VcfHeader`] |
//!
//! The crate starts no threads, and reads and writes no files.
#![warn(missing_docs, clippy::print_stdout, clippy::print_stderr)]

mod alleles;
pub mod annotations;
pub mod blocks;
mod caller;
pub mod confidence;
mod frequency;
mod genotype_list;
mod likelihoods;
mod limits;
mod locus;
mod marginal;
mod merge;
mod phasing;
mod subset;
mod trim;
pub mod vcf;

pub use alleles::{Allele, CalledVariant, Phase, PhaseSide, SampleGenotype};
pub use caller::{CallSettings, CalledDeletions, Caller, Site, SiteCall};
pub use frequency::{AlleleFrequencies, estimate_frequencies};
pub use genotype_list::{AlleleCopies, GenotypeList, MAX_PLOIDY};
pub use likelihoods::genotype_likelihoods;
pub use limits::{find_likeliest_alleles, max_alleles, remove_excess_alleles};
pub use locus::{GenotypedRegion, LocusCall, LocusReads, SampleReads, genotype_locus};
pub use marginal::{AlleleLikelihoods, ReadSpan, find_reads_at};
pub use merge::{HaplotypeEvents, InconsistentReference, LocusAlleles, find_loci, merge_events};
pub use phasing::phase_calls;
pub use subset::{call_genotype, subset_likelihoods};
pub use trim::trim_right;
