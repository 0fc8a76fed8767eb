//! Supplementary records of split reads.

use crate::bases::reverse_complement;
use crate::md::{Summary, summarize};
use crate::names::decimal;
use crate::place::op;
use crate::read::SimulatedRead;
use crate::sample::Sample;
use crate::template::Split;

/// The supplementary alignment of a split read.
#[derive(Default)]
pub(crate) struct Supplementary {
    pub(crate) bases: Vec<u8>,
    pub(crate) qualities: Vec<u8>,
    pub(crate) cigar: [u32; 2],
    pub(crate) md: Vec<u8>,
    pub(crate) summary: Summary,
    pub(crate) mapping_quality: u8,
}

impl Supplementary {
    /// Takes the part aligned elsewhere out of the finished primary read.
    pub(crate) fn make(&mut self, sample: &Sample, read: &SimulatedRead, split: &Split) {
        let (whole, length) = (read.bases.len(), usize::from(split.length));
        let part = if split.at_five == read.reverse { whole - length..whole } else { 0..length };
        self.bases.clear();
        self.bases.extend_from_slice(&read.bases[part.clone()]);
        self.qualities.clear();
        self.qualities.extend_from_slice(&read.qualities[part]);
        if split.reverse != read.reverse {
            reverse_complement(&mut self.bases);
            self.qualities.reverse();
        }
        let aligned = (length as u32) << 4 | op::MATCH;
        let clipped = ((whole - length) as u32) << 4 | op::HARD_CLIP;
        let clip_is_left = split.at_five == split.reverse;
        self.cigar = if clip_is_left { [clipped, aligned] } else { [aligned, clipped] };
        let reference = sample.contig(split.contig as usize);
        let start = split.start as usize;
        self.summary = summarize(&self.cigar, &self.bases, reference, start, &mut self.md);
        self.mapping_quality = (20 + split.length / 2).min(60) as u8;
    }
}

/// Writes one element of an SA tag; hard clips are shown as soft ones, as aligners do.
pub(crate) fn write_sa(
    contig: &str,
    start: i32,
    reverse: bool,
    cigar: &[u32],
    quality: u8,
    edits: u32,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(contig.as_bytes());
    out.push(b',');
    decimal(start as u32 + 1, out);
    out.extend_from_slice(if reverse { b",-," } else { b",+," });
    for &element in cigar {
        decimal(element >> 4, out);
        out.push(b"MIDNSS"[(element & 15) as usize]);
    }
    out.push(b',');
    decimal(u32::from(quality), out);
    out.push(b',');
    decimal(edits, out);
    out.push(b';');
}
