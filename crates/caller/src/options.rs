//! What is called, and how.

use readmill_genotypes::CallSettings;
use readmill_genotypes::blocks::DEFAULT_BANDS;
use readmill_genotypes::vcf::VcfMode;
use readmill_jmath::JavaMath;
use readmill_likelihoods::{Flavour, PcrIndelModel, Precision};
use readmill_regions::{DEFAULT_MAX_READS_PER_START, FinalizeOptions};

/// Options of a run. The defaults are those of GATK 4.6.2.0 HaplotypeCaller, with `mode` for `-ERC`.
#[derive(Clone, Debug)]
pub struct CallerOptions {
    /// Which records are made.
    pub mode: VcfMode,
    /// Java's functions with the bits of a processor, which decide ties.
    pub math: JavaMath,
    /// Minimum confidence (Phred) of a variant if only variants are reported
    /// (`--standard-min-confidence-threshold-for-calling`).
    pub min_confidence: f64,
    /// Bounds of the bands of GQ that become blocks (`--gvcf-gq-bands`).
    pub bands: Vec<i32>,
    /// Maximum number of reads per start, or 0 for all (`--max-reads-per-alignment-start`).
    pub max_reads_per_start: usize,
    /// Soft clips and low-quality ends of reads.
    pub finalize: FinalizeOptions,
    /// How PCR makes indels in repeats (`--pcr-indel-model`).
    pub pcr_indel_model: PcrIndelModel,
    /// Which kernel of GKL is followed.
    pub flavour: Flavour,
    /// Numbers with which likelihoods are computed.
    pub precision: Precision,
}

impl CallerOptions {
    /// Returns the defaults of GATK on an Intel processor with AVX-512. Results are the same on every
    /// processor.
    pub fn new(mode: VcfMode) -> Self {
        CallerOptions {
            mode,
            math: JavaMath::of_intel(),
            min_confidence: CallSettings::default().min_confidence,
            bands: DEFAULT_BANDS.to_vec(),
            max_reads_per_start: DEFAULT_MAX_READS_PER_START,
            finalize: FinalizeOptions::default(),
            pcr_indel_model: PcrIndelModel::default(),
            flavour: Flavour::default(),
            precision: Precision::default(),
        }
    }

    /// Returns whether sites that are like the reference are reported, too.
    pub fn has_reference_confidence(&self) -> bool {
        self.mode != VcfMode::Variants
    }

    pub(crate) fn call_settings(&self) -> CallSettings {
        CallSettings {
            ploidy: PLOIDY,
            reference_confidence: self.has_reference_confidence(),
            min_confidence: self.min_confidence,
        }
    }
}

/// Chromosomes of each sample.
pub(crate) const PLOIDY: usize = 2;
