//! Flags of CollectRnaSeqMetrics.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use crate::flags::parse_size;

/// Options of CollectRnaSeqMetrics.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct RnaOptions {
    /// Genes in refFlat for CollectRnaSeqMetrics
    #[arg(long, alias = "REF_FLAT", value_name = "FILE")]
    pub ref_flat: Option<PathBuf>,
    /// Ribosomal RNA for CollectRnaSeqMetrics (Picard interval list or BED)
    #[arg(long, alias = "RIBOSOMAL_INTERVALS", value_name = "FILE", requires = "ref_flat")]
    pub ribosomal_intervals: Option<PathBuf>,
    /// Which read of a pair lies on the transcript strand
    #[arg(
        long,
        alias = "STRAND_SPECIFICITY",
        value_name = "STRAND",
        requires = "ref_flat",
        ignore_case = true
    )]
    pub strand_specificity: Option<StrandSpecificity>,
    /// Minimum transcript length in bases for coverage evenness [default: 500]
    #[arg(long, alias = "MINIMUM_LENGTH", value_name = "N", requires = "ref_flat", value_parser = parse_size())]
    pub minimum_length: Option<u32>,
    /// Contigs whose reads CollectRnaSeqMetrics ignores
    #[arg(
        long,
        alias = "IGNORE_SEQUENCE",
        value_name = "LIST",
        requires = "ref_flat",
        value_delimiter = ','
    )]
    pub ignore_sequence: Vec<String>,
    /// Fraction in rRNA that makes a fragment ribosomal, 0-1 [default: 0.8]
    #[arg(long, alias = "RRNA_FRAGMENT_PERCENTAGE", value_name = "SHARE", requires = "ribosomal_intervals", value_parser = parse_fraction)]
    pub rrna_fragment_percentage: Option<f64>,
    /// Bases at each transcript end to compare for bias [default: 100]
    #[arg(long, alias = "END_BIAS_BASES", value_name = "N", requires = "ref_flat", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub end_bias_bases: Option<u32>,
}

impl RnaOptions {
    /// Returns the number of bases at each end of a transcript that are compared for the bias
    /// (Picard's END_BIAS_BASES).
    pub(super) fn end_bias_bases(&self) -> u32 {
        self.end_bias_bases.unwrap_or(100)
    }
}

/// The read of a pair that has the strand of the transcript, a value of Picard's
/// STRAND_SPECIFICITY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrandSpecificity {
    /// The library is not stranded: either read can have the strand of the transcript.
    None,
    /// Read 1 (or an unpaired read) has the strand of the transcript.
    FirstReadTranscriptionStrand,
    /// Read 2 has the strand of the transcript.
    SecondReadTranscriptionStrand,
}

impl StrandSpecificity {
    /// Each value with the name that Picard's command line accepts.
    const NAMED: [(StrandSpecificity, &'static str); 3] = [
        (StrandSpecificity::None, "NONE"),
        (StrandSpecificity::FirstReadTranscriptionStrand, "FIRST_READ_TRANSCRIPTION_STRAND"),
        (StrandSpecificity::SecondReadTranscriptionStrand, "SECOND_READ_TRANSCRIPTION_STRAND"),
    ];
}

impl ValueEnum for StrandSpecificity {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            StrandSpecificity::None,
            StrandSpecificity::FirstReadTranscriptionStrand,
            StrandSpecificity::SecondReadTranscriptionStrand,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let named = Self::NAMED.into_iter().find(|(strand, _)| strand == self);
        named.map(|(_, name)| PossibleValue::new(name))
    }
}

fn parse_fraction(text: &str) -> std::result::Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "must be between 0 and 1".into())
}
