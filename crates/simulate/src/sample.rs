//! A simulated sample: its genome, its variants and its reads.

use crate::fixed::Exponential;
use crate::genome::{self, Contig, random_bases};
use crate::profile::Profile;
use crate::quality::Pool;
use crate::records::Records;
use crate::rng::Rng;
use crate::variants::Variants;
use crate::{fastq, header, sites};
use std::io::{self, Write};

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

    /// The records from the first template on. Every call starts anew and gives the same.
    pub fn records(&self) -> Records<'_> {
        Records::new(self)
    }

    /// Writes the reference as FASTA, 60 bases a line.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn write_fasta(&self, w: &mut dyn Write) -> io::Result<()> {
        sites::write_fasta(self, w)
    }

    /// Writes the index of that FASTA file, as `samtools faidx` does.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn write_fai(&self, w: &mut dyn Write) -> io::Result<()> {
        sites::write_fai(self, w)
    }

    /// Writes known variants as VCF 4.2, sorted: nine in ten of those the sample carries, and
    /// some that it does not carry.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn write_known_sites(&self, w: &mut dyn Write) -> io::Result<()> {
        sites::write_known_sites(self, w)
    }

    /// Writes the reads of [`Sample::records`] as a sequencer gives them, 5' to 3'. Single-end
    /// reads go to `r1` and leave nothing in `r2`.
    ///
    /// # Errors
    /// What a writer reports.
    pub fn write_fastq(&self, r1: &mut dyn Write, r2: &mut dyn Write) -> io::Result<()> {
        fastq::write(self, r1, r2)
    }

    /// The number of places in the junk from which a whole read can be taken.
    pub(crate) fn junk_room(&self) -> u32 {
        JUNK
    }
}
