//! The confidence in the reference at the sites of a region that are not called.

use std::sync::Arc;

use readmill_genotypes::confidence::{ConfidenceAt, ConfidenceRead, DeletionAtEnd, ReferenceConfidence};
use readmill_regions::{CallerRead, ContigSpan, sort_reads};

use crate::calls::{CallRecord, Part, Sites};
use crate::reference::Contig;

/// Computes the sites of `span` and puts the calls between them (GATK 4.6.2.0
/// `ReferenceConfidenceModel.calculateRefConfidence`). Bases outside `padded_span` are not looked at.
pub(crate) fn add_sites(
    model: &ReferenceConfidence,
    contig: &Contig,
    (span, padded_span): (ContigSpan, ContigSpan),
    mut reads: Vec<Arc<CallerRead>>,
    calls: Vec<CallRecord>,
    parts: &mut Vec<Part>,
) -> Result<(), DeletionAtEnd> {
    sort_reads(&mut reads);
    let reads = Vec::from_iter(reads.iter().map(|read| confidence_read(read)));
    let mut region = model.region(&reads, contig.slice(padded_span), padded_span.start);
    let mut calls = calls.into_iter().peekable();
    let mut at = ConfidenceAt::default();
    let mut sites = Sites::default();
    for position in span.start..=span.end {
        if let Some(call) = calls.next_if(|call| call.record.start as i32 == position) {
            push_sites(std::mem::take(&mut sites), parts);
            parts.push(Part::Call(Box::new(call)));
            continue;
        }
        region.compute_at(position, &mut at)?;
        if sites.reference.is_empty() {
            (sites.contig, sites.start) = (contig.index, position as u32);
        }
        sites.reference.push(contig.bases[position as usize - 1]);
        sites.depths.push(at.allele_depths);
        sites.qualities.push(at.quality);
        sites.pls.extend_from_slice(&at.pls);
    }
    push_sites(sites, parts);
    Ok(())
}

fn push_sites(sites: Sites, parts: &mut Vec<Part>) {
    if !sites.reference.is_empty() {
        parts.push(Part::Sites(sites));
    }
}

fn confidence_read(read: &CallerRead) -> ConfidenceRead<'_> {
    let visible = read.span_without_adapter();
    ConfidenceRead {
        start: read.start,
        cigar: &read.cigar,
        bases: &read.bases,
        qualities: &read.qualities,
        visible: (visible.start, visible.end),
    }
}
