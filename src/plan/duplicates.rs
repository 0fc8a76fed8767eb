//! The plan for marking duplicates, built from the flags.

use std::path::PathBuf;

use readmill_markdup::umi::{Method, UmiSource};
use readmill_markdup::{
    Coding, DuplicateTypes, EarlierMarks, MarkOptions, Optical, OpticalReads, PairEnds, Rules,
    SamtoolsRules, Strategy,
};
use readmill_record::tag::Tag;
use readmill_record::{Error, Result, tag};
use readmill_sort::Order;

use super::choice::choice_name;
use super::duplicate_choices::{
    DUPLICATE_MODES, DUPLICATE_TYPES, DuplicateMode, PAIR_ENDS, SCORING_STRATEGIES, UMI_METHODS,
};

#[derive(Clone, Debug)]
pub struct Duplicates {
    pub mode: DuplicateMode,
    pub rules: Rules,
    pub writing: MarkOptions,
    /// Whether the optical pixel distance depends on the instrument, which is derived from the
    /// first read name (`--optical-distance auto`).
    pub auto_distance: bool,
    pub optical_off: bool,
    /// Whether another flag requires that optical duplicates are detected.
    pub needs_optical: bool,
    pub metrics: DuplicationMetricsFiles,
    /// A given flag that the chosen rules do not support. [`Duplicates::check_conflicts`] reports
    /// it.
    pub out_of_place: Option<&'static str>,
    /// An invalid flag value. [`Duplicates::check_conflicts`] reports it.
    pub fault: Option<Error>,
}

impl Duplicates {
    /// Returns Picard's default rules for `mode`, which remove no reads and write no metrics.
    pub fn with_mode(mode: DuplicateMode) -> Self {
        let writing = MarkOptions { clear_dt: true, ..MarkOptions::default() };
        let (rules, auto_distance, optical_off, needs_optical) = Default::default();
        let (metrics, out_of_place, fault) = Default::default();
        Duplicates {
            mode,
            rules,
            writing,
            auto_distance,
            optical_off,
            needs_optical,
            metrics,
            out_of_place,
            fault,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct DuplicationMetricsFiles {
    pub picard: Option<PathBuf>,
    pub json: Option<PathBuf>,
}

impl Duplicates {
    pub fn check_conflicts(&self) -> Result<()> {
        if let Some(flag) = self.out_of_place {
            let (rules, others) = match self.rules.samtools {
                Some(_) => ("samtools", "Picard's"),
                None => ("Picard", "samtools'"),
            };
            return Err(Error::usage(format!(
                "{flag} does not work with --rules {}",
                rules.to_lowercase()
            ))
            .hint(format!("this flag is only for {others} rules: omit it, or change --rules")));
        }
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let looked_for = self.rules.optical.is_some();
        if self.needs_optical && !looked_for {
            return Err(Error::usage(
                "a flag needs optical duplicates, but their detection is disabled",
            )
            .hint("omit --optical-distance off and --read-names null"));
        }
        let read = match &self.rules.coding {
            Some(Coding::Umis(umis)) => [umis.source.tag(), None, None],
            Some(Coding::Barcodes(barcodes)) => [barcodes.template, barcodes.first, barcodes.second],
            None => [None; 3],
        };
        for tag in self.molecule_tags() {
            if read.contains(&Some(tag)) || [tag::RG, tag::DT, tag::DI, tag::DS].contains(&tag) {
                let tag = String::from_utf8_lossy(&tag);
                return Err(Error::usage(format!("the field {tag} has another purpose"))
                    .hint("write the molecule to another field, such as MI"));
            }
        }
        if let Some(Coding::Umis(umis)) = &self.rules.coding
            && umis.method == Method::Paired
            && matches!(umis.source, UmiSource::Inline { second: 0, .. })
        {
            return Err(Error::usage("--umi-method paired needs a UMI in both reads")
                .hint("give the number of UMI bases in each read, such as inline:8+8"));
        }
        Ok(())
    }

    /// Returns the fields to which the molecule of a read is written.
    fn molecule_tags(&self) -> impl Iterator<Item = Tag> {
        let number = self.writing.molecule_number.map(|(tag, _)| tag);
        number.into_iter().chain(self.writing.molecule.map(|(tag, _)| tag))
    }

    /// Returns a usage error if the molecule is part of the sort key. Keys are computed before
    /// molecules are known, so they would contain the fields of the input.
    pub fn check_order(&self, order: Order) -> Result<()> {
        let (key, flags) = match order {
            Order::TemplateCoordinate => (*b"MI", "--template-coordinate".to_string()),
            Order::Tag { tag, .. } => (tag, format!("-t {}", String::from_utf8_lossy(&tag))),
            _ => return Ok(()),
        };
        if !self.molecule_tags().any(|tag| tag == key) {
            return Ok(());
        }
        let tag = String::from_utf8_lossy(&key);
        Err(Error::usage(format!(
            "this order compares {tag}, but reads are sorted before their molecules are known"
        ))
        .hint(format!("omit --sort here, and sort the output in a second run: readmill sort {flags}")))
    }

    /// Returns the duplicate marking flags of the `@PG` command line, without those at their
    /// default value.
    pub fn command_words(&self) -> Vec<String> {
        let (rules, writing) = (&self.rules, &self.writing);
        if let Some(samtools) = &rules.samtools {
            return samtools_command_words(samtools, writing);
        }
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
        flag("--optical-only", optical.only_optical);
        flag("--optical-single", optical.includes_singles);
        let mut say = |word: &str, value: String| words.extend([word.to_string(), value]);
        say("--duplicate-mode", choice_name(DUPLICATE_MODES, self.mode).into());
        if rules.strategy != Strategy::default() {
            say("--scoring-strategy", choice_name(SCORING_STRATEGIES, rules.strategy).into());
        }
        if writing.duplicate_types != DuplicateTypes::default() {
            say("--tag-duplicates", choice_name(DUPLICATE_TYPES, writing.duplicate_types).into());
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
        if optical.max_set_size != Optical::default().max_set_size {
            say("--max-optical-set-size", optical.max_set_size.to_string());
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
            say("--umi-method", choice_name(UMI_METHODS, umis.method).into());
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

fn samtools_command_words(rules: &SamtoolsRules, writing: &MarkOptions) -> Vec<String> {
    let mode = if rules.other_records { DuplicateMode::Template } else { DuplicateMode::Coordinate };
    let mut words = vec!["--rules", "samtools", "--duplicate-mode", choice_name(DUPLICATE_MODES, mode)];
    if rules.ends != PairEnds::default() {
        words.extend(["--ends", choice_name(PAIR_ENDS, rules.ends)]);
    }
    words.extend((writing.earlier == EarlierMarks::Clear).then_some("--clear-marks"));
    words.extend(rules.failed_reads.then_some("--include-fails"));
    words.extend(rules.by_read_group.then_some("--use-read-groups"));
    words.extend(writing.remove.then_some("--remove-duplicates"));
    let details = &rules.details;
    words.extend(details.originals.then_some("--tag-original"));
    words.extend(details.counts.then_some("--duplicate-count"));
    words.extend(details.first_only.then_some("--no-multi-dup"));
    let mut words: Vec<String> = words.into_iter().map(Into::into).collect();
    if let Some(OpticalReads { distance, coords }) = &details.optical {
        words.extend(["--optical-distance".into(), distance.to_string()]);
        if let Some((regex, order)) = coords.regex_and_order() {
            words.extend(["--read-coords".into(), format!("'{regex}'"), "--coords-order".into(), order]);
        }
    }
    let barcode = rules
        .barcode
        .iter()
        .flat_map(|tag| ["--barcode-tag".to_string(), String::from_utf8_lossy(tag).into_owned()]);
    words.extend(barcode);
    words
}
