//! Flags of Picard's quality metrics, with Picard's names of them.

use std::path::{Path, PathBuf};

use clap::Args;
use readmill::plan::{Choice, QcRequest, one_of};
use readmill_qc::{Level, Options, Orientation, Program, StrandSpecificity};
use readmill_record::{Error, Result};

use super::hints::lacks_program;

/// The programs, and the word for all of them.
pub const PROGRAMS: &[Choice<Option<Program>>] = &{
    const ALL: Choice<Option<Program>> = Choice { value: None, name: "all", aliases: &[], help: "" };
    let (mut choices, mut i) = ([ALL; Program::ALL.len() + 1], 0);
    while i < Program::ALL.len() {
        let program = Program::ALL[i];
        choices[i] = Choice { value: Some(program), name: program.name(), aliases: &[], help: "" };
        i += 1;
    }
    choices
};

const LEVELS: &[Choice<Level>] = &[
    Choice { value: Level::AllReads, name: "ALL_READS", aliases: &["all-reads"], help: "" },
    Choice { value: Level::Sample, name: "SAMPLE", aliases: &[], help: "" },
    Choice { value: Level::Library, name: "LIBRARY", aliases: &[], help: "" },
    Choice { value: Level::ReadGroup, name: "READ_GROUP", aliases: &["read-group"], help: "" },
];

const STRANDS: &[Choice<StrandSpecificity>] = &[
    Choice { value: StrandSpecificity::None, name: "NONE", aliases: &[], help: "" },
    Choice {
        value: StrandSpecificity::FirstReadTranscriptionStrand,
        name: "FIRST_READ_TRANSCRIPTION_STRAND",
        aliases: &[],
        help: "",
    },
    Choice {
        value: StrandSpecificity::SecondReadTranscriptionStrand,
        name: "SECOND_READ_TRANSCRIPTION_STRAND",
        aliases: &[],
        help: "",
    },
];

const ORIENTATIONS: &[Choice<Orientation>] = &[
    Choice { value: Orientation::Fr, name: "FR", aliases: &[], help: "" },
    Choice { value: Orientation::Rf, name: "RF", aliases: &[], help: "" },
    Choice { value: Orientation::Tandem, name: "TANDEM", aliases: &[], help: "" },
];

/// Quality metrics in the same pass.
#[derive(Args)]
pub struct SamePassQc {
    /// Write Picard's quality metrics of the output, in files that are named PREFIX.alignment_summary_metrics and so on
    #[arg(long, value_name = "PREFIX")]
    qc: Option<PathBuf>,
    /// Programs of Picard whose metrics are written, or all that need no more files and no order [default: those of
    /// CollectMultipleMetrics]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        requires = "qc",
        ignore_case = true,
        value_parser = one_of(PROGRAMS)
    )]
    qc_metrics: Vec<Option<Program>>,
    #[command(flatten)]
    options: QcOptions,
}

impl SamePassQc {
    /// Whether no metrics are asked for.
    pub fn is_empty(&self) -> bool {
        self.qc.is_none()
    }

    /// The metrics that are asked for.
    pub fn request(&self, has_reference: bool) -> Result<Option<QcRequest>> {
        match &self.qc {
            Some(prefix) => self.options.request(prefix, &self.qc_metrics, has_reference).map(Some),
            None if self.options != QcOptions::default() => {
                let what = "there are options of quality metrics, and none are written";
                Err(Error::usage(what).hint("add --qc PREFIX, or leave the options out"))
            }
            None => Ok(None),
        }
    }
}

/// Picard's options. What is not given is Picard's default.
#[derive(Args, Debug, Default, PartialEq)]
#[command(next_help_heading = "Quality metrics")]
pub struct QcOptions {
    /// Levels of alignments, insert sizes, GC bias, targets and RNA [default: ALL_READS]
    #[arg(
        long,
        alias = "METRIC_ACCUMULATION_LEVEL",
        value_name = "LIST",
        value_delimiter = ',',
        ignore_case = true,
        value_parser = one_of(LEVELS)
    )]
    metric_accumulation_level: Vec<Level>,
    /// Adapters, in place of Illumina's
    #[arg(long, alias = "ADAPTER_SEQUENCE", value_name = "LIST", value_delimiter = ',', value_parser = parse_adapter)]
    adapter_sequence: Vec<String>,
    /// Pairs of larger inserts are chimeras [default: 100000]
    #[arg(long, alias = "MAX_INSERT_SIZE", value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    max_insert_size: Option<i32>,
    /// Pairs of other orientations are chimeras [default: FR]
    #[arg(
        long,
        alias = "EXPECTED_PAIR_ORIENTATIONS",
        value_name = "LIST",
        value_delimiter = ',',
        ignore_case = true,
        value_parser = one_of(ORIENTATIONS)
    )]
    expected_pair_orientations: Vec<Orientation>,
    /// Share of pairs that an orientation needs to have a row of insert sizes, up to 0.5 [default: 0.05]
    #[arg(long, alias = "MINIMUM_PCT", value_name = "SHARE", value_parser = parse_share)]
    minimum_pct: Option<f32>,
    /// Largest insert size of the histogram, the mean and the standard deviation [default: calculated]
    #[arg(long, alias = "HISTOGRAM_WIDTH", value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    histogram_width: Option<i32>,
    /// Least such size, if it is calculated
    #[arg(long, alias = "MIN_HISTOGRAM_WIDTH", value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    min_histogram_width: Option<i32>,
    /// It is the median and so many times the median absolute deviation [default: 10]
    #[arg(long, alias = "DEVIATIONS", value_name = "X", value_parser = parse_deviations)]
    deviations: Option<f64>,
    /// Count insert sizes and substitutions of duplicates, too
    #[arg(long, alias = "INCLUDE_DUPLICATES")]
    include_duplicates: bool,
    /// Qualities and bases by cycle of aligned reads only
    #[arg(long, alias = "ALIGNED_READS_ONLY")]
    aligned_reads_only: bool,
    /// Qualities and bases by cycle of reads only that pass quality controls
    #[arg(long, alias = "PF_READS_ONLY")]
    pf_reads_only: bool,
    /// Count N in the distribution of qualities, too
    #[arg(long, alias = "INCLUDE_NO_CALLS")]
    include_no_calls: bool,
    /// Take quality yield and substitutions from QUAL even where there is OQ
    #[arg(long)]
    ignore_original_qualities: bool,
    /// Bases of the windows of which G and C are counted, up to 10000 [default: 100]
    #[arg(
        long,
        alias = "SCAN_WINDOW_SIZE",
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(Options::MOST_SCAN_WINDOW))
    )]
    scan_window_size: Option<u32>,
    /// Rows of GC bias without duplicates, beside those of all reads
    #[arg(long, alias = "ALSO_IGNORE_DUPLICATES")]
    also_ignore_duplicates: bool,
    /// Least quality of bases whose substitutions are counted [default: 20]
    #[arg(long, alias = "MINIMUM_QUALITY_SCORE", value_name = "N", value_parser = clap::value_parser!(u8).range(0..=93))]
    minimum_quality_score: Option<u8>,
    /// Least mapping quality of reads whose substitutions or depths are counted [default: 30; depths: 20;
    /// CollectRawWgsMetrics: 0; CollectTargetedPcrMetrics: 1]
    #[arg(long, alias = "MINIMUM_MAPPING_QUALITY", value_name = "N")]
    minimum_mapping_quality: Option<u8>,
    /// Least insert size of pairs whose substitutions are counted [default: 60]
    #[arg(long, alias = "MINIMUM_INSERT_SIZE", value_name = "N", value_parser = parse_size())]
    minimum_insert_size: Option<u32>,
    /// Largest insert size of such pairs, 0 for any [default: 600]
    #[arg(long, alias = "MAXIMUM_INSERT_SIZE", value_name = "N", value_parser = parse_size())]
    maximum_insert_size: Option<u32>,
    /// Count substitutions of reads without a mate, and of pairs of any insert size
    #[arg(long, alias = "INCLUDE_UNPAIRED")]
    include_unpaired: bool,
    /// Count substitutions of reads that fail quality controls
    #[arg(long, alias = "INCLUDE_NON_PF_READS")]
    include_non_pf_reads: bool,
    /// Leave reads out of CollectOxoGMetrics that fail quality controls
    #[arg(long)]
    exclude_non_pf_reads: bool,
    /// Mates are expected to be of the same strand, for substitutions
    #[arg(long, alias = "TANDEM_READS")]
    tandem_reads: bool,
    /// Least quality of bases that count for the depth [default: 20; CollectRawWgsMetrics: 3;
    /// CollectTargetedPcrMetrics: 0]
    #[arg(long, alias = "MINIMUM_BASE_QUALITY", value_name = "N", value_parser = clap::value_parser!(u8).range(0..=127))]
    minimum_base_quality: Option<u8>,
    /// Deeper positions count as of this depth [default: 250; CollectRawWgsMetrics: 100000; targets: 200, for the
    /// sensitivity to SNPs alone]
    #[arg(
        long,
        alias = "COVERAGE_CAP",
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(Options::MOST_COVERAGE_CAP))
    )]
    coverage_cap: Option<u32>,
    /// Leave reads out that start where so many others lie [default: 100000; CollectRawWgsMetrics: 200000]
    #[arg(long, alias = "LOCUS_ACCUMULATION_CAP", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    locus_accumulation_cap: Option<u32>,
    /// Write bases by quality, too, into the files of depths
    #[arg(long, alias = "INCLUDE_BQ_HISTOGRAM")]
    include_bq_histogram: bool,
    /// Count reads without a mapped mate for the depth
    #[arg(long, alias = "COUNT_UNPAIRED")]
    count_unpaired: bool,
    /// Sums of qualities that are drawn for the sensitivity to heterozygous SNPs [default: 10000]
    #[arg(long, alias = "SAMPLE_SIZE", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    sample_size: Option<u32>,
    /// Count depths, and CollectOxoGMetrics, in these intervals only: an interval list of Picard, or a BED file
    #[arg(long, alias = "INTERVALS", value_name = "FILE")]
    intervals: Option<PathBuf>,
    /// Targets, for CollectHsMetrics and CollectTargetedPcrMetrics: interval lists of Picard, or BED files; may be given more than once
    #[arg(long, alias = "TARGET_INTERVALS", value_name = "FILE")]
    target_intervals: Vec<PathBuf>,
    /// Baits, for CollectHsMetrics; may be given more than once
    #[arg(long, alias = "BAIT_INTERVALS", value_name = "FILE")]
    bait_intervals: Vec<PathBuf>,
    /// What the baits are called [default: the names of their files up to the first point]
    #[arg(long, alias = "BAIT_SET_NAME", value_name = "NAME", requires = "bait_intervals", value_parser = parse_set_name)]
    bait_set_name: Option<String>,
    /// Amplicons, for CollectTargetedPcrMetrics
    #[arg(long, alias = "AMPLICON_INTERVALS", value_name = "FILE")]
    amplicon_intervals: Option<PathBuf>,
    /// What the amplicons are called [default: the name of their file up to the first point]
    #[arg(long, alias = "CUSTOM_AMPLICON_SET_NAME", value_name = "NAME", requires = "amplicon_intervals", value_parser = parse_set_name)]
    custom_amplicon_set_name: Option<String>,
    /// How far from a bait or amplicon a read may lie that it has caught [default: 250]
    #[arg(long, alias = "NEAR_DISTANCE", value_name = "N", requires = "target_intervals", value_parser = parse_size())]
    near_distance: Option<u32>,
    /// Whether bases of targets are left out that the mate has, too [default: true; CollectTargetedPcrMetrics: false]
    #[arg(
        long,
        alias = "CLIP_OVERLAPPING_READS",
        value_name = "true|false",
        requires = "target_intervals"
    )]
    clip_overlapping_reads: Option<bool>,
    /// Take deleted bases of targets for covered, and inserted ones for bases on target
    #[arg(long, alias = "INCLUDE_INDELS", requires = "target_intervals")]
    include_indels: bool,
    /// Write a file of the depth of each target, too: PREFIX.hs_per_target_coverage, PREFIX.targeted_pcr_per_target_coverage
    #[arg(long, requires = "target_intervals")]
    per_target_coverage: bool,
    /// Write a file of the depth of each base of the targets, too: PREFIX.hs_per_base_coverage and so on. It is long
    #[arg(long, requires = "target_intervals")]
    per_base_coverage: bool,
    /// Genes, for CollectRnaSeqMetrics, in refFlat
    #[arg(long, alias = "REF_FLAT", value_name = "FILE")]
    ref_flat: Option<PathBuf>,
    /// Ribosomal RNA, for CollectRnaSeqMetrics: an interval list of Picard, or a BED file
    #[arg(long, alias = "RIBOSOMAL_INTERVALS", value_name = "FILE", requires = "ref_flat")]
    ribosomal_intervals: Option<PathBuf>,
    /// Which reads of a pair are of the strand of the transcript
    #[arg(
        long,
        alias = "STRAND_SPECIFICITY",
        value_name = "STRAND",
        requires = "ref_flat",
        ignore_case = true,
        value_parser = one_of(STRANDS)
    )]
    strand_specificity: Option<StrandSpecificity>,
    /// Transcripts of fewer bases have no part in the evenness of depths [default: 500]
    #[arg(long, alias = "MINIMUM_LENGTH", value_name = "N", requires = "ref_flat", value_parser = parse_size())]
    minimum_length: Option<u32>,
    /// Contigs of which reads are not looked at, for CollectRnaSeqMetrics
    #[arg(
        long,
        alias = "IGNORE_SEQUENCE",
        value_name = "LIST",
        requires = "ref_flat",
        value_delimiter = ','
    )]
    ignore_sequence: Vec<String>,
    /// Share of a fragment that makes it ribosomal, from 0 to 1 [default: 0.8]
    #[arg(long, alias = "RRNA_FRAGMENT_PERCENTAGE", value_name = "SHARE", requires = "ribosomal_intervals", value_parser = parse_fraction)]
    rrna_fragment_percentage: Option<f64>,
    /// Bases of the ends of transcripts whose depth is compared [default: 100]
    #[arg(long, alias = "END_BIAS_BASES", value_name = "N", requires = "ref_flat", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    end_bias_bases: Option<u32>,
}

impl QcOptions {
    /// The metrics of these programs, in files whose names begin with `prefix`.
    pub fn request(
        &self,
        prefix: &Path,
        programs: &[Option<Program>],
        has_reference: bool,
    ) -> Result<QcRequest> {
        if prefix.as_os_str() == "-" || prefix.file_name().is_none() {
            return Err(Error::usage(
                "quality metrics are several files, and need the beginning of their names",
            )
            .hint("give a prefix such as out/sample"));
        }
        let default = Options::default();
        let one_or = |given: Option<i32>, default: i32| given.unwrap_or(default);
        let options = Options {
            programs: chosen(programs, has_reference),
            metric_accumulation_level: or(
                &self.metric_accumulation_level,
                default.metric_accumulation_level,
            ),
            adapter_sequence: or(&self.adapter_sequence, default.adapter_sequence),
            max_insert_size: one_or(self.max_insert_size, default.max_insert_size),
            expected_pair_orientations: or(
                &self.expected_pair_orientations,
                default.expected_pair_orientations,
            ),
            minimum_pct: self.minimum_pct.unwrap_or(default.minimum_pct),
            histogram_width: self.histogram_width,
            min_histogram_width: self.min_histogram_width,
            deviations: self.deviations.unwrap_or(default.deviations),
            include_duplicates: self.include_duplicates,
            aligned_reads_only: self.aligned_reads_only,
            pf_reads_only: self.pf_reads_only,
            include_no_calls: self.include_no_calls,
            use_original_qualities: !self.ignore_original_qualities,
            scan_window_size: self.scan_window_size.unwrap_or(default.scan_window_size),
            also_ignore_duplicates: self.also_ignore_duplicates,
            minimum_quality_score: self.minimum_quality_score.unwrap_or(default.minimum_quality_score),
            minimum_mapping_quality: self.minimum_mapping_quality,
            minimum_insert_size: self.minimum_insert_size.unwrap_or(default.minimum_insert_size),
            maximum_insert_size: self.maximum_insert_size.unwrap_or(default.maximum_insert_size),
            include_unpaired: self.include_unpaired,
            include_non_pf_reads: self.include_non_pf_reads,
            exclude_non_pf_reads: self.exclude_non_pf_reads,
            tandem_reads: self.tandem_reads,
            minimum_base_quality: self.minimum_base_quality,
            coverage_cap: self.coverage_cap,
            locus_accumulation_cap: self.locus_accumulation_cap,
            include_bq_histogram: self.include_bq_histogram,
            count_unpaired: self.count_unpaired,
            sample_size: self.sample_size.unwrap_or(default.sample_size),
            intervals: self.intervals.clone(),
            bait_intervals: self.bait_intervals.clone(),
            bait_set_name: self.bait_set_name.clone(),
            amplicon_intervals: self.amplicon_intervals.clone(),
            custom_amplicon_set_name: self.custom_amplicon_set_name.clone(),
            target_intervals: self.target_intervals.clone(),
            near_distance: self.near_distance.unwrap_or(default.near_distance),
            clip_overlapping_reads: self.clip_overlapping_reads,
            include_indels: self.include_indels,
            per_target_coverage: self.per_target_coverage,
            per_base_coverage: self.per_base_coverage,
            ref_flat: self.ref_flat.clone(),
            ribosomal_intervals: self.ribosomal_intervals.clone(),
            strand_specificity: self.strand_specificity,
            minimum_length: self.minimum_length.unwrap_or(default.minimum_length),
            ignore_sequence: self.ignore_sequence.clone(),
            rrna_fragment_percentage: self
                .rrna_fragment_percentage
                .unwrap_or(default.rrna_fragment_percentage),
            end_bias_bases: self.end_bias_bases.unwrap_or(default.end_bias_bases),
        };
        let is_all = programs.contains(&None);
        check_intervals(&options, is_all)?;
        check_targets(&options, has_reference, is_all)?;
        check_rna(&options, is_all)?;
        let most = options.maximum_insert_size;
        let is_least = most > 0 || options.has(Program::CollectOxoGMetrics);
        if is_least && most < options.minimum_insert_size {
            return Err(Error::usage("the largest insert size is below the least one")
                .hint("raise --maximum-insert-size, or lower --minimum-insert-size"));
        }
        Ok(QcRequest::new(prefix, options))
    }
}

/// Refuses intervals that a program would not look at.
fn check_intervals(options: &Options, is_all: bool) -> Result<()> {
    if options.intervals.is_none() {
        return Ok(());
    }
    if options.has(Program::CollectSequencingArtifactMetrics) {
        let what = "CollectSequencingArtifactMetrics counts all sites here, and --intervals are given";
        return Err(Error::usage(what).hint("count it in a run of its own, without --intervals"));
    }
    let is_anywhere = |it: &&Program| it.counts_targets() || **it == Program::CollectRnaSeqMetrics;
    if let Some(program) = options.programs.iter().find(is_anywhere) {
        let what = format!("{} counts reads anywhere, and --intervals are given", program.name());
        return Err(Error::usage(what).hint("count it in a run of its own, without --intervals"));
    }
    if !options.needs_order() {
        return Err(lacks_program("--intervals", "CollectWgsMetrics or CollectOxoGMetrics", is_all));
    }
    Ok(())
}

/// Refuses programs of targets without their files, and files that no program looks at.
fn check_targets(options: &Options, has_reference: bool, is_all: bool) -> Result<()> {
    let (hs, pcr) = (Program::CollectHsMetrics, Program::CollectTargetedPcrMetrics);
    let needed = [
        (hs, "--bait-intervals", !options.bait_intervals.is_empty()),
        (pcr, "--amplicon-intervals", options.amplicon_intervals.is_some()),
    ];
    for (program, flag, is_given) in needed {
        let is_wanted = options.has(program);
        if is_wanted && (!is_given || options.target_intervals.is_empty()) {
            let what = format!("{} needs {flag} and --target-intervals", program.name());
            return Err(Error::usage(what).hint("give both, as interval lists of Picard or BED files"));
        }
        if is_given && !is_wanted {
            return Err(lacks_program(flag, program.name(), is_all));
        }
    }
    if !options.target_intervals.is_empty() && !options.has(hs) && !options.has(pcr) {
        let programs = "CollectHsMetrics or CollectTargetedPcrMetrics";
        return Err(lacks_program("--target-intervals", programs, is_all));
    }
    if options.per_target_coverage && !has_reference {
        let what = "--per-target-coverage has shares of G and C, and there is no reference";
        return Err(Error::usage(what).hint("give the FASTA file of the reads by --reference"));
    }
    let is_all = options.metric_accumulation_level == [Level::AllReads];
    if (options.per_target_coverage || options.per_base_coverage) && !is_all {
        let what =
            "files of targets and their bases are those of all reads, and other levels are asked for";
        return Err(Error::usage(what).hint("leave --metric-accumulation-level out"));
    }
    Ok(())
}

/// Refuses the program of RNA without its file and strand, and a file that it does not look at.
fn check_rna(options: &Options, is_all: bool) -> Result<()> {
    let is_wanted = options.has(Program::CollectRnaSeqMetrics);
    if options.ref_flat.is_some() && !is_wanted {
        return Err(lacks_program("--ref-flat", Program::CollectRnaSeqMetrics.name(), is_all));
    }
    if is_wanted && (options.ref_flat.is_none() || options.strand_specificity.is_none()) {
        let what = "CollectRnaSeqMetrics needs --ref-flat and --strand-specificity";
        return Err(
            Error::usage(what).hint("give the genes in refFlat, and NONE if reads are of either strand")
        );
    }
    Ok(())
}

/// The programs that are asked for, each once. `all` are those that need no file which is not given, and no order.
fn chosen(programs: &[Option<Program>], has_reference: bool) -> Vec<Program> {
    let is_chosen = |program: &Program| {
        let can_be = (has_reference || !program.needs_reference()) && !program.needs_order();
        programs.iter().any(|it| it.map_or(can_be, |it| it == *program))
    };
    if programs.is_empty() {
        Program::DEFAULT.to_vec()
    } else {
        Program::ALL.into_iter().filter(is_chosen).collect()
    }
}

/// What is given, or the default if nothing is.
fn or<T: Clone>(given: &[T], default: Vec<T>) -> Vec<T> {
    if given.is_empty() { default } else { given.to_vec() }
}

/// A parser of insert sizes.
fn parse_size() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(0..=i64::from(i32::MAX))
}

/// A name that fits into a column.
fn parse_set_name(text: &str) -> std::result::Result<String, String> {
    let is_plain = !text.contains(['\t', '\n', '\r']);
    is_plain.then(|| text.to_owned()).ok_or_else(|| "a name has no tab and no line end".into())
}

fn parse_fraction(text: &str) -> std::result::Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "it must be between 0 and 1".into())
}

fn parse_adapter(text: &str) -> std::result::Result<String, String> {
    let is_base = |c: char| "ACGTNRYKMSWBDHV".contains(c.to_ascii_uppercase());
    if text.is_empty() || !text.chars().all(is_base) {
        return Err("an adapter is a sequence of bases".into());
    }
    Ok(text.to_owned())
}

fn parse_share(text: &str) -> std::result::Result<f32, String> {
    let share = text.parse().ok().filter(|share| (0.0..=0.5).contains(share));
    share.ok_or_else(|| "it must be between 0 and 0.5, so that not all orientations are left out".into())
}

fn parse_deviations(text: &str) -> std::result::Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number.filter(|number| number.is_finite()).ok_or_else(|| "it is no number".into())
}
