//! Flags for comments, barcodes and adapters of reads, which become optional fields of the records.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use readmill::plan::ReadTags;
use readmill_fastq::ReadStructure;
use readmill_filters::adapter::{AdapterPair, AdapterRules, Pruning, Stringency};
use readmill_filters::optional_fields;
use readmill_markdup::umi::UmiSource;
use readmill_record::tag::Tag;
use readmill_record::{Error, Result};

#[derive(Args)]
#[command(next_help_heading = "Barcodes and comments")]
pub struct ReadTagFlags {
    /// Copy the FASTQ comment of each read to its records, as bwa mem -C does. The comment must
    /// consist of SAM optional fields
    #[arg(short = 'C', long)]
    append_comment: bool,
    /// Copy the barcode of Casava comments, such as 1:N:0:ACGT, to BC or TAG
    ///
    /// If the comment marks a read as filtered (Y), its unaligned record gets the flag 0x200.
    #[arg(long, value_name = "TAG", num_args = 0..=1, require_equals = true, default_missing_value = "BC", value_parser = parse_tag, conflicts_with = "append_comment")]
    casava: Option<Tag>,
    /// Copy the UMI from the end of read names to RX
    ///
    /// The UMI is the part of the name after the seventh colon, or after SEPARATOR.
    #[arg(long, value_name = "SEPARATOR", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = parse_umi_separator)]
    umi_from_name: Option<NameUmis>,
    /// Read structures, which say where UMIs, barcodes and template bases are, such as 8M3S+T,+T
    ///
    /// Give one structure for each read of a template, then those of index reads, as in '+T +T 9M'.
    /// 8M3S+T means a UMI of 8 bases (written to RX and QX), 3 bases to skip, and template bases to
    /// the end of the read. B is a sample barcode (BC), and C is a cell barcode (CB).
    #[arg(long, value_name = "STRUCTURES", value_delimiter = ',')]
    read_structures: Vec<Structures>,
}

/// Read structures separated by blanks in one argument. clap also splits the argument at commas.
#[derive(Clone)]
struct Structures(Vec<ReadStructure>);

impl FromStr for Structures {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let words = if text.trim().is_empty() { vec![text] } else { text.split_whitespace().collect() };
        words.into_iter().map(str::parse).collect::<Result<_>>().map(Structures)
    }
}

/// The separator before the UMI in read names. `None` means that the UMI follows the seventh colon.
type NameUmis = (Option<u8>,);

fn parse_umi_separator(text: &str) -> Result<NameUmis, String> {
    let source = if text.is_empty() { "name".to_string() } else { format!("name:{text}") };
    match source.parse() {
        Ok(UmiSource::Name(separator)) => Ok((separator,)),
        _ => Err(format!("{text:?} is not a single character")),
    }
}

fn parse_tag(text: &str) -> Result<Tag, String> {
    optional_fields::parse_tag(text).map_err(|error| error.what)
}

impl ReadTagFlags {
    /// Returns whether comments of FASTQ reads are needed.
    pub fn uses_comments(&self) -> bool {
        self.append_comment || self.casava.is_some()
    }

    /// Returns the request for the plan. `adapter_words` are the flags that correspond to
    /// `adapters`.
    pub fn build_request(&self, adapters: Option<AdapterRules>, adapter_words: Vec<String>) -> ReadTags {
        ReadTags {
            comments: self.append_comment,
            casava: self.casava,
            name_umis: self.umi_from_name.map(|(separator,)| separator),
            structures: self.read_structures.iter().flat_map(|some| some.0.clone()).collect(),
            index_reads: Vec::new(),
            adapters,
            adapter_words,
        }
    }
}

/// The default of `--adapters`, as in Picard MarkIlluminaAdapters.
const ADAPTERS: &str = "INDEXED,DUAL_INDEXED,PAIRED_END";

#[derive(Args)]
#[command(next_help_heading = "Adapters")]
pub struct AdapterFlags {
    /// Mark adapters in reads: XT gets the position of the first adapter base, as in Picard
    /// MarkIlluminaAdapters
    #[arg(long)]
    mark_adapters: bool,
    /// Names of the adapters to search for
    ///
    /// Picard's names: INDEXED, DUAL_INDEXED, PAIRED_END, SINGLE_END, NEXTERA_V1, NEXTERA_V2,
    /// FLUIDIGM, TRUSEQ_SMALLRNA and ALTERNATIVE_SINGLE_END.
    #[arg(
        long,
        value_name = "NAMES",
        default_value = ADAPTERS,
        value_delimiter = ',',
        alias = "ADAPTERS",
        requires = "mark_adapters"
    )]
    adapters: Vec<String>,
    /// 5' adapter of a custom adapter pair to search for. Its reverse complement occurs in read 2
    #[arg(long, value_name = "BASES", alias = "FIVE_PRIME_ADAPTER", requires_all = ["mark_adapters", "three_prime_adapter"])]
    five_prime_adapter: Option<String>,
    /// 3' adapter of the custom adapter pair. It occurs in read 1 and in single reads
    #[arg(long, value_name = "BASES", alias = "THREE_PRIME_ADAPTER", requires_all = ["mark_adapters", "five_prime_adapter"])]
    three_prime_adapter: Option<String>,
    /// Minimum number of bases that match an adapter in a single read
    #[arg(
        long,
        value_name = "N",
        default_value_t = 12,
        alias = "MIN_MATCH_BASES_SE",
        requires = "mark_adapters"
    )]
    min_match_bases_se: usize,
    /// Minimum number of bases that match an adapter in each read of a pair
    #[arg(
        long,
        value_name = "N",
        default_value_t = 6,
        alias = "MIN_MATCH_BASES_PE",
        requires = "mark_adapters"
    )]
    min_match_bases_pe: usize,
    /// Maximum fraction of mismatches between a single read and an adapter
    #[arg(
        long,
        value_name = "RATE",
        default_value_t = 0.1,
        alias = "MAX_ERROR_RATE_SE",
        requires = "mark_adapters"
    )]
    max_error_rate_se: f64,
    /// Maximum fraction of mismatches between a read of a pair and an adapter
    #[arg(
        long,
        value_name = "RATE",
        default_value_t = 0.1,
        alias = "MAX_ERROR_RATE_PE",
        requires = "mark_adapters"
    )]
    max_error_rate_pe: f64,
    /// Compare only the first N bases of each adapter
    #[arg(
        long,
        value_name = "N",
        default_value_t = 30,
        alias = "ADAPTER_TRUNCATION_LENGTH",
        requires = "mark_adapters"
    )]
    adapter_truncation_length: usize,
    /// After N templates with an adapter, search only for the most frequent adapters. 0 disables
    /// this
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        alias = "PRUNE_ADAPTER_LIST_AFTER_THIS_MANY_ADAPTERS_SEEN",
        allow_hyphen_values = true,
        requires = "mark_adapters"
    )]
    prune_adapters_after: i64,
    /// Number of adapters that --prune-adapters-after keeps
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        alias = "NUM_ADAPTERS_TO_KEEP",
        requires = "mark_adapters"
    )]
    num_adapters_to_keep: usize,
    /// Write a histogram of adapter bases per read, like METRICS of Picard MarkIlluminaAdapters
    #[arg(long, value_name = "FILE", requires = "mark_adapters")]
    adapter_metrics: Option<PathBuf>,
}

impl AdapterFlags {
    pub fn metrics_file(&self) -> Option<PathBuf> {
        self.adapter_metrics.clone()
    }

    /// Returns the flags that differ from their defaults, for `CL` of the `@PG` line.
    pub fn command_words(&self) -> Vec<String> {
        let pair = |of: &Option<String>| of.clone().unwrap_or_default();
        [
            ("--adapters", self.adapters.join(","), ADAPTERS),
            ("--five-prime-adapter", pair(&self.five_prime_adapter), ""),
            ("--three-prime-adapter", pair(&self.three_prime_adapter), ""),
            ("--min-match-bases-se", self.min_match_bases_se.to_string(), "12"),
            ("--min-match-bases-pe", self.min_match_bases_pe.to_string(), "6"),
            ("--max-error-rate-se", self.max_error_rate_se.to_string(), "0.1"),
            ("--max-error-rate-pe", self.max_error_rate_pe.to_string(), "0.1"),
            ("--adapter-truncation-length", self.adapter_truncation_length.to_string(), "30"),
            ("--prune-adapters-after", self.prune_adapters_after.to_string(), "100"),
            ("--num-adapters-to-keep", self.num_adapters_to_keep.to_string(), "1"),
        ]
        .into_iter()
        .filter(|(_, value, default)| value != default)
        .map(|(flag, value, _)| format!("{flag} {value}"))
        .collect()
    }

    /// Returns the rules for marking adapters, or `None` without `--mark-adapters`.
    pub fn build_adapter_rules(&self) -> Result<Option<AdapterRules>> {
        if !self.mark_adapters {
            return Ok(None);
        }
        let mut adapters =
            self.adapters.iter().map(|name| name.parse()).collect::<Result<Vec<AdapterPair>>>()?;
        if let (Some(five_prime), Some(three_prime)) =
            (&self.five_prime_adapter, &self.three_prime_adapter)
        {
            adapters.push(AdapterPair::new(five_prime, three_prime)?);
        }
        if self.num_adapters_to_keep == 0 {
            return Err(Error::usage("no adapter is left to search for")
                .hint("keep at least one; to keep all, use --prune-adapters-after 0"));
        }
        let stringency = |min_bases, error_rate| Stringency { min_bases, error_rate };
        let keep = self.num_adapters_to_keep;
        let pruning = u64::try_from(self.prune_adapters_after).ok().filter(|&after| after > 0);
        Ok(Some(AdapterRules {
            adapters,
            single: stringency(self.min_match_bases_se, self.max_error_rate_se),
            pair: stringency(self.min_match_bases_pe, self.max_error_rate_pe),
            max_adapter_bases: self.adapter_truncation_length,
            pruning: pruning.map(|after| Pruning { after, keep }),
        }))
    }
}
