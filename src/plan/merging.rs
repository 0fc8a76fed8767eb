//! Alignments that are put onto reads which were not aligned.

use std::path::PathBuf;

use readmill_filters::merge_alignment::{ContaminantAlignments, MergeRules, OverlapClip, PrimaryChoice};
use readmill_record::header::HeaderLine;
use readmill_record::tag::Tag;

/// Files of alignments, and how they are put onto the reads of another file.
#[derive(Clone, Debug)]
pub struct Merging {
    /// The reads.
    pub unaligned: PathBuf,
    /// Their alignments.
    pub aligned: Vec<AlignedFile>,
    /// The rules.
    pub rules: MergeRules,
    /// The `@PG` line of the aligner; `None` for the one that a file of alignments has.
    pub program: Option<HeaderLine>,
    /// Whether records name the aligner in PG.
    pub names_program: bool,
    /// Fields of `@SQ` that must not differ between alignments and the dictionary of the reference.
    pub matching: Vec<Tag>,
}

/// A file of alignments.
#[derive(Clone, Debug)]
pub struct AlignedFile {
    /// Its path; `-` is standard input.
    pub path: PathBuf,
    /// Which end of each template all its records are of, if they do not say it.
    pub end: Option<End>,
}

/// An end of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The first.
    First,
    /// The last.
    Last,
}

impl Merging {
    /// Fields of `@SQ` that must not differ, unless others are named.
    pub const MATCHING: [Tag; 2] = [*b"M5", *b"LN"];

    /// All files, the reads first.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.unaligned).chain(self.aligned.iter().map(|file| &file.path))
    }

    /// Its words in the command line of `@PG`: what is not the default.
    pub fn command_words(&self) -> Vec<String> {
        let (rules, usual) = (&self.rules, MergeRules::default());
        let mut words = Vec::new();
        let mut say = |is_other: bool, word: String| words.extend(is_other.then_some(word));
        for (flag, tags, usual) in [
            ("--keep-fields", &rules.kept, &usual.kept),
            ("--drop-fields", &rules.dropped, &usual.dropped),
            ("--reverse-fields", &rules.reversed, &usual.reversed),
            ("--complement-fields", &rules.complemented, &usual.complemented),
        ] {
            let names: Vec<_> = tags.iter().map(|tag| String::from_utf8_lossy(tag)).collect();
            let names = if names.is_empty() { ",".to_string() } else { names.join(",") };
            say(tags != usual, format!("{flag} {names}"));
        }
        match &rules.orientations {
            None => say(true, "--aligner-proper-pairs".to_string()),
            Some(all) => {
                let names: Vec<_> = all.iter().map(|it| it.name()).collect();
                say(
                    rules.orientations != usual.orientations,
                    format!("--orientations {}", names.join(",")),
                );
            }
        }
        say(!rules.clip_adapters, "--no-clip-adapters".to_string());
        say(rules.overlap != OverlapClip::Soft, format!("--clip-overlaps {}", rules.overlap.name()));
        say(rules.aligned_only, "--aligned-only".to_string());
        rules.most_gaps.iter().for_each(|most| say(true, format!("--max-gaps {most}")));
        let primary = rules.primary;
        say(primary != PrimaryChoice::BestMapq, format!("--primary {}", primary.name()));
        say(!rules.secondary, "--no-secondary".to_string());
        say(!rules.mate_cigar, "--no-mate-cigar".to_string());
        if let Some(least) = rules.least_unclipped {
            say(true, format!("--unmap-contaminants={least}"));
            let how = rules.contaminants;
            let is_other = how != ContaminantAlignments::Leave;
            say(is_other, format!("--contaminant-alignments {}", how.name()));
        }
        let [first, last] = rules.trimmed;
        say(rules.trimmed != usual.trimmed, format!("--trimmed {first},{last}"));
        say(!self.names_program, "--no-program-field".to_string());
        words
    }
}
