//! Filters and edits for reads, checksums, adapter marking, and the routing of reads to several
//! outputs.
//!
//! | part | purpose | entry point |
//! |---|---|---|
//! | filters and edits | drop or change reads; one file each | [`FILTERS`], [`spec`] |
//! | checksums | sums over reads that do not depend on their order | [`checksum`] |
//! | expressions | the language of `samtools view -e` | [`expression`] |
//! | adapters | mark adapters like Picard MarkIlluminaAdapters | [`adapter`] |
//! | merging | merge alignments into unaligned reads like Picard MergeBamAlignment | [`merge_alignment`] |
//! | routes | choose the outputs of each read | [`route`] |
//!
//! Each filter becomes a [`Step`](readmill_record::Step) of the pipeline. The crate starts no threads and does not know the
//! command-line parser. To add a filter, write a module with a [`FilterSpec`] and list it in
//! [`FILTERS`]; docs/ARCHITECTURE.md has an example.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

use std::ffi::OsString;

use readmill_record::Result;

use flag::GivenFlags;

pub mod adapter;
pub mod checksum;
pub mod criterion;
pub mod discarded;
pub mod expression;
pub mod flag;
pub mod lone_mates;
pub mod merge_alignment;
pub mod route;
pub mod spec;
mod turn;

pub mod change_flags;
pub mod clean_sam;
pub mod drop_unmapped;
pub mod exact_mapping;
pub mod fix_mates;
pub mod flags;
pub mod group_fields;
mod in_intervals;
pub mod in_read_groups;
pub mod library;
pub mod min_mapq;
pub mod min_query_length;
pub mod nm_md_uq;
mod number_records;
pub mod optional_fields;
pub mod overlap;
pub mod read_names;
pub mod reconcile;
pub mod rename_contigs;
pub mod replace_dictionary;
pub mod replace_read_group;
pub mod revert;

pub mod select;
pub mod subsample;
pub mod to_read_group;
pub mod whole_templates;
pub mod with_tag;

pub use change_flags::ChangeFlags;
pub use clean_sam::CleanSam;
pub use criterion::Criterion;
pub use discarded::DiscardLimit;
pub use drop_unmapped::DropUnmapped;
pub use exact_mapping::ExactMapping;
pub use fix_mates::FixMates;
pub use flags::FlagRules;
pub use in_read_groups::InReadGroups;
pub use library::InLibrary;
pub use lone_mates::LoneMates;
pub use min_mapq::MinMapq;
pub use min_query_length::MinQueryLength;
pub use nm_md_uq::NmMdUq;
pub use optional_fields::OptionalFields;
pub use overlap::Overlap;
pub use read_names::ReadNames;
pub use reconcile::Reconcile;
pub use rename_contigs::RenameContigs;
pub use replace_dictionary::ReplaceDictionary;
pub use replace_read_group::ReplaceReadGroup;
pub use select::Select;
pub use spec::{Filter, FilterSpec, Filters};
pub use subsample::Subsample;
pub use to_read_group::ToReadGroup;
pub use with_tag::WithTag;

/// All filters and edits, in the order in which they are applied and listed in the help.
pub const FILTERS: &[&FilterSpec] = &[
    &drop_unmapped::SPEC,
    &min_mapq::SPEC,
    &min_query_length::SPEC,
    &exact_mapping::SPEC,
    &overlap::SPEC,
    &in_intervals::SPEC,
    &flags::SPEC,
    &in_read_groups::SPEC,
    &library::SPEC,
    &read_names::SPEC,
    &with_tag::SPEC,
    &select::SPEC,
    &subsample::SPEC,
    &revert::SPEC,
    &whole_templates::SPEC,
    &rename_contigs::SPEC,
    &clean_sam::SPEC,
    &replace_dictionary::SPEC,
    &replace_read_group::SPEC,
    &group_fields::SPEC,
    &to_read_group::SPEC,
    &number_records::SPEC,
    &fix_mates::SPEC,
    &change_flags::SPEC,
    &nm_md_uq::SPEC,
    &optional_fields::SPEC,
];

impl Filters {
    /// Creates the filters that the given flags request, in the order of [`FILTERS`].
    ///
    /// # Errors
    /// A value is invalid, or flags contradict each other.
    pub fn from_given_flags(given: &GivenFlags) -> Result<Self> {
        let mut filters = Filters::default();
        FILTERS.iter().try_for_each(|spec| (spec.parse)(given, &mut filters))?;
        Ok(filters)
    }

    /// Creates the filters of a command line such as `["--min-mapq", "20"]`. The order of flags has
    /// no effect.
    ///
    /// # Errors
    /// A flag is unknown, or its value is invalid.
    pub fn from_words<W: Into<OsString>>(words: impl IntoIterator<Item = W>) -> Result<Self> {
        let flags = FILTERS.iter().flat_map(|spec| spec.flags);
        Filters::from_given_flags(&GivenFlags::from_words(flags, words)?)
    }
}

#[cfg(test)]
mod testing;
