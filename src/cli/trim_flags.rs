//! Flags for trimming before alignment, with the names used by fastp. The spelling with underscores
//! is an alias.

use clap::Args;
use readmill::plan::Trimming;
use readmill_trim::TrimOptions;
use readmill_trim::options::{
    EndCuts, LengthFilter, OverlapRules, PolyG, QualityFilter, QualityWindow, QualityWindows,
};

#[derive(Args)]
#[command(next_help_heading = "Trimming")]
pub struct TrimFlags {
    /// Trim and filter FASTQ reads before alignment, as fastp does
    ///
    /// By default, adapters are detected from the overlap of mates, and poly-G tails are trimmed if
    /// the instrument uses two-colour chemistry. Reads with low quality, many N or few bases are
    /// dropped, together with their mates. The flags below have the same names as in fastp.
    #[arg(long)]
    trim: bool,
    #[command(flatten)]
    adapters: AdapterTrimFlags,
    #[command(flatten)]
    ends: EndFlags,
    #[command(flatten)]
    tails: TailFlags,
    #[command(flatten)]
    windows: WindowFlags,
    #[command(flatten)]
    filters: TrimFilterFlags,
}

#[derive(Args)]
struct AdapterTrimFlags {
    /// Adapter of read 1 and single reads (fastp --adapter_sequence). In pairs, it is used only if
    /// mates do not overlap
    #[arg(long, value_name = "BASES", value_parser = parse_adapter, requires = "trim", alias = "adapter_sequence", conflicts_with = "disable_adapter_trimming")]
    trim_adapter_sequence: Option<String>,
    /// Adapter of read 2 [default: as for read 1]
    #[arg(long, value_name = "BASES", value_parser = parse_adapter, requires = "trim", aliases = ["adapter_sequence_r2", "adapter-sequence-r2"], conflicts_with = "disable_adapter_trimming")]
    trim_adapter_sequence_r2: Option<String>,
    /// Do not trim adapters
    #[arg(long, requires = "trim", alias = "disable_adapter_trimming")]
    disable_adapter_trimming: bool,
    /// Correct low-quality bases in the overlap of mates
    #[arg(long, requires = "trim")]
    correction: bool,
    /// Minimum overlap of mates: more than N bases
    #[arg(
        long,
        value_name = "N",
        default_value_t = 30,
        requires = "trim",
        alias = "overlap_len_require"
    )]
    overlap_len_require: u32,
    /// Maximum number of mismatches in the overlap of mates
    #[arg(long, value_name = "N", default_value_t = 5, requires = "trim", alias = "overlap_diff_limit")]
    overlap_diff_limit: u32,
    /// Maximum percentage of mismatches in the overlap of mates
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u8).range(..=100), requires = "trim", alias = "overlap_diff_percent_limit")]
    overlap_diff_percent_limit: u8,
}

#[derive(Args)]
struct EndFlags {
    /// Trim N bases from the start of read 1
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=30), requires = "trim", alias = "trim_front1")]
    trim_front1: u8,
    /// Trim N bases from the start of read 2 [default: as for read 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=30), requires = "trim", alias = "trim_front2")]
    trim_front2: Option<u8>,
    /// Trim N bases from the end of read 1
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=100), requires = "trim", alias = "trim_tail1")]
    trim_tail1: u8,
    /// Trim N bases from the end of read 2 [default: as for read 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=100), requires = "trim", alias = "trim_tail2")]
    trim_tail2: Option<u8>,
    /// Maximum length of read 1: after all other trimming, trim its end. 0 means no limit
    #[arg(long, value_name = "N", default_value_t = 0, requires = "trim", alias = "max_len1")]
    max_len1: u32,
    /// Maximum length of read 2 [default: as for read 1]
    #[arg(long, value_name = "N", requires = "trim", alias = "max_len2")]
    max_len2: Option<u32>,
}

#[derive(Args)]
struct TailFlags {
    /// Trim poly-G tails, for any sequencing instrument
    #[arg(long, requires = "trim", alias = "trim_poly_g", conflicts_with = "disable_trim_poly_g")]
    trim_poly_g: bool,
    /// Do not trim poly-G tails, even with two-colour chemistry
    #[arg(long, requires = "trim", alias = "disable_trim_poly_g", conflicts_with = "poly_g_min_len")]
    disable_trim_poly_g: bool,
    /// Minimum length of a poly-G tail, in bases
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..), requires = "trim", alias = "poly_g_min_len")]
    poly_g_min_len: u32,
    /// Trim tails of one repeated base, which can be any base (poly-X)
    #[arg(long, requires = "trim", alias = "trim_poly_x")]
    trim_poly_x: bool,
    /// Minimum length of a poly-X tail, in bases
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..), requires = "trim_poly_x", alias = "poly_x_min_len")]
    poly_x_min_len: u32,
}

#[derive(Args)]
#[command(group = clap::ArgGroup::new("window").multiple(true))]
struct WindowFlags {
    /// Slide a window from the start of the read, and trim its bases while their mean quality is
    /// low
    #[arg(long, requires = "trim", alias = "cut_front", group = "window")]
    cut_front: bool,
    /// Slide a window from the end of the read, and trim its bases while their mean quality is low
    #[arg(long, requires = "trim", alias = "cut_tail", group = "window", conflicts_with = "cut_right")]
    cut_tail: bool,
    /// Slide a window from the start of the read, and trim everything from the first window with a
    /// low mean quality
    #[arg(long, requires = "trim", alias = "cut_right", group = "window")]
    cut_right: bool,
    /// Window size, in bases
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1000), requires = "window", alias = "cut_window_size")]
    cut_window_size: u16,
    /// Minimum mean quality of a window
    #[arg(long, value_name = "Q", default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..=30), requires = "window", alias = "cut_mean_quality")]
    cut_mean_quality: u8,
    /// Window size of --cut-front [default: --cut-window-size]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000), requires = "cut_front", alias = "cut_front_window_size")]
    cut_front_window_size: Option<u16>,
    /// Minimum mean quality of a window of --cut-front [default: --cut-mean-quality]
    #[arg(long, value_name = "Q", value_parser = clap::value_parser!(u8).range(1..=30), requires = "cut_front", alias = "cut_front_mean_quality")]
    cut_front_mean_quality: Option<u8>,
    /// Window size of --cut-tail [default: --cut-window-size]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000), requires = "cut_tail", alias = "cut_tail_window_size")]
    cut_tail_window_size: Option<u16>,
    /// Minimum mean quality of a window of --cut-tail [default: --cut-mean-quality]
    #[arg(long, value_name = "Q", value_parser = clap::value_parser!(u8).range(1..=30), requires = "cut_tail", alias = "cut_tail_mean_quality")]
    cut_tail_mean_quality: Option<u8>,
    /// Window size of --cut-right [default: --cut-window-size]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000), requires = "cut_right", alias = "cut_right_window_size")]
    cut_right_window_size: Option<u16>,
    /// Minimum mean quality of a window of --cut-right [default: --cut-mean-quality]
    #[arg(long, value_name = "Q", value_parser = clap::value_parser!(u8).range(1..=30), requires = "cut_right", alias = "cut_right_mean_quality")]
    cut_right_mean_quality: Option<u8>,
}

#[derive(Args)]
struct TrimFilterFlags {
    /// Do not drop reads with low quality or many N
    #[arg(long, requires = "trim", alias = "disable_quality_filtering", conflicts_with_all = ["qualified_quality_phred", "unqualified_percent_limit", "n_base_limit", "average_qual"])]
    disable_quality_filtering: bool,
    /// Bases below this quality count as unqualified (see --unqualified-percent-limit)
    #[arg(long, value_name = "Q", default_value_t = 15, value_parser = clap::value_parser!(u8).range(..=93), requires = "trim", alias = "qualified_quality_phred")]
    qualified_quality_phred: u8,
    /// Drop reads in which more than N percent of the bases are below --qualified-quality-phred
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u8).range(..=100), requires = "trim", alias = "unqualified_percent_limit")]
    unqualified_percent_limit: u8,
    /// Drop reads with more than this number of N bases
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(..=50), requires = "trim", alias = "n_base_limit")]
    n_base_limit: u8,
    /// Drop reads with a mean quality below Q. 0 disables this filter
    #[arg(long, value_name = "Q", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=93), requires = "trim", alias = "average_qual")]
    average_qual: u8,
    /// Do not drop reads because of their length
    #[arg(long, requires = "trim", alias = "disable_length_filtering", conflicts_with_all = ["length_required", "length_limit"])]
    disable_length_filtering: bool,
    /// Drop reads with fewer than N bases
    #[arg(long, value_name = "N", default_value_t = 15, requires = "trim", alias = "length_required")]
    length_required: u32,
    /// Drop reads longer than N bases. 0 means no limit
    #[arg(long, value_name = "N", default_value_t = 0, requires = "trim", alias = "length_limit")]
    length_limit: u32,
    /// Drop low-complexity reads, in which few bases differ from the next base
    #[arg(long, requires = "trim", alias = "low_complexity_filter")]
    low_complexity_filter: bool,
    /// Minimum percentage of bases that differ from the next base (fastp's complexity)
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u8).range(..=100), requires = "low_complexity_filter", alias = "complexity_threshold")]
    complexity_threshold: u8,
}

fn parse_adapter(text: &str) -> Result<String, String> {
    if text.len() < 4 || !text.bytes().all(|base| b"ACGT".contains(&base)) {
        return Err("an adapter must have at least four bases, and only A, C, G and T".into());
    }
    Ok(text.into())
}

fn length(bases: u32) -> usize {
    bases as usize
}

impl TrimFlags {
    /// Returns how reads are trimmed, or `None` without `--trim`.
    pub fn build_trimming(&self) -> Option<Trimming> {
        let options = TrimOptions {
            ends: self.ends.end_cuts(),
            windows: self.windows.quality_windows(),
            poly_g: match (self.tails.trim_poly_g, self.tails.disable_trim_poly_g) {
                (true, _) => PolyG::Cut,
                (_, true) => PolyG::Keep,
                _ => PolyG::ByName,
            },
            min_poly_g_bases: length(self.tails.poly_g_min_len),
            min_poly_x_bases: self.tails.trim_poly_x.then_some(length(self.tails.poly_x_min_len)),
            adapters: self.adapters.adapter_sequences(),
            overlap: OverlapRules {
                min_bases: length(self.adapters.overlap_len_require),
                max_mismatches: length(self.adapters.overlap_diff_limit),
                max_mismatch_percent: self.adapters.overlap_diff_percent_limit,
            },
            correction: self.adapters.correction,
            quality: (!self.filters.disable_quality_filtering).then_some(QualityFilter {
                min_quality: self.filters.qualified_quality_phred,
                max_unqualified_percent: self.filters.unqualified_percent_limit,
                min_average_quality: self.filters.average_qual,
                max_n_bases: self.filters.n_base_limit.into(),
            }),
            length: (!self.filters.disable_length_filtering).then_some(LengthFilter {
                min_bases: length(self.filters.length_required),
                max_bases: length(self.filters.length_limit),
            }),
            complexity: self.filters.low_complexity_filter.then_some(self.filters.complexity_threshold),
        };
        self.trim.then(|| Trimming { words: command_words(&options), options })
    }
}

impl AdapterTrimFlags {
    fn adapter_sequences(&self) -> Option<[Option<Vec<u8>>; 2]> {
        let bases = |of: &Option<String>| of.as_ref().map(|text| text.as_bytes().to_vec());
        let first = bases(&self.trim_adapter_sequence);
        let last = bases(&self.trim_adapter_sequence_r2).or_else(|| first.clone());
        (!self.disable_adapter_trimming).then_some([first, last])
    }
}

impl EndFlags {
    fn end_cuts(&self) -> [EndCuts; 2] {
        let ends = |front: u8, tail: u8, longest: u32| EndCuts {
            front: front.into(),
            tail: tail.into(),
            max_length: length(longest),
        };
        [
            ends(self.trim_front1, self.trim_tail1, self.max_len1),
            ends(
                self.trim_front2.unwrap_or(self.trim_front1),
                self.trim_tail2.unwrap_or(self.trim_tail1),
                self.max_len2.unwrap_or(self.max_len1),
            ),
        ]
    }
}

impl WindowFlags {
    fn quality_windows(&self) -> QualityWindows {
        let window = |size: Option<u16>, quality: Option<u8>| QualityWindow {
            bases: size.unwrap_or(self.cut_window_size).into(),
            min_quality: quality.unwrap_or(self.cut_mean_quality),
        };
        let front = window(self.cut_front_window_size, self.cut_front_mean_quality);
        let tail = window(self.cut_tail_window_size, self.cut_tail_mean_quality);
        let right = window(self.cut_right_window_size, self.cut_right_mean_quality);
        QualityWindows {
            front: self.cut_front.then_some(front),
            tail: self.cut_tail.then_some(tail),
            right: self.cut_right.then_some(right),
        }
    }
}

/// Returns the flags for these options, for `CL` of the `@PG` line. Their order is fixed, and flags
/// with default values are omitted, so that equal options give equal words.
fn command_words(options: &TrimOptions) -> Vec<String> {
    let (usual, mut words) = (TrimOptions::default(), vec!["--trim".to_string()]);
    let mut switch = |is_on: bool, flag: &str| words.extend(is_on.then(|| flag.to_string()));
    switch(options.adapters.is_none(), "--disable-adapter-trimming");
    switch(options.correction, "--correction");
    switch(options.poly_g == PolyG::Cut, "--trim-poly-g");
    switch(options.poly_g == PolyG::Keep, "--disable-trim-poly-g");
    switch(options.min_poly_x_bases.is_some(), "--trim-poly-x");
    switch(options.quality.is_none(), "--disable-quality-filtering");
    switch(options.length.is_none(), "--disable-length-filtering");
    switch(options.complexity.is_some(), "--low-complexity-filter");
    let windows = &options.windows;
    for (name, window) in [("front", windows.front), ("tail", windows.tail), ("right", windows.right)] {
        let Some(QualityWindow { bases: size, min_quality: quality }) = window else { continue };
        words.push(format!("--cut-{name}"));
        words.extend((size != 4).then(|| format!("--cut-{name}-window-size {size}")));
        words.extend((quality != 20).then(|| format!("--cut-{name}-mean-quality {quality}")));
    }
    let mut number = |flag: &str, value: usize, default: usize| {
        words.extend((value != default).then(|| format!("--{flag} {value}")));
    };
    let (ends, overlap) = (&options.ends, &options.overlap);
    for (which, of, like) in [("1", ends[0], EndCuts::default()), ("2", ends[1], ends[0])] {
        number(&format!("trim-front{which}"), of.front, like.front);
        number(&format!("trim-tail{which}"), of.tail, like.tail);
        number(&format!("max-len{which}"), of.max_length, like.max_length);
    }
    number("poly-g-min-len", options.min_poly_g_bases, usual.min_poly_g_bases);
    number("poly-x-min-len", options.min_poly_x_bases.unwrap_or(10), 10);
    number("overlap-len-require", overlap.min_bases, usual.overlap.min_bases);
    number("overlap-diff-limit", overlap.max_mismatches, usual.overlap.max_mismatches);
    number(
        "overlap-diff-percent-limit",
        overlap.max_mismatch_percent.into(),
        usual.overlap.max_mismatch_percent.into(),
    );
    if let (Some(own), Some(usual)) = (&options.quality, &usual.quality) {
        number("qualified-quality-phred", own.min_quality.into(), usual.min_quality.into());
        let percent = [own, usual].map(|it| it.max_unqualified_percent.into());
        number("unqualified-percent-limit", percent[0], percent[1]);
        number("n-base-limit", own.max_n_bases, usual.max_n_bases);
        number("average-qual", own.min_average_quality.into(), usual.min_average_quality.into());
    }
    if let (Some(own), Some(usual)) = (&options.length, &usual.length) {
        number("length-required", own.min_bases, usual.min_bases);
        number("length-limit", own.max_bases, usual.max_bases);
    }
    number("complexity-threshold", options.complexity.unwrap_or(30).into(), 30);
    let adapters = options.adapters.iter().flatten();
    for (flag, adapter) in ["", "-r2"].into_iter().zip(adapters) {
        let bases = adapter.as_deref().map(String::from_utf8_lossy);
        words.extend(bases.map(|bases| format!("--trim-adapter-sequence{flag} {bases}")));
    }
    words
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        flags: TrimFlags,
    }

    fn trimming(line: &str) -> Option<Trimming> {
        let words = std::iter::once("readmill").chain(line.split_whitespace());
        Line::try_parse_from(words).expect("flags").flags.build_trimming()
    }

    #[test]
    fn flags_are_those_of_fastp_and_its_defaults() {
        assert!(trimming("").is_none());
        let usual = trimming("--trim").expect("trimming");
        assert_eq!(
            (&usual.options, &usual.words[..]),
            (&TrimOptions::default(), &["--trim".into()][..])
        );
        let ends = trimming("--trim --trim_front1 3 --trim-tail2 2 --max-len1 50").expect("trimming");
        let end = EndCuts { front: 3, tail: 0, max_length: 50 };
        assert_eq!(ends.options.ends, [end, EndCuts { tail: 2, ..end }]);
        assert_eq!(ends.words.join(" "), "--trim --trim-front1 3 --max-len1 50 --trim-tail2 2");
    }

    #[test]
    fn words_say_all_that_is_given() {
        let line = "--trim --correction --trim-poly-g --trim-poly-x --low-complexity-filter --cut-front \
            --cut-front-window-size 6 --cut-right --cut-right-window-size 6 --cut-right-mean-quality 25 \
            --poly-g-min-len 8 --poly-x-min-len 9 --overlap-len-require 20 --overlap-diff-limit 4 \
            --overlap-diff-percent-limit 10 --qualified-quality-phred 20 --unqualified-percent-limit 30 \
            --n-base-limit 2 --average-qual 25 --length-required 30 --length-limit 140 \
            --complexity-threshold 40 --trim-adapter-sequence AGATCGGAAG --trim-adapter-sequence-r2 CTGTCTCTTA";
        let given = trimming(line).expect("trimming");
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(given.words.join(" "), words.join(" "));
        assert_eq!(trimming(&given.words.join(" ")).expect("trimming").options, given.options);
    }

    #[test]
    fn flags_without_a_meaning_are_refused() {
        for line in [
            "--cut-front",
            "--trim --cut-window-size 5",
            "--trim --cut-tail --cut-right",
            "--trim --trim-adapter-sequence ACG",
            "--trim --trim-adapter-sequence ACGN",
            "--trim --trim-front1 31",
            "--trim --poly-x-min-len 8",
            "--trim --disable-length-filtering --length-required 20",
            "--trim --cut-front --cut-mean-quality 31",
        ] {
            let words = std::iter::once("readmill").chain(line.split_whitespace());
            assert!(Line::try_parse_from(words).is_err(), "{line}");
        }
    }
}
