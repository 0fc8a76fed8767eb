//! The metrics that are wanted, and Picard's options of them.

use std::path::PathBuf;

use crate::adapters::DEFAULT_ADAPTERS;
use crate::levels::Level;
use crate::read::Orientation;

/// A program of Picard whose files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// Alignments, mismatches and lengths of reads.
    CollectAlignmentSummaryMetrics,
    /// Bases by cycle.
    CollectBaseDistributionByCycle,
    /// Insert sizes of pairs.
    CollectInsertSizeMetrics,
    /// Mean qualities by cycle.
    MeanQualityByCycle,
    /// Bases by quality.
    QualityScoreDistribution,
    /// Reads and bases of good quality.
    CollectQualityYieldMetrics,
    /// Reads by the share of G and C where they start.
    CollectGcBiasMetrics,
    /// Substitutions by context, read end and strand.
    CollectSequencingArtifactMetrics,
    /// Positions of the reference by depth.
    CollectWgsMetrics,
    /// The same, with bases of low quality, and deep.
    CollectRawWgsMetrics,
    /// The same as the first, and without positions that are not covered.
    CollectWgsMetricsWithNonZeroCoverage,
    /// Bases that could be oxidised G, by context.
    CollectOxoGMetrics,
    /// Depths of the targets of a capture.
    CollectHsMetrics,
    /// Depths of the targets of amplicons.
    CollectTargetedPcrMetrics,
    /// Bases by parts of genes, and how evenly transcripts are covered.
    CollectRnaSeqMetrics,
}

use Program::{
    CollectAlignmentSummaryMetrics, CollectBaseDistributionByCycle, CollectGcBiasMetrics,
    CollectHsMetrics, CollectInsertSizeMetrics, CollectOxoGMetrics, CollectQualityYieldMetrics,
    CollectRawWgsMetrics, CollectRnaSeqMetrics, CollectSequencingArtifactMetrics,
    CollectTargetedPcrMetrics, CollectWgsMetrics, CollectWgsMetricsWithNonZeroCoverage,
    MeanQualityByCycle, QualityScoreDistribution,
};

impl Program {
    /// All programs.
    pub const ALL: [Program; 15] = [
        CollectAlignmentSummaryMetrics,
        CollectBaseDistributionByCycle,
        CollectInsertSizeMetrics,
        MeanQualityByCycle,
        QualityScoreDistribution,
        CollectQualityYieldMetrics,
        CollectGcBiasMetrics,
        CollectSequencingArtifactMetrics,
        CollectWgsMetrics,
        CollectRawWgsMetrics,
        CollectWgsMetricsWithNonZeroCoverage,
        CollectOxoGMetrics,
        CollectHsMetrics,
        CollectTargetedPcrMetrics,
        CollectRnaSeqMetrics,
    ];

    /// Those that CollectMultipleMetrics runs if it is not told otherwise.
    pub const DEFAULT: &[Program] = Self::ALL.split_at(5).0;

    /// Picard's name of it.
    pub const fn name(self) -> &'static str {
        match self {
            CollectAlignmentSummaryMetrics => "CollectAlignmentSummaryMetrics",
            CollectBaseDistributionByCycle => "CollectBaseDistributionByCycle",
            CollectInsertSizeMetrics => "CollectInsertSizeMetrics",
            MeanQualityByCycle => "MeanQualityByCycle",
            QualityScoreDistribution => "QualityScoreDistribution",
            CollectQualityYieldMetrics => "CollectQualityYieldMetrics",
            CollectGcBiasMetrics => "CollectGcBiasMetrics",
            CollectSequencingArtifactMetrics => "CollectSequencingArtifactMetrics",
            CollectWgsMetrics => "CollectWgsMetrics",
            CollectRawWgsMetrics => "CollectRawWgsMetrics",
            CollectWgsMetricsWithNonZeroCoverage => "CollectWgsMetricsWithNonZeroCoverage",
            CollectOxoGMetrics => "CollectOxoGMetrics",
            CollectHsMetrics => "CollectHsMetrics",
            CollectTargetedPcrMetrics => "CollectTargetedPcrMetrics",
            CollectRnaSeqMetrics => "CollectRnaSeqMetrics",
        }
    }

    /// The ends of the names of the program's files, as CollectMultipleMetrics names them. (It does not run the programs of
    /// depths.)
    pub fn endings(self) -> &'static [&'static str] {
        match self {
            CollectAlignmentSummaryMetrics => &[".alignment_summary_metrics"],
            CollectBaseDistributionByCycle => &[".base_distribution_by_cycle_metrics"],
            CollectInsertSizeMetrics => &[".insert_size_metrics"],
            MeanQualityByCycle => &[".quality_by_cycle_metrics"],
            QualityScoreDistribution => &[".quality_distribution_metrics"],
            CollectQualityYieldMetrics => &[".quality_yield_metrics"],
            CollectGcBiasMetrics => &[".gc_bias.detail_metrics", ".gc_bias.summary_metrics"],
            CollectSequencingArtifactMetrics => &[
                ".pre_adapter_detail_metrics",
                ".pre_adapter_summary_metrics",
                ".bait_bias_detail_metrics",
                ".bait_bias_summary_metrics",
                ".error_summary_metrics",
            ],
            CollectWgsMetrics => &[".wgs_metrics"],
            CollectRawWgsMetrics => &[".raw_wgs_metrics"],
            CollectWgsMetricsWithNonZeroCoverage => &[".wgs_metrics_with_non_zero_coverage"],
            CollectOxoGMetrics => &[".oxog_metrics"],
            CollectHsMetrics => &[".hs_metrics", ".hs_per_target_coverage", ".hs_per_base_coverage"],
            CollectTargetedPcrMetrics => &[
                ".targeted_pcr_metrics",
                ".targeted_pcr_per_target_coverage",
                ".targeted_pcr_per_base_coverage",
            ],
            CollectRnaSeqMetrics => &[".rna_metrics"],
        }
    }

    /// Whether it counts nothing without a reference.
    pub fn needs_reference(self) -> bool {
        let is_other = self.counts_targets() || self == CollectRnaSeqMetrics;
        matches!(self, CollectGcBiasMetrics | CollectSequencingArtifactMetrics)
            || self.needs_order() && !is_other
    }

    /// Whether it counts depths or sites, of reads that are sorted by coordinate.
    pub fn needs_order(self) -> bool {
        matches!(
            self,
            CollectWgsMetrics
                | CollectRawWgsMetrics
                | CollectWgsMetricsWithNonZeroCoverage
                | CollectOxoGMetrics
                | CollectHsMetrics
                | CollectTargetedPcrMetrics
                | CollectRnaSeqMetrics
        )
    }

    /// Whether it counts depths of targets.
    pub fn counts_targets(self) -> bool {
        matches!(self, CollectHsMetrics | CollectTargetedPcrMetrics)
    }
}

/// Which reads of a pair are of the strand of the transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrandSpecificity {
    /// Either.
    None,
    /// The first.
    FirstReadTranscriptionStrand,
    /// The second.
    SecondReadTranscriptionStrand,
}

/// Picard's options, by their names in lower case. Those of one name count for all programs that have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The programs.
    pub programs: Vec<Program>,
    /// The levels at which alignments, insert sizes and GC bias are summed up.
    pub metric_accumulation_level: Vec<Level>,
    /// Sequences of which reads may be adapters.
    pub adapter_sequence: Vec<String>,
    /// Pairs of larger inserts are chimeras.
    pub max_insert_size: i32,
    /// Pairs of other orientations are chimeras.
    pub expected_pair_orientations: Vec<Orientation>,
    /// The share of pairs that an orientation needs to have a row.
    pub minimum_pct: f32,
    /// The largest insert size in the histogram, the mean and the standard deviation.
    pub histogram_width: Option<i32>,
    /// The least such size, if it is calculated.
    pub min_histogram_width: Option<i32>,
    /// It is calculated as the median and so many times the median absolute deviation.
    pub deviations: f64,
    /// Whether insert sizes and substitutions of duplicates are counted.
    pub include_duplicates: bool,
    /// Whether qualities and bases by cycle are those of aligned reads only.
    pub aligned_reads_only: bool,
    /// Whether they are those of reads only that pass quality controls.
    pub pf_reads_only: bool,
    /// Whether the distribution of qualities counts N.
    pub include_no_calls: bool,
    /// Whether the quality yield and substitutions go by OQ, where there is one.
    pub use_original_qualities: bool,
    /// Bases of the windows of which G and C are counted.
    pub scan_window_size: u32,
    /// Whether GC bias has rows without duplicates, too.
    pub also_ignore_duplicates: bool,
    /// The least quality of a base whose substitution is counted.
    pub minimum_quality_score: u8,
    /// The least mapping quality of a record whose substitutions or depths are counted, if it is not that of the program.
    pub minimum_mapping_quality: Option<u8>,
    /// The least insert size of such a record.
    pub minimum_insert_size: u32,
    /// The greatest such size, or 0 for any.
    pub maximum_insert_size: u32,
    /// Whether substitutions of reads without a mate are counted, and of pairs of any insert size.
    pub include_unpaired: bool,
    /// Whether substitutions of reads that fail quality controls are counted.
    pub include_non_pf_reads: bool,
    /// Whether CollectOxoGMetrics, which counts them otherwise, leaves out reads that fail quality controls.
    pub exclude_non_pf_reads: bool,
    /// Whether mates are expected to be of the same strand.
    pub tandem_reads: bool,
    /// The least quality of a base that counts for the depth, if it is not that of the program.
    pub minimum_base_quality: Option<u8>,
    /// The depth as of which deeper positions count, if it is not that of the program.
    pub coverage_cap: Option<u32>,
    /// Files of the baits of a capture.
    pub bait_intervals: Vec<PathBuf>,
    /// What the baits are called, if not after their files.
    pub bait_set_name: Option<String>,
    /// The file of amplicons.
    pub amplicon_intervals: Option<PathBuf>,
    /// What the amplicons are called, if not after their file.
    pub custom_amplicon_set_name: Option<String>,
    /// Files of targets.
    pub target_intervals: Vec<PathBuf>,
    /// How far from a bait or amplicon a read may lie that it has caught.
    pub near_distance: u32,
    /// Whether bases of targets are left out that the mate has, too, if the program does not say so.
    pub clip_overlapping_reads: Option<bool>,
    /// Whether deleted bases of targets are covered, and inserted ones on target.
    pub include_indels: bool,
    /// Whether there is a file of targets.
    pub per_target_coverage: bool,
    /// Whether there is a file of the bases of targets.
    pub per_base_coverage: bool,
    /// The file of genes, refFlat.
    pub ref_flat: Option<PathBuf>,
    /// The file of ribosomal RNA.
    pub ribosomal_intervals: Option<PathBuf>,
    /// Which reads of a pair are of the strand of the transcript.
    pub strand_specificity: Option<StrandSpecificity>,
    /// The least bases of a transcript whose evenness counts.
    pub minimum_length: u32,
    /// Contigs of which reads are not looked at.
    pub ignore_sequence: Vec<String>,
    /// The share of a fragment that makes it ribosomal.
    pub rrna_fragment_percentage: f64,
    /// Bases of an end of a transcript.
    pub end_bias_bases: u32,
    /// The reads at a position beyond which others are left out, if it is not that of the program.
    pub locus_accumulation_cap: Option<u32>,
    /// Whether the files of depths have bases by quality.
    pub include_bq_histogram: bool,
    /// Whether reads without a mapped mate count for the depth.
    pub count_unpaired: bool,
    /// Sums of qualities that are drawn for the sensitivity to SNPs.
    pub sample_size: u32,
    /// A file of intervals: only depths and sites there are counted.
    pub intervals: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            programs: Program::DEFAULT.to_vec(),
            metric_accumulation_level: vec![Level::AllReads],
            adapter_sequence: DEFAULT_ADAPTERS.map(str::to_owned).to_vec(),
            max_insert_size: 100_000,
            expected_pair_orientations: vec![Orientation::Fr],
            minimum_pct: 0.05,
            histogram_width: None,
            min_histogram_width: None,
            deviations: 10.0,
            include_duplicates: false,
            aligned_reads_only: false,
            pf_reads_only: false,
            include_no_calls: false,
            use_original_qualities: true,
            scan_window_size: 100,
            also_ignore_duplicates: false,
            minimum_quality_score: 20,
            minimum_mapping_quality: None,
            minimum_insert_size: 60,
            maximum_insert_size: 600,
            include_unpaired: false,
            include_non_pf_reads: false,
            exclude_non_pf_reads: false,
            tandem_reads: false,
            minimum_base_quality: None,
            coverage_cap: None,
            bait_intervals: Vec::new(),
            bait_set_name: None,
            amplicon_intervals: None,
            custom_amplicon_set_name: None,
            target_intervals: Vec::new(),
            near_distance: 250,
            clip_overlapping_reads: None,
            include_indels: false,
            per_target_coverage: false,
            per_base_coverage: false,
            ref_flat: None,
            ribosomal_intervals: None,
            strand_specificity: None,
            minimum_length: 500,
            ignore_sequence: Vec::new(),
            rrna_fragment_percentage: 0.8,
            end_bias_bases: 100,
            locus_accumulation_cap: None,
            include_bq_histogram: false,
            count_unpaired: false,
            sample_size: 10_000,
            intervals: None,
        }
    }
}

impl Options {
    /// The most bases of a window of which G and C are counted.
    pub const MOST_SCAN_WINDOW: u32 = 10_000;

    /// The greatest depth as of which deeper positions may count.
    pub const MOST_COVERAGE_CAP: u32 = 1_000_000;

    /// The files of these programs, by what their names end in.
    pub fn endings(&self) -> impl Iterator<Item = &'static str> {
        self.programs.iter().flat_map(|&program| self.endings_of(program))
    }

    /// The same of one program: those of targets and of their bases are written if they are asked for.
    pub fn endings_of(&self, program: Program) -> impl Iterator<Item = &'static str> {
        let wanted = [true, self.per_target_coverage, self.per_base_coverage];
        let is_wanted = move |number: usize| !program.counts_targets() || wanted[number];
        let endings = program.endings().iter().enumerate();
        endings.filter(move |(number, _)| is_wanted(*number)).map(|(_, ending)| *ending)
    }

    /// The files that are read beside the reads and the reference.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        let probes = self.bait_intervals.iter().chain(&self.amplicon_intervals);
        let genes = self.ref_flat.iter().chain(&self.ribosomal_intervals);
        self.intervals.iter().chain(probes).chain(&self.target_intervals).chain(genes)
    }

    /// Whether a program is wanted that counts depths or sites, of reads that are sorted by coordinate.
    pub fn needs_order(&self) -> bool {
        self.programs.iter().any(|program| program.needs_order())
    }

    /// Whether the program is wanted.
    pub fn has(&self, program: Program) -> bool {
        self.programs.contains(&program)
    }
}
