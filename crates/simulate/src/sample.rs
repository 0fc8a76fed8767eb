//! A simulated sample: its genome, its variants and its header. Other modules create records and
//! text.

use crate::genome::{self, Contig, random_bases};
use crate::names::machine_names;
use crate::profile::Profile;
use crate::quality::QualityPool;
use crate::rng::{Exponential, Rng};
use crate::variants::Variants;

/// Length of a target, and distance between the starts of two targets, in bases.
pub(crate) const TARGET_BASES: u32 = 2_000;
pub(crate) const TARGET_SPACING: u32 = 10_000;

/// Number of start positions in the random bases of unmapped reads.
const JUNK_STARTS: u32 = 1 << 18;

/// A simulated sample. The genome is held in memory, one byte per base.
///
/// ```
/// use readmill_simulate::{Profile, Sample};
///
/// let contigs = vec![("chr1".to_string(), 5000)];
/// let sample = Sample::new(Profile { contigs, ..Profile::small().with_pairs(1) });
/// assert_eq!(sample.contig(0).len(), 5000);
/// assert!(sample.header_text().contains("@SQ\tSN:chr1\tLN:5000\n"));
/// ```
pub struct Sample {
    pub(crate) profile: Profile,
    pub(crate) contigs: Vec<Contig>,
    pub(crate) variants: Vec<Variants>,
    pub(crate) pool: QualityPool,
    pub(crate) waits: Exponential,
    pub(crate) junk: Vec<u8>,
}

impl Sample {
    pub fn new(profile: Profile) -> Self {
        let contigs = genome::draw_contigs(&profile);
        let variants = contigs.iter().enumerate().map(|(i, contig)| {
            let mut rng = Rng::for_purpose(profile.seed, 0x7661_7269_0000 + i as u64);
            Variants::new(&mut rng, contig)
        });
        let length = profile.clamped_read_length();
        let mut rng = Rng::for_purpose(profile.seed, 0x6A75_6E6B);
        Self {
            variants: variants.collect(),
            pool: QualityPool::new(&profile),
            waits: Exponential::new(),
            junk: random_bases(&mut rng, JUNK_STARTS as usize + length),
            contigs,
            profile,
        }
    }

    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Returns the reference bases of contig `i` in upper case.
    ///
    /// # Panics
    /// If there is no contig with this index.
    pub fn contig(&self, i: usize) -> &[u8] {
        &self.contigs[i].bases
    }

    /// Returns typical regions of a capture kit: 2,000 bases in every 10,000, as contig index,
    /// start and end (0-based, half-open).
    pub fn capture_targets(&self) -> Vec<(usize, u32, u32)> {
        let of = |(i, contig): (usize, &Contig)| {
            let last = (contig.bases.len() as u32).saturating_sub(TARGET_BASES);
            let known =
                move |start: &u32| contig.is_known(*start as usize, (*start + TARGET_BASES) as usize);
            let starts = (TARGET_BASES..last).step_by(TARGET_SPACING as usize).filter(known);
            starts.map(move |start| (i, start, start + TARGET_BASES)).collect::<Vec<_>>()
        };
        self.contigs.iter().enumerate().flat_map(of).collect()
    }

    /// Returns the SAM header. It declares unsorted records that are grouped by name.
    pub fn header_text(&self) -> String {
        format_header(&self.profile)
    }

    /// Appends the header as a BAM file stores it before compression: magic, text and reference list.
    pub fn raw_header(&self, out: &mut Vec<u8>) {
        append_raw_header(&self.profile, out);
    }

    pub(crate) fn junk_room(&self) -> u32 {
        JUNK_STARTS
    }
}

pub(crate) struct ReadGroup {
    pub(crate) id: String,
    pub(crate) library: usize,
    unit: String,
}

pub(crate) fn make_read_groups(profile: &Profile) -> Vec<ReadGroup> {
    const INDEXES: [&str; 4] = ["ATCACG", "CGATGT", "TTAGGC", "TGACCA"];
    let (instrument, flowcell) = machine_names(profile.flowcell);
    let group = |i: u32| {
        let library = (i + 1).saturating_sub(profile.lanes.max(1));
        let (lane, index) = (i + 1, INDEXES[library as usize % 4]);
        ReadGroup {
            id: format!("{instrument}.{flowcell}.{lane}"),
            library: library as usize,
            unit: format!("{flowcell}.{lane}.{index}"),
        }
    };
    (0..profile.lanes.max(1) + profile.libraries.max(1) - 1).map(group).collect()
}

pub(crate) fn format_header(profile: &Profile) -> String {
    let mut text = String::from("@HD\tVN:1.6\tSO:unsorted\tGO:query\n");
    for (name, length) in &profile.contigs {
        text.push_str(&format!("@SQ\tSN:{name}\tLN:{length}\n"));
    }
    for ReadGroup { id, library, unit } in make_read_groups(profile) {
        let library = library + 1;
        text.push_str(&format!(
            "@RG\tID:{id}\tSM:SIM1\tLB:LIB{library}\tPL:ILLUMINA\tPU:{unit}\tCN:SIM\n"
        ));
    }
    text.push_str("@PG\tID:readmill-simulate\tPN:readmill-simulate\tVN:1\n");
    text
}

pub(crate) fn append_raw_header(profile: &Profile, out: &mut Vec<u8>) {
    let text = format_header(profile);
    out.extend_from_slice(b"BAM\x01");
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(&(profile.contigs.len() as u32).to_le_bytes());
    for (name, length) in &profile.contigs {
        out.extend_from_slice(&(name.len() as u32 + 1).to_le_bytes());
        out.extend_from_slice(name.as_bytes());
        out.push(0);
        out.extend_from_slice(&length.to_le_bytes());
    }
}
