//! Trims a region to its events.

use readmill_pairwise::HaplotypeEvent;

use crate::error::AssemblyError;
use crate::events::measure_tandem_repeat;
use crate::haplotype::Haplotype;
use crate::span::{ReferenceSpan, RegionReference};

/// Bases kept on each side of a SNP: HaplotypeCaller's `--padding-around-snps`.
const SNP_PADDING: u32 = 20;

/// Bases kept on each side of an indel, besides its tandem repeat: HaplotypeCaller's
/// `--padding-around-indels` and `--padding-around-strs`.
const INDEL_PADDING: u32 = 75;

/// The part of a region that has events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimmedSpans {
    /// From the first to the last base of events, within the region.
    pub variant: ReferenceSpan,
    /// The bases around it that haplotypes and reads are trimmed to.
    pub padded: ReferenceSpan,
}

impl TrimmedSpans {
    /// Finds the events that overlap `region`, and the bases around them that are needed to genotype
    /// them (GATK 4.6.2.0 `AssemblyRegionTrimmer.trim`). Returns `None` if there are no such events.
    ///
    /// # Panics
    /// The padded span is not within the bases of `reference`.
    pub fn find(
        region: ReferenceSpan,
        events: &[HaplotypeEvent],
        reference: &RegionReference<'_>,
    ) -> Option<TrimmedSpans> {
        let is_inside =
            |event: &&HaplotypeEvent| event.start <= region.end && event.end() >= region.start;
        let mut variant: Option<ReferenceSpan> = None;
        let mut padded: Option<ReferenceSpan> = None;
        for event in events.iter().filter(is_inside) {
            let (start, end) = (event.start, event.end());
            variant = Some(cover(variant, start, end));
            let padding = padding_of(event, reference);
            let first = start.saturating_sub(padding).max(1);
            padded = Some(cover(padded, first.min(start), end + padding));
        }
        Some(TrimmedSpans {
            variant: variant?.intersect(region)?,
            padded: padded?.intersect(reference.padded_span)?,
        })
    }

    /// Returns the part of `region` before the events.
    pub fn left_flank(&self, region: ReferenceSpan) -> Option<ReferenceSpan> {
        let end = self.variant.start - 1;
        (region.start <= end).then_some(ReferenceSpan { start: region.start, end })
    }

    /// Returns the part of `region` after the events.
    pub fn right_flank(&self, region: ReferenceSpan) -> Option<ReferenceSpan> {
        let start = self.variant.end + 1;
        (start <= region.end).then_some(ReferenceSpan { start, end: region.end })
    }
}

fn cover(span: Option<ReferenceSpan>, start: u32, end: u32) -> ReferenceSpan {
    let span = span.unwrap_or(ReferenceSpan { start, end });
    ReferenceSpan { start: span.start.min(start), end: span.end.max(end) }
}

fn padding_of(event: &HaplotypeEvent, reference: &RegionReference<'_>) -> u32 {
    if !event.is_indel() {
        return SNP_PADDING;
    }
    let following = (event.start + 1).saturating_sub(reference.padded_span.start) as usize;
    let following = reference.padded_bases().get(following..).unwrap_or_default();
    INDEL_PADDING + measure_tandem_repeat(event, following).unwrap_or(0) as u32
}

/// Returns the parts of the haplotypes that are aligned to `span`, shorter ones first, then by bases
/// (GATK 4.6.2.0 `AssemblyResultSet.trimTo`).
///
/// A haplotype that an event cuts at an end of `span` is left out. Of equal parts, that of the
/// reference is kept, or else the first one.
///
/// # Errors
/// See [`AssemblyError::ReferenceTrimmedAway`].
///
/// # Panics
/// `span` is not within the span of each haplotype, or a haplotype has fewer bases than its CIGAR.
pub fn trim_haplotypes(
    haplotypes: &[Haplotype],
    span: ReferenceSpan,
) -> Result<Vec<Haplotype>, AssemblyError> {
    let mut trimmed: Vec<Haplotype> = Vec::new();
    for haplotype in haplotypes {
        let is_inside = haplotype.span.start <= span.start && span.end <= haplotype.span.end;
        assert!(is_inside, "haplotypes are trimmed to a part of their span");
        let Some(mut part) = haplotype.trim(span)? else {
            continue;
        };
        let equal = trimmed.iter_mut().find(|other| other.bases == part.bases);
        if haplotype.is_reference {
            part.is_reference = true;
        }
        match equal {
            Some(other) if part.is_reference => *other = part,
            Some(_) => {}
            None => trimmed.push(part),
        }
    }
    if !trimmed.iter().any(|part| part.is_reference) {
        return Err(AssemblyError::ReferenceTrimmedAway);
    }
    trimmed.sort_by(|a, b| a.bases.len().cmp(&b.bases.len()).then_with(|| a.bases.cmp(&b.bases)));
    Ok(trimmed)
}
