//! The flags for marking duplicates. Most have the name of the corresponding Picard MarkDuplicates
//! argument as an alias.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use readmill_markdup::barcodes::Barcodes;
use readmill_markdup::location::ReadNames;
use readmill_markdup::samtools::detail::DEFAULT_ORDER;
use readmill_markdup::umi::{Method, UmiSource, Umis};
use readmill_markdup::{
    Coding, DuplicateDetails, DuplicateTypes, EarlierMarks, MarkOptions, Optical, OpticalReads,
    PairEnds, ReadCoords, Rules, SamtoolsRules, SamtoolsTags, Strategy,
};
use readmill_record::{Error, Result};

use super::choice::choice_parser;
use super::duplicate_choices::{
    DUPLICATE_MODES, DUPLICATE_TYPES, DuplicateMode, PAIR_ENDS, RULE_SETS, RuleSet, SCORING_STRATEGIES,
    UMI_METHODS,
};
use super::duplicates::{Duplicates, DuplicationMetricsFiles};

/// Flags that say how duplicates are marked.
#[derive(Args)]
#[command(next_help_heading = "Duplicates")]
pub struct DuplicateFlags {
    /// Remove duplicates from the output
    #[arg(long)]
    remove_duplicates: bool,
    /// Remove optical duplicates from the output
    #[arg(long, alias = "remove-sequencing-duplicates")]
    remove_optical_duplicates: bool,
    /// Decide which reads are duplicates by the rules of this tool
    ///
    /// Flags below that do not mention samtools are for picard.
    #[arg(long, value_name = "WHOSE", default_value = "picard", value_parser = choice_parser(RULE_SETS))]
    rules: RuleSet,
    /// Find duplicates by these ends (--rules samtools)
    #[arg(long, value_name = "OF", default_value = "template", value_parser = choice_parser(PAIR_ENDS))]
    ends: PairEnds,
    /// First clear the duplicate flags, dt fields and do fields of the input (--rules samtools)
    ///
    /// With --rules picard, duplicate flags are always reset.
    #[arg(long)]
    clear_marks: bool,
    /// Also mark reads that failed quality control (flag 0x200; --rules samtools)
    #[arg(long)]
    include_fails: bool,
    /// Compare only reads of the same read group (--rules samtools)
    #[arg(long)]
    use_read_groups: bool,
    /// Which records of a duplicate template are flagged
    #[arg(long, value_name = "MODE", default_value = "auto", alias = "ASSUME_SORT_ORDER", value_parser = choice_parser(DUPLICATE_MODES))]
    duplicate_mode: DuplicateMode,
    /// Write duplication metrics in Picard's format
    ///
    /// With --rules samtools, it is the text format of samtools markdup -f.
    #[arg(long, value_name = "FILE", alias = "METRICS_FILE")]
    metrics: Option<PathBuf>,
    /// Write duplication metrics as JSON
    ///
    /// With --rules samtools, it is the JSON format of samtools markdup --json.
    #[arg(long, value_name = "FILE")]
    metrics_json: Option<PathBuf>,
    /// Write a DT field to these duplicates: SQ for optical duplicates, LB for other duplicates
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "none",
        alias = "TAGGING_POLICY",
        ignore_case = true,
        value_parser = choice_parser(DUPLICATE_TYPES)
    )]
    tag_duplicates: DuplicateTypes,
    /// Write the duplicate set of each pair to the fields DI and DS
    ///
    /// DI is the number of the representative pair, and DS is the size of the set.
    #[arg(long)]
    tag_duplicate_set_members: bool,
    /// Keep DT fields of the input
    #[arg(long)]
    keep_dt: bool,
    /// Strategy to choose the representative of a duplicate set
    #[arg(
        long,
        value_name = "STRATEGY",
        default_value = "sum-of-base-qualities",
        alias = "DUPLICATE_SCORING_STRATEGY",
        ignore_case = true,
        value_parser = choice_parser(SCORING_STRATEGIES)
    )]
    scoring_strategy: Strategy,
    /// Maximum distance of optical duplicates in pixels, in x and in y, or auto, or off
    ///
    /// auto derives the distance from the instrument in the read names. With --rules samtools, a
    /// distance also writes dt fields [default: 100; off with --rules samtools].
    #[arg(long, value_name = "PIXELS", alias = "OPTICAL_DUPLICATE_PIXEL_DISTANCE", allow_hyphen_values = true, value_parser = parse_distance)]
    optical_distance: Option<OpticalDistance>,
    /// How coordinates are read from read names
    ///
    /// picard reads names with 5 or 7 fields, and keeps 16 bits of each coordinate. full also reads
    /// names of more vendors and names with UMI suffixes, and keeps full coordinates. null reads no
    /// coordinates. Any other value is a regular expression with groups for tile, x and y.
    #[arg(long, value_name = "HOW", alias = "READ_NAME_REGEX", value_parser = parse_names)]
    read_names: Option<ReadNames>,
    /// Regular expression with groups for the coordinates in read names (--rules samtools)
    #[arg(long, value_name = "REGEX", requires = "optical_distance")]
    read_coords: Option<String>,
    /// Meaning of the groups of --read-coords, in order [default: txy]
    ///
    /// x and y are coordinates, and t is a part of the name that must be equal in both reads.
    #[arg(long, value_name = "ORDER", requires = "read_coords")]
    coords_order: Option<String>,
    /// Write the name of the representative read to the do field of each duplicate (--rules
    /// samtools)
    #[arg(long)]
    tag_original: bool,
    /// Write the number of reads in a duplicate set to the dc field of the representative (--rules
    /// samtools)
    #[arg(long)]
    duplicate_count: bool,
    /// Compare each duplicate only with its representative (--rules samtools)
    #[arg(long)]
    no_multi_dup: bool,
    /// Detect optical duplicates only in duplicate sets of at most N reads
    #[arg(
        long,
        value_name = "N",
        default_value_t = 300_000,
        alias = "MAX_OPTICAL_DUPLICATE_SET_SIZE",
        allow_hyphen_values = true
    )]
    max_optical_set_size: i64,
    /// Mark only optical duplicates
    #[arg(long)]
    optical_only: bool,
    /// Also detect optical duplicates among single reads
    #[arg(long)]
    optical_single: bool,
    /// Read the barcode of the template from this field. Reads with different barcodes are not
    /// duplicates
    #[arg(long, value_name = "TAG", alias = "BARCODE_TAG", value_parser = parse_tag)]
    barcode_tag: Option<[u8; 2]>,
    /// Read the barcode of read 1 from this field
    #[arg(long, value_name = "TAG", alias = "READ_ONE_BARCODE_TAG", value_parser = parse_tag)]
    read_one_barcode_tag: Option<[u8; 2]>,
    /// Read the barcode of read 2 from this field
    #[arg(long, value_name = "TAG", alias = "READ_TWO_BARCODE_TAG", value_parser = parse_tag)]
    read_two_barcode_tag: Option<[u8; 2]>,
    /// Treat the barcode as two halves, one per strand of the molecule (duplex)
    #[arg(long, requires = "barcode_tag")]
    duplex_umi: bool,
    /// Write a molecule identifier, derived from the barcode, to this field
    #[arg(long, value_name = "TAG", alias = "MOLECULAR_IDENTIFIER_TAG", requires = "barcode_tag", value_parser = parse_tag)]
    molecular_identifier_tag: Option<[u8; 2]>,
    /// Where UMIs are, such as tag:RX
    ///
    /// tag:RX is an optional field. name is the read name, and name:SEPARATOR sets the separator.
    /// inline:N is the first N bases of read 1, and inline:N+N the first N bases of both reads.
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["barcode_tag", "read_one_barcode_tag", "read_two_barcode_tag"])]
    umi: Option<UmiSource>,
    /// Method to group UMIs at the same position into molecules
    #[arg(long, value_name = "METHOD", default_value = "directional", requires = "umi", value_parser = choice_parser(UMI_METHODS))]
    umi_method: Method,
    /// Maximum number of differences between the UMIs of one molecule
    #[arg(long, value_name = "N", default_value_t = 1, requires = "umi")]
    umi_edits: u32,
    /// Write the number of the molecule to this field
    #[arg(long, value_name = "TAG", default_value = "MI", requires = "umi", value_parser = parse_tag)]
    molecule_tag: [u8; 2],
    #[command(flatten)]
    picard: PicardFlags,
}

/// Flags that take a value in Picard.
#[derive(Args)]
#[command(next_help_heading = "Duplicates (Picard's flag names)")]
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpticalDistance {
    Off,
    Auto,
    Pixels(i32),
}

fn parse_distance(text: &str) -> Result<OpticalDistance, String> {
    match text {
        "off" => Ok(OpticalDistance::Off),
        "auto" => Ok(OpticalDistance::Auto),
        _ => {
            let pixels = text.parse::<i32>().ok();
            pixels
                .map(OpticalDistance::Pixels)
                .ok_or_else(|| "write a number of pixels, auto or off".into())
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

fn first_given<const N: usize>(flags: [(&'static str, bool); N]) -> Option<&'static str> {
    flags.into_iter().find_map(|(name, given)| given.then_some(name))
}

impl DuplicateFlags {
    /// Returns whether one of the flags is given that mark duplicates even without
    /// `--mark-duplicates`.
    pub fn is_given(&self) -> bool {
        self.remove_duplicates || self.remove_optical_duplicates
    }

    /// Builds the plan for marking duplicates. Errors in the flags are stored in it;
    /// [`Duplicates::check_conflicts`] reports them.
    pub fn to_request(&self) -> Duplicates {
        let picard = self.picard_request();
        if self.rules == RuleSet::Picard {
            let of_samtools = [
                ("--ends", self.ends != PairEnds::default()),
                ("--clear-marks", self.clear_marks),
                ("--include-fails", self.include_fails),
                ("--use-read-groups", self.use_read_groups),
                ("--read-coords", self.read_coords.is_some()),
                ("--tag-original", self.tag_original),
                ("--duplicate-count", self.duplicate_count),
                ("--no-multi-dup", self.no_multi_dup),
            ];
            return Duplicates { out_of_place: first_given(of_samtools), ..picard };
        }
        let (optical, fault) = match self.samtools_optical() {
            Ok(optical) => (optical, None),
            Err(error) => (None, Some(error)),
        };
        let tags = SamtoolsTags {
            kind: optical.is_some(),
            original: self.tag_original,
            count: self.duplicate_count,
            other_records: self.duplicate_mode == DuplicateMode::Template,
        };
        let details = DuplicateDetails {
            optical,
            originals: self.tag_original,
            counts: self.duplicate_count,
            first_only: self.no_multi_dup,
        };
        let earlier = if self.clear_marks { EarlierMarks::Clear } else { EarlierMarks::Keep };
        Duplicates {
            mode: self.duplicate_mode,
            rules: Rules {
                samtools: Some(SamtoolsRules {
                    ends: self.ends,
                    other_records: self.duplicate_mode == DuplicateMode::Template,
                    failed_reads: self.include_fails,
                    by_read_group: self.use_read_groups,
                    barcode: self.barcode_tag,
                    details,
                }),
                ..Rules::default()
            },
            writing: MarkOptions {
                remove: picard.writing.remove,
                earlier,
                samtools: tags,
                ..MarkOptions::default()
            },
            auto_distance: false,
            optical_off: false,
            needs_optical: false,
            out_of_place: self.first_picard_only_flag(&picard),
            fault,
            metrics: picard.metrics,
        }
    }

    fn samtools_optical(&self) -> Result<Option<OpticalReads>> {
        let Some(OpticalDistance::Pixels(pixels)) = self.optical_distance else { return Ok(None) };
        let coords = match &self.read_coords {
            Some(regex) => {
                ReadCoords::parse(regex, self.coords_order.as_deref().unwrap_or(DEFAULT_ORDER))?
            }
            None => ReadCoords::default(),
        };
        Ok((pixels > 0).then_some(OpticalReads { distance: pixels.into(), coords }))
    }

    /// Returns the optical pixel distance for Picard's rules, 100 by default.
    fn picard_optical_distance(&self) -> OpticalDistance {
        self.optical_distance.unwrap_or(OpticalDistance::Pixels(Optical::default().distance))
    }

    fn first_picard_only_flag(&self, picard: &Duplicates) -> Option<&'static str> {
        let Duplicates { rules, writing, .. } = picard;
        let optical = Optical::default();
        let has_report = picard.metrics.picard.is_some() || picard.metrics.json.is_some();
        first_given([
            ("--remove-optical-duplicates", writing.remove_optical),
            ("--tag-duplicates", writing.duplicate_types != DuplicateTypes::DontTag),
            ("--tag-duplicate-set-members", writing.members),
            ("--keep-dt", !writing.clear_dt),
            ("--scoring-strategy", rules.strategy != Strategy::default()),
            ("--optical-distance auto", self.optical_distance == Some(OpticalDistance::Auto)),
            ("--read-names", self.read_names.is_some()),
            ("--max-optical-set-size", self.max_optical_set_size as u64 != optical.max_set_size),
            ("--optical-only", self.optical_only),
            ("--optical-single", self.optical_single),
            ("--read-one-barcode-tag", self.read_one_barcode_tag.is_some()),
            ("--read-two-barcode-tag", self.read_two_barcode_tag.is_some()),
            ("--duplex-umi", self.duplex_umi || self.picard.duplex_umi_as == Some(true)),
            ("--molecular-identifier-tag", self.molecular_identifier_tag.is_some()),
            ("--metrics with --use-read-groups", self.use_read_groups && has_report),
            ("--umi", matches!(rules.coding, Some(Coding::Umis(_)))),
        ])
    }

    fn picard_request(&self) -> Duplicates {
        let picard = &self.picard;
        let duplex = picard.duplex_umi_as.unwrap_or(self.duplex_umi);
        let writing = MarkOptions {
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
            earlier: EarlierMarks::Replace,
            samtools: SamtoolsTags::default(),
        };
        let metrics =
            DuplicationMetricsFiles { picard: self.metrics.clone(), json: self.metrics_json.clone() };
        let rules = self.picard_rules(&writing, &metrics, duplex);
        let auto_distance = self.picard_optical_distance() == OpticalDistance::Auto;
        let needs_optical = self.optical_only
            || self.optical_single
            || self.picard_optical_distance() == OpticalDistance::Off
                && (self.remove_optical_duplicates
                    || self.tag_duplicates == DuplicateTypes::OpticalOnly);
        let optical_off = self.picard_optical_distance() == OpticalDistance::Off;
        let mode = self.duplicate_mode;
        Duplicates {
            mode,
            rules,
            writing,
            auto_distance,
            optical_off,
            needs_optical,
            metrics,
            out_of_place: None,
            fault: None,
        }
    }

    /// Builds Picard's rules from the flags. Optical duplicates are detected only if the output
    /// depends on them.
    fn picard_rules(
        &self,
        writing: &MarkOptions,
        metrics: &DuplicationMetricsFiles,
        duplex: bool,
    ) -> Rules {
        let auto = self.picard_optical_distance() == OpticalDistance::Auto;
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
            distance: match self.picard_optical_distance() {
                OpticalDistance::Pixels(pixels) => pixels,
                _ => Optical::default().distance,
            },
            max_set_size: u64::try_from(self.max_optical_set_size).unwrap_or(0),
            includes_singles: self.optical_single,
            only_optical: self.optical_only,
        };
        let sought =
            self.picard_optical_distance() != OpticalDistance::Off && !matches!(names, ReadNames::Off);
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
            tiles: false,
            samtools: None,
        }
    }

    /// Returns a usage error if flags configure duplicate marking, but duplicates are not marked.
    pub fn refuse_unused_flags(&self) -> Result<()> {
        let duplicates = self.to_request();
        let default = self.duplicate_mode == DuplicateMode::Auto
            && duplicates.command_words().len() == 2
            && duplicates.out_of_place.is_none();
        let optical = self.picard_optical_distance()
            != OpticalDistance::Pixels(Optical::default().distance)
            || self.max_optical_set_size as u64 != Optical::default().max_set_size;
        if default && !optical && self.metrics.is_none() && self.metrics_json.is_none() {
            return Ok(());
        }
        Err(Error::usage("options for marking duplicates are given, but duplicates are not marked")
            .hint("add --mark-duplicates or --remove-duplicates"))
    }
}
