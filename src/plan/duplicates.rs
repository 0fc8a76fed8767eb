//! How duplicates are marked: the flags that ask for it, with Picard's names of them, and the request that they become.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use readmill_markdup::barcodes::Barcodes;
use readmill_markdup::location::ReadNames;
use readmill_markdup::umi::{Method, UmiSource, Umis};
use readmill_markdup::{Coding, DuplicateTypes, Optical, Rules, Strategy, Writing};
use readmill_record::{Error, Result, tag};

use super::choice::{Choice, name_of, one_of};

/// How duplicates are marked.
#[derive(Clone, Debug)]
pub struct Duplicates {
    /// Which records of a duplicate template are flagged.
    pub mode: DuplicateMode,
    /// The rules of duplicates.
    pub rules: Rules,
    /// The flags and tags written to records.
    pub writing: Writing,
    /// Whether the pixel distance is that of the instrument that the first read names.
    pub auto_distance: bool,
    /// Whether optical duplicates are not looked for, even where names would show them.
    pub optical_off: bool,
    /// Whether the run makes no sense without optical duplicates.
    pub needs_optical: bool,
    /// Where metrics go.
    pub metrics: Metrics,
}

impl Duplicates {
    /// Picard's rules in this mode, marks alone.
    pub fn marked(mode: DuplicateMode) -> Self {
        let writing = Writing { clear_dt: true, ..Writing::default() };
        let (rules, auto_distance, optical_off, needs_optical, metrics) = Default::default();
        Duplicates { mode, rules, writing, auto_distance, optical_off, needs_optical, metrics }
    }
}

/// Files for metrics.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    /// In Picard's form.
    pub picard: Option<PathBuf>,
    /// As JSON.
    pub json: Option<PathBuf>,
}

/// Which records of a duplicate template are flagged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateMode {
    /// Template, if the input proves to be grouped by name; else coordinate.
    Auto,
    /// Every record of the template, as Picard does on queryname-grouped input.
    Template,
    /// The primary mapped records alone, as Picard does on coordinate-sorted input.
    Coordinate,
}

impl Duplicates {
    /// Checks what does not go together.
    pub fn check(&self) -> Result<()> {
        let looked_for = self.rules.optical.is_some();
        if self.needs_optical && !looked_for {
            return Err(Error::usage("optical duplicates are asked for, and are not looked for")
                .hint("drop --optical-distance off and --read-names null"));
        }
        let written = [
            self.writing.molecule_number.map(|(tag, _)| tag),
            self.writing.molecule.map(|(tag, _)| tag),
        ];
        let read = match &self.rules.coding {
            Some(Coding::Umis(umis)) => [umis.source.tag(), None, None],
            Some(Coding::Barcodes(barcodes)) => [barcodes.template, barcodes.first, barcodes.second],
            None => [None; 3],
        };
        for tag in written.into_iter().flatten() {
            if read.contains(&Some(tag)) || [tag::RG, tag::DT, tag::DI, tag::DS].contains(&tag) {
                let tag = String::from_utf8_lossy(&tag);
                return Err(Error::usage(format!("the field {tag} holds something else"))
                    .hint("write the molecule to another field, such as MI"));
            }
        }
        if let Some(Coding::Umis(umis)) = &self.rules.coding
            && umis.method == Method::Paired
            && matches!(umis.source, UmiSource::Inline { second: 0, .. })
        {
            return Err(Error::usage("the method paired needs a UMI at both ends")
                .hint("say how many bases of each read, such as inline:8+8"));
        }
        Ok(())
    }

    /// The words of the canonical command line: what differs from the default.
    pub fn words(&self) -> Vec<String> {
        let (rules, writing) = (&self.rules, &self.writing);
        let mut words = Vec::new();
        let mut flag = |word: &str, given: bool| {
            if given {
                words.push(word.to_string());
            }
        };
        flag("--remove-duplicates", writing.remove);
        flag("--remove-optical-duplicates", writing.remove_optical);
        flag("--keep-dt", !writing.clear_dt);
        flag("--tag-duplicate-set-members", writing.members);
        let optical = rules.optical.unwrap_or_default();
        flag("--optical-only", optical.alone);
        flag("--optical-single", optical.single);
        let mut say = |word: &str, value: String| words.extend([word.to_string(), value]);
        say("--duplicate-mode", name_of(MODES, self.mode).into());
        if rules.strategy != Strategy::default() {
            say("--scoring-strategy", name_of(STRATEGIES, rules.strategy).into());
        }
        if writing.duplicate_types != DuplicateTypes::default() {
            say("--tag-duplicates", name_of(TYPES, writing.duplicate_types).into());
        }
        let names = rules.names.to_string();
        if names != "picard" {
            say("--read-names", if names.contains(' ') { format!("'{names}'") } else { names });
        }
        if self.optical_off {
            say("--optical-distance", "off".into());
        } else if self.auto_distance {
            say("--optical-distance", "auto".into());
        } else if optical.distance != Optical::default().distance {
            say("--optical-distance", optical.distance.to_string());
        }
        if optical.most != Optical::default().most {
            say("--max-optical-set-size", optical.most.to_string());
        }
        let tag = |tag: [u8; 2]| String::from_utf8_lossy(&tag).into_owned();
        if let Some(Coding::Barcodes(barcodes)) = &rules.coding {
            let tags = [
                ("--barcode-tag", barcodes.template),
                ("--read-one-barcode-tag", barcodes.first),
                ("--read-two-barcode-tag", barcodes.second),
            ];
            tags.into_iter().for_each(|(word, value)| value.into_iter().for_each(|v| say(word, tag(v))));
            if barcodes.duplex {
                words.push("--duplex-umi".into());
            }
        }
        if let Some(Coding::Umis(umis)) = &rules.coding {
            let mut say = |word: &str, value: String| words.extend([word.to_string(), value]);
            say("--umi", umis.source.to_string());
            say("--umi-method", name_of(METHODS, umis.method).into());
            say("--umi-edits", umis.edits.to_string());
        }
        if let Some((molecule, _)) = writing.molecule_number {
            words.extend(["--molecule-tag".to_string(), tag(molecule)]);
        }
        if let Some((molecule, _)) = writing.molecule {
            words.extend(["--molecular-identifier-tag".to_string(), tag(molecule)]);
        }
        words
    }
}

/// Flags that say how duplicates are marked.
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
    #[arg(long, value_name = "MODE", default_value = "auto", alias = "ASSUME_SORT_ORDER", value_parser = one_of(MODES))]
    duplicate_mode: DuplicateMode,
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
        ignore_case = true,
        value_parser = one_of(TYPES)
    )]
    tag_duplicates: DuplicateTypes,
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
        ignore_case = true,
        value_parser = one_of(STRATEGIES)
    )]
    scoring_strategy: Strategy,
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
    #[arg(long, value_name = "METHOD", default_value = "directional", requires = "umi", value_parser = one_of(METHODS))]
    umi_method: Method,
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

/// Values of `--duplicate-mode`.
const MODES: &[Choice<DuplicateMode>] = &[
    Choice {
        value: DuplicateMode::Auto,
        name: "auto",
        aliases: &[],
        help: "template if the reads are grouped by name, else coordinate; where the reads do not tell, the header does",
    },
    Choice {
        value: DuplicateMode::Template,
        name: "template",
        aliases: &["queryname"],
        help: "Every record of the template, as Picard does on queryname-grouped input",
    },
    Choice {
        value: DuplicateMode::Coordinate,
        name: "coordinate",
        aliases: &[],
        help: "Mapped primary records only, as Picard does on coordinate-sorted input",
    },
];

/// Values of `--tag-duplicates`.
const TYPES: &[Choice<DuplicateTypes>] = &[
    Choice { value: DuplicateTypes::DontTag, name: "none", aliases: &["DontTag"], help: "" },
    Choice { value: DuplicateTypes::OpticalOnly, name: "optical", aliases: &["OpticalOnly"], help: "" },
    Choice { value: DuplicateTypes::All, name: "all", aliases: &[], help: "" },
];

/// Values of `--scoring-strategy`.
const STRATEGIES: &[Choice<Strategy>] = &[
    Choice {
        value: Strategy::SumOfBaseQualities,
        name: "sum-of-base-qualities",
        aliases: &["SUM_OF_BASE_QUALITIES"],
        help: "The sum of base qualities of 15 and more",
    },
    Choice {
        value: Strategy::TotalMappedReferenceLength,
        name: "total-mapped-reference-length",
        aliases: &["TOTAL_MAPPED_REFERENCE_LENGTH"],
        help: "The number of reference bases aligned to",
    },
    Choice { value: Strategy::Random, name: "random", aliases: &[], help: "A hash of the read name" },
];

/// Values of `--umi-method`.
const METHODS: &[Choice<Method>] = &[
    Choice { value: Method::Exact, name: "exact", aliases: &[], help: "Equal ones" },
    Choice {
        value: Method::Directional,
        name: "directional",
        aliases: &[],
        help: "UMIs that may be sequencing errors of a more frequent UMI, as in umi_tools",
    },
    Choice {
        value: Method::Adjacency,
        name: "adjacency",
        aliases: &[],
        help: "As the method of umi_tools",
    },
    Choice {
        value: Method::Cluster,
        name: "cluster",
        aliases: &[],
        help: "All that are linked by differences of at most --umi-edits, as umi_tools has it",
    },
    Choice {
        value: Method::Paired,
        name: "paired",
        aliases: &[],
        help: "Both strands of a duplex molecule, as fgbio has it; UMIs such as ACGT-TTGA",
    },
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Distance {
    Off,
    Auto,
    Pixels(i32),
}

fn parse_distance(text: &str) -> Result<Distance, String> {
    match text {
        "off" => Ok(Distance::Off),
        "auto" => Ok(Distance::Auto),
        _ => {
            let pixels = text.parse::<i32>().ok();
            pixels.map(Distance::Pixels).ok_or_else(|| "write a number of pixels, auto or off".into())
        }
    }
}

fn parse_names(text: &str) -> Result<ReadNames, String> {
    ReadNames::parse(text).map_err(|error| error.to_string())
}

fn parse_tag(text: &str) -> Result<[u8; 2], String> {
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
        let duplex = picard.duplex_umi_as.unwrap_or(self.duplex_umi);
        let writing = Writing {
            remove: picard.remove_duplicates_as.unwrap_or(self.remove_duplicates),
            remove_optical: picard
                .remove_sequencing_duplicates_as
                .unwrap_or(self.remove_optical_duplicates),
            clear_dt: picard.clear_dt_as.unwrap_or(!self.keep_dt),
            duplicate_types: self.tag_duplicates,
            members: picard.tag_duplicate_set_members_as.unwrap_or(self.tag_duplicate_set_members),
            molecule: self.molecular_identifier_tag.map(|tag| (tag, duplex)),
            molecule_number: self
                .umi
                .is_some()
                .then_some((self.molecule_tag, self.umi_method == Method::Paired)),
        };
        let metrics = Metrics { picard: self.metrics.clone(), json: self.metrics_json.clone() };
        let rules = self.rules(&writing, &metrics, duplex);
        let auto_distance = self.optical_distance == Distance::Auto;
        let needs_optical = self.optical_only
            || self.optical_single
            || self.optical_distance == Distance::Off
                && (self.remove_optical_duplicates
                    || self.tag_duplicates == DuplicateTypes::OpticalOnly);
        let optical_off = self.optical_distance == Distance::Off;
        let mode = self.duplicate_mode;
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
            strategy: self.scoring_strategy,
            names,
            optical: (wanted && sought).then_some(optical),
            coding: match &self.umi {
                Some(source) => {
                    let (method, edits) = (self.umi_method, self.umi_edits);
                    Some(Coding::Umis(Umis { source: *source, method, edits }))
                }
                None => coded.then_some(Coding::Barcodes(barcodes)),
            },
            members: writing.members,
            molecules: self.umi.is_some(),
        }
    }

    /// Refuses flags that say how duplicates are marked where none are marked.
    pub fn check_unused(&self) -> Result<()> {
        let default = self.duplicate_mode == DuplicateMode::Auto && self.duplicates().words().len() == 2;
        let optical = self.optical_distance != Distance::Pixels(Optical::default().distance)
            || self.max_optical_set_size as u64 != Optical::default().most;
        if default && !optical && self.metrics.is_none() && self.metrics_json.is_none() {
            return Ok(());
        }
        Err(Error::usage("flags say how duplicates are marked, and none are to be marked")
            .hint("add --mark-duplicates or --remove-duplicates"))
    }
}
