//! Options for trimming and filtering, with fastp's defaults. Flags in parentheses are fastp's.

/// All options for trimming and filtering.
///
/// The command line builds them from the flags of `--trim`, and each [`crate::Trimmer`] borrows
/// them. `Default` matches fastp without flags.
///
/// ```
/// use readmill_trim::TrimOptions;
///
/// // fastp --disable_adapter_trimming --low_complexity_filter --complexity_threshold 40
/// let options = TrimOptions { adapters: None, complexity: Some(40), ..TrimOptions::default() };
/// assert!(!options.correction, "fastp corrects bases only with --correction");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrimOptions {
    /// Fixed cuts of read 1 and read 2 of a pair. Single reads use the first element.
    pub ends: [EndCuts; 2],
    pub windows: QualityWindows,
    /// Whether to cut poly-G tails. [`PolyG::ByName`] needs the name of a lane's first read, so the
    /// caller decides and passes the decision to [`crate::Trimmer::new`].
    pub poly_g: PolyG,
    pub min_poly_g_bases: usize,
    /// Minimum length of a poly-X tail (`--poly_x_min_len`). `None` disables poly-X trimming.
    pub min_poly_x_bases: Option<usize>,
    /// Adapter sequences of read 1 and read 2. The outer `None` disables adapter trimming. An inner
    /// `None` means that the sequence is unknown: only the overlap of a pair can show this adapter.
    pub adapters: Option<[Option<Vec<u8>>; 2]>,
    pub overlap: OverlapRules,
    /// Whether mismatches in an overlap are corrected (`--correction`).
    pub correction: bool,
    pub quality: Option<QualityFilter>,
    pub length: Option<LengthFilter>,
    /// Minimum percentage of bases that differ from the next base (fastp's complexity). `None`
    /// disables the filter.
    pub complexity: Option<u8>,
}

impl Default for TrimOptions {
    fn default() -> Self {
        TrimOptions {
            ends: [EndCuts::default(); 2],
            windows: QualityWindows::default(),
            poly_g: PolyG::ByName,
            min_poly_g_bases: 10,
            min_poly_x_bases: None,
            adapters: Some([None, None]),
            overlap: OverlapRules { min_bases: 30, max_mismatches: 5, max_mismatch_percent: 20 },
            correction: false,
            quality: Some(QualityFilter {
                min_quality: 15,
                max_unqualified_percent: 40,
                min_average_quality: 0,
                max_n_bases: 5,
            }),
            length: Some(LengthFilter { min_bases: 15, max_bases: 0 }),
            complexity: None,
        }
    }
}

/// Bases cut regardless of their sequence and quality.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndCuts {
    /// Bases cut from the 5' end, before any other step (`--trim_front1`, `--trim_front2`).
    pub front: usize,
    /// Bases cut from the 3' end, before any other step (`--trim_tail1`, `--trim_tail2`).
    pub tail: usize,
    /// Maximum length; longer reads are cut from the 3' end, after all other steps (`--max_len1`,
    /// `--max_len2`). 0 means no maximum.
    pub max_length: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QualityWindow {
    pub bases: usize,
    /// Minimum mean quality (Phred) of a good window.
    pub min_quality: u8,
}

/// The sliding windows that cut each read. All are disabled by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QualityWindows {
    /// Slides from the 5' end and cuts bases until a window is good (`--cut_front`).
    pub front: Option<QualityWindow>,
    /// Slides from the 3' end and cuts bases until a window is good (`--cut_tail`). Ignored if
    /// `right` is set.
    pub tail: Option<QualityWindow>,
    /// Slides from the 5' end and cuts everything from the first bad window on (`--cut_right`).
    pub right: Option<QualityWindow>,
}

impl QualityWindows {
    pub fn is_disabled(&self) -> bool {
        *self == QualityWindows::default()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolyG {
    /// Cuts only if the name of the lane's first read shows a two-colour instrument
    /// ([`has_two_colours`]). Such instruments report G if there is no signal.
    ByName,
    Cut,
    Keep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlapRules {
    /// Minimum length (`--overlap_len_require`). As in fastp, the read in which the overlap starts
    /// must have more bases than this from there on.
    pub min_bases: usize,
    /// Maximum number of mismatches (`--overlap_diff_limit`).
    pub max_mismatches: usize,
    /// Maximum percentage of mismatches (`--overlap_diff_percent_limit`). Both maxima apply.
    pub max_mismatch_percent: u8,
}

/// Limits for base qualities and N bases. They are one filter because one fastp flag disables both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QualityFilter {
    /// Bases with a Phred quality below this are unqualified (`--qualified_quality_phred`).
    pub min_quality: u8,
    /// Maximum percentage of unqualified bases (`--unqualified_percent_limit`).
    pub max_unqualified_percent: u8,
    /// Minimum mean quality (`--average_qual`); 0 disables the check.
    pub min_average_quality: u8,
    /// Maximum number of N bases (`--n_base_limit`).
    pub max_n_bases: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthFilter {
    pub min_bases: usize,
    /// Maximum number of bases; 0 means no maximum.
    pub max_bases: usize,
}

/// Read name prefixes of two-colour instruments, as in fastp 0.23.2: NextSeq 500 and 550, and the
/// NovaSeq 6000 of that time.
const TWO_COLOUR_PREFIXES: [&[u8]; 4] = [b"NS", b"NB", b"NDX", b"A0"];

pub fn has_two_colours(name: &[u8]) -> bool {
    TWO_COLOUR_PREFIXES.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instruments_are_known_by_the_names_of_their_reads() {
        let names: [&[u8]; 7] = [b"NS500:1", b"NB551", b"NDX550", b"A00123:4", b"A1", b"M0123", b""];
        assert_eq!(names.map(has_two_colours), [true, true, true, true, false, false, false]);
    }
}
