//! Yields the records of a sample, template by template.

use crate::draw::Drawer;
use crate::names::{SimulatedLane, write_umi};
use crate::profile::Fault;
use crate::raw::{RawRecord, append_number_tag, append_text_tag, set_block_size};
use crate::read::{SimulatedRead, Supplementary, write_sa};
use crate::rng::Rng;
use crate::sample::{Sample, make_read_groups};
use crate::template::{CopyLibrary, RecentTemplates, SplitPart, Template, TemplateKind};

struct TemplateGroup {
    id: Vec<u8>,
    library: usize,
    lane: SimulatedLane,
    ring: RecentTemplates,
}

/// The records of a sample in aligner output order: by cluster, with mates adjacent. Memory does
/// not grow with the number of templates.
pub struct SampleRecords<'a> {
    sample: &'a Sample,
    drawer: Drawer<'a>,
    rng: Rng,
    left: u64,
    groups: Vec<TemplateGroup>,
    group: usize,
    run: u32,
    libraries: Vec<CopyLibrary>,
    reads: [SimulatedRead; 2],
    supplementary: Supplementary,
    name: Vec<u8>,
    text: Vec<u8>,
}

impl<'a> SampleRecords<'a> {
    pub(crate) fn new(sample: &'a Sample) -> Self {
        let profile = &sample.profile;
        let list = make_read_groups(profile);
        let count = list.len() as u32;
        let open = |(i, group): (usize, crate::sample::ReadGroup)| TemplateGroup {
            id: group.id.into_bytes(),
            library: group.library,
            lane: SimulatedLane::new(profile, i as u32, count),
            ring: RecentTemplates::default(),
        };
        let groups: Vec<TemplateGroup> = list.into_iter().enumerate().map(open).collect();
        let libraries = groups.last().map_or(0, |group| group.library + 1);
        Self {
            sample,
            drawer: Drawer::new(sample),
            rng: Rng::for_purpose(profile.seed, 0x7265_6164),
            left: profile.pairs,
            groups,
            group: 0,
            run: 0,
            // One additional library, for a lane that belongs to a different sample.
            libraries: (0..=libraries).map(|_| CopyLibrary::default()).collect(),
            reads: Default::default(),
            supplementary: Supplementary::default(),
            name: Vec::new(),
            text: Vec::new(),
        }
    }

    /// Appends all records of the next template to `out`: read 1, its supplementary record if it is
    /// split, then the same for read 2. After the last template, appends nothing and returns false.
    pub fn append_next(&mut self, out: &mut Vec<u8>) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        if self.run == 0 {
            self.group = self.rng.below(self.groups.len() as u32) as usize;
            self.run = self.rng.between(64, 1024);
        }
        self.run -= 1;
        let template = self.draw_template();
        self.emit_template(&template, out);
        true
    }

    /// Draws a new template or copies an earlier one, and keeps it for later copies.
    fn draw_template(&mut self) -> Template {
        let profile = &self.sample.profile;
        let is_foreign = profile.fault == Some(Fault::SwappedLane) && self.group == 1;
        let (rng, group) = (&mut self.rng, &mut self.groups[self.group]);
        let own = if is_foreign { self.libraries.len() - 1 } else { group.library };
        let library = &mut self.libraries[own];
        let roll = rng.below(1000);
        if roll < profile.optical_per_mille
            && let Some(source) = group.ring.pick_template(rng)
            && group.lane.is_current(&source.cluster)
        {
            let cluster = group.lane.draw_near_cluster(rng, &source.cluster);
            let copy = self.drawer.make_optical_copy(rng, &source, cluster);
            group.ring.keep_template(&copy);
            return copy;
        }
        let cluster = group.lane.next_cluster(rng);
        let copies = profile.optical_per_mille..profile.optical_per_mille + profile.duplicates_per_mille;
        if copies.contains(&roll)
            && let Some(source) = library.pick_template(rng)
        {
            let copy = self.drawer.make_pcr_copy(rng, &source, cluster);
            group.ring.keep_template(&copy);
            return copy;
        }
        let template = self.drawer.draw_molecule(rng, cluster, is_foreign);
        if template.kind != TemplateKind::Unmapped {
            library.keep_template(rng, &template);
            group.ring.keep_template(&template);
        }
        template
    }

    fn emit_template(&mut self, template: &Template, out: &mut Vec<u8>) {
        let group = &self.groups[self.group];
        let umi = self.sample.profile.umi_names.then_some(template.umi);
        self.name.clear();
        group.lane.write_name(&template.cluster, umi, &mut self.name);
        let count = if template.kind == TemplateKind::Single { 1 } else { 2 };
        for (end, read) in self.reads.iter_mut().enumerate().take(count) {
            read.make_read(self.sample, &mut self.rng, template, end, self.group as u32);
        }
        if let TemplateKind::Half(mapped) = template.kind {
            let mapped = usize::from(mapped);
            let (contig, start) = (self.reads[mapped].contig, self.reads[mapped].start);
            (self.reads[1 - mapped].contig, self.reads[1 - mapped].start) = (contig, start);
        }
        // QC failures, and duplicate flags left by an earlier tool.
        let roll = self.rng.below(1000);
        let common = match roll {
            0..5 => 0x200,
            5 if template.kind != TemplateKind::Unmapped => 0x400,
            _ => 0,
        };
        for end in 0..count {
            let split = template.split.filter(|split| usize::from(split.end) == end);
            self.emit_read(template, end, common, split.as_ref(), umi, out);
        }
    }

    fn emit_read(
        &mut self,
        template: &Template,
        end: usize,
        common: u16,
        split: Option<&SplitPart>,
        umi: Option<u32>,
        out: &mut Vec<u8>,
    ) {
        let (read, mate) = (&self.reads[end], &self.reads[1 - end]);
        let paired = template.kind != TemplateKind::Single;
        let flags = common | pair_flags(template, end, read, mate);
        let (mate_contig, mate_position) = if paired { (mate.contig, mate.start) } else { (-1, -1) };
        let distance = |five: i32, contig: i32, reads_mapped: bool| {
            let far = mate.five_prime() - five;
            let same = paired && reads_mapped && mate.mapped && contig == mate.contig;
            if same { far + far.signum() } else { 0 }
        };
        let primary = RawRecord {
            contig: read.contig,
            position: read.start,
            quality: read.mapping_quality,
            flags: flags | if read.reverse && read.contig >= 0 { 0x10 } else { 0 },
            name: &self.name,
            cigar: &read.cigar,
            bases: &read.bases,
            qualities: &read.qualities,
            mate_contig,
            mate_position,
            template_length: distance(read.five_prime(), read.contig, read.mapped),
            covered: read.summary.covered,
        };
        let id = &self.groups[self.group].id;
        let start = primary.append_without_tags(out);
        if read.mapped {
            append_number_tag(b"NM", read.summary.edits, out);
            append_text_tag(b"MD", &read.md, out);
        }
        append_number_tag(b"AS", read.summary.score, out);
        append_number_tag(b"XS", read.second_best, out);
        append_common_tags(id, umi, &mut self.text, out);
        let Some(split) = split else {
            set_block_size(start, out);
            return;
        };
        let other = &mut self.supplementary;
        other.copy_split_part(self.sample, read, split);
        let name_of = |contig: i32| self.sample.profile.contigs[contig as usize].0.as_str();
        let (contig, position) = (split.contig as i32, split.start as i32);
        self.text.clear();
        let (quality, edits) = (other.mapping_quality, other.summary.edits);
        write_sa(name_of(contig), position, split.reverse, &other.cigar, quality, edits, &mut self.text);
        append_text_tag(b"SA", &self.text, out);
        set_block_size(start, out);

        let five = position + if split.reverse { other.summary.covered as i32 - 1 } else { 0 };
        let record = RawRecord {
            contig,
            position,
            quality,
            flags: flags | 0x800 | if split.reverse { 0x10 } else { 0 },
            cigar: &other.cigar,
            bases: &other.bases,
            qualities: &other.qualities,
            template_length: distance(five, contig, true),
            covered: other.summary.covered,
            ..primary
        };
        let start = record.append_without_tags(out);
        append_number_tag(b"NM", edits, out);
        append_text_tag(b"MD", &other.md, out);
        append_number_tag(b"AS", other.summary.score, out);
        append_number_tag(b"XS", 0, out);
        append_common_tags(id, umi, &mut self.text, out);
        self.text.clear();
        let (quality, edits) = (read.mapping_quality, read.summary.edits);
        write_sa(
            name_of(read.contig),
            read.start,
            read.reverse,
            &read.cigar,
            quality,
            edits,
            &mut self.text,
        );
        append_text_tag(b"SA", &self.text, out);
        set_block_size(start, out);
    }
}

fn append_common_tags(group: &[u8], umi: Option<u32>, text: &mut Vec<u8>, out: &mut Vec<u8>) {
    append_text_tag(b"RG", group, out);
    if let Some(umi) = umi {
        text.clear();
        write_umi(umi, b'-', text);
        append_text_tag(b"RX", text, out);
    }
}

/// Returns all flags except the strand of the record itself.
fn pair_flags(template: &Template, end: usize, read: &SimulatedRead, mate: &SimulatedRead) -> u16 {
    let unmapped = if read.mapped { 0 } else { 0x4 };
    if template.kind == TemplateKind::Single {
        return unmapped;
    }
    let mut flags = 0x1 | unmapped | [0x40, 0x80][end];
    if template.proper && template.kind == TemplateKind::Pair {
        flags |= 0x2;
    }
    if !mate.mapped {
        flags |= 0x8;
    }
    if mate.reverse && mate.contig >= 0 {
        flags |= 0x20;
    }
    flags
}

impl Sample {
    /// Returns the records, starting with the first template. Every call yields the same records.
    pub fn records(&self) -> SampleRecords<'_> {
        SampleRecords::new(self)
    }
}
