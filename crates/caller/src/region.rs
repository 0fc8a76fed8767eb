//! The calls of one region.

use std::sync::Arc;

use readmill_assembly::{
    Assembler, AssemblyRead, EventMap, Haplotype, RegionReference, TrimmedSpans, collect_events,
    trim_haplotypes,
};
use readmill_genotypes::confidence::ReferenceConfidence;
use readmill_genotypes::{CalledDeletions, Caller};
use readmill_jmath::Log10Sums;
use readmill_likelihoods::{PairHmm, QualityModel};
use readmill_pairwise::CigarOperator;
use readmill_record::Result;
use readmill_regions::{
    AssemblyRegion, CallerRead, ContigSpan, PADDING, finalize_region, is_read_for_genotypes, trim_reads,
};

use crate::calls::{CallRecord, Part, RegionCalls};
use crate::confidence::add_sites;
use crate::error::{input_error, name_region};
use crate::evidence::{Evidence, EvidenceModel};
use crate::genotype::Genotyping;
use crate::options::{CallerOptions, PLOIDY};
use crate::reference::{Contig, region_reference};

/// Mapping quality below which a read does not count for genotypes.
const MIN_MAPPING_QUALITY: u8 = 20;

/// Aligned bases below which a trimmed read is not used at all.
const MIN_READ_LENGTH: usize = 10;

/// Tables of a run, which all callers share.
#[derive(Clone, Debug)]
pub struct CallerTables {
    sums: Log10Sums,
    confidence: ReferenceConfidence,
}

impl CallerTables {
    /// Computes the tables for the options.
    pub fn new(options: &CallerOptions) -> Self {
        let sums = Log10Sums::new(options.math);
        let confidence = ReferenceConfidence::new(&sums, PLOIDY);
        CallerTables { sums, confidence }
    }
}

/// Calls regions one after the other, with memory that is kept between them (GATK 4.6.2.0
/// `HaplotypeCallerEngine.callRegion`).
///
/// Results are a function of the region, the reference, the options, and of the deletions that were
/// called before it on the contig, so several callers can work on different regions.
pub struct RegionCaller<'t> {
    options: &'t CallerOptions,
    tables: &'t CallerTables,
    assembler: Assembler,
    evidence: EvidenceModel,
    caller: Caller<'t>,
}

/// Neighbouring regions of a contig with their results.
#[derive(Debug)]
pub struct CalledRegions {
    pub(crate) contig: Contig,
    pub(crate) regions: Vec<AssemblyRegion>,
    /// The results of each region.
    pub(crate) calls: Vec<RegionCalls>,
}

/// A trimmed region.
struct Trimmed<'a> {
    reference: RegionReference<'a>,
    spans: TrimmedSpans,
    haplotypes: Vec<Haplotype>,
    /// Reads that are genotyped.
    reads: Vec<Arc<CallerRead>>,
    /// Reads that count for depth only.
    filtered: Vec<Arc<CallerRead>>,
}

impl<'t> RegionCaller<'t> {
    /// Computes what depends on the options only, and reserves no memory for regions yet.
    pub fn new(options: &'t CallerOptions, tables: &'t CallerTables) -> Self {
        let qualities = QualityModel::new(options.math, options.pcr_indel_model);
        let hmm = PairHmm::new(options.flavour, options.precision);
        RegionCaller {
            options,
            tables,
            assembler: Assembler::new(options.math),
            evidence: EvidenceModel::new(qualities, hmm),
            caller: Caller::new(&tables.sums, options.call_settings()),
        }
    }

    /// Calls a region. `deletions` are those that were called in the regions before it
    /// ([`RegionCalls::deletions`]).
    ///
    /// # Errors
    /// GATK stops in this region.
    pub fn call_region(
        &mut self,
        contig: &Contig,
        region: &AssemblyRegion,
        deletions: &CalledDeletions,
    ) -> Result<RegionCalls> {
        self.caller.set_deletions(deletions.clone());
        let parts =
            self.call_parts(contig, region).map_err(|error| name_region(error, contig, region.span))?;
        Ok(RegionCalls { parts, deletions: self.caller.deletions().clone() })
    }

    /// Calls neighbouring regions of a contig, as if no deletion had been called before the first.
    /// [`CallJoin`](crate::CallJoin) calls those again that a deletion reaches.
    ///
    /// # Errors
    /// GATK stops in a region.
    pub fn call_regions(
        &mut self,
        contig: Contig,
        regions: Vec<AssemblyRegion>,
    ) -> Result<CalledRegions> {
        let mut calls: Vec<RegionCalls> = Vec::with_capacity(regions.len());
        for region in &regions {
            let none = CalledDeletions::default();
            let deletions = calls.last().map_or(&none, RegionCalls::deletions);
            let called = self.call_region(&contig, region, deletions)?;
            calls.push(called);
        }
        Ok(CalledRegions { contig, regions, calls })
    }

    fn call_parts(&mut self, contig: &Contig, region: &AssemblyRegion) -> Result<Vec<Part>> {
        let has_confidence = self.options.has_reference_confidence();
        let is_assembled = region.is_active && !region.reads.is_empty();
        if !is_assembled && !has_confidence {
            return Ok(Vec::new());
        }
        let reads = finalize_region(region, self.options.finalize)?;
        let trimmed = match is_assembled {
            true => self.trim_region(contig, region, &reads)?,
            false => None,
        };
        let mut parts = Vec::new();
        let Some(trimmed) = trimmed else {
            self.add_reference(contig, (region.span, region.padded_span), reads, &mut parts)?;
            return Ok(parts);
        };
        let (evidence, calls) = self.genotype(contig, &trimmed)?;
        if !has_confidence {
            parts.extend(calls.into_iter().map(|call| Part::Call(Box::new(call))));
        } else if calls.iter().any(is_genotype_called) {
            self.add_trimmed(contig, region, &reads, (trimmed.spans, evidence, calls), &mut parts)?;
        } else {
            self.add_reference(contig, (region.span, region.padded_span), reads, &mut parts)?;
        }
        Ok(parts)
    }

    /// Assembles the region and trims it to its events. Returns `None` if it has none, or no reads there.
    fn trim_region<'a>(
        &mut self,
        contig: &'a Contig,
        region: &AssemblyRegion,
        reads: &[Arc<CallerRead>],
    ) -> Result<Option<Trimmed<'a>>> {
        let reference = region_reference(contig, region.padded_span);
        let assembly_reads = Vec::from_iter(reads.iter().map(|read| assembly_read(read)));
        let haplotypes = self.assembler.assemble(&reference, &assembly_reads).map_err(input_error)?;
        let find_map = |haplotype| EventMap::of_haplotype(haplotype, &reference);
        let maps =
            haplotypes.iter().map(find_map).collect::<Result<Vec<_>, _>>().map_err(input_error)?;
        let span = region.span;
        let Some(spans) = TrimmedSpans::find(span, &collect_events(&maps), &reference) else {
            return Ok(None);
        };
        let haplotypes = trim_haplotypes(&haplotypes, spans.padded).map_err(input_error)?;
        let mut reads = trim_reads(reads, spans.padded)?;
        reads.retain(|read| has_enough_bases(read));
        let (reads, filtered): (Vec<_>, Vec<_>) =
            reads.into_iter().partition(|read| is_read_for_genotypes(read, MIN_MAPPING_QUALITY));
        let trimmed = Trimmed { reference, spans, haplotypes, reads, filtered };
        Ok((!trimmed.reads.is_empty()).then_some(trimmed))
    }

    fn genotype(
        &mut self,
        contig: &Contig,
        trimmed: &Trimmed<'_>,
    ) -> Result<(Evidence, Vec<CallRecord>)> {
        let Trimmed { reference, spans, haplotypes, reads, filtered } = trimmed;
        let evidence = self.evidence.compute_evidence(haplotypes, reference.start, reads.clone())?;
        let genotyping = Genotyping {
            contig,
            reference: *reference,
            span: spans.variant,
            haplotypes,
            evidence: &evidence,
            filtered,
        };
        let calls = genotyping.call_loci(&mut self.caller, &self.tables.sums)?;
        Ok((evidence, calls))
    }

    /// Adds the flanks of a trimmed region, and its calls with the sites between them.
    fn add_trimmed(
        &self,
        contig: &Contig,
        region: &AssemblyRegion,
        reads: &[Arc<CallerRead>],
        (spans, evidence, calls): (TrimmedSpans, Evidence, Vec<CallRecord>),
        parts: &mut Vec<Part>,
    ) -> Result<()> {
        let span = region.span;
        let add_flank = |flank: ContigSpan, parts: &mut Vec<Part>| {
            let padded = flank.pad(PADDING, contig.length());
            let padded = ContigSpan {
                start: padded.start.max(region.padded_span.start),
                end: padded.end.min(region.padded_span.end),
            };
            let reads = trim_reads(reads, padded)?;
            self.add_reference(contig, (flank, padded), reads, parts)
        };
        if let Some(flank) = spans.left_flank(span) {
            add_flank(flank, parts)?;
        }
        let model = &self.tables.confidence;
        let both = (spans.variant, spans.padded);
        add_sites(model, contig, both, evidence.reads, calls, parts).map_err(input_error)?;
        if let Some(flank) = spans.right_flank(span) {
            add_flank(flank, parts)?;
        }
        Ok(())
    }

    /// Adds sites without calls, if they are reported (GATK `referenceModelForNoVariation`).
    fn add_reference(
        &self,
        contig: &Contig,
        spans: (ContigSpan, ContigSpan),
        mut reads: Vec<Arc<CallerRead>>,
        parts: &mut Vec<Part>,
    ) -> Result<()> {
        if !self.options.has_reference_confidence() {
            return Ok(());
        }
        reads.retain(|read| is_read_for_genotypes(read, MIN_MAPPING_QUALITY));
        let model = &self.tables.confidence;
        add_sites(model, contig, spans, reads, Vec::new(), parts).map_err(input_error)
    }
}

fn assembly_read(read: &CallerRead) -> AssemblyRead<'_> {
    let kept = read.cigar.leading_soft_clip()..read.len() - read.cigar.trailing_soft_clip();
    AssemblyRead {
        bases: &read.bases[kept.clone()],
        qualities: &read.qualities[kept],
        sample: read.sample,
    }
}

fn has_enough_bases(read: &CallerRead) -> bool {
    read.len() - read.cigar.count_bases(CigarOperator::SoftClip) >= MIN_READ_LENGTH
}

/// Returns whether an allele of some sample is called.
fn is_genotype_called(call: &CallRecord) -> bool {
    let samples = &call.record.samples;
    samples.iter().flat_map(|sample| &sample.genotype.alleles).any(Option::is_some)
}
