//! The options of minibwa.

/// The options of `minibwa map`. `None` and `false` select minibwa's default, which is given in
/// parentheses.
///
/// Each field names its option. `-R` is an argument of
/// [`Aligner::emit_records`](crate::Aligner::emit_records), and the caller handles `-y` (comments).
/// Not supported: `-f` (PAF), `-u` (drop unmapped reads later instead), `-H`, `--chain-only`,
/// `--meth`, `--mmap`, `--pe`, `--long`, `--adap`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MinibwaOptions {
    /// `-x`: the kind of reads, which determines the defaults.
    pub preset: Preset,
    /// `-l`: maximum length in bases of a short read, in the adaptive preset (325).
    pub max_short_read_bases: Option<i32>,
    /// `-k`: minimum seed length in bases (19).
    pub min_seed_length: Option<i32>,
    /// `-c`: do not use all seeds with more occurrences than this (250).
    pub max_occurrences: Option<i32>,
    /// `-g`: maximum gap in bases, also between the seeds of a chain (100; 5,000 with `lr`).
    pub max_gap: Option<i32>,
    /// `-w`: band width of alignments (100; 500 with `lr`).
    pub band_width: Option<i32>,
    /// `-W`: band width for chaining long reads again (20,000).
    pub long_band_width: Option<i32>,
    /// `-m`: minimum score of a chain (25; 40 with `lr`).
    pub min_chain_score: Option<i32>,
    /// `-p`: minimum score of a secondary hit, as a fraction of the score of its primary hit (0.5).
    pub min_secondary_ratio: Option<f32>,
    /// `-N`: maximum number of secondary hits that are kept (50; 5 with `lr`).
    pub max_secondary: Option<i32>,
    /// `-A`: score of a match (2).
    pub match_score: Option<i32>,
    /// `-B`: penalty of a mismatch (8).
    pub mismatch_penalty: Option<i32>,
    /// `-O`: penalties for opening a gap and a long gap (12, 23).
    pub gap_open: Option<(i32, i32)>,
    /// `-E`: penalties per base of a gap and of a long gap (2, 1).
    pub gap_extend: Option<(i32, i32)>,
    /// `-s`: minimum score of an alignment, in units of the match score (30; 50 with `lr`).
    pub min_score: Option<i32>,
    /// `-U`: penalty for an improper pair, in units of the match score (17).
    pub unpaired: Option<i32>,
    /// `-P`: skip pairing and mate rescue.
    pub skip_pairing: bool,
    /// `--rescue`: maximum number of hits for which mate rescue is tried (10).
    pub max_mate_rescues: Option<i32>,
    /// `-I`: the insert size, which is then not estimated. It applies to FR pairs only.
    pub insert: Option<MinibwaInsertSize>,
    /// `-b`: the field that describes differences between read and reference.
    pub differences: Option<DifferenceField>,
    /// `--outn`: maximum number of secondary alignments that are written (0).
    pub max_secondary_written: Option<i32>,
    /// `--outs`: minimum score of secondary alignments and of hits in XA, as a fraction of the best
    /// score (0.8).
    pub min_written_ratio: Option<f32>,
    /// `--xa`: list other hits in XA if there are at most this many (5).
    pub max_xa_hits: Option<i32>,
    /// `-Y`: soft clipping for supplementary alignments.
    pub soft_clip: bool,
    /// `-5`: for split reads, the part that starts first in the read becomes primary.
    pub primary_five_prime: bool,
    /// `--eqx`: write `=` and `X` in CIGARs.
    pub eqx: bool,
    /// `-K`: bases per cohort (100,000,000).
    pub cohort_bases: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// `adap`: depends on the length of each read.
    #[default]
    Adaptive,
    /// `sr`: the same as `adap` in minibwa 0.6.
    Short,
    /// `lr`: long reads, which are not paired.
    Long,
}

/// The optional field that describes differences between read and reference (`-b`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceField {
    Md,
    Cs,
    Ds,
}

/// The insert size distribution in bases, as in `-I`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinibwaInsertSize {
    pub mean: i32,
    pub deviation: i32,
    pub max: i32,
    pub min: i32,
}

impl MinibwaOptions {
    /// Default of `-K`, in bases.
    pub const COHORT_BASES: u64 = 100_000_000;

    pub fn aligns_pairs(&self) -> bool {
        self.preset != Preset::Long && !self.skip_pairing
    }
}
