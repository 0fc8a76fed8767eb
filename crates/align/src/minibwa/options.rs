//! The options of minibwa.

/// The options of `minibwa map` by the letters they have there; `None` and `false` are its defaults.
///
/// `-R` is an argument of [`Aligner::emit`](crate::Aligner::emit). Not to be had: `-f` (PAF), `-u` (drop unmapped reads
/// later), `-y` (comments: for who gets the records), `-H`, `--chain-only`, `--meth`, `--mmap`, `--pe`, `--long`,
/// `--adap`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MinibwaOptions {
    /// `-x`: what kind of reads it is set up for.
    pub preset: Preset,
    /// `-l`: longest read that counts as short in the adaptive mode, in bases (325).
    pub longest_short_read: Option<i32>,
    /// `-k`: shortest seed, in bases (19).
    pub min_seed_length: Option<i32>,
    /// `-c`: seeds that occur more often are not all used (250).
    pub max_occurrences: Option<i32>,
    /// `-g`: longest gap, which ends a chain, too, in bases (100, and 5000 with `lr`).
    pub max_gap: Option<i32>,
    /// `-w`: band width of alignments (100, and 500 with `lr`).
    pub band_width: Option<i32>,
    /// `-W`: band width where long reads are chained again (20,000).
    pub long_band_width: Option<i32>,
    /// `-m`: lowest score of a chain (25, and 40 with `lr`).
    pub min_chain_score: Option<i32>,
    /// `-p`: lowest score of a secondary hit as a part of the primary one's (0.5).
    pub min_secondary_ratio: Option<f32>,
    /// `-N`: secondary hits that are kept (50, and 5 with `lr`).
    pub max_secondary: Option<i32>,
    /// `-A`: score of a match (2).
    pub match_score: Option<i32>,
    /// `-B`: penalty of a mismatch (8).
    pub mismatch_penalty: Option<i32>,
    /// `-O`: penalties for opening a gap, and a long one (12, 23).
    pub gap_open: Option<(i32, i32)>,
    /// `-E`: penalties for each base of a gap, and of a long one (2, 1).
    pub gap_extend: Option<(i32, i32)>,
    /// `-s`: lowest score of an alignment, times the match score (30, and 50 with `lr`).
    pub min_score: Option<i32>,
    /// `-U`: penalty for a pair that is not properly paired, times the match score (17).
    pub unpaired: Option<i32>,
    /// `-P`: no pairing and no mate rescue.
    pub skip_pairing: bool,
    /// `--rescue`: number of hits for each of which mate rescue is tried (10).
    pub max_mate_rescues: Option<i32>,
    /// `-I`: how long inserts are, instead of inferring it (FR alone).
    pub insert: Option<InsertSize>,
    /// `-b`: says how read and reference differ.
    pub differences: Option<Differences>,
    /// `--outn`: secondary alignments that are written (0).
    pub secondary_written: Option<i32>,
    /// `--outs`: lowest score, as a part of the best hit's, of what is written as secondary or in XA (0.8).
    pub min_written_ratio: Option<f32>,
    /// `--xa`: that many other hits at most are listed in XA (5).
    pub max_xa_hits: Option<i32>,
    /// `-Y`: clips supplementary alignments softly.
    pub soft_clip: bool,
    /// `-5`: of a split read, the part that begins first in the read is the primary.
    pub primary_five_prime: bool,
    /// `--eqx`: `=` and `X` in CIGARs.
    pub eqx: bool,
    /// `-K`: bases of a cohort (100,000,000).
    pub cohort_bases: Option<u64>,
}

/// The kind of reads that the options are preset for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// `adap`: each read as its length wants it.
    #[default]
    Adaptive,
    /// `sr`: which minibwa 0.6 makes the same as `adap`.
    Short,
    /// `lr`: long reads, which are not paired.
    Long,
}

/// How differences between read and reference are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Differences {
    /// The field MD.
    Md,
    /// The field cs.
    Cs,
    /// The field ds.
    Ds,
}

/// How long inserts are, in bases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsertSize {
    /// Their mean.
    pub mean: i32,
    /// Their standard deviation.
    pub deviation: i32,
    /// The longest of a proper pair.
    pub longest: i32,
    /// The shortest of a proper pair.
    pub shortest: i32,
}

impl MinibwaOptions {
    /// `-K` where it is not given, in bases.
    pub const COHORT_BASES: u64 = 100_000_000;

    /// Whether the reads of a pair are aligned together.
    pub fn pairs(&self) -> bool {
        self.preset != Preset::Long && !self.skip_pairing
    }
}
