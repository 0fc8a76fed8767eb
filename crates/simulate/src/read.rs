//! Creates a read with its bases, qualities and alignment, and the supplementary record of a split
//! read.

use crate::genome::{Repeat, complement, reverse_complement};
use crate::names::write_decimal;
use crate::place::{AlignmentSummary, SampleView, op, push_operator, summarize_alignment};
use crate::quality::{self, ReadCircumstances};
use crate::rng::Rng;
use crate::sample::Sample;
use crate::template::{SplitPart, Template, TemplateKind};

/// The adapter after the end of a short fragment. Random bases follow it.
const ADAPTER: &[u8] = b"AGATCGGAAGAGCACACGTCTGAACTCCAGTCACATCTCGTATGCCGTCTTCTGCTTG";

/// Distance between introns, and length of the shortest intron, in bases.
const INTRON_SPACING: usize = 512;
const MIN_INTRON_BASES: usize = 70;

#[derive(Default)]
pub(crate) struct SimulatedRead {
    pub(crate) bases: Vec<u8>,
    pub(crate) qualities: Vec<u8>,
    pub(crate) cigar: Vec<u32>,
    pub(crate) md: Vec<u8>,
    pub(crate) summary: AlignmentSummary,
    pub(crate) mapped: bool,
    pub(crate) reverse: bool,
    pub(crate) contig: i32,
    pub(crate) start: i32,
    pub(crate) mapping_quality: u8,
    /// Alignment score of the second-best position, for the `XS` field.
    pub(crate) second_best: u32,
}

impl SimulatedRead {
    pub(crate) fn make_read(
        &mut self,
        sample: &Sample,
        rng: &mut Rng,
        template: &Template,
        end: usize,
        group: u32,
    ) {
        self.cigar.clear();
        self.bases.resize(sample.profile.clamped_read_length(), 0);
        self.mapped = match template.kind {
            TemplateKind::Pair | TemplateKind::Single => true,
            TemplateKind::Half(mapped) => usize::from(mapped) == end,
            TemplateKind::Unmapped => false,
        };
        // Aligners give an unmapped read the strand of its mate.
        self.reverse = match template.kind {
            TemplateKind::Half(mapped) => template.ends[usize::from(mapped)].reverse,
            _ => template.ends[end].reverse,
        };
        let qualities = template.qualities[end];
        if self.mapped {
            self.align_read(sample, rng, template, end);
        } else {
            let from = rng.below(sample.junk_room()) as usize;
            self.bases.copy_from_slice(&sample.junk[from..from + sample.profile.clamped_read_length()]);
        }
        let read = ReadCircumstances { qualities, reverse: self.reverse, second: end == 1, group };
        quality::add_errors(rng, &sample.waits, &sample.pool, read, &mut self.bases);
        let string = sample.pool.string(qualities);
        self.qualities.clear();
        if self.reverse {
            self.qualities.extend(string.iter().rev());
        } else {
            self.qualities.extend_from_slice(string);
        }
        if self.mapped {
            let reference = sample.contig(self.contig as usize);
            let start = self.start as usize;
            self.summary = summarize_alignment(&self.cigar, &self.bases, reference, start, &mut self.md);
            self.set_mapping_quality(sample, template, end);
        } else {
            (self.contig, self.start, self.mapping_quality) = (-1, -1, 0);
            (self.summary, self.second_best) = (AlignmentSummary::default(), 0);
        }
    }

    fn align_read(&mut self, sample: &Sample, rng: &mut Rng, template: &Template, end: usize) {
        let length = self.bases.len();
        let locus = &template.ends[end];
        let split = template.split.filter(|split| usize::from(split.end) == end);
        let adaptor = length.saturating_sub(usize::from(template.insert));
        let (mut five, mut three) = (usize::from(template.clips[end]), adaptor);
        match split {
            Some(split) if split.at_five => five = usize::from(split.length),
            Some(split) => three = usize::from(split.length),
            None if adaptor == 0 && rng.per_mille(8) => three = rng.between(1, 15) as usize,
            None => {}
        }
        if five + three + 30 > length {
            five = 0;
        }
        let (left, right) = if locus.reverse { (three, five) } else { (five, three) };
        let number = locus.contig as usize;
        let view = SampleView {
            contig: &sample.contigs[number],
            variants: &sample.variants[number],
            haplotype: template.haplotype,
            indels: template.insert == u16::MAX,
        };
        push_operator(&mut self.cigar, left as u32, op::SOFT_CLIP);
        let aligned = &mut self.bases[left..length - right];
        let start = view.place_read(locus, five, aligned, &mut self.cigar);
        push_operator(&mut self.cigar, right as u32, op::SOFT_CLIP);
        (self.contig, self.start) = (locus.contig as i32, start as i32);
        if sample.profile.introns {
            self.insert_intron(sample.contig(number), locus.reverse, left);
        }
        if left + right > 0 {
            self.fill_clips(sample, rng, locus.reverse, left, right, adaptor > 0);
            if let Some(split) = split {
                let clip = if split.at_five == locus.reverse { length - right..length } else { 0..left };
                let from = split.start as usize;
                let bases = &mut self.bases[clip];
                bases.copy_from_slice(&sample.contig(split.contig as usize)[from..from + bases.len()]);
                if split.reverse != locus.reverse {
                    reverse_complement(bases);
                }
            }
        }
    }

    /// Inserts an intron into the alignment if one is inside the read. The 5' end does not move.
    /// Reads with indels are not changed.
    fn insert_intron(&mut self, reference: &[u8], reverse: bool, clip: usize) {
        let is_match = |element: &u32| element & 15 == op::MATCH;
        let mut others = self.cigar.iter().filter(|element| !is_match(element));
        let Some(at) = self.cigar.iter().position(is_match) else { return };
        let (start, length) = (self.start as usize, (self.cigar[at] >> 4) as usize);
        let edge = start.next_multiple_of(INTRON_SPACING);
        let skip = MIN_INTRON_BASES + edge / INTRON_SPACING * 37 % 2000;
        let (left, right) = (edge - start, (start + length).saturating_sub(edge));
        let fits = if reverse { start >= skip } else { edge + skip + right <= reference.len() };
        if left < 8 || right < 8 || !fits || others.any(|element| element & 15 != op::SOFT_CLIP) {
            return;
        }
        if reverse {
            self.start -= skip as i32;
            self.bases[clip..clip + left].copy_from_slice(&reference[start - skip..edge - skip]);
        } else {
            let moved = &reference[edge + skip..edge + skip + right];
            self.bases[clip + left..clip + length].copy_from_slice(moved);
        }
        let spliced =
            [left as u32 * 16 + op::MATCH, skip as u32 * 16 + op::SKIP, right as u32 * 16 + op::MATCH];
        self.cigar.splice(at..=at, spliced);
    }

    fn fill_clips(
        &mut self,
        sample: &Sample,
        rng: &mut Rng,
        reverse: bool,
        left: usize,
        right: usize,
        adaptor: bool,
    ) {
        let length = self.bases.len();
        let from = rng.below(sample.junk_room()) as usize;
        let junk = &sample.junk[from..from + length];
        self.bases[..left].copy_from_slice(&junk[..left]);
        self.bases[length - right..].copy_from_slice(&junk[length - right..]);
        if !adaptor {
            return;
        }
        if reverse {
            let clip = self.bases[..left].iter_mut().rev();
            clip.zip(ADAPTER).for_each(|(base, &a)| *base = complement(a));
        } else {
            let clip = self.bases[length - right..].iter_mut();
            clip.zip(ADAPTER).for_each(|(base, &a)| *base = a);
        }
    }

    /// Sets the mapping quality and the second-best score according to the repeats at the position.
    fn set_mapping_quality(&mut self, sample: &Sample, template: &Template, end: usize) {
        let five = template.ends[end].five as usize;
        let salt = template.salt >> (16 * end) & 0xFFFF;
        let noise = salt & 0xFF;
        let score = self.summary.score;
        let (quality, second_best) = match sample.contigs[self.contig as usize].repeats.at(five) {
            Repeat::Unique if noise < 4 => (salt >> 8 & 63, score / 2),
            Repeat::Unique => (60, if noise < 190 { 0 } else { 19 + noise % 12 }),
            Repeat::Old if noise < 30 => (salt >> 8 & 63, score * 3 / 4),
            Repeat::Old => (60, score * (noise % 64 + 20) / 128),
            Repeat::Young if noise < 110 => (salt >> 8 & 31, score.saturating_sub(noise % 8)),
            Repeat::Young => (60 - noise % 32, score * 3 / 4),
            Repeat::Exact if noise < 40 => (3 + noise % 24, score.saturating_sub(2)),
            Repeat::Exact => (0, score),
        };
        self.mapping_quality = quality.min(60) as u8;
        self.second_best = second_best;
    }

    pub(crate) fn five_prime(&self) -> i32 {
        if self.reverse { self.start + self.summary.covered as i32 - 1 } else { self.start }
    }
}

#[derive(Default)]
pub(crate) struct Supplementary {
    pub(crate) bases: Vec<u8>,
    pub(crate) qualities: Vec<u8>,
    pub(crate) cigar: [u32; 2],
    pub(crate) md: Vec<u8>,
    pub(crate) summary: AlignmentSummary,
    pub(crate) mapping_quality: u8,
}

impl Supplementary {
    /// Copies the part of the finished primary read that is aligned elsewhere.
    pub(crate) fn copy_split_part(&mut self, sample: &Sample, read: &SimulatedRead, split: &SplitPart) {
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
        self.summary = summarize_alignment(&self.cigar, &self.bases, reference, start, &mut self.md);
        self.mapping_quality = (20 + split.length / 2).min(60) as u8;
    }
}

/// Appends one element of an SA field. Hard clips are written as soft clips, as aligners do.
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
    write_decimal(start as u32 + 1, out);
    out.extend_from_slice(if reverse { b",-," } else { b",+," });
    for &element in cigar {
        write_decimal(element >> 4, out);
        out.push(b"MIDNSS"[(element & 15) as usize]);
    }
    out.push(b',');
    write_decimal(u32::from(quality), out);
    out.push(b',');
    write_decimal(edits, out);
    out.push(b';');
}
