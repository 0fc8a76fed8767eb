//! Calls of the loci of a region.

use readmill_assembly::{EventMap, Haplotype, RegionReference};
use readmill_genotypes::annotations::{
    AnnotatedRead, Annotations, CallMode, SampleEvidence, annotate_call,
};
use readmill_genotypes::vcf::VcfRecord;
use readmill_genotypes::{
    CalledVariant, Caller, GenotypedRegion, HaplotypeEvents, LocusCall, ReadSpan, SampleReads,
    find_loci, genotype_locus, phase_calls,
};
use readmill_jmath::Log10Sums;
use readmill_record::Result;
use readmill_regions::{CallerRead, ContigSpan};

use crate::calls::CallRecord;
use crate::error::input_error;
use crate::evidence::Evidence;
use crate::reference::Contig;

use std::sync::Arc;

/// What the calls of a region are made of.
pub(crate) struct Genotyping<'a> {
    pub(crate) contig: &'a Contig,
    pub(crate) reference: RegionReference<'a>,
    /// Where calls may start.
    pub(crate) span: ContigSpan,
    pub(crate) haplotypes: &'a [Haplotype],
    pub(crate) evidence: &'a Evidence,
    /// Reads that were removed before likelihoods were computed, which count for depth.
    pub(crate) filtered: &'a [Arc<CallerRead>],
}

impl Genotyping<'_> {
    /// Genotypes, annotates and phases the loci of the region (GATK 4.6.2.0
    /// `assignGenotypeLikelihoods`).
    pub(crate) fn call_loci(
        &self,
        caller: &mut Caller<'_>,
        sums: &Log10Sums,
    ) -> Result<Vec<CallRecord>> {
        let events = self.find_events()?;
        let haplotypes =
            Vec::from_iter(events.iter().zip(self.haplotypes).map(|(map, haplotype)| HaplotypeEvents {
                events: map.events(),
                score: haplotype.score,
            }));
        let has_confidence = caller.settings().reference_confidence;
        let mut is_called = vec![false; haplotypes.len()];
        let (mut variants, mut annotations) = (Vec::new(), Vec::new());
        let spans = read_spans(&self.evidence.reads);
        let filtered = read_spans(self.filtered);
        let samples = [SampleReads {
            likelihoods: &self.evidence.likelihoods,
            spans: &spans,
            filtered: &filtered,
        }];
        let region = GenotypedRegion {
            contig: self.contig.index,
            contig_length: self.contig.length() as u32,
            haplotypes: &haplotypes,
            samples: &samples,
        };
        for locus in find_loci(&haplotypes, self.span.start as u32, self.span.end as u32) {
            let base = self.contig.bases[locus as usize - 1];
            let Some(mut call) = genotype_locus(caller, region, locus, base).map_err(input_error)?
            else {
                continue;
            };
            annotations.push(self.annotate(sums, &mut call, has_confidence));
            call.trim();
            call.haplotypes.iter().for_each(|&haplotype| is_called[haplotype] = true);
            variants.push(call.variant);
        }
        if has_confidence {
            phase_calls(&mut variants, &haplotypes, &is_called);
        }
        Ok(make_records(variants, annotations))
    }

    fn find_events(&self) -> Result<Vec<EventMap>> {
        let find = |haplotype: &Haplotype| {
            EventMap::of_haplotype(haplotype, &self.reference).map_err(input_error)
        };
        self.haplotypes.iter().map(find).collect()
    }

    /// Annotates a call. Returns the number of its reads, too.
    fn annotate(
        &self,
        sums: &Log10Sums,
        call: &mut LocusCall,
        has_confidence: bool,
    ) -> (Annotations, Vec<usize>) {
        let mode = match has_confidence {
            true => CallMode::ReferenceConfidence,
            false => CallMode::Variants,
        };
        let sample = &call.samples[0];
        let genotyped = sample.reads.iter().map(|&read| &self.evidence.reads[read]);
        let filtered = sample.filtered.iter().map(|&read| &self.filtered[read]);
        let reads = Vec::from_iter(genotyped.chain(filtered).map(|read| annotated_read(read)));
        let evidence = [SampleEvidence { reads: &reads, likelihoods: &sample.likelihoods }];
        let annotations = annotate_call(sums, &mut call.variant, &call.kept_alleles, &evidence, mode);
        (annotations, vec![reads.len()])
    }
}

fn make_records(
    variants: Vec<CalledVariant>,
    annotations: Vec<(Annotations, Vec<usize>)>,
) -> Vec<CallRecord> {
    let make = |(variant, (annotations, reads))| CallRecord {
        record: VcfRecord::from_call(variant, annotations),
        reads,
    };
    variants.into_iter().zip(annotations).map(make).collect()
}

/// Returns the positions of reads. A read without aligned bases ends before its start.
fn read_spans(reads: &[Arc<CallerRead>]) -> Vec<ReadSpan> {
    reads.iter().map(|read| (read.start as u32, read.end() as u32)).collect()
}

fn annotated_read(read: &CallerRead) -> AnnotatedRead<'_> {
    AnnotatedRead {
        start: read.start,
        cigar: &read.cigar,
        qualities: &read.qualities,
        mapping_quality: read.mapping_quality,
        is_reverse: read.flags.is_reverse(),
    }
}
