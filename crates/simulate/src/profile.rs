//! The parameters of a simulated sample.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Qualities {
    /// Forty levels, 2 to 41, decreasing towards the end of a read.
    Full,
    Binned,
}

/// The flow cell type, which determines the tiles and the coordinate range in read names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flowcell {
    /// 112 tiles per lane; x up to about 21,500, y up to about 101,000.
    HiSeq,
    /// 936 tiles per lane; x up to about 52,000, y up to about 58,000.
    Patterned,
}

/// A fault of a library or sequencing run, simulated to show how reports present it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Fragments of about 150 bases, so that many reads extend into the adapter.
    AdapterReadThrough,
    /// Nearly half of the templates are PCR copies.
    OverAmplified,
    /// The second lane belongs to a different library, with different insert sizes and GC content.
    SwappedLane,
    /// One cycle, in the middle of read 1, has quality 2 on most tiles.
    FailingCycle,
    GcBias,
    /// One in three targets has hardly any reads.
    LowTargets,
}

impl Fault {
    pub const ALL: [(&'static str, Fault); 6] = [
        ("adapter", Fault::AdapterReadThrough),
        ("amplified", Fault::OverAmplified),
        ("lane", Fault::SwappedLane),
        ("cycle", Fault::FailingCycle),
        ("gc", Fault::GcBias),
        ("targets", Fault::LowTargets),
    ];
}

/// The parameters of a simulation. Shares are in per mille of all templates.
///
/// The same profile always gives the same bytes. [`Profile::small`], [`Profile::demo`] and
/// [`Profile::gallery`] are typical profiles, which struct update syntax can change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    pub seed: u64,
    pub pairs: u64,
    /// Names and lengths of the contigs. A contig shorter than about 1,300 bases plus two read
    /// lengths is in the header but has no reads.
    pub contigs: Vec<(String, u32)>,
    /// Read length in bases. Values are clamped to 40 to 2,000.
    pub read_length: u32,
    pub qualities: Qualities,
    /// PCR copies: the same library and unclipped 5' positions, but a new cluster and new
    /// qualities.
    pub duplicates_per_mille: u32,
    /// Optical copies: the same read group and tile, close to the original.
    pub optical_per_mille: u32,
    pub unmapped_per_mille: u32,
    /// Pairs with one unmapped read, which has the position of its mate.
    pub half_mapped_per_mille: u32,
    pub chimeric_per_mille: u32,
    /// Pairs with a split read, which has a supplementary record.
    pub supplementary_per_mille: u32,
    pub single_per_mille: u32,
    /// Number of amplicons. All reads that face each other start at the primers of one of them,
    /// each pair with its own insert size. With 0, pairs start anywhere.
    pub amplicons: u32,
    /// Whether reads across certain positions of the contigs skip an intron there, as in RNA-seq.
    pub introns: bool,
    pub flowcell: Flowcell,
    /// Whether read names have an eighth field with a UMI, and records the matching RX field.
    pub umi_names: bool,
    /// Number of libraries, at least 1. Each library except the first has one read group.
    pub libraries: u32,
    /// Number of read groups of the first library, at least 1.
    pub lanes: u32,
    /// Whether the GC content varies along the genome, as in mammals.
    pub isochores: bool,
    pub fault: Option<Fault>,
}

impl Profile {
    /// Returns a profile of 20,000 pairs on five contigs of 2 Mb in total, for tests.
    pub fn small() -> Self {
        Self {
            seed: 1,
            pairs: 20_000,
            contigs: named_contigs(&[
                ("chr1", 800_000),
                ("chr2", 600_000),
                ("chr3", 400_000),
                ("chr4", 180_000),
                ("chrM", 16_569),
            ]),
            read_length: 150,
            qualities: Qualities::Full,
            duplicates_per_mille: 120,
            optical_per_mille: 10,
            unmapped_per_mille: 10,
            half_mapped_per_mille: 5,
            chimeric_per_mille: 5,
            supplementary_per_mille: 5,
            single_per_mille: 0,
            amplicons: 0,
            introns: false,
            flowcell: Flowcell::HiSeq,
            umi_names: false,
            libraries: 2,
            lanes: 2,
            isochores: false,
            fault: None,
        }
    }

    /// Returns a profile of 150,000 pairs on nine contigs of 20 Mb in total, for demonstrations and
    /// benchmarks.
    pub fn demo() -> Self {
        Self {
            pairs: 150_000,
            contigs: named_contigs(&[
                ("chr1", 5_000_000),
                ("chr2", 4_200_000),
                ("chr3", 3_300_000),
                ("chr4", 2_600_000),
                ("chr5", 2_000_000),
                ("chr6", 1_400_000),
                ("chrX", 1_100_000),
                ("chrY", 400_000),
                ("chrM", 16_569),
            ]),
            ..Self::small()
        }
    }

    /// Returns a profile for the report gallery: 120,000 pairs on a genome of 1 Mb (about 30-fold
    /// coverage), from four lanes of one library. Its reports show no problems except those of
    /// `fault`.
    pub fn gallery(fault: Option<Fault>) -> Self {
        Self {
            pairs: 120_000,
            contigs: named_contigs(&[("chr1", 520_000), ("chr2", 320_000), ("chr3", 160_000)]),
            duplicates_per_mille: if fault == Some(Fault::OverAmplified) { 480 } else { 60 },
            libraries: 1,
            lanes: 4,
            isochores: true,
            fault,
            ..Self::small()
        }
    }

    pub fn with_pairs(self, n: u64) -> Self {
        Self { pairs: n, ..self }
    }

    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    pub(crate) fn clamped_read_length(&self) -> usize {
        self.read_length.clamp(40, 2000) as usize
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self::small()
    }
}

fn named_contigs(list: &[(&str, u32)]) -> Vec<(String, u32)> {
    list.iter().map(|&(name, length)| (name.to_owned(), length)).collect()
}
