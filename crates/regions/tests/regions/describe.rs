//! The regions of a run as the lines that `tests/oracles/java/Regions.java` prints.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use readmill_format::sam::LineParser;
use readmill_jmath::{CpuMaker, JavaMath};
use readmill_record::{Header, RecordRef, Result};
use readmill_regions::activity::{ActivityModel, LocusActivity, compute_activity};
use readmill_regions::intake::ReadIntake;
use readmill_regions::{
    AssemblyRegion, Contig, ContigSpan, DEFAULT_MAX_READS_PER_START, Intervals, RegionWalk,
    normalize_reference,
};

use super::cases::RegionInput;
use super::draws::hash_number;

/// Input of a run.
pub struct RegionRun {
    /// Bases by name of contig.
    pub reference: BTreeMap<String, Vec<u8>>,
    /// Intervals by name of contig, or none for whole contigs.
    pub intervals: Option<BTreeMap<String, Vec<ContigSpan>>>,
    /// Copies of each chromosome.
    pub ploidy: usize,
    /// Whether reads and loci are listed, too.
    pub lists_all: bool,
}

/// Returns the contigs of a FASTA file with their bases as GATK reads them.
pub fn parse_reference(fasta: &str) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut contigs = BTreeMap::new();
    for contig in fasta.split('>').skip(1) {
        let (name, bases) = contig.split_once('\n').unwrap_or((contig, ""));
        let mut bases = Vec::from_iter(bases.bytes().filter(|base| !base.is_ascii_whitespace()));
        normalize_reference(&mut bases)?;
        let name = name.split_ascii_whitespace().next().unwrap_or_default();
        contigs.insert(name.to_owned(), bases);
    }
    Ok(contigs)
}

impl RegionRun {
    /// Prepares a run of an input, which lists no more than regions.
    pub fn new(input: &RegionInput, uses_intervals: bool, ploidy: usize) -> Result<Self> {
        let mut intervals = BTreeMap::<_, Vec<_>>::new();
        for (contig, start, end) in &input.intervals {
            intervals.entry(contig.clone()).or_default().push(ContigSpan { start: *start, end: *end });
        }
        let intervals = uses_intervals.then_some(intervals);
        Ok(RegionRun { reference: parse_reference(&input.fasta)?, intervals, ploidy, lists_all: false })
    }

    /// Describes the regions of the records of a sorted SAM file.
    pub fn describe(&self, sam: &str) -> Result<String> {
        let header_end =
            sam.lines().take_while(|line| line.starts_with('@')).map(|line| line.len() + 1).sum();
        let (header, records) = sam.split_at(header_end);
        let header = Header::parse(header.as_bytes())?;
        let mut parser = LineParser::new(&header);
        let mut records = records.lines().peekable();
        let maker = CpuMaker::Intel;
        let math = JavaMath::of_maker(maker).expect("the tables of Intel's processors");
        let model = Arc::new(ActivityModel::new(math, self.ploidy));
        let mut walk =
            RegionWalk::new(Arc::clone(&model), ReadIntake::new(&header), DEFAULT_MAX_READS_PER_START)?;
        let (mut text, mut raw, mut regions) = (String::new(), Vec::new(), Vec::new());
        for (index, contig) in header.references().iter().enumerate() {
            let name = String::from_utf8_lossy(&contig.name).into_owned();
            let is_on_contig = |line: &&str| line.split('\t').nth(2) == Some(&name);
            let mut lines = std::iter::from_fn(|| records.next_if(is_on_contig));
            let intervals = match &self.intervals {
                Some(intervals) => Intervals::new(intervals.get(&name).into_iter().flatten().copied()),
                None => Intervals::of_contig(contig.length as i32),
            };
            if intervals.spans().is_empty() {
                lines.by_ref().for_each(drop);
                continue;
            }
            let contig = Contig::new(index, name.as_bytes(), &self.reference[&name][..]);
            walk.start_contig(contig.clone(), &intervals)?;
            for line in lines {
                raw.clear();
                parser.parse(line.as_bytes(), &mut raw)?;
                walk.add_record(RecordRef::new(&raw), &mut regions)?;
                for region in regions.drain(..) {
                    self.describe_region(&contig, &region, &model, &mut text);
                }
            }
            walk.finish_contig(&mut regions)?;
            for region in regions.drain(..) {
                self.describe_region(&contig, &region, &model, &mut text);
            }
        }
        Ok(text)
    }

    fn describe_region(
        &self,
        contig: &Contig,
        region: &AssemblyRegion,
        model: &Arc<ActivityModel>,
        text: &mut String,
    ) {
        let reads = &region.reads;
        let (mut reads_hash, mut loci_hash) = (0, 0);
        for read in reads {
            hash_text(&mut reads_hash, &read.name);
            hash_number(&mut reads_hash, u64::from(read.flags.is_reverse()));
            hash_number(&mut reads_hash, read.start as u64);
            hash_text(&mut reads_hash, read.cigar.to_string().as_bytes());
            hash_text(&mut reads_hash, &read.bases);
        }
        let activity = compute_activity(model, reads, contig, region.span);
        let loci =
            (region.span.start..).zip(activity).filter(|(_, locus)| *locus != LocusActivity::default());
        let loci = Vec::from_iter(loci);
        for (position, locus) in &loci {
            hash_number(&mut loci_hash, *position as u64);
            hash_number(&mut loci_hash, locus.probability.to_bits());
            hash_number(&mut loci_hash, locus.soft_clip_mean.to_bits());
        }
        let ContigSpan { start, end } = region.span;
        let (is_active, read_count, locus_count) = (region.is_active, reads.len(), loci.len());
        let name = String::from_utf8_lossy(&contig.name);
        writeln!(
            text,
            "{name} {start} {end} {is_active} {read_count} {reads_hash:x} {locus_count} {loci_hash:x}"
        )
        .expect("a string");
        if self.lists_all {
            for (position, locus) in loci {
                let (probability, mean) = (locus.probability.to_bits(), locus.soft_clip_mean.to_bits());
                writeln!(text, "locus {position} {probability:x} {mean:x}").expect("a string");
            }
            for read in reads {
                let name = String::from_utf8_lossy(&read.name);
                writeln!(text, "read {name} {} {}", read.start, read.cigar).expect("a string");
            }
        }
    }
}

fn hash_text(hash: &mut u64, text: &[u8]) {
    text.iter().for_each(|&letter| hash_number(hash, u64::from(letter)));
}
