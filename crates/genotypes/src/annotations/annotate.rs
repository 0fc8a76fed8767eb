//! All annotations of a call.

use readmill_jmath::Log10Sums;
use readmill_jmath::text::format_fixed;

use crate::alleles::{CalledVariant, SampleGenotype};
use crate::annotations::elements::AnnotatedRead;
use crate::annotations::evidence::{MappingQualities, SampleEvidence};
use crate::annotations::heterozygosity::{excess_heterozygosity, inbreeding_coefficient};
use crate::annotations::rank_sum::rank_sum_test;
use crate::annotations::strand::{StrandCounts, fisher_strand, strand_odds_ratio};
use crate::vcf::InfoValue;

/// Which annotations GATK computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallMode {
    /// Variants only (`-ERC NONE`). `QD` is left out, because it takes draws of the generator of the whole
    /// run ([`VcfRecord::add_quality_by_depth`](crate::vcf::VcfRecord::add_quality_by_depth)).
    Variants,
    /// Variants and the confidence in the reference (`-ERC GVCF` and `BP_RESOLUTION`).
    ReferenceConfidence,
}

/// Annotations of a call that [`CalledVariant`] has no place for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    /// Fields of INFO, in no order.
    pub info: Vec<(&'static str, InfoValue)>,
    /// Informative reads of each sample by allele and strand (`SB`), if they are reported.
    pub strand_counts: Vec<Option<StrandCounts>>,
}

/// Computes the default annotations of HaplotypeCaller 4.6.2.0, and sets `AD` and `DP` of called
/// genotypes. `called` are the alleles of the call among those of the likelihoods. The call must not
/// be trimmed yet. Samples are in the order of genotypes.
///
/// # Panics
/// The number of samples, or of alleles, is not that of the call.
pub fn annotate_call(
    sums: &Log10Sums,
    variant: &mut CalledVariant,
    called: &[usize],
    samples: &[SampleEvidence<'_>],
    mode: CallMode,
) -> Annotations {
    assert_eq!(variant.genotypes.len(), samples.len(), "one evidence for each sample");
    assert_eq!(variant.alleles.len(), called.len(), "one index for each allele");
    let mut annotations = Annotations::default();
    let mut is_called = vec![false; samples.first().map_or(0, |it| it.likelihoods.alleles())];
    called.iter().for_each(|&allele| is_called[allele] = true);
    let strands: Vec<StrandCounts> = samples.iter().map(|it| it.count_strands(&is_called)).collect();
    let has_call = |genotype: &SampleGenotype| genotype.alleles.iter().any(Option::is_some);
    for (genotype, sample) in variant.genotypes.iter_mut().zip(samples) {
        if has_call(genotype) {
            sample.set_depths(called, genotype);
        }
    }
    let info = &mut annotations.info;
    info.push(("MLEAC", InfoValue::Integers(variant.mle_counts.clone())));
    info.push(("MLEAF", InfoValue::Numbers(variant.mle_frequencies.clone())));
    add_rank_sums(sums, variant, &is_called, samples, info);
    let depth: usize = samples.iter().map(|sample| sample.reads.len()).sum();
    if depth > 0 {
        info.push(("DP", InfoValue::Text(depth.to_string())));
    }
    if let Some(value) = excess_heterozygosity(sums, &variant.genotypes) {
        info.push(("ExcessHet", fixed(value, 4)));
    }
    if let Some(value) = inbreeding_coefficient(sums, &variant.genotypes) {
        info.push(("InbreedingCoeff", fixed(value, 4)));
    }
    let mut qualities = MappingQualities::default();
    samples.iter().flat_map(|it| it.reads).for_each(|read| qualities.add(read.mapping_quality));
    match mode {
        CallMode::ReferenceConfidence => {
            if depth > 0 {
                let text = format!("{},{}", qualities.squares, qualities.reads);
                info.push(("RAW_MQandDP", InfoValue::Text(text)));
            }
            annotations.strand_counts = (variant.genotypes.iter().zip(strands))
                .map(|(genotype, strands)| has_call(genotype).then_some(strands))
                .collect();
        }
        CallMode::Variants => {
            if depth > 0 {
                info.push(("MQ", fixed(qualities.root_mean_square(), 2)));
            }
            add_strand_bias(sums, &strands, info);
            add_chromosome_counts(variant, info);
        }
    }
    annotations
}

fn fixed(value: f64, decimals: usize) -> InfoValue {
    InfoValue::Text(format_fixed(value, decimals))
}

/// Adds the rank sums of all samples together.
fn add_rank_sums(
    sums: &Log10Sums,
    variant: &CalledVariant,
    is_called: &[bool],
    samples: &[SampleEvidence<'_>],
    info: &mut Vec<(&'static str, InfoValue)>,
) {
    let (start, end) = (variant.start as i32, variant.end as i32);
    type Element<'a> = &'a dyn Fn(&AnnotatedRead<'_>) -> Option<f64>;
    let elements: [(&'static str, Element<'_>); 3] = [
        ("BaseQRankSum", &|read| read.base_quality_at(start)),
        ("MQRankSum", &|read| Some(f64::from(read.mapping_quality))),
        ("ReadPosRankSum", &|read| read.position_in_read(start, end)),
    ];
    let mut values: [[Vec<f64>; 2]; 3] = Default::default();
    for sample in samples {
        for (index, read) in sample.reads.iter().enumerate().filter(|(_, read)| read.is_usable()) {
            let supported = sample.supported_allele(index, 0..is_called.len());
            let Some(allele) = supported.filter(|&allele| is_called[allele]) else {
                continue;
            };
            for ((_, element), values) in elements.iter().zip(&mut values) {
                values[usize::from(allele != 0)].extend(element(read));
            }
        }
    }
    for ((name, _), [reference, alternate]) in elements.iter().zip(&mut values) {
        if let Some(score) = rank_sum_test(sums.math(), alternate, reference) {
            info.push((name, fixed(score, 3)));
        }
    }
}

/// Adds `FS`, of samples with more than two informative reads, and `SOR`.
fn add_strand_bias(
    sums: &Log10Sums,
    strands: &[StrandCounts],
    info: &mut Vec<(&'static str, InfoValue)>,
) {
    let add_above = |min: i32| {
        let mut table = StrandCounts::default();
        for counts in strands.iter().filter(|counts| counts.iter().sum::<i32>() > min) {
            table.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        table
    };
    info.push(("FS", fixed(fisher_strand(sums, add_above(2)), 3)));
    info.push(("SOR", fixed(strand_odds_ratio(sums.math(), add_above(0)), 3)));
}

/// Adds `AC`, `AF` and `AN`, unless no chromosome is called.
fn add_chromosome_counts(variant: &CalledVariant, info: &mut Vec<(&'static str, InfoValue)>) {
    let mut counts = vec![0; variant.alleles.len()];
    for &allele in variant.genotypes.iter().flat_map(|genotype| &genotype.alleles).flatten() {
        counts[allele] += 1;
    }
    let total: i32 = counts.iter().sum();
    if total == 0 {
        return;
    }
    info.push(("AN", InfoValue::Integers(vec![total])));
    let alternates = counts.split_off(1);
    let frequencies = alternates.iter().map(|&count| f64::from(count) / f64::from(total)).collect();
    info.push(("AC", InfoValue::Integers(alternates)));
    info.push(("AF", InfoValue::Numbers(frequencies)));
}
