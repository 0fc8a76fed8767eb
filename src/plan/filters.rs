//! Filters and edits of reads: the request.
//!
//! A new filter has a file in `crates/filters`, a field here and a line in the list of its words, a flag in
//! `src/cli/filters.rs`, and becomes a step in `src/run/filters.rs`.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use readmill_filters::FlagRules;
use readmill_filters::fix_mates::MateRules;
use readmill_filters::replace_read_group::canonical;
use readmill_record::tag::Tag;
use readmill_record::{Error, Result};

/// Filters and edits. Fields stand in the order in which they are applied.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    /// Drop unmapped reads; strictly, also those without a place.
    pub drop_unmapped: Option<Unmapped>,
    /// Drop reads of a lower mapping quality.
    pub min_mapq: Option<u8>,
    /// Drop reads with operators other than M and S.
    pub exact_mapping: bool,
    /// Drop reads that do not say that they are unique and exact.
    pub exact_mapping_strict: bool,
    /// Drop reads that overlap none of the regions of this BED file.
    pub overlap: Option<PathBuf>,
    /// Keep only reads whose FLAG is like this.
    pub flags: FlagRules,
    /// Keep only reads of these read groups, and those without one.
    pub in_read_groups: Vec<String>,
    /// And of the read groups that this file lists.
    pub in_read_groups_file: Option<PathBuf>,
    /// Keep only reads for which all of these expressions hold.
    pub include: Vec<String>,
    /// Drop reads for which one of these expressions holds.
    pub exclude: Vec<String>,
    /// Keep a part of the templates.
    pub subsample: Option<Sampling>,
    /// Rename reference sequences by this table.
    pub rename_contigs: Option<PathBuf>,
    /// Clip alignments at the ends of their reference sequences.
    pub clean_sam: bool,
    /// Replace the dictionary by that of this SAM, BAM or .dict file.
    pub dictionary: Option<PathBuf>,
    /// Replace all read groups by this one.
    pub read_group: Option<String>,
    /// Fix mate information, by these rules.
    pub fix_mates: Option<MateRules>,
    /// Write NM, MD and UQ, by the reference of the run's means, when duplicates are marked and before qualities are
    /// recalibrated.
    pub nm_md_uq: bool,
    /// Remove optional fields, once all else is done.
    pub optional_fields: Option<OptionalFields>,
}

/// Which reads count as unmapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmapped {
    /// Those flagged 0x4.
    Flagged,
    /// Those, and all without reference sequence or position.
    Strict,
}

/// Which part of the templates stays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// How much of all, above 0 and up to 1.
    pub fraction: f64,
    /// The seed of the choice; `None`: made from the header.
    pub seed: Option<u32>,
    /// Once duplicates are marked, among all reads.
    pub after_duplicates: bool,
}

impl Sampling {
    /// The flags and their values.
    fn words(self) -> Vec<String> {
        let mut words = vec!["--subsample".to_string(), self.fraction.to_string()];
        if let Some(seed) = self.seed {
            words.extend(["--subsample-seed".to_string(), seed.to_string()]);
        }
        words.extend(self.after_duplicates.then(|| "--subsample-after-duplicates".to_string()));
        words
    }
}

/// Which optional fields go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionalFields {
    /// These.
    Remove(Vec<Tag>),
    /// All but these.
    Keep(Vec<Tag>),
}

impl OptionalFields {
    /// The flag and its value.
    fn words(&self) -> [String; 2] {
        let (flag, tags, none) = match self {
            OptionalFields::Remove(tags) => ("--remove-optional-fields", tags, ""),
            OptionalFields::Keep(tags) => ("--keep-optional-fields", tags, "none"),
        };
        let tags: Vec<_> = tags.iter().map(|tag| String::from_utf8_lossy(tag)).collect();
        [flag.to_string(), if tags.is_empty() { none.to_string() } else { tags.join(",") }]
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

impl Filters {
    /// Checks what can be checked before anything is opened.
    pub fn check(&self) -> Result<()> {
        match &self.optional_fields {
            Some(OptionalFields::Remove(tags)) if tags.is_empty() => {
                Err(Error::usage("no optional fields are named that should go"))
            }
            _ => Ok(()),
        }
    }

    /// The files that are read.
    pub fn inputs(&self) -> impl Iterator<Item = PathBuf> {
        let files =
            [&self.overlap, &self.rename_contigs, &self.dictionary].into_iter().flatten().cloned();
        let list = self.in_read_groups_file.as_ref().map(|path| {
            let name = path.as_os_str().as_encoded_bytes();
            let name = name.strip_prefix(b"^").unwrap_or(name); // which turns its meaning round
            PathBuf::from(std::ffi::OsStr::from_bytes(name))
        });
        files.chain(list)
    }

    /// The canonical command line of what comes before duplicates, for @PG.
    pub fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut say = |flag: &str, value: Option<String>| {
            words.push(flag.to_string());
            words.extend(value);
        };
        let file = |path: &PathBuf| Some(path.display().to_string());
        match self.drop_unmapped {
            Some(Unmapped::Flagged) => say("--drop-unmapped", None),
            Some(Unmapped::Strict) => say("--drop-unmapped-strict", None),
            None => {}
        }
        if let Some(least) = self.min_mapq {
            say("--min-mapq", Some(least.to_string()));
        }
        if self.exact_mapping {
            say("--exact-mapping", None);
        }
        if self.exact_mapping_strict {
            say("--exact-mapping-strict", None);
        }
        if let Some(path) = &self.overlap {
            say("--overlap", file(path));
        }
        let FlagRules { required, excluded, any_of, excluded_together } = self.flags;
        for (flag, bits) in [
            ("--require-flags", required),
            ("--exclude-flags", excluded),
            ("--include-flags", any_of),
            ("--exclude-all-flags", excluded_together),
        ] {
            if bits != 0 {
                say(flag, Some(bits.to_string()));
            }
        }
        self.in_read_groups.iter().for_each(|id| say("--in-read-group", Some(quoted(id))));
        if let Some(path) = &self.in_read_groups_file {
            say("--in-read-groups", file(path));
        }
        for (flag, expressions) in [("--include", &self.include), ("--exclude", &self.exclude)] {
            expressions.iter().for_each(|it| say(flag, Some(quoted(it))));
        }
        if let Some(sampling) = self.subsample.filter(|it| !it.after_duplicates) {
            words.extend(sampling.words());
        }
        let mut say = |flag: &str, value: Option<String>| {
            words.push(flag.to_string());
            words.extend(value);
        };
        if let Some(path) = &self.rename_contigs {
            say("--rename-contigs", file(path));
        }
        if self.clean_sam {
            say("--clean-sam", None);
        }
        if let Some(path) = &self.dictionary {
            say("--sequence-dictionary", file(path));
        }
        if let Some(group) = &self.read_group {
            let line = canonical(group).unwrap_or_else(|_| group.clone());
            say("--read-group", Some(quoted(&line.replace('\t', "\\t"))));
        }
        if let Some(rules) = self.fix_mates {
            say("--fix-mates", Some(rules.name().to_string()));
        }
        words
    }

    /// The canonical command line of what comes after duplicates and recalibration, for @PG.
    pub fn late_words(&self) -> Vec<String> {
        let sampling = self.subsample.filter(|it| it.after_duplicates);
        let fields = self.optional_fields.iter().flat_map(OptionalFields::words);
        sampling.map_or_else(Vec::new, Sampling::words).into_iter().chain(fields).collect()
    }
}
