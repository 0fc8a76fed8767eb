//! Flags of duplicate marking, and Picard's names of them; `readmill markdup`: duplicates alone.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};
use readmill::Plan;
use readmill::plan::{Command, DuplicateMode, Duplicates, Metrics, Steps};
use readmill_markdup::barcodes::Barcodes;
use readmill_markdup::location::ReadNames;
use readmill_markdup::umi::{Method, UmiSource, Umis};
use readmill_markdup::{Coding, DuplicateTypes, Optical, Rules, Strategy, Writing};
use readmill_record::{Error, Result};

use super::common::{Io, SampleFlag};
use super::sort::OutputOrder;

#[derive(Args)]
#[command(next_help_heading = "Duplicates")]
pub struct DuplicateFlags {
    /// Mark duplicates and leave them out of the output
    #[arg(long)]
    remove_duplicates: bool,
    /// Leave optical duplicates out of the output
    #[arg(long, alias = "remove-sequencing-duplicates")]
    remove_optical_duplicates: bool,
    /// Which records of a duplicate template are flagged
    #[arg(long, value_name = "MODE", default_value = "auto", alias = "ASSUME_SORT_ORDER")]
    duplicate_mode: Mode,
    /// Write duplication metrics, as Picard's METRICS_FILE
    #[arg(long, value_name = "FILE", alias = "METRICS_FILE")]
    metrics: Option<PathBuf>,
    /// Write duplication metrics as JSON
    #[arg(long, value_name = "FILE")]
    metrics_json: Option<PathBuf>,
    /// Which duplicates get a DT field: SQ for optical ones, LB for others
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "none",
        alias = "TAGGING_POLICY",
        ignore_case = true
    )]
    tag_duplicates: Types,
    /// Write the duplicate set of each pair: DI, the number of the pair that stays, and DS, its size
    #[arg(long)]
    tag_duplicate_set_members: bool,
    /// Keep DT fields of the input
    #[arg(long)]
    keep_dt: bool,
    /// How the best read of a duplicate set is chosen
    #[arg(
        long,
        value_name = "STRATEGY",
        default_value = "sum-of-base-qualities",
        alias = "DUPLICATE_SCORING_STRATEGY",
        ignore_case = true
    )]
    scoring_strategy: Scoring,
    /// Most pixels between optical duplicates, in x and in y; auto: what the instrument in the read names asks for; off
    #[arg(long, value_name = "PIXELS", default_value = "100", alias = "OPTICAL_DUPLICATE_PIXEL_DISTANCE", allow_hyphen_values = true, value_parser = parse_distance)]
    optical_distance: Distance,
    /// How read names tell where a read was seen: picard (5 or 7 fields, 16 bits each), full (more vendors, UMI suffixes, true coordinates), null (not), or a regular expression whose groups are tile, x, y
    #[arg(long, value_name = "HOW", alias = "READ_NAME_REGEX", value_parser = parse_names)]
    read_names: Option<ReadNames>,
    /// In larger duplicate sets, optical duplicates are not looked for
    #[arg(
        long,
        value_name = "N",
        default_value_t = 300_000,
        alias = "MAX_OPTICAL_DUPLICATE_SET_SIZE",
        allow_hyphen_values = true
    )]
    max_optical_set_size: i64,
    /// Mark optical duplicates alone
    #[arg(long)]
    optical_only: bool,
    /// Look for optical duplicates among single reads, too
    #[arg(long)]
    optical_single: bool,
    /// Field with the barcode of the template: others are no duplicates
    #[arg(long, value_name = "TAG", alias = "BARCODE_TAG", value_parser = parse_tag)]
    barcode_tag: Option<[u8; 2]>,
    /// Field with the barcode of the first read
    #[arg(long, value_name = "TAG", alias = "READ_ONE_BARCODE_TAG", value_parser = parse_tag)]
    read_one_barcode_tag: Option<[u8; 2]>,
    /// Field with the barcode of the second read
    #[arg(long, value_name = "TAG", alias = "READ_TWO_BARCODE_TAG", value_parser = parse_tag)]
    read_two_barcode_tag: Option<[u8; 2]>,
    /// The barcode has two halves, one of each strand of the molecule
    #[arg(long, requires = "barcode_tag")]
    duplex_umi: bool,
    /// Field for the identifier of the molecule that the barcode tells
    #[arg(long, value_name = "TAG", alias = "MOLECULAR_IDENTIFIER_TAG", requires = "barcode_tag", value_parser = parse_tag)]
    molecular_identifier_tag: Option<[u8; 2]>,
    /// Where the UMI of a template is: tag:RX, name (or name:SEPARATOR), inline:N (or inline:N+N)
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["barcode_tag", "read_one_barcode_tag", "read_two_barcode_tag"])]
    umi: Option<UmiSource>,
    /// Which UMIs of one position are one molecule
    #[arg(long, value_name = "METHOD", default_value = "directional", requires = "umi")]
    umi_method: UmiMethod,
    /// Most symbols in which UMIs of one molecule differ
    #[arg(long, value_name = "N", default_value_t = 1, requires = "umi")]
    umi_edits: u32,
    /// Field for the number of the molecule
    #[arg(long, value_name = "TAG", default_value = "MI", requires = "umi", value_parser = parse_tag)]
    molecule_tag: [u8; 2],
    #[command(flatten)]
    picard: PicardFlags,
}

/// Flags that take a value in Picard.
#[derive(Args)]
#[command(next_help_heading = "Duplicates, as Picard has them")]
struct PicardFlags {
    #[arg(long = "REMOVE_DUPLICATES", value_name = "BOOL", hide_short_help = true, action = ArgAction::Set)]
    remove_duplicates_as: Option<bool>,
    #[arg(long = "REMOVE_SEQUENCING_DUPLICATES", value_name = "BOOL", hide_short_help = true, action = ArgAction::Set)]
    remove_sequencing_duplicates_as: Option<bool>,
    #[arg(long = "TAG_DUPLICATE_SET_MEMBERS", value_name = "BOOL", hide_short_help = true, action = ArgAction::Set)]
    tag_duplicate_set_members_as: Option<bool>,
    #[arg(long = "CLEAR_DT", value_name = "BOOL", hide_short_help = true, action = ArgAction::Set)]
    clear_dt_as: Option<bool>,
    #[arg(long = "DUPLEX_UMI", value_name = "BOOL", hide_short_help = true, action = ArgAction::Set, requires = "barcode_tag")]
    duplex_umi_as: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// template if the reads are grouped by name, else coordinate; where the reads do not tell, the header does
    Auto,
    /// Every record of the template, as Picard does on queryname-grouped input
    #[value(alias = "queryname")]
    Template,
    /// Mapped primary records only, as Picard does on coordinate-sorted input
    Coordinate,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Types {
    #[value(alias = "DontTag")]
    None,
    #[value(alias = "OpticalOnly")]
    Optical,
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scoring {
    /// The sum of base qualities of 15 and more
    #[value(alias = "SUM_OF_BASE_QUALITIES")]
    SumOfBaseQualities,
    /// The number of reference bases aligned to
    #[value(alias = "TOTAL_MAPPED_REFERENCE_LENGTH")]
    TotalMappedReferenceLength,
    /// A hash of the read name
    Random,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum UmiMethod {
    /// Equal ones
    Exact,
    /// Those that may come of a more frequent one by errors, as umi_tools has it
    Directional,
    /// As the method of umi_tools
    Adjacency,
    /// All that are linked by differences of at most --umi-edits, as umi_tools has it
    Cluster,
    /// Both strands of a duplex molecule, as fgbio has it; UMIs such as ACGT-TTGA
    Paired,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Distance {
    Off,
    Auto,
    Pixels(i32),
}

fn parse_distance(text: &str) -> std::result::Result<Distance, String> {
    match text {
        "off" => Ok(Distance::Off),
        "auto" => Ok(Distance::Auto),
        _ => {
            let pixels = text.parse::<i32>().ok();
            pixels.map(Distance::Pixels).ok_or_else(|| "write a number of pixels, auto or off".into())
        }
    }
}

fn parse_names(text: &str) -> std::result::Result<ReadNames, String> {
    ReadNames::parse(text).map_err(|error| error.to_string())
}

fn parse_tag(text: &str) -> std::result::Result<[u8; 2], String> {
    match *text.as_bytes() {
        [a, b] if a.is_ascii_alphabetic() && b.is_ascii_alphanumeric() => Ok([a, b]),
        _ => Err("a tag is a letter and a letter or digit, such as RX".into()),
    }
}

impl DuplicateFlags {
    /// Whether duplicates are to be marked.
    pub fn is_given(&self) -> bool {
        self.remove_duplicates || self.remove_optical_duplicates
    }

    /// Returns the request.
    pub fn duplicates(&self) -> Duplicates {
        let picard = &self.picard;
        let mode = match self.duplicate_mode {
            Mode::Auto => DuplicateMode::Auto,
            Mode::Template => DuplicateMode::Template,
            Mode::Coordinate => DuplicateMode::Coordinate,
        };
        let duplex = picard.duplex_umi_as.unwrap_or(self.duplex_umi);
        let writing = Writing {
            remove: picard.remove_duplicates_as.unwrap_or(self.remove_duplicates),
            remove_optical: picard
                .remove_sequencing_duplicates_as
                .unwrap_or(self.remove_optical_duplicates),
            clear_dt: picard.clear_dt_as.unwrap_or(!self.keep_dt),
            duplicate_types: match self.tag_duplicates {
                Types::None => DuplicateTypes::DontTag,
                Types::Optical => DuplicateTypes::OpticalOnly,
                Types::All => DuplicateTypes::All,
            },
            members: picard.tag_duplicate_set_members_as.unwrap_or(self.tag_duplicate_set_members),
            molecule: self.molecular_identifier_tag.map(|tag| (tag, duplex)),
            molecule_number: self
                .umi
                .is_some()
                .then_some((self.molecule_tag, self.umi_method == UmiMethod::Paired)),
        };
        let metrics = Metrics { picard: self.metrics.clone(), json: self.metrics_json.clone() };
        let rules = self.rules(&writing, &metrics, duplex);
        let auto_distance = self.optical_distance == Distance::Auto;
        let needs_optical = self.optical_only
            || self.optical_single
            || self.optical_distance == Distance::Off
                && (self.remove_optical_duplicates || self.tag_duplicates == Types::Optical);
        let optical_off = self.optical_distance == Distance::Off;
        Duplicates { mode, rules, writing, auto_distance, optical_off, needs_optical, metrics }
    }

    fn rules(&self, writing: &Writing, metrics: &Metrics, duplex: bool) -> Rules {
        let auto = self.optical_distance == Distance::Auto;
        let names =
            self.read_names.clone().unwrap_or(if auto { ReadNames::Full } else { ReadNames::Picard });
        let barcodes = Barcodes {
            template: self.barcode_tag,
            first: self.read_one_barcode_tag,
            second: self.read_two_barcode_tag,
            duplex,
        };
        let coded = [barcodes.template, barcodes.first, barcodes.second].iter().any(Option::is_some);
        let wanted = writing.remove_optical
            || writing.duplicate_types != DuplicateTypes::DontTag
            || metrics.picard.is_some()
            || metrics.json.is_some()
            || self.optical_only
            || self.optical_single;
        let optical = Optical {
            distance: match self.optical_distance {
                Distance::Pixels(pixels) => pixels,
                _ => Optical::default().distance,
            },
            most: u64::try_from(self.max_optical_set_size).unwrap_or(0),
            single: self.optical_single,
            alone: self.optical_only,
        };
        let sought = self.optical_distance != Distance::Off && !matches!(names, ReadNames::Off);
        Rules {
            strategy: match self.scoring_strategy {
                Scoring::SumOfBaseQualities => Strategy::SumOfBaseQualities,
                Scoring::TotalMappedReferenceLength => Strategy::TotalMappedReferenceLength,
                Scoring::Random => Strategy::Random,
            },
            names,
            optical: (wanted && sought).then_some(optical),
            coding: match &self.umi {
                Some(source) => Some(Coding::Umis(self.umis(*source))),
                None => coded.then_some(Coding::Barcodes(barcodes)),
            },
            members: writing.members,
            molecules: self.umi.is_some(),
        }
    }

    fn umis(&self, source: UmiSource) -> Umis {
        let method = match self.umi_method {
            UmiMethod::Exact => Method::Exact,
            UmiMethod::Directional => Method::Directional,
            UmiMethod::Adjacency => Method::Adjacency,
            UmiMethod::Cluster => Method::Cluster,
            UmiMethod::Paired => Method::Paired,
        };
        Umis { source, method, edits: self.umi_edits }
    }

    /// Refuses flags that say how duplicates are marked where none are marked.
    pub fn check_unused(&self) -> Result<()> {
        let default = self.duplicate_mode == Mode::Auto && self.duplicates().words().len() == 2;
        let optical = self.optical_distance != Distance::Pixels(Optical::default().distance)
            || self.max_optical_set_size as u64 != Optical::default().most;
        if default && !optical && self.metrics.is_none() && self.metrics_json.is_none() {
            return Ok(());
        }
        Err(Error::usage("flags say how duplicates are marked, and none are to be marked")
            .hint("add --mark-duplicates or --remove-duplicates"))
    }
}

/// Flags of marking alone.
#[derive(Args)]
#[command(
    after_help = "Flags are those of Picard MarkDuplicates 3.4. The order of the input is kept, unless \
another is asked for."
)]
pub struct MarkdupArgs {
    #[command(flatten)]
    io: Io,
    #[command(flatten)]
    sort: OutputOrder,
    #[command(flatten)]
    duplicates: DuplicateFlags,
    #[command(flatten)]
    sample: SampleFlag,
}

impl MarkdupArgs {
    pub fn plan(&self) -> Result<Plan> {
        let duplicates = Some(self.duplicates.duplicates());
        let steps = Steps { duplicates, sort: self.sort.order(), ..Steps::default() };
        let mut plan = self.io.plan(Command::Markdup, steps)?;
        plan.tallies.sample.clone_from(&self.sample.sample);
        Ok(plan)
    }
}
