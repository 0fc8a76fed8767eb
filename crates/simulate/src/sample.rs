//! A simulated sample: its genome, its variants and its reads.

use crate::bases::random_bases;
use crate::fixed::Exponential;
use crate::genome::{self, Contig};
use crate::header;
use crate::profile::Profile;
use crate::quality::Pool;
use crate::rng::Rng;
use crate::variants::Variants;

/// Places to start from in the bases that belong to no genome.
const JUNK: u32 = 1 << 18;

/// A simulated sample. The genome is held in memory, one byte a base.
pub struct Sample {
    pub(crate) profile: Profile,
    pub(crate) contigs: Vec<Contig>,
    pub(crate) variants: Vec<Variants>,
    pub(crate) pool: Pool,
    pub(crate) waits: Exponential,
    pub(crate) junk: Vec<u8>,
}

impl Sample {
    /// Draws the genome, the variants and the quality strings of a profile.
    pub fn new(profile: Profile) -> Self {
        let contigs = genome::contigs(&profile);
        let variants = contigs.iter().enumerate().map(|(i, contig)| {
            let mut rng = Rng::stream(profile.seed, 0x7661_7269_0000 + i as u64);
            Variants::new(&mut rng, contig)
        });
        let length = profile.length();
        let mut rng = Rng::stream(profile.seed, 0x6A75_6E6B);
        Self {
            variants: variants.collect(),
            pool: Pool::new(profile.seed, length, profile.qualities),
            waits: Exponential::new(),
            junk: random_bases(&mut rng, JUNK as usize + length),
            contigs,
            profile,
        }
    }

    /// The profile this sample was made from.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The reference bases of a contig, in capitals.
    ///
    /// # Panics
    /// If there is no contig with this number.
    pub fn contig(&self, i: usize) -> &[u8] {
        &self.contigs[i].bases
    }

    /// The SAM header: unsorted, grouped by name; two read groups share the first library.
    pub fn header_text(&self) -> String {
        header::text(&self.profile)
    }

    /// Appends the same header as a BAM file has it: magic, text and reference list.
    pub fn raw_header(&self, out: &mut Vec<u8>) {
        header::raw(&self.profile, out);
    }

    /// The number of places in the junk from which a whole read can be taken.
    pub(crate) fn junk_room(&self) -> u32 {
        JUNK
    }
}
