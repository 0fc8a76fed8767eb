//! Trims a region to its events.

use readmill_pairwise::{ContigSpan, HaplotypeEvent};

use crate::error::AssemblyError;
use crate::events::measure_tandem_repeat;
use crate::haplotype::Haplotype;
use crate::region_reference::RegionReference;

/// Bases kept on each side of a SNP: HaplotypeCaller's `--padding-around-snps`.
const SNP_PADDING: i32 = 20;

/// Bases kept on each side of an indel, besides its tandem repeat: HaplotypeCaller's
/// `--padding-around-indels` and `--padding-around-strs`.
const INDEL_PADDING: i32 = 75;

/// The part of a region that has events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimmedSpans {
    /// From the first to the last base of events, within the region.
    pub variant: ContigSpan,
    /// The bases around it that haplotypes and reads are trimmed to.
    pub padded: ContigSpan,
}

impl TrimmedSpans {
    /// Finds the events that overlap `region`, and the bases around them that are needed to genotype
    /// them (GATK 4.6.2.0 `AssemblyRegionTrimmer.trim`). Returns `None` if there are no such events.
    ///
    /// # Panics
    /// The padded span is not within the bases of `reference`.
    pub fn find(
        region: ContigSpan,
        events: &[HaplotypeEvent],
        reference: &RegionReference<'_>,
    ) -> Option<TrimmedSpans> {
        let span_of =
            |event: &HaplotypeEvent| ContigSpan { start: event.start as i32, end: event.end() as i32 };
        let is_inside = |event: &&HaplotypeEvent| span_of(event).overlaps(region);
        let mut variant: Option<ContigSpan> = None;
        let mut padded: Option<ContigSpan> = None;
        for event in events.iter().filter(is_inside) {
            let ContigSpan { start, end } = span_of(event);
            variant = Some(cover(variant, start, end));
            let padding = padding_of(event, reference);
            let first = (start - padding).max(1);
            padded = Some(cover(padded, first.min(start), end + padding));
        }
        Some(TrimmedSpans {
            variant: variant?.intersect(region)?,
            padded: padded?.intersect(reference.padded_span)?,
        })
    }

    /// Returns the part of `region` before the events.
    pub fn left_flank(&self, region: ContigSpan) -> Option<ContigSpan> {
        let end = self.variant.start - 1;
        (region.start <= end).then_some(ContigSpan { start: region.start, end })
    }

    /// Returns the part of `region` after the events.
    pub fn right_flank(&self, region: ContigSpan) -> Option<ContigSpan> {
        let start = self.variant.end + 1;
        (start <= region.end).then_some(ContigSpan { start, end: region.end })
    }
}

fn cover(span: Option<ContigSpan>, start: i32, end: i32) -> ContigSpan {
    let span = span.unwrap_or(ContigSpan { start, end });
    ContigSpan { start: span.start.min(start), end: span.end.max(end) }
}

fn padding_of(event: &HaplotypeEvent, reference: &RegionReference<'_>) -> i32 {
    if !event.is_indel() {
        return SNP_PADDING;
    }
    let following = (event.start as i32 + 1 - reference.padded_span.start).max(0) as usize;
    let following = reference.padded_bases().get(following..).unwrap_or_default();
    INDEL_PADDING + measure_tandem_repeat(event, following).unwrap_or(0) as i32
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
    span: ContigSpan,
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
