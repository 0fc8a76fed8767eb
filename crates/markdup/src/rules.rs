//! The options of duplicate marking, and counts of the reads that have the barcode or UMI fields
//! that the options name.
//!
//! Fields are counted separately for the two ends of templates, so that the result does not depend
//! on the order of the input. For most fields, it is enough that one mate has the field. The
//! pipeline rejects input in which no template has the field, and warns if some templates lack it.

use readmill_record::RecordRef;
use readmill_record::tag::Tag;
use serde::{Deserialize, Serialize};

use super::barcodes::Barcodes;
use super::location::ReadNames;
use super::samtools::SamtoolsRules;
use super::score::Strategy;
use super::umi::Umis;

/// How duplicates are found, and which results are stored. By default, the rules are those of
/// Picard, without the search for optical duplicates.
///
/// ```
/// use readmill_markdup::{Optical, Rules, verdict_bytes};
///
/// let patterned = Optical { distance: 2500, ..Optical::default() };
/// let rules = Rules { optical: Some(patterned), ..Rules::default() };
/// assert_eq!(verdict_bytes(&rules, 64), 16); // a duplicate bit and an optical bit for each record
/// assert_eq!(verdict_bytes(&Rules::default(), 64), 8);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub strategy: Strategy,
    pub names: ReadNames,
    pub optical: Option<Optical>,
    /// Barcodes or UMIs that separate templates with equal ends. `None` compares positions only.
    pub coding: Option<Coding>,
    /// Store the members of each set of two or more pairs, for the DI and DS fields.
    pub members: bool,
    pub molecules: bool,
    pub tiles: bool,
    /// The rules of samtools markdup, which replace all other rules. `None` selects Picard's rules.
    pub samtools: Option<SamtoolsRules>,
}

impl Rules {
    /// Returns whether pairs are counted by tile. They are not with [`ReadNames::Full`], which
    /// shifts tile numbers by a hash of the lane, so that they differ from the numbers on the flow
    /// cell.
    pub fn counts_tiles(&self) -> bool {
        self.tiles && self.optical.is_some() && !matches!(self.names, ReadNames::Full)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optical {
    /// Maximum distance in x and in y, in the unit of the read names (Illumina: a tenth of a pixel).
    /// Picard's default is 100.
    pub distance: i32,
    /// Maximum number of templates in a set that is searched (Picard's
    /// MAX_OPTICAL_DUPLICATE_SET_SIZE, default 300,000).
    pub max_set_size: u64,
    /// Also search sets of single reads. Picard searches only pairs.
    pub includes_singles: bool,
    /// Mark only optical duplicates.
    pub only_optical: bool,
}

impl Default for Optical {
    fn default() -> Self {
        Optical { distance: 100, max_set_size: 300_000, includes_singles: false, only_optical: false }
    }
}

#[derive(Clone, Debug)]
pub enum Coding {
    Barcodes(Barcodes),
    Umis(Umis),
}

const MAX_FIELDS: usize = 3;

/// The number of reads that have each barcode or UMI field. Index 0 counts read 1 and single reads,
/// index 1 counts read 2.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct FieldCounts {
    reads: [u64; 2],
    have: [[u64; 2]; MAX_FIELDS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldShare {
    pub tag: Tag,
    /// Whether `have` and `of` count reads instead of templates: each read needs the field, and one
    /// end has it less often than the other.
    pub by_read: bool,
    pub have: u64,
    pub of: u64,
}

#[derive(Clone, Copy)]
struct EligibleField {
    tag: Tag,
    ends: [bool; 2],
    /// Whether each read needs the field. Otherwise it is enough that one mate has the field.
    by_read: bool,
}

impl EligibleField {
    fn new(tag: Option<Tag>, ends: [bool; 2], by_read: bool) -> Option<Self> {
        tag.map(|tag| EligibleField { tag, ends, by_read })
    }
}

impl Rules {
    fn eligible_fields(&self) -> [Option<EligibleField>; MAX_FIELDS] {
        let both = [true, true];
        match (&self.samtools, &self.coding) {
            (Some(samtools), _) => [EligibleField::new(samtools.barcode, both, true), None, None],
            (None, Some(Coding::Umis(umis))) => {
                [EligibleField::new(umis.source.tag(), both, false), None, None]
            }
            (None, Some(Coding::Barcodes(barcodes))) => [
                // Picard takes the template's barcode from the mate that it reads first, so both
                // mates need it.
                EligibleField::new(barcodes.template, both, true),
                EligibleField::new(barcodes.first, [true, false], false),
                EligibleField::new(barcodes.second, [false, true], false),
            ],
            (None, None) => [None; MAX_FIELDS],
        }
    }
}

impl FieldCounts {
    pub fn count_fields(&mut self, rules: &Rules, record: RecordRef<'_>) {
        let end = self.count_read(record);
        for (have, eligible) in self.have.iter_mut().zip(rules.eligible_fields()) {
            if let Some(EligibleField { tag, .. }) = eligible.filter(|field| field.ends[end]) {
                have[end] += u64::from(record.field(tag).is_some());
            }
        }
    }

    /// Counts a read by samtools' rules, which accept only text fields as barcodes.
    pub fn count_barcode(&mut self, record: RecordRef<'_>, has_barcode: bool) {
        let end = self.count_read(record);
        self.have[0][end] += u64::from(has_barcode);
    }

    /// Counts a read. Returns 0 for read 1 or a single read, and 1 for read 2.
    fn count_read(&mut self, record: RecordRef<'_>) -> usize {
        let flags = record.flags();
        let end = usize::from(flags.is_paired() && !flags.is_first());
        self.reads[end] += 1;
        end
    }

    pub fn add(&mut self, other: &FieldCounts) {
        let own = self.reads.iter_mut().chain(self.have.iter_mut().flatten());
        let others = other.reads.iter().chain(other.have.iter().flatten());
        own.zip(others).for_each(|(own, other)| *own += other);
    }

    /// Returns the share of templates that have each field.
    ///
    /// The end that has the field more often counts for the template. If each read needs the field
    /// and one end has it less often, reads are counted instead. A field that only one end can have
    /// is omitted if this end has no reads.
    pub fn field_shares(&self, rules: &Rules) -> impl Iterator<Item = FieldShare> {
        let shares = rules.eligible_fields().into_iter().zip(self.have).map(|(eligible, have)| {
            let EligibleField { tag, ends, by_read } = eligible?;
            let part = |have: u64, of: u64| (u128::from(have) << 64) / u128::from(of);
            let seen = [0, 1].into_iter().filter(|&end| ends[end] && self.reads[end] > 0);
            let parts = seen.clone().map(|end| part(have[end], self.reads[end]));
            if by_read && parts.clone().max() != parts.min() {
                let [have, of] = [have, self.reads].map(|[first, last]| first + last);
                return Some(FieldShare { tag, by_read, have, of });
            }
            let end = seen.max_by_key(|&end| part(have[end], self.reads[end]))?;
            Some(FieldShare { tag, by_read: false, have: have[end], of: self.reads[end] })
        });
        shares.flatten()
    }
}
