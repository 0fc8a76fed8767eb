//! The rules by which duplicates are found.
//!
//! Also counts the templates that have the fields of barcodes and UMIs that the rules name: by the ends of reads, so
//! that the order of the input does not matter; a field of one mate counts for the template.

use readmill_record::RecordRef;
use readmill_record::tag::Tag;
use serde::{Deserialize, Serialize};

use super::barcodes::Barcodes;
use super::location::ReadNames;
use super::samtools::SamtoolsRules;
use super::score::Strategy;
use super::umi::Umis;

/// The rules by which duplicates are found, and the results to store. The default is Picard's.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// How reads are scored.
    pub strategy: Strategy,
    /// The format of read names, which gives locations on the flow cell.
    pub names: ReadNames,
    /// How optical duplicates are found; `None` if they are not searched.
    pub optical: Option<Optical>,
    /// The code that keeps templates of equal ends apart; `None` without barcodes and UMIs.
    pub coding: Option<Coding>,
    /// Whether to store the members of each duplicate set of more than one.
    pub members: bool,
    /// Whether to number the molecules that UMIs identify.
    pub molecules: bool,
    /// Whether to count pairs by tile, where optical duplicates are searched.
    pub tiles: bool,
    /// The rules of samtools, which hold in place of all others; `None` for Picard's.
    pub samtools: Option<SamtoolsRules>,
}

impl Rules {
    /// Whether pairs are counted by tile: where names are read in full, tiles of other lanes have other numbers than their own.
    pub fn counts_tiles(&self) -> bool {
        self.tiles && self.optical.is_some() && !matches!(self.names, ReadNames::Full)
    }
}

/// The rules for optical duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optical {
    /// Most pixels between them, in x and in y.
    pub distance: i32,
    /// Larger sets are not searched.
    pub most: u64,
    /// Whether sets of single reads are searched, too.
    pub single: bool,
    /// Whether only optical duplicates count as duplicates.
    pub alone: bool,
}

impl Default for Optical {
    /// Picard's.
    fn default() -> Self {
        Optical { distance: 100, most: 300_000, single: false, alone: false }
    }
}

/// The code that keeps templates of equal ends apart.
#[derive(Clone, Debug)]
pub enum Coding {
    /// Barcodes, as Picard compares them.
    Barcodes(Barcodes),
    /// UMIs, of which several can be one molecule.
    Umis(Umis),
}

/// The most fields that a run can use.
const MOST: usize = 3;

/// How many reads have each field that barcodes or UMIs are taken from: first segments and single reads, and last segments.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct FieldCounts {
    reads: [u64; 2],
    have: [[u64; 2]; MOST],
}

/// A field, and how many templates have it, or how many reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldShare {
    /// The field.
    pub tag: Tag,
    /// Whether `have` and `of` are reads: each needs the field, and only one end of some templates has it.
    pub by_read: bool,
    /// Templates that have it.
    pub have: u64,
    /// Templates in all.
    pub of: u64,
}

/// A field, and the reads that can have it.
#[derive(Clone, Copy)]
struct EligibleField {
    tag: Tag,
    /// The first segments, the last segments.
    ends: [bool; 2],
    /// Whether each read needs it; else it is enough that one mate has it.
    by_read: bool,
}

impl EligibleField {
    fn new(tag: Option<Tag>, ends: [bool; 2], by_read: bool) -> Option<Self> {
        tag.map(|tag| EligibleField { tag, ends, by_read })
    }
}

impl Rules {
    /// The fields that barcodes or UMIs are taken from.
    fn fields(&self) -> [Option<EligibleField>; MOST] {
        let both = [true, true];
        match (&self.samtools, &self.coding) {
            (Some(samtools), _) => [EligibleField::new(samtools.barcode, both, true), None, None],
            (None, Some(Coding::Umis(umis))) => {
                [EligibleField::new(umis.source.tag(), both, false), None, None]
            }
            (None, Some(Coding::Barcodes(barcodes))) => [
                // Picard takes it from the mate that it meets first.
                EligibleField::new(barcodes.template, both, true),
                EligibleField::new(barcodes.first, [true, false], false),
                EligibleField::new(barcodes.second, [false, true], false),
            ],
            (None, None) => [None; MOST],
        }
    }
}

impl FieldCounts {
    /// Counts a read that takes part.
    pub fn count(&mut self, rules: &Rules, record: RecordRef<'_>) {
        let end = self.count_read(record);
        for (have, eligible) in self.have.iter_mut().zip(rules.fields()) {
            if let Some(EligibleField { tag, .. }) = eligible.filter(|field| field.ends[end]) {
                have[end] += u64::from(record.field(tag).is_some());
            }
        }
    }

    /// Counts a read that takes part by the rules of samtools, and whether it has a barcode.
    pub fn count_barcode(&mut self, record: RecordRef<'_>, has_barcode: bool) {
        let end = self.count_read(record);
        self.have[0][end] += u64::from(has_barcode);
    }

    /// Counts a read; returns the number of its end.
    fn count_read(&mut self, record: RecordRef<'_>) -> usize {
        let flags = record.flags();
        let end = usize::from(flags.is_paired() && !flags.is_first());
        self.reads[end] += 1;
        end
    }

    /// Adds the counts of another part of the input.
    pub fn add(&mut self, other: &FieldCounts) {
        let own = self.reads.iter_mut().chain(self.have.iter_mut().flatten());
        let others = other.reads.iter().chain(other.have.iter().flatten());
        own.zip(others).for_each(|(own, other)| *own += other);
    }

    /// Returns the share of each field, by the end that has it more often; by read, if each read needs it and the other end
    /// has it less often. A field of an end without reads is left out.
    pub fn shares(&self, rules: &Rules) -> impl Iterator<Item = FieldShare> {
        let shares = rules.fields().into_iter().zip(self.have).map(|(eligible, have)| {
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
