//! Compares annotations and the text of records with what `Annotations.java` prints.

use readmill_genotypes::annotations::{
    AnnotatedRead, CallMode, SampleEvidence, annotate_call, draw_unless_plausible,
    excess_heterozygosity, fisher_strand, inbreeding_coefficient, rank_sum_test, strand_odds_ratio,
};
use readmill_genotypes::vcf::VcfRecord;
use readmill_genotypes::{Allele, AlleleLikelihoods, CalledVariant, Phase, PhaseSide, SampleGenotype};
use readmill_jmath::text::format_fixed;
use readmill_jmath::{CpuMaker, JavaMath, JavaRandom, Log10Sums};
use readmill_pairwise::Cigar;

/// Seed of the generator that GATK uses for a whole run.
const GATK_SEED: i64 = 47_382_911;

/// Returns the number of results that agree, or a text about the first that differs.
pub fn compare_annotations(text: &str) -> Result<usize, String> {
    let math = JavaMath::of_maker(CpuMaker::Intel).map_err(|error| error.to_string())?;
    let sums = Log10Sums::new(math);
    let mut random = JavaRandom::new(GATK_SEED);
    let mut case = CallCase::default();
    let mut count = 0;
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let results: Vec<(String, &str)> = match words[..] {
            ["call" | "values" | "sample" | "read", ..] => {
                case.add_line(&words).ok_or_else(|| format!("unreadable: {line}"))?;
                continue;
            }
            [">", ..] => vec![(case.write_line(&sums, &mut random), &line[2..])],
            ["ranks", first, second, z] => {
                let score = rank_sum_test(math, &mut doubles(first), &mut doubles(second));
                vec![(score.map_or_else(|| ".".to_owned(), bits), z)]
            }
            ["strands", table, fisher, odds] => {
                let table: [i32; 4] = integers(table).try_into().map_err(|_| line.to_owned())?;
                vec![
                    (bits(fisher_strand(&sums, table)), fisher),
                    (bits(strand_odds_ratio(math, table)), odds),
                ]
            }
            ["quality", value, fixed] => {
                vec![(bits(draw_unless_plausible(double(value), &mut random)), fixed)]
            }
            ["samples", ref genotypes @ .., excess, inbreeding] => {
                let genotypes: Vec<SampleGenotype> =
                    genotypes.iter().map(|text| genotype(text)).collect();
                let text =
                    |value: Option<f64>| value.map_or(".".to_owned(), |value| format_fixed(value, 4));
                vec![
                    (text(excess_heterozygosity(&sums, &genotypes)), excess),
                    (text(inbreeding_coefficient(&sums, &genotypes)), inbreeding),
                ]
            }
            _ => return Err(format!("unreadable: {line}")),
        };
        for (ours, expected) in results {
            if ours != expected {
                return Err(format!("result {count}: {ours}, not {expected}, of {line}\n{case:?}"));
            }
            count += 1;
        }
    }
    Ok(count)
}

fn genotype(text: &str) -> SampleGenotype {
    let (alleles, pls) = text.split_once(':').unwrap_or_default();
    let alleles = alleles.split('/').map(|allele| allele.parse().ok()).collect();
    SampleGenotype { alleles, pls: integers(pls), ..SampleGenotype::default() }
}

fn bits(value: f64) -> String {
    format!("{:x}", value.to_bits())
}

fn double(text: &str) -> f64 {
    f64::from_bits(u64::from_str_radix(text, 16).unwrap_or_default())
}

fn doubles(text: &str) -> Vec<f64> {
    text.split(',').filter(|text| !text.is_empty()).map(double).collect()
}

fn integers(text: &str) -> Vec<i32> {
    text.split(',').filter_map(|text| text.parse().ok()).collect()
}

fn allele(index: usize, text: &str) -> Allele {
    match text {
        _ if index == 0 => Allele::Reference(text.into()),
        "<NON_REF>" => Allele::NonReference,
        "*" => Allele::SpanningDeletion,
        _ => Allele::Alternate(text.into()),
    }
}

/// A call as it is read line by line.
#[derive(Debug, Default)]
struct CallCase {
    is_gvcf: bool,
    start: u32,
    alleles: Vec<Allele>,
    called: Vec<usize>,
    log10_confidence: f64,
    mle_counts: Vec<i32>,
    mle_frequencies: Vec<f64>,
    genotypes: Vec<SampleGenotype>,
    reads: Vec<ReadCase>,
}

#[derive(Debug)]
struct ReadCase {
    sample: usize,
    start: i32,
    cigar: Cigar,
    qualities: Vec<u8>,
    mapping_quality: u8,
    is_reverse: bool,
    likelihoods: Vec<f64>,
}

impl CallCase {
    fn add_line(&mut self, words: &[&str]) -> Option<()> {
        match *words {
            ["call", mode, start, alleles, called] => {
                *self = CallCase {
                    is_gvcf: mode == "R",
                    start: start.parse().ok()?,
                    alleles: alleles.split(',').enumerate().map(|(i, text)| allele(i, text)).collect(),
                    called: integers(called).into_iter().map(|index| index as usize).collect(),
                    ..CallCase::default()
                };
            }
            ["values", confidence, counts, frequencies] => {
                self.log10_confidence = double(confidence);
                self.mle_counts = integers(counts);
                self.mle_frequencies = doubles(frequencies);
            }
            ["sample", alleles, pls, quality, phase] => self.genotypes.push(SampleGenotype {
                alleles: alleles.split(',').map(|index| index.parse().ok()).collect(),
                pls: integers(pls),
                quality: quality.parse().ok().filter(|&quality| quality != -1),
                phase: parse_phase(phase),
                ..SampleGenotype::default()
            }),
            ["read", sample, start, cigar, qualities, mapping_quality, strand, likelihoods] => {
                self.reads.push(ReadCase {
                    sample: sample.parse().ok()?,
                    start: start.parse().ok()?,
                    cigar: cigar.parse().ok()?,
                    qualities: qualities.bytes().map(|quality| quality - 33).collect(),
                    mapping_quality: mapping_quality.parse().ok()?,
                    is_reverse: strand == "1",
                    likelihoods: doubles(likelihoods),
                });
            }
            _ => return None,
        }
        Some(())
    }

    fn write_line(&self, sums: &Log10Sums, random: &mut JavaRandom) -> String {
        let evidence: Vec<(Vec<AnnotatedRead<'_>>, AlleleLikelihoods)> =
            (0..self.genotypes.len()).map(|sample| self.evidence(sample)).collect();
        let samples: Vec<SampleEvidence<'_>> =
            evidence.iter().map(|(reads, likelihoods)| SampleEvidence { reads, likelihoods }).collect();
        let mut variant = CalledVariant {
            contig: 0,
            start: self.start,
            end: self.start + self.alleles[0].length() as u32 - 1,
            alleles: self.called.iter().map(|&index| self.alleles[index].clone()).collect(),
            log10_confidence: self.log10_confidence,
            mle_counts: self.mle_counts.clone(),
            mle_frequencies: self.mle_frequencies.clone(),
            genotypes: self.genotypes.clone(),
        };
        let mode = if self.is_gvcf { CallMode::ReferenceConfidence } else { CallMode::Variants };
        let annotations = annotate_call(sums, &mut variant, &self.called, &samples, mode);
        let mut line = Vec::new();
        let mut record = VcfRecord::from_call(variant, annotations);
        if !self.is_gvcf {
            let reads: Vec<usize> = samples.iter().map(|sample| sample.reads.len()).collect();
            record.add_quality_by_depth(&reads, random);
        }
        record.append_line(b"chr1", &mut line);
        line.pop();
        String::from_utf8_lossy(&line).into_owned()
    }

    fn evidence(&self, sample: usize) -> (Vec<AnnotatedRead<'_>>, AlleleLikelihoods) {
        let chosen: Vec<&ReadCase> = self.reads.iter().filter(|read| read.sample == sample).collect();
        let reads = chosen.iter().map(|read| AnnotatedRead {
            start: read.start,
            cigar: &read.cigar,
            qualities: &read.qualities,
            mapping_quality: read.mapping_quality,
            is_reverse: read.is_reverse,
        });
        let values = (0..self.alleles.len())
            .flat_map(|allele| chosen.iter().map(move |read| read.likelihoods[allele]))
            .collect();
        (reads.collect(), AlleleLikelihoods::new(self.alleles.len(), chosen.len(), values))
    }
}

fn parse_phase(text: &str) -> Option<Phase> {
    let mut parts = text.split(';');
    let side = match parts.next()? {
        "1|0" => PhaseSide::Left,
        "0|1" => PhaseSide::Right,
        _ => return None,
    };
    Some(Phase { side, group: parts.next()?.to_owned(), set: parts.next()?.parse().ok()? })
}
