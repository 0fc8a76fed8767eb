//! Draws templates: new molecules and copies of earlier ones.

use crate::names::Cluster;
use crate::profile::Fault;
use crate::rng::Rng;
use crate::sample::{Sample, TARGET_BASES, TARGET_SPACING};
use crate::template::{Locus, SplitPart, Template, TemplateKind};

/// A fragment must be at least this many bases longer than a read to carry indels.
const MIN_INDEL_SLACK: u32 = 24;
/// Number of bases kept free on both sides of individually placed reads.
const MARGIN: u32 = 32;
const MAX_INSERT_BASES: u32 = 1000;
const ODD_PER_MILLE: u32 = 6;

pub(crate) struct Drawer<'a> {
    sample: &'a Sample,
    length: u32,
    reach: u32,
    /// The index of each usable contig, and the cumulative number of bases up to its end.
    usable: Vec<(u32, u64)>,
    /// Unmapped templates per mille of new templates. Higher than in the profile, because copies
    /// are never unmapped.
    unmapped: u32,
    amplicons: Vec<(u32, u32, u32)>,
}

impl<'a> Drawer<'a> {
    pub(crate) fn new(sample: &'a Sample) -> Self {
        let length = sample.profile.clamped_read_length() as u32;
        let reach = 1300 + 2 * length;
        let mut sum = 0;
        let mut usable = Vec::new();
        for (i, contig) in sample.contigs.iter().enumerate() {
            if contig.bases.len() >= reach as usize {
                sum += contig.bases.len() as u64;
                usable.push((i as u32, sum));
            }
        }
        let p = &sample.profile;
        let fresh = 1000u32.saturating_sub(p.duplicates_per_mille + p.optical_per_mille).max(1);
        let unmapped =
            if usable.is_empty() { 1000 } else { (p.unmapped_per_mille * 1000 / fresh).min(1000) };
        let mut drawer = Self { sample, length, reach, usable, unmapped, amplicons: Vec::new() };
        let rng = &mut Rng::for_purpose(p.seed, 0x616D_706C);
        let number = if drawer.usable.is_empty() { 0 } else { p.amplicons };
        drawer.amplicons = (0..number).map(|_| drawer.draw_amplicon(rng)).collect();
        drawer
    }

    fn draw_amplicon(&self, rng: &mut Rng) -> (u32, u32, u32) {
        let insert = self.length + rng.between(MIN_INDEL_SLACK, 2 * self.length);
        let (contig, start) = self.draw_site(rng, insert);
        (contig, start, insert)
    }

    /// Draws a new molecule for this cluster. With `is_foreign`, it belongs to a different library,
    /// in a swapped lane.
    pub(crate) fn draw_molecule(&self, rng: &mut Rng, cluster: Cluster, is_foreign: bool) -> Template {
        let nowhere = Locus { contig: 0, five: 0, reverse: false };
        let bits = rng.next_u64();
        let mut template = Template {
            kind: TemplateKind::Pair,
            ends: [nowhere; 2],
            insert: u16::MAX,
            proper: false,
            haplotype: (bits >> 63) as u8,
            clips: [self.draw_clip(rng, 30), self.draw_clip(rng, 30)],
            split: None,
            qualities: self.pick_qualities(rng),
            umi: (bits >> 32) as u32 & 0x0FFF_FFFF,
            salt: bits as u32,
            cluster,
        };
        self.choose_shape(rng, &mut template, is_foreign);
        template
    }

    fn choose_shape(&self, rng: &mut Rng, template: &mut Template, is_foreign: bool) {
        let p = &self.sample.profile;
        if rng.per_mille(self.unmapped) {
            template.kind = TemplateKind::Unmapped;
            return;
        }
        let mut roll = rng.below(1000);
        let mut falls_in = |share: u32| {
            let hit = roll < share;
            roll = roll.saturating_sub(share);
            hit
        };
        if falls_in(p.single_per_mille) {
            template.kind = TemplateKind::Single;
            template.ends[0] = self.draw_single_locus(rng);
        } else if falls_in(p.half_mapped_per_mille) {
            template.kind = TemplateKind::Half(u8::from(rng.flip_coin()));
            template.ends = [self.draw_single_locus(rng); 2];
        } else if falls_in(p.chimeric_per_mille) {
            self.place_chimera(rng, template);
        } else if falls_in(p.supplementary_per_mille) && self.length >= 80 {
            self.place_facing_reads(rng, template, self.length + MIN_INDEL_SLACK, is_foreign);
            template.split = Some(self.draw_split(rng));
        } else if falls_in(ODD_PER_MILLE) {
            self.place_odd_pair(rng, template);
        } else {
            self.place_facing_reads(rng, template, 40, is_foreign);
        }
        if template.kind == TemplateKind::Pair && rng.flip_coin() {
            template.ends.swap(0, 1);
        }
    }

    /// Creates a PCR copy. It may be read from the other strand, be clipped differently, or lose a
    /// mate.
    pub(crate) fn make_pcr_copy(&self, rng: &mut Rng, source: &Template, cluster: Cluster) -> Template {
        let mut copy = Template { cluster, ..*source };
        if copy.kind != TemplateKind::Single && rng.flip_coin() {
            copy.swap_reads();
        }
        if rng.per_mille(250) {
            copy.clips = [self.draw_clip(rng, 500), self.draw_clip(rng, 500)];
        }
        if !rng.per_mille(30) {
            copy.qualities = self.pick_qualities(rng);
        }
        if copy.kind == TemplateKind::Pair && copy.split.is_none() && rng.per_mille(10) {
            copy.kind = TemplateKind::Half(u8::from(rng.flip_coin()));
        }
        copy
    }

    /// Creates an optical copy: the same molecule observed again nearby, rarely from the other
    /// strand.
    pub(crate) fn make_optical_copy(
        &self,
        rng: &mut Rng,
        source: &Template,
        cluster: Cluster,
    ) -> Template {
        let mut copy = Template { cluster, qualities: self.pick_qualities(rng), ..*source };
        if copy.kind != TemplateKind::Single && rng.per_mille(50) {
            copy.swap_reads();
        }
        copy
    }

    fn pick_qualities(&self, rng: &mut Rng) -> [u16; 2] {
        let pool = &self.sample.pool;
        [pool.pick_string(rng, false), pool.pick_string(rng, true)]
    }

    fn draw_clip(&self, rng: &mut Rng, per_mille: u32) -> u8 {
        if rng.per_mille(per_mille) { rng.between(1, 20) as u8 } else { 0 }
    }

    /// Draws a contig and a start such that the next `span` bases are on the contig and contain no
    /// N.
    fn draw_site(&self, rng: &mut Rng, span: u32) -> (u32, u32) {
        loop {
            let total = self.usable.last().map_or(0, |&(_, sum)| sum);
            let point = rng.below64(total);
            let (number, _) = self.usable[self.usable.partition_point(|&(_, sum)| sum <= point)];
            let contig = &self.sample.contigs[number as usize];
            let start = rng.below(contig.bases.len() as u32 - span + 1);
            if contig.is_known(start as usize, (start + span) as usize) {
                return (number, start);
            }
        }
    }

    fn place_facing_reads(
        &self,
        rng: &mut Rng,
        template: &mut Template,
        shortest: u32,
        is_foreign: bool,
    ) {
        let (contig, start, insert) = match self.amplicons.len() {
            0 => self.draw_accepted_fragment(rng, shortest, is_foreign),
            amplicons => self.amplicons[rng.below(amplicons as u32) as usize],
        };
        template.ends = [
            Locus { contig, five: start, reverse: false },
            Locus { contig, five: start + insert - 1, reverse: true },
        ];
        template.proper = true;
        if insert < self.length + MIN_INDEL_SLACK {
            template.insert = insert as u16;
        }
    }

    /// Draws an ordinary fragment (contig, start, length), rejecting those that the simulated fault
    /// loses.
    fn draw_accepted_fragment(&self, rng: &mut Rng, shortest: u32, is_foreign: bool) -> (u32, u32, u32) {
        loop {
            let found = self.draw_fragment(rng, shortest, is_foreign);
            let share = self.passing_per_mille(found, is_foreign);
            if share >= 1000 || rng.per_mille(share) {
                return found;
            }
        }
    }

    /// Returns how many of 1,000 fragments at this position become reads, which depends on the
    /// simulated fault.
    fn passing_per_mille(&self, (contig, start, insert): (u32, u32, u32), is_foreign: bool) -> u32 {
        let gc = || {
            let bases = &self.sample.contigs[contig as usize].bases;
            let fragment = &bases[start as usize..(start + insert) as usize];
            let count = fragment.iter().filter(|base| matches!(base, b'G' | b'C')).count() as u32;
            100 * count / insert
        };
        match self.sample.profile.fault {
            Some(Fault::GcBias) => 1000u32.saturating_sub(50 * gc().saturating_sub(40)).max(40),
            Some(Fault::SwappedLane) if is_foreign => (gc().saturating_sub(10) * 20).clamp(200, 1000),
            Some(Fault::LowTargets) => {
                // The first target begins one target length after the start of a contig.
                let number = start.saturating_sub(TARGET_BASES / 2) / TARGET_SPACING;
                let within = start.saturating_sub(TARGET_BASES / 2) % TARGET_SPACING;
                if number % 3 == 1 && within < 2 * TARGET_BASES { 80 } else { 1000 }
            }
            _ => 1000,
        }
    }

    fn draw_fragment(&self, rng: &mut Rng, shortest: u32, is_foreign: bool) -> (u32, u32, u32) {
        let (middle, spread) = match self.sample.profile.fault {
            Some(Fault::AdapterReadThrough) => (150, 40),
            Some(Fault::SwappedLane) if is_foreign => (470, 50),
            _ => (350, 60),
        };
        let insert = if rng.per_mille(10) && shortest < self.length {
            rng.between(shortest, self.length)
        } else {
            (rng.bell_shaped(middle, spread) as u32).clamp(shortest, MAX_INSERT_BASES.max(shortest))
        };
        let (contig, start) = self.draw_site(rng, insert);
        (contig, start, insert)
    }

    /// Places two reads that do not face each other: FF, RR or RF.
    fn place_odd_pair(&self, rng: &mut Rng, template: &mut Template) {
        let span = rng.between(2 * self.length, self.reach - 2 * MARGIN);
        let (contig, start) = self.draw_site(rng, span + 2 * MARGIN);
        let (left, right) = (start + MARGIN, start + MARGIN + span - self.length);
        let (left_reverse, right_reverse) =
            [(false, false), (true, true), (true, false)][rng.below(3) as usize];
        let end = |at: u32, reverse| {
            let five = if reverse { at + self.length - 1 } else { at };
            Locus { contig, five, reverse }
        };
        template.ends = [end(left, left_reverse), end(right, right_reverse)];
    }

    fn draw_single_locus(&self, rng: &mut Rng) -> Locus {
        let (contig, start) = self.draw_site(rng, self.length + 2 * MARGIN);
        let reverse = rng.flip_coin();
        let five = start + MARGIN + if reverse { self.length - 1 } else { 0 };
        Locus { contig, five, reverse }
    }

    /// Places the reads on different contigs, or far apart if there is only one contig.
    fn place_chimera(&self, rng: &mut Rng, template: &mut Template) {
        template.ends = [self.draw_single_locus(rng), self.draw_single_locus(rng)];
        for _ in 0..1000 {
            if template.ends[0].contig != template.ends[1].contig || self.usable.len() < 2 {
                break;
            }
            template.ends[1] = self.draw_single_locus(rng);
        }
    }

    fn draw_split(&self, rng: &mut Rng) -> SplitPart {
        let length = rng.between(30, self.length - 40);
        let (contig, start) = self.draw_site(rng, length);
        SplitPart {
            end: u8::from(rng.flip_coin()),
            at_five: rng.flip_coin(),
            length: length as u16,
            contig,
            start,
            reverse: rng.flip_coin(),
        }
    }
}
