//! The parameters of a simulated sample.

/// Which base qualities the sequencer reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Qualities {
    /// Forty levels, 2 to 41, falling towards the end of a read.
    Full,
    /// The four bins 2, 12, 23 and 37.
    Binned,
}

/// The kind of flow cell: the tiles there are and the range of coordinates in read names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flowcell {
    /// 112 tiles a lane; x up to about 21,500 and y up to about 101,000.
    HiSeq,
    /// 936 tiles a lane; x up to about 52,000 and y up to about 58,000.
    Patterned,
}

/// A fault of a library or of a run, planted so that one can see how reports show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Fragments are shorter than reads, which run into the adapter.
    AdapterReadThrough,
    /// Few molecules were amplified often.
    OverAmplified,
    /// The second lane is that of another library: other insert sizes, another GC.
    SwappedLane,
    /// A cycle of first reads fails.
    FailingCycle,
    /// Fragments rich in G and C are lost.
    GcBias,
    /// A third of the targets is hardly covered.
    LowTargets,
}

impl Fault {
    /// All of them, by their names.
    pub const ALL: [(&'static str, Fault); 6] = [
        ("adapter", Fault::AdapterReadThrough),
        ("amplified", Fault::OverAmplified),
        ("lane", Fault::SwappedLane),
        ("cycle", Fault::FailingCycle),
        ("gc", Fault::GcBias),
        ("targets", Fault::LowTargets),
    ];
}

/// The parameters of a simulation. Shares are per mille of all templates; the same profile always gives the
/// same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Seed of every random decision.
    pub seed: u64,
    /// Number of templates (read pairs, or single reads).
    pub pairs: u64,
    /// Names and lengths of the contigs. Contigs shorter than about 1,300 bases plus two read
    /// lengths are in the header but get no reads.
    pub contigs: Vec<(String, u32)>,
    /// Bases in a read; taken as 40 at least and 2,000 at most.
    pub read_length: u32,
    /// Base qualities.
    pub qualities: Qualities,
    /// PCR copies: same library, same unclipped 5' positions, new cluster and qualities.
    pub duplicates_per_mille: u32,
    /// Optical copies: same read group and tile, close to the original.
    pub optical_per_mille: u32,
    /// Pairs with both mates unmapped and without a position.
    pub unmapped_per_mille: u32,
    /// Pairs with one mate unmapped and placed where its mate is.
    pub half_mapped_per_mille: u32,
    /// Pairs with mates on different contigs.
    pub chimeric_per_mille: u32,
    /// Pairs with a split read, that is, with a supplementary record.
    pub supplementary_per_mille: u32,
    /// Single-end reads.
    pub single_per_mille: u32,
    /// Number of primer sites: all pairs of facing reads start at one of them, each with its own insert size; with
    /// 0 pairs start anywhere.
    pub amplicons: u32,
    /// Whether reads across certain bases of the contigs skip an intron there, as RNA does.
    pub introns: bool,
    /// Tiles and coordinates in read names.
    pub flowcell: Flowcell,
    /// Whether names have an eighth field with a UMI (and records a matching RX tag).
    pub umi_names: bool,
    /// Number of libraries, taken as 1 at least. Every one but the first has one read group.
    pub libraries: u32,
    /// Read groups of the first library, taken as 1 at least.
    pub lanes: u32,
    /// Whether GC differs between parts of the genome, as it does in that of mammals.
    pub isochores: bool,
    /// What is wrong with the sample.
    pub fault: Option<Fault>,
}

impl Profile {
    /// 20,000 pairs on five contigs of 2 Mb together, for tests.
    pub fn small() -> Self {
        Self {
            seed: 1,
            pairs: 20_000,
            contigs: contigs(&[
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

    /// 150,000 pairs on nine contigs of 20 Mb together, for demonstrations and benchmarks.
    pub fn demo() -> Self {
        Self {
            pairs: 150_000,
            contigs: contigs(&[
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

    /// 120,000 pairs on a genome of 1 Mb, which is about 30 on each base, from four lanes of one library: a sample whose
    /// reports show nothing, or one fault.
    pub fn gallery(fault: Option<Fault>) -> Self {
        Self {
            pairs: 120_000,
            contigs: contigs(&[("chr1", 520_000), ("chr2", 320_000), ("chr3", 160_000)]),
            duplicates_per_mille: if fault == Some(Fault::OverAmplified) { 480 } else { 60 },
            libraries: 1,
            lanes: 4,
            isochores: true,
            fault,
            ..Self::small()
        }
    }

    /// The same profile with another number of templates.
    pub fn with_pairs(self, n: u64) -> Self {
        Self { pairs: n, ..self }
    }

    /// The same profile with another seed.
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The read length within its limits.
    pub(crate) fn length(&self) -> usize {
        self.read_length.clamp(40, 2000) as usize
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self::small()
    }
}

fn contigs(list: &[(&str, u32)]) -> Vec<(String, u32)> {
    list.iter().map(|&(name, length)| (name.to_owned(), length)).collect()
}
