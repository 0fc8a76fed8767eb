//! The plan for merging an aligner's output into the unaligned reads, as Picard MergeBamAlignment
//! does.

use std::path::PathBuf;

use readmill_filters::merge_alignment::{ContaminantAlignments, MergeRules, OverlapClip, PrimaryChoice};
use readmill_record::header::HeaderLine;
use readmill_record::tag::Tag;

/// A file of unaligned reads, the files with their alignments, and the merge rules.
#[derive(Clone, Debug)]
pub struct Merging {
    pub unaligned: PathBuf,
    pub aligned: Vec<AlignedFile>,
    pub rules: MergeRules,
    /// The aligner's `@PG` line. If `None`, it is taken from the alignment files.
    pub program: Option<HeaderLine>,
    pub names_program: bool,
    /// The `@SQ` fields that must be equal in the alignment files and in the sequence dictionary of
    /// the reference.
    pub matching: Vec<Tag>,
}

#[derive(Clone, Debug)]
pub struct AlignedFile {
    pub path: PathBuf,
    /// The read number (read 1 or read 2) of all records of this file, if their flags do not
    /// contain it.
    pub end: Option<TemplateEnd>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateEnd {
    First,
    Last,
}

impl Merging {
    /// The default of [`Merging::matching`]: checksum and length.
    pub const DEFAULT_MATCHING_TAGS: [Tag; 2] = [*b"M5", *b"LN"];

    pub fn all_files(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.unaligned).chain(self.aligned.iter().map(|file| &file.path))
    }

    /// Returns the merge flags of the `@PG` command line, without those at their default value.
    pub fn command_words(&self) -> Vec<String> {
        let (rules, usual) = (&self.rules, MergeRules::default());
        let mut words = Vec::new();
        let mut say = |is_other: bool, word: String| words.extend(is_other.then_some(word));
        for (flag, tags, usual) in [
            ("--keep-fields", &rules.kept_tags, &usual.kept_tags),
            ("--drop-fields", &rules.dropped_tags, &usual.dropped_tags),
            ("--reverse-fields", &rules.reversed_tags, &usual.reversed_tags),
            ("--complement-fields", &rules.complemented_tags, &usual.complemented_tags),
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
        rules.max_gaps.iter().for_each(|max_gaps| say(true, format!("--max-gaps {max_gaps}")));
        let primary = rules.primary;
        say(primary != PrimaryChoice::BestMapq, format!("--primary {}", primary.name()));
        say(!rules.secondary, "--no-secondary".to_string());
        say(!rules.mate_cigar, "--no-mate-cigar".to_string());
        if let Some(min_unclipped) = rules.min_unclipped {
            say(true, format!("--unmap-contaminants={min_unclipped}"));
            let how = rules.contaminants;
            let is_other = how != ContaminantAlignments::Leave;
            say(is_other, format!("--contaminant-alignments {}", how.name()));
        }
        let [first, last] = rules.trimmed_bases;
        say(rules.trimmed_bases != usual.trimmed_bases, format!("--trimmed {first},{last}"));
        say(!self.names_program, "--no-program-field".to_string());
        words
    }
}
